"""What somebody may be called: people, machines, operators. The one rule for every such name.

Names that stand in a log already, of an older or a hostile node, are not judged here again:
they are shown through `visible`, and found by what is shown or by their id (`is_called`).
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from sync.decide.visible import first_hidden, visible_line
from sync.errors import Conflict, Invalid
from sync.limits import NAME_CHARACTERS

UNNAMED: Final = "unnamed"
"""What a machine is called whose host says nothing that can be a name."""

_OF_AN_ID: Final = re.compile(r"(?:[a-z2-7]{16}|[a-z2-7]{52})\Z")
"""Ids of persons and sessions have 16 of these, those of machines 52."""

_KINDS: Final = {
    "Cc": "a control character",
    "Cs": "half of a character",
    "Co": "a character of private use",
    "Cn": "a character that no writing has",
}
"""Of characters without a name, by their general category."""

# Letters of the Cyrillic and the Greek alphabet, and a few more, that most fonts draw like a
# Latin one. Not all of Unicode's list: names are guarded against being taken for another at a
# glance, and whoever may give a name was let in.
_UPPER: Final = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԚԜҮ" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ",  # noqa: RUF001 -- what looks alike
    "ABESIJKMHOPCTYXQWY" + "ABEZHIKMNOPTYXC",
)
_LOWER: Final = str.maketrans(
    "асеһіјорѕухԛԝԁӏгѵ" + "αορνικυχϲ" + "ıɑɡ01|",  # noqa: RUF001 -- what looks alike
    "acehijopsyxqwdlrv" + "aopvikuxc" + "iagoll",
)
_MARKS: Final = re.compile("[\u0300-\u036f\u0483-\u0489]+")
"""Over Latin, Greek and Cyrillic letters. Those of other writing are letters by themselves."""


def checked(what: str, text: str, *, taken: Iterable[str] = ()) -> str:
    """Return a name as it is kept. `what` says of whom it is to be: "name", "machine's name".

    Raises `Invalid` for what is no name, and `Conflict` where it looks like one of `taken`.
    """
    name = plain(text)
    if not name:
        raise Invalid(f"The {what} is empty.", hint="Give a name that people can read and type.")
    found = first_hidden(name)
    if found is not None:
        raise Invalid(
            f"The {what} holds {described(found)}; in a name it could hide or change what is"
            " shown.",
            hint="Type the name anew, without it.",
        )
    if unicodedata.category(name[0]).startswith("M"):
        raise Invalid(
            f"The {what} begins with {described(name[0])}, which needs a letter before it.",
            hint="Type the name anew, without it.",
        )
    if len(name) > NAME_CHARACTERS:
        raise Invalid(
            f"The {what} has {len(name)} characters; at most {NAME_CHARACTERS} fit.",
            hint="Give a shorter one.",
        )
    if _OF_AN_ID.match(name.casefold()):
        raise Invalid(
            f"The {what} has the form of an id, so it could be taken for somebody else.",
            hint="Give another name, or one with a space or a hyphen in it.",
        )
    for other in taken:
        _check_apart(what, name, other)
    return name


def _check_apart(what: str, name: str, other: str) -> None:
    if name == other:
        raise Conflict(f"There is a {name} already.", hint="Give another name.")
    if looks_like(name, other):
        raise Conflict(
            f"The {what} {name} looks like {visible_line(other)}, which is taken already.",
            hint="Give one that nobody takes for the other.",
        )


def plain(text: str) -> str:
    """Return a name in its one spelling: composed (NFC), with single spaces and none around."""
    composed = unicodedata.normalize("NFC", text)
    spaced = "".join(
        " " if unicodedata.category(character) == "Zs" else character for character in composed
    )
    return re.sub(" +", " ", spaced).strip()


def made_plain(text: str, fallback: str = UNNAMED) -> str:
    """Return a name made of what a machine says of itself: what may not be in one is left out.

    For names that nobody types: the host's, and those that older machines bring along.
    """
    kept = plain(" ".join(text.split()))
    while (found := first_hidden(kept)) is not None:
        kept = plain(kept.replace(found, ""))
    while kept and unicodedata.category(kept[0]).startswith("M"):
        kept = kept[1:].lstrip()
    return kept[:NAME_CHARACTERS].rstrip() or fallback


def looks_like(one: str, other: str) -> bool:
    """Whether two names could be taken for each other: case, width, accents, like letters."""
    return not _skeletons(one).isdisjoint(_skeletons(other))


def fits(name: str, others: Iterable[str]) -> bool:
    """Whether somebody may be called so beside these, as they are called now."""
    try:
        return checked("name", name, taken=others) == name
    except (Invalid, Conflict):
        return False


def is_called(typed: str, name: str) -> bool:
    """Whether somebody of this name is meant: as it is, or as it is shown."""
    text = plain(typed).casefold()
    return bool(text) and text in {
        plain(name).casefold(),
        visible_line(name).casefold(),
        plain(visible_line(name)).casefold(),
    }


def described(character: str) -> str:
    """Return a character in words: its code point, and what it is."""
    kind = _KINDS.get(unicodedata.category(character), "a character without a name")
    return f"U+{ord(character):04X} ({unicodedata.name(character, kind)})"


@lru_cache(maxsize=1024)
def _skeletons(name: str) -> frozenset[str]:
    """Return what a name looks like, by its small letters and by its capitals."""
    parts = unicodedata.normalize("NFKD", visible_line(plain(name)))
    bare = _MARKS.sub("", parts)
    return frozenset(
        {
            bare.casefold().translate(_LOWER),
            bare.translate(_UPPER).casefold().translate(_LOWER),
        }
    )
