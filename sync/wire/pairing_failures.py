"""Why two machines were not paired: what happened, what it means, what to do."""

from enum import Enum

from sync.errors import PairingFailed


class Why(Enum):
    """What ended it. The values go over the line in refusals."""

    WRONG = "wrong"
    """The code is another one, or somebody stands in between."""
    STRANGER = "stranger"
    """Who answers does not know the code, or shows a key that is not its own."""
    VERSION = "version"
    """No protocol that both speak."""
    NOT_ALONE = "not_alone"
    """The joining machine has a fleet with other members."""
    ALREADY = "already"
    """Both are in one fleet."""
    REMOVED = "removed"
    """The joining machine was removed from that fleet, or left it."""
    ITSELF = "itself"
    """A machine was to be paired with itself."""
    REFUSED = "refused"
    """The node said no; its sentence may go with it."""
    NOT_STORED = "not_stored"
    """The joining machine could not store it."""
    UNREADABLE = "unreadable"
    """A message that is not one."""
    SLOW = "slow"
    """No message in time."""
    CLOSED = "closed"
    """The connection ended in the middle."""
    UNREACHED = "unreached"
    """No connection came about, for a reason told beside it."""
    BUSY = "busy"
    """It broke off before it said anything."""
    NOBODY = "nobody"
    """Nothing waits for a code there."""
    EXPIRED = "expired"
    """Nobody used the code in time."""


_AGAIN = "Show a new code on the other machine and try again."
_NEW = "Make a new code when you are ready; this one is used up."

AT_JOINER = {
    Why.WRONG: (
        (
            "The other machine did not accept the code: it is another code, or someone interfered."
            " The code is used up, and nothing was stored."
        ),
        _AGAIN,
    ),
    Why.STRANGER: (
        (
            "What answers at {where} does not know the code: it is another machine, or someone"
            " stands in between. Nothing was stored."
        ),
        "Check the address. If this happens again, use another network.",
    ),
    Why.VERSION: (
        (
            "The other machine's askmesh and this one do not understand each other (its version:"
            " {version}). Nothing was stored."
        ),
        "Bring the older of the two up to date, then try again with a new code.",
    ),
    Why.NOT_ALONE: (
        "This machine belongs to a fleet with other machines, so it cannot join another one.",
        "Leave that fleet first: askmesh node leave.",
    ),
    Why.ALREADY: (
        "{machine} and this machine are in one fleet already. Nothing was changed.",
        "If they do not connect, give the address: askmesh node address add NAME HOST:PORT.",
    ),
    Why.REMOVED: (
        (
            "This machine was removed from that fleet, or left it, and that stands for good: its"
            " key is not let in again."
        ),
        "Begin anew here with an empty directory (ASKMESH_HOME), and join from there.",
    ),
    Why.ITSELF: (
        "This is the code of this very machine.",
        "Type it on the machine that is to join.",
    ),
    Why.REFUSED: (
        "The other machine refused, although the code was right. Nothing was stored here.",
        "Look at its screen for the reason, then try again with a new code.",
    ),
    Why.NOT_STORED: (
        "This machine could not store it, so it did not join.",
        _AGAIN,
    ),
    Why.UNREADABLE: (
        "What answers at {where} does not speak as askmesh does. Nothing was stored.",
        "Check the address that the other machine shows beside its code.",
    ),
    Why.SLOW: (
        "The other machine stopped answering. This machine is not paired.",
        "Its code may be used up: look at its screen, and try again with a new code.",
    ),
    Why.CLOSED: (
        "The other machine broke off. This machine is not paired.",
        "Its code may be used up: look at its screen, and try again with a new code.",
    ),
    Why.UNREACHED: (
        "{reason}",
        (
            "Check the address that the other machine shows beside its code, and that both are on"
            " one network."
        ),
    ),
    Why.BUSY: (
        (
            "{where} broke off before it said anything: it is pairing with another machine, or was"
            " tried too often within a minute."
        ),
        "Wait a minute. If its code is still shown then, type it again.",
    ),
    Why.NOBODY: (
        (
            "Nothing waits for a code at {where}: the code was used, was withdrawn or has run out"
            " (they last ten minutes), or this is the wrong address."
        ),
        _AGAIN,
    ),
}
AT_MINTER = {
    Why.WRONG: (
        "Pairing failed: a wrong code was typed, or someone interfered. Nothing was stored.",
        _NEW,
    ),
    Why.STRANGER: (
        (
            "Pairing failed: {machine} could not show that the key it names is its own. Nothing was"
            " stored."
        ),
        _NEW,
    ),
    Why.VERSION: (
        (
            "Pairing failed: the other machine's askmesh and this one do not understand each other"
            " (its version: {version}). Nothing was stored."
        ),
        "Bring the older of the two up to date, then make a new code.",
    ),
    Why.NOT_ALONE: (
        "Pairing failed: {machine} belongs to a fleet with other machines.",
        "It must leave that fleet first (there: askmesh node leave); then make a new code.",
    ),
    Why.ALREADY: (
        "{machine} is in this fleet already.",
        "Nothing is to be paired. If it is away: askmesh node address add NAME HOST:PORT.",
    ),
    Why.REMOVED: (
        (
            "Pairing failed: {machine} was removed from this fleet, or left it, and that stands"
            " for good: its key is not let in again."
        ),
        (
            "There, begin anew with an empty directory (ASKMESH_HOME); then it can join by a new"
            " code, as a new machine."
        ),
    ),
    Why.ITSELF: ("Pairing failed: the code was typed on this very machine.", _NEW),
    Why.REFUSED: ("Pairing failed: it was not allowed when {machine} had proved itself.", _NEW),
    Why.NOT_STORED: (
        "{machine} was let in, but it could not store that.",
        "Try again with a new code; until then it stands here as never seen.",
    ),
    Why.UNREADABLE: ("Pairing failed: the other machine sent what does not read.", _NEW),
    Why.SLOW: ("Pairing failed: the other machine stopped answering.", _NEW),
    Why.CLOSED: ("Pairing failed: the other machine broke off.", _NEW),
    Why.EXPIRED: ("Nobody used the code within ten minutes, so it has run out.", "Make a new one."),
}


class _Words(dict[str, str]):
    """What is put into a sentence; what is not known is left general."""

    def __missing__(self, name: str) -> str:
        return {"machine": "the other machine", "where": "that address"}.get(name, "not known")


def at_joiner(why: Why, **words: str) -> PairingFailed:
    """Return the error for the machine on which the code was typed."""
    sentence, hint = AT_JOINER.get(why, AT_JOINER[Why.REFUSED])
    return PairingFailed(_capital(sentence.format_map(_Words(words))), hint=hint)


def at_minter(why: Why, **words: str) -> PairingFailed:
    """Return the error for the machine that shows the code."""
    sentence, hint = AT_MINTER.get(why, AT_MINTER[Why.REFUSED])
    return PairingFailed(_capital(sentence.format_map(_Words(words))), hint=hint)


class NotLetIn(PairingFailed):
    """The node does not let a proved machine in, for a reason that both sides have words for."""

    code = "not_let_in"

    def __init__(self, why: Why, *, machine: str) -> None:
        said = at_minter(why, machine=machine)
        super().__init__(said.sentence, hint=said.hint)
        self.why = why


def why_of(reason: str) -> Why:
    """Return what a refusal means; a word of a newer askmesh is a plain refusal."""
    try:
        return Why(reason)
    except ValueError:
        return Why.REFUSED


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
