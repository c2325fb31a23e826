"""How an account stands, and what follows from it (issue: who may decide; docs/standing.md).

An account is the whole fleet, or one person of it. Owners say how other persons stand; an
operator (an outside billing or audit system) says it of persons and of the fleet. Each of
them has a word of its own, and the strictest of all that are in force counts.
"""

import re
from collections.abc import Iterable
from enum import Enum

import msgspec

from sync.decide.visible import quoted
from sync.errors import Invalid
from sync.limits import REASON_CHARACTERS, REMEDY_CHARACTERS

PORT_MAX = 65_535
_LINK = re.compile(
    r"https://(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::(?P<port>[0-9]{1,5}))?"
    r"(?:[/?#][A-Za-z0-9/?#@:._~!$&()*+,;=%-]*)?"
)


class Level(Enum):
    """The four ways an account can stand."""

    ACTIVE = "active"
    """Everything is as usual."""
    GRACE = "grace"
    """Everything works; whoever may see to it is told that something has to be settled."""
    ON_HOLD = "on_hold"
    """No answer counts until it is settled."""
    SUSPENDED = "suspended"
    """No answer counts, and nothing is offered to settle it."""


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """What a standing does."""

    severity: int
    """Of several words the one with the highest counts."""
    answers: bool
    """Answers count, and what was allowed is handed over."""
    banner: bool
    remedy: bool
    """Whoever may see to it is shown why, and where."""


EFFECTS: dict[Level, Effect] = {
    Level.ACTIVE: Effect(severity=0, answers=True, banner=False, remedy=False),
    Level.GRACE: Effect(severity=1, answers=True, banner=True, remedy=True),
    Level.ON_HOLD: Effect(severity=2, answers=False, banner=True, remedy=True),
    Level.SUSPENDED: Effect(severity=3, answers=False, banner=True, remedy=False),
}
"""Suspended names no invoice and offers no remedy: there is nothing left to settle here."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What one source says of one account."""

    person: str | None
    """Whose account; None: the whole fleet's."""
    source: bytes
    """The operator's key; empty: the owners."""
    level: Level
    remedy: str | None = None
    reason: str = ""
    serial: int = 0
    """Of an operator's word."""
    by: str | None = None
    """The owner who said it."""
    at: int = 0
    counts: bool = True
    """False: the word of an operator that was removed."""
    heads: tuple[bytes, ...] = ()
    """Hashes of the statements in force; several: siblings, the strictest of them counts."""


def level_of(word: str) -> Level:
    """Return a level; one that only a newer askmesh knows holds answers back."""
    return next((level for level in Level if level.value == word), Level.ON_HOLD)


def severity(said: Said) -> tuple[int, int]:
    """Return by what words are compared: the strictest, and the latest of those."""
    return EFFECTS[said.level].severity, said.at


def strictest(said: Iterable[Said], person: str | None) -> Said | None:
    """Return the word that counts for a person (None: for the fleet alone).

    None: everything is as usual.
    """
    concerning = [one for one in said if one.counts and one.person in (None, person)]
    worst = max(concerning, key=severity, default=None)
    return None if worst is None or worst.level is Level.ACTIVE else worst


def refuses(said: Iterable[Said], person: str | None) -> Said | None:
    """Return the word by which answers of a person do not count; None: they do."""
    worst = strictest(said, person)
    return None if worst is None or EFFECTS[worst.level].answers else worst


def remedy_host(remedy: str) -> str | None:
    """Return the host that a remedy leads to; None where it is no link to be shown.

    Only https, to a plain host: what stands before an @ would look like where it leads to.
    """
    link = _LINK.fullmatch(remedy) if len(remedy) <= REMEDY_CHARACTERS else None
    if link is None or int(link["port"] or 0) > PORT_MAX:
        return None
    return link["host"].lower() + (f":{link['port']}" if link["port"] else "")


def check_words(level: str, remedy: str | None, reason: str) -> Level:
    """Check what is to be said of an account. Raises `Invalid`."""
    known = next((one for one in Level if one.value == level), None)
    if known is None:
        names = ", ".join(in_words(one.value) for one in Level)
        raise Invalid(f"{quoted(level)} is no standing.", hint=f"It is one of: {names}.")
    if remedy is not None and remedy_host(remedy) is None:
        raise Invalid(
            "The remedy is no link that can be shown.",
            hint="It begins with https://, names a host and no user, and is"
            f" at most {REMEDY_CHARACTERS} characters of ASCII long.",
        )
    if len(reason) > REASON_CHARACTERS:
        raise Invalid(f"The reason is longer than {REASON_CHARACTERS} characters.")
    return known


def in_words(level: str) -> str:
    """Return a standing as people read it, of an unknown one too."""
    return level.replace("_", " ")


NO_REACH_OF_SOME = (
    "the account of someone whose allow it needs is on hold; the ask is kept and its deadline runs"
)
"""Why an ask that needs several cannot be allowed now."""

_WHOSE = {True: "This account", False: "Your account"}
_BANNERS: dict[Level, str] = {
    Level.ACTIVE: "",
    Level.GRACE: "{whose} needs attention. Everything works for now.",
    Level.ON_HOLD: "{whose} is on hold: no answer counts until that is settled. Agents can go"
    " on asking, nothing is lost, and deadlines run.",
    Level.SUSPENDED: "{whose} is suspended: no answer counts. Agents can go on asking, and"
    " deadlines run.",
}
_REFUSALS: dict[Level, str] = {
    Level.ON_HOLD: "{whose} is on hold, so nothing can be answered now; nothing was recorded.",
    Level.SUSPENDED: "{whose} is suspended, so nothing can be answered; nothing was recorded.",
}
_CARDS: dict[Level, str] = {
    Level.ON_HOLD: "{whose} is on hold: it cannot be answered until that is settled.",
    Level.SUSPENDED: "{whose} is suspended: it cannot be answered.",
}
_WORDS = {Level.ON_HOLD: "on hold", Level.SUSPENDED: "suspended"}


def banner(said: Said) -> str:
    """Return what stands at the top of everything, for who is concerned."""
    return _BANNERS[said.level].format(whose=_WHOSE[said.person is None])


def refusal(said: Said) -> str:
    """Return why an answer was refused."""
    return _REFUSALS[said.level].format(whose=_WHOSE[said.person is None])


def on_card(level: Level, *, whole: bool) -> str:
    """Return what the card of an open ask says."""
    return _CARDS[level].format(whose=_WHOSE[whole])


def not_handed(level: Level, *, whole: bool, who: str | None) -> str:
    """Return why what was allowed is not handed over; `who` allowed it."""
    whose = "this account" if whole else f"the account of {who or 'who allowed it'}"
    return f"it is not handed over while {whose} is {_WORDS[level]}."


def no_reach(level: Level) -> str:
    """Return why nobody could answer an ask that is raised now."""
    return (
        f"the account is {_WORDS[level]}, so no answer counts now; the ask is kept and its"
        " deadline runs"
    )


def fixed_by(names: Iterable[str]) -> str:
    """Return who can see to it, as told to who cannot."""
    known = sorted(names)
    if not known:
        return "An owner can see what is to be done."
    listed = known[0] if len(known) == 1 else f"{', '.join(known[:-1])} or {known[-1]}"
    return f"{listed} can see what is to be done."
