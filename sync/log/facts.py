"""What each type of entry says: its facts (kept for ever) and its text (erasable).

Both are JSON, stored as received and never written again. Bytes are base64. Unknown
fields are kept in the stored bytes and ignored here, so a newer node's entries still
read. Times are Unix milliseconds of the author's judging clock.
"""

from typing import Any, TypeVar

import msgspec

from sync.errors import BadEntry
from sync.limits import SALT_BYTES
from sync.log.attention_facts import SubscriptionFacts
from sync.log.board_facts import BoardFacts, BoardText
from sync.log.chatter_facts import MarkFacts, NoteFacts, NoteText
from sync.log.kinds import EntryType
from sync.log.message_facts import MessageFacts, MessageText, ReceiptFacts, Recipient
from sync.log.parts import Part, Statement
from sync.log.standing_facts import OperatorFacts, StandingFacts

__all__ = [
    "BoardFacts", "BoardText", "MarkFacts", "MessageFacts", "MessageText", "NoteFacts", "NoteText",
    "OperatorFacts", "Part", "ReceiptFacts", "Recipient", "StandingFacts", "Statement",
]  # fmt: skip
# What other rooms defined; all that is defined here is meant as well.


class RuleReference(Part, frozen=True, kw_only=True):
    """A rule by its name and the version of the rules it stood in."""

    name: str
    version: str


class Quorum(Part, frozen=True, kw_only=True):
    """Who and how many must approve; copied onto the ask when it is raised."""

    needed: int = 1
    role: str | None = None
    not_by: list[str] = []
    """Persons whose allow does not count: those whose agent asks. Their deny does."""


class Option(Part, frozen=True, kw_only=True):
    """One choice; votes name the id, persons read the label."""

    id: str
    label: str
    detail: str = ""


class CallLine(Part, frozen=True, kw_only=True):
    """The call in one line; the exact call is the blob."""

    tool: str
    summary: str
    hidden: int = 0
    """How many arguments stay at home; the blob has markers for them."""


class GenesisFacts(Statement, frozen=True, kw_only=True):
    """The first entry of a fleet."""

    node_key: bytes
    recovery_key: bytes
    machine: str
    certificate: bytes = b""
    """DER; absent in fleets founded before machines could be paired."""


class MemberFacts(Statement, frozen=True, kw_only=True):
    """A node joins the fleet, paired by the author for the person `by`."""

    node_key: bytes
    certificate: bytes
    machine: str
    by: str


class CutPoint(Part, frozen=True, kw_only=True):
    """The last entry of one log that counts (seq 0: none does)."""

    log: int
    seq: int
    hash: bytes


class RemovedFacts(Statement, frozen=True, kw_only=True):
    """A node is removed; entries of it beyond the cut count nowhere.

    A log that `cut` does not name ends at 0. `node` is the author itself when it leaves:
    then the decisions log ends with this very entry.
    """

    node: bytes
    cut: list[CutPoint] = []
    by: str | None = None


class CertificateFacts(Statement, frozen=True, kw_only=True):
    """The author's own certificate (DER), where no other statement carries it.

    `machine`: what it is called from now on, as the person `by` wants it; None: as before.
    """

    certificate: bytes
    machine: str | None = None
    by: str | None = None


class PersonFacts(Statement, frozen=True, kw_only=True):
    """One version of a person.

    `replaces` is the hash of the version it follows, `also` those of its siblings where
    it settles a conflict.
    """

    person: str
    name: str
    role: str
    ended: bool = False
    replaces: bytes | None = None
    also: list[bytes] = []
    by: str | None = None
    recovered: bytes | None = None
    """By the fleet's recovery key (`sync.decide.recovery`): every session is to end."""


class SpeaksForFacts(Statement, frozen=True, kw_only=True):
    """A node may (`on`) or may no longer sign votes of a person."""

    node: bytes
    person: str
    on: bool
    replaces: bytes | None = None
    also: list[bytes] = []
    by: str | None = None


class ConsentFacts(Statement, frozen=True, kw_only=True):
    """The person agrees to one naming of a node (the hash of that `SPEAKS_FOR`)."""

    node: bytes
    person: str
    named: bytes


class RulesFacts(Statement, frozen=True, kw_only=True):
    """One version of the rules; `source_hash` is SHA-256 of the text's `source`."""

    name: str
    version: str
    source_hash: bytes
    replaces: bytes | None = None
    also: list[bytes] = []
    by: str


class RulesText(Part, frozen=True, kw_only=True):
    """The rules as the person wrote them."""

    source: str


class AskFacts(Part, frozen=True, kw_only=True):
    """A question or an approval."""

    number: int
    kind: str
    agent: str
    session: str
    project: str
    created: int
    deadline: int | None = None
    options: list[str] = []
    enforced: bool = False
    rule: RuleReference | None = None
    quorum: Quorum = Quorum()
    call_mac: bytes | None = None
    """HMAC-SHA256 of the canonical call under this entry's salt."""
    blob: bytes | None = None
    """SHA-256 of the salted blob that holds the canonical call."""
    call_size: int = 0
    revision: int = 1
    replaces: bytes | None = None
    contract: str | None = None
    """The version of the words that tell agents when to ask; None: not known."""
    escalate_at: int | None = None
    """From when on it also calls those of the role `escalate_to`."""
    escalate_to: str | None = None


class AskText(Part, frozen=True, kw_only=True):
    """What is read of a question or an approval."""

    title: str
    detail: str = ""
    options: list[Option] = []
    fallback: str | None = None
    branch: str | None = None
    cwd: str = ""
    call: CallLine | None = None


