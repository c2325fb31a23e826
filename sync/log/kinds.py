"""The table of entry types and of logs. Numbers are for ever: never reuse one."""

from enum import IntEnum


class Log(IntEnum):
    """Which of a node's two logs an entry stands in."""

    DECISIONS = 0
    """Membership, rules, questions, approvals, votes, finals, hand-overs."""
    CHATTER = 1
    """Notes, results, boards, messages, marks: may be dropped by age."""


class EntryType(IntEnum):
    """What an entry says. Types not listed here are stored and relayed, not applied."""

    GENESIS = 1
    """A fleet begins: first node, its key, the recovery key."""
    PERSON = 2
    """A version of one person: name, role, whether ended."""
    RULES = 3
    """A version of the rules."""
    SPEAKS_FOR = 4
    """A node may sign votes of a person, from here on or no longer."""
    MEMBER = 5
    """A node joins the fleet: its key and its certificate."""
    REMOVED = 6
    """A node is removed, or has left: the last entries of it that count."""
    CERTIFICATE = 7
    """A node states its own certificate."""
    STANDING = 8
    """How the account stands, for all or for one person: whether answers count."""
    OPERATOR = 9
    """An outside system's key may say how the account stands, or no longer."""
    CONSENT = 10
    """A person agrees, from a node of theirs, to another one that an owner named as theirs."""
    ASK = 16
    """A question or an approval, or a new revision of a question."""
    VOTE = 17
    """A person's answer, or its taking back."""
    RULING = 18
    """The home's answer to one vote."""
    FINAL = 19
    """How an ask closed: at most one, ever."""
    HANDOVER = 20
    """What became of a final."""
    RESOLVED = 21
    """What the agent says came of it."""
    REDACTED = 22
    """An owner has the text of an ask erased, everywhere and for good."""
    NOTE = 64
    """A note or a finished result."""
    MARK = 65
    """A person's read mark on a row."""
    SUBSCRIPTION = 66
    """What a person wants to be called for, and when not."""
    MESSAGE = 67
    """Words from an agent or a person to agents: nobody's answer."""
    RECEIPT = 68
    """What became of messages on the machine they went to."""
    BOARD = 69
    """Cells of a board, or of one row of it, are set."""


STATEMENTS = frozenset(
    {
        EntryType.GENESIS,
        EntryType.PERSON,
        EntryType.RULES,
        EntryType.SPEAKS_FOR,
        EntryType.MEMBER,
        EntryType.REMOVED,
        EntryType.CERTIFICATE,
        EntryType.STANDING,
        EntryType.OPERATOR,
        EntryType.CONSENT,
    }
)
"""Who belongs to the fleet and what they may do: settled as one set
(`sync.decide.membership`), each signature of them checked."""

ACCOUNTS = frozenset({EntryType.STANDING, EntryType.OPERATOR})
"""Statements by which any card may say something else."""

CHATTER_FROM = 64
"""Types from here on belong to the chatter log."""


def log_of(entry_type: int) -> Log:
    """Return the log an entry of this type must stand in."""
    return Log.CHATTER if entry_type >= CHATTER_FROM else Log.DECISIONS
