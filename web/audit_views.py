"""One line of the audit, as `askmesh audit --json` and the page give it (docs/audit.md).

Names and words are those of people and agents: show them as text, never as anything else.
"""

from typing import Literal

import msgspec

SCHEMA = 1
"""Rises when a field goes or means something else; fields may be added without it."""

Outcome = Literal[
    "waiting", "allowed", "denied", "answered", "declined", "expired", "withdrawn", "unclear",
    "void",
]  # fmt: skip
"""How an ask ended, as one asks for it; `unclear` and `void` cut across the others."""
Only = Literal["decisions", "changes"]


class AuditView(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all that an audit shows."""


class AuditWanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which lines are wanted. Times are Unix milliseconds; `until` is not part of it."""

    since: int | None = None
    until: int | None = None
    agent: str | None = None
    """A name, or a pattern with `*` and `?`."""
    person: str | None = None
    """A name or an id: who voted, or changed something, or was changed."""
    rule: str | None = None
    """A rule's name, or a version of the rules."""
    machine: str | None = None
    """A name, a short or a full id: where it was asked, answered or said."""
    outcome: Outcome | None = None
    only: Only | None = None


class AuditRule(AuditView, frozen=True, kw_only=True):
    """The rule that asked, and the version of the rules it stood in."""

    name: str
    version: str


class AuditVote(AuditView, frozen=True, kw_only=True):
    """One answer, or its taking back."""

    person: str
    person_id: str
    machine: str
    machine_id: str
    session: str | None
    """The signed-in place it was given on; null: of an older askmesh, or not as signed."""
    decision: str
    unclear: bool
    choice: str | None
    """The label of what was chosen; its id where the words were erased."""
    text: str | None
    because: str | None
    at: int
    ruling: str | None
    """What the ask's home said to it; null: nothing so far."""
    in_final: bool
    """Whether it is one of those that the final rests on."""
    uncounted: bool = False
    """An allow that was recorded and adds nothing, whatever its ruling said then."""


class AuditHandover(AuditView, frozen=True, kw_only=True):
    """The hand-over that stands, or why there is none any more."""

    status: str
    session: str | None
    token: int
    reason: str | None
    at: int


class AuditResolved(AuditView, frozen=True, kw_only=True):
    """What the agent says came of it."""

    ok: bool
    text: str | None
    """Null: it said nothing, or it was erased."""
    at: int


class AuditErased(AuditView, frozen=True, kw_only=True):
    """That its words are gone; by nobody, where they were only kept so long."""

    by: str | None
    at: int | None


class AuditAsk(AuditView, frozen=True, kw_only=True):
    """What was asked, who decided, and what came of it."""

    short: str
    kind: str
    title: str | None
    """Null: erased."""
    call: str | None
    """The call in one line, without what a rule hides."""
    agent: str
    session: str
    project: str
    enforced: bool
    rule: AuditRule | None
    needed: int
    role: str | None
    raised: int
    deadline: int | None
    outcome: str | None
    """Null while it is open; `unclear` for what was neither denied nor declined."""
    unclear: bool
    choice: str | None
    reason: str | None
    waited_ms: int | None
    """From raising to closing; null while it is open."""
    became: str
    """A `node.audit.became.Became` value."""
    votes: list[AuditVote]
    more_votes: int
    """Votes beyond those."""
    handover: AuditHandover | None
    resolved: AuditResolved | None
    erased: AuditErased | None


class AuditChange(AuditView, frozen=True, kw_only=True):
    """What was said about the fleet itself; what does not apply is null."""

    person: str | None = None
    person_id: str | None = None
    machine: str | None = None
    machine_id: str | None = None
    role: str | None = None
    name: str | None = None
    """Of rules, or of an outside system."""
    version: str | None = None
    """Of rules."""
    on: bool | None = None
    standing: str | None = None
    reason: str | None = None
    ask: str | None = None
    """Whose words were erased."""


class AuditLine(AuditView, frozen=True, kw_only=True):
    """An ask with all that came of it, or one thing said about the fleet itself."""

    schema: int = SCHEMA
    id: str
    """The ask's full id, or the hash of the entry in hex."""
    at: int
    """When it closed (an open ask: when it was raised), or was said."""
    at_utc: str | None
    """The same as text; null for what is no date."""
    what: str
    """`ask`, or `fleet`, `person`, `rules`, `speaks_for`, `consent`, `member`, `removed`,
    `standing`, `operator`, `erased`."""
    summary: str
    """All of it in one sentence."""
    by: str | None
    """Who decided or said it; null: nobody, as when a deadline passes."""
    by_id: str | None
    machine: str
    """Where that was signed; for what nobody decided, the home of the ask."""
    machine_id: str
    session: str | None
    """The signed-in place it was decided on; null: nobody decided, or not known."""
    ask: AuditAsk | None = None
    change: AuditChange | None = None
    counts: bool = True
    """False for what its author had no right to say: it changed nothing."""
    check: Literal["holds", "disputed", "waits", "fails"]
    """What came of checking it against the log just now."""
    findings: list[str]
    """Why it does not hold, or cannot be told yet."""


class AuditPage(AuditView, frozen=True, kw_only=True):
    """Some lines, the latest first."""

    lines: list[AuditLine]
    more: str | None
    """What to give as `before` for the next ones; null: there are none."""
    findings: list[str]
    """What is wrong with the statements about people and machines, on which all rests."""
