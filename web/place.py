"""What a place calls itself, in a few words; shown beside its session, never trusted."""

from typing import Final

from web.limits import WHERE_CHARACTERS

# The more particular name first: most browsers also claim to be the ones below them.
_BROWSERS: Final = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("HeadlessChrome/", "Chrome without a window"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Final = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def place(user_agent: str) -> str:
    """Return what a browser is and runs on, or its own words when they are not known."""
    browser = next((name for mark, name in _BROWSERS if mark in user_agent), None)
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), None)
    if browser and system:
        return f"{browser} on {system}"
    return printable(user_agent) or "an unnamed program"


def printable(words: str) -> str:
    """Return the words on one short line, unprintable characters replaced."""
    kept = "".join(character if character.isprintable() else "?" for character in words)
    return " ".join(kept.split())[:WHERE_CHARACTERS]
