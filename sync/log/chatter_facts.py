"""What an entry says of what is only read, and of how a person marked a row."""

from sync.log.parts import Part


class NoteFacts(Part, frozen=True, kw_only=True):
    """A note or a finished result."""

    number: int
    kind: str
    agent: str
    session: str
    project: str
    created: int
    contract: str | None = None
    """As in `AskFacts`."""


class NoteText(Part, frozen=True, kw_only=True):
    """What is read of a note or a result."""

    title: str
    detail: str = ""
    branch: str | None = None
    cwd: str = ""


class MarkFacts(Part, frozen=True, kw_only=True):
    """A person marked a row as read or unread; or as one that need not have been asked.

    Where `needless` is given it says that alone: `read` is then what stood before, for
    machines that know no other mark.
    """

    ask: str
    person: str
    read: bool
    needless: bool | None = None
    at: int
