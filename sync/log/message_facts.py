"""What an entry says of words to agents, and of what became of them (`sync.decide.message`)."""

from sync.log.parts import Part


class Recipient(Part, frozen=True, kw_only=True):
    """An agent of the message's project on one machine."""

    node: bytes
    agent: str


class MessageFacts(Part, frozen=True, kw_only=True):
    """Words of `agent`, or of `person`, to the agents of a project that `to` names.

    Whom it is for is settled where it is sent: who comes later does not get it. Whether a
    machine may say it for `person` is judged as of `heads`, like a final.
    """

    number: int
    project: str
    to: list[Recipient]
    agent: str = ""
    session: str = ""
    person: str | None = None
    heads: list[bytes] = []
    everyone: bool = False
    """It went to all agents that were known in the project."""
    reply_to: str | None = None
    """Id of the message it answers."""
    thread: str | None = None
    """Id of the first message of the talk; None: it is the first."""
    at: int


class MessageText(Part, frozen=True, kw_only=True):
    """What is read of a message."""

    body: str
    subject: str = ""


class ReceiptFacts(Part, frozen=True, kw_only=True):
    """What became of messages to this machine: `carried` here, `handed` or `acknowledged`.

    The last two are of one agent, and of the session that got them.
    """

    status: str
    messages: list[str]
    agent: str = ""
    session: str | None = None
    at: int