class VoteFacts(Part, frozen=True, kw_only=True):
    """A person's answer. `seen` is the hash of the ask entry that was shown.

    `takes_back` names the votes that a `take_back` takes back: they count no more, even
    where they reach the home after it. `unclear` goes with a deny or a decline: the ask is
    sent back as not understood, and nothing is said about what was asked.
    """

    ask: str
    person: str
    decision: str
    seen: bytes
    choice: str | None = None
    takes_back: list[bytes] = []
    unclear: bool = False
    at: int
    session: str | None = None
    """Which signed-in place it was given on: no secret, and nothing is decided by it."""


class VoteText(Part, frozen=True, kw_only=True):
    """The free words of a vote."""

    text: str | None = None
    because: str | None = None


class RulingFacts(Part, frozen=True, kw_only=True):
    """The home's ruling on the vote whose entry hash is `vote`."""

    ask: str
    vote: bytes
    ruling: str
    counted: int = 0
    needed: int = 1
    at: int


class EmbeddedVote(Part, frozen=True, kw_only=True):
    """A vote inside a final: enough to check its signature again without its log."""

    raw: bytes
    signature: bytes
    facts: bytes


class FinalFacts(Part, frozen=True, kw_only=True):
    """How an ask closed, with everything needed to check it again."""

    ask: str
    seen: bytes
    outcome: str
    unclear: bool = False
    """Denied or declined only because it was not understood."""
    choice: str | None = None
    reason: str | None = None
    rule: RuleReference | None = None
    quorum: Quorum = Quorum()
    votes: list[EmbeddedVote] = []
    people_heads: list[bytes] = []
    use_by: int | None = None
    at: int


class FinalText(Part, frozen=True, kw_only=True):
    """The words that go to the agent and to the card."""

    text: str | None = None
    because: str | None = None
    reason: str | None = None


class HandoverFacts(Part, frozen=True, kw_only=True):
    """What became of the final whose entry hash is `final`."""

    ask: str
    final: bytes
    status: str
    token: int
    session: str | None = None
    reason: str | None = None
    lease_until: int | None = None
    at: int


class ResolvedFacts(Part, frozen=True, kw_only=True):
    """The agent's own word on what came of it."""

    ask: str
    token: int
    ok: bool
    at: int


class ResolvedText(Part, frozen=True, kw_only=True):
    """The outcome in the agent's words."""

    outcome: str = ""


class EntryPoint(Part, frozen=True, kw_only=True):
    """One entry, by its place and its hash."""

    author: bytes
    log: int
    seq: int
    hash: bytes


class RedactedFacts(Part, frozen=True, kw_only=True):
    """The texts of every entry about `ask` are erased, those that are still to come too.

    `entries` are those that its author held, so that they are found even by who cannot read
    what they are about. Whether `by` may say it is judged as of `heads`, like a final.
    """

    ask: str
    entries: list[EntryPoint] = []
    by: str
    heads: list[bytes] = []
    at: int


class RedactedText(Part, frozen=True, kw_only=True):
    """Why, in the owner's words. No erasing takes these."""

    reason: str | None = None


class NoText(Part, frozen=True, kw_only=True):
    """An entry that says all in its facts."""


FACTS: dict[EntryType, type[Part]] = {
    EntryType.GENESIS: GenesisFacts,
    EntryType.PERSON: PersonFacts,
    EntryType.RULES: RulesFacts,
    EntryType.SPEAKS_FOR: SpeaksForFacts,
    EntryType.MEMBER: MemberFacts,
    EntryType.REMOVED: RemovedFacts,
    EntryType.CERTIFICATE: CertificateFacts,
    EntryType.STANDING: StandingFacts,
    EntryType.OPERATOR: OperatorFacts,
    EntryType.CONSENT: ConsentFacts,
    EntryType.ASK: AskFacts,
    EntryType.VOTE: VoteFacts,
    EntryType.RULING: RulingFacts,
    EntryType.FINAL: FinalFacts,
    EntryType.HANDOVER: HandoverFacts,
    EntryType.RESOLVED: ResolvedFacts,
    EntryType.REDACTED: RedactedFacts,
    EntryType.NOTE: NoteFacts,
    EntryType.MARK: MarkFacts,
    EntryType.SUBSCRIPTION: SubscriptionFacts,
    EntryType.MESSAGE: MessageFacts,
    EntryType.RECEIPT: ReceiptFacts,
    EntryType.BOARD: BoardFacts,
}
"""The facts of each type."""

_encode = msgspec.json.Encoder().encode
_decoders: dict[type[Any], msgspec.json.Decoder[Any]] = {}

PartType = TypeVar("PartType", bound=Part)


def pack_facts(facts: Part) -> bytes:
    """Return the bytes of an entry's facts."""
    return _encode(facts)


def pack_text(salt: bytes, text: Part) -> bytes:
    """Return the bytes of an entry's text: the salt, then the JSON."""
    return salt + _encode(text)


def read(kind: type[PartType], data: bytes) -> PartType:
    """Decode facts. Raises `BadEntry` when they are not of this kind."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    try:
        return decoder.decode(data)  # type: ignore[no-any-return]  # decoders are kept untyped
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadEntry(f"An entry's body does not read as {kind.__name__}: {error}") from None


def read_text(kind: type[PartType], text: bytes | None) -> PartType | None:
    """Decode a text; None when it was erased. Raises `BadEntry`."""
    return None if text is None else read(kind, text[SALT_BYTES:])
