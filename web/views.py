"""What the page and the terminal are shown: plain records, encoded as JSON as they stand.

Times are Unix milliseconds of the node's judging clock; compare them with `State.now`,
never with the viewer's own clock.
"""

from typing import Literal

import msgspec

from web.account_views import BannerView
from web.attention_views import AttentionView
from web.call_views import CallSummary, CallView
from web.card_views import CardView, MadeByView
from web.rules_views import RulesView

Kind = Literal["question", "approval", "note", "done"]


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every view."""


class MachineView(View, frozen=True, kw_only=True):
    """A node by its full id, its short id and its name."""

    id: str
    short: str
    name: str


class OptionView(View, frozen=True, kw_only=True):
    """One choice of a question; `id` is what a vote names."""

    id: str
    label: str
    detail: str = ""


class RuleView(View, frozen=True, kw_only=True):
    """The rule that raised an ask: its name and the version it stood in."""

    name: str
    version: str


class FinalView(View, frozen=True, kw_only=True):
    """How an ask closed."""

    outcome: Literal["allowed", "denied", "answered", "declined", "expired", "withdrawn"]
    at: int
    unclear: bool = False
    """Neither denied nor declined: it went back to the agent as not understood."""
    by: str | None = None
    machine: str | None = None
    """Whose vote closed it, and where; `made_by` has everyone whose vote counted."""
    made_by: list[MadeByView] = []
    choice: str | None = None
    label: str | None = None
    text: str | None = None
    because: str | None = None
    reason: str | None = None


class HandoverView(View, frozen=True, kw_only=True):
    """What became of a final."""

    status: Literal["handed", "void"]
    at: int
    token: int
    session: str | None = None
    lease_until: int | None = None
    reason: str | None = None


class ResolvedView(View, frozen=True, kw_only=True):
    """What the agent says came of it."""

    ok: bool
    text: str
    at: int


class ErasedView(View, frozen=True, kw_only=True):
    """That the words of an ask are gone, from this machine at least."""

    by: str | None
    """The owner who had them erased everywhere; null: they are only kept for so long."""
    at: int | None
    reason: str | None


class AskView(View, frozen=True, kw_only=True):
    """One ask, as a row of the inbox."""

    id: str
    """`<52 characters of the home's id>-<number>`."""
    short: str
    """`k7qf-142`."""
    number: int
    kind: Kind
    title: str
    detail: str
    options: list[OptionView]
    agent: str
    session: str
    project: str
    project_name: str
    branch: str | None
    machine: MachineView
    created: int
    deadline: int | None
    closed: int | None
    rule: RuleView | None
    enforced: bool
    """True: a gate holds the call. False: on the agent's word."""
    fallback: str | None
    call: CallSummary | None
    seen: str
    """Hex SHA-256 of the signed header and signature of the current revision."""
    revision: int
    card: CardView
    final: FinalView | None
    handover: HandoverView | None
    resolved: ResolvedView | None
    read: bool
    """Marked as read (a note or result that was dismissed)."""
    needless: bool = False
    """The viewer marked it as one that need not have been asked."""
    alike: str | None = None
    """Open approvals with the same value ask for the identical call: they can be allowed
    together."""
    needed: int = 1
    """How many people must allow it."""
    counted: int = 0
    """While it is open: how many have."""
    erased: ErasedView | None = None
    """Set where its words cannot be read any more."""


class HistoryLine(View, frozen=True, kw_only=True):
    """One step of an ask's life."""

    at: int
    what: str
    who: str
    text: str = ""


class AskDetail(View, frozen=True, kw_only=True):
    """One ask with its exact call and its history."""

    ask: AskView
    call: CallView | None
    history: list[HistoryLine]


class ChildView(View, frozen=True, kw_only=True):
    """A sub-agent of a session, in the session's own words."""

    name: str
    doing: str


class SessionView(View, frozen=True, kw_only=True):
    """One run of an agent in one project on one node."""

    id: str
    agent: str
    project: str
    project_name: str
    branch: str | None
    machine: MachineView
    last_heard: int
    started: int
    heard: int
    """When this was last known here: for another machine's session, the age of its word."""
    gate: Literal["in_force", "not_seen"]
    """`in_force`: a hook of this session has called the gate."""
    gate_last: int | None
    status: str
    """What the agent last said it is doing; its own words."""
    status_at: int | None = None
    """When it said so."""
    children: list[ChildView] = []
    activity: Literal["active", "quiet", "not_seen", "ended"]
    """How lately it was heard. Silence is told as that: nobody knows why."""
    open_asks: int
    ended: bool


class FleetMachine(View, frozen=True, kw_only=True):
    """One machine of the fleet, as this node sees it. A dead one is a row like any other."""

    machine: MachineView
    here: bool
    """This very node."""
    state: Literal["here", "connected", "away", "never_seen", "removed", "must_rejoin"]
    seen: int | None
    """When it was last known to be running (while connected: now)."""
    seen_by: str | None
    """The machine that was linked to it then."""
    address: str | None
    """Where the link goes to, or where it was last."""
    round_trip_ms: float | None
    behind_us: int
    """Entries it has told of that are not here yet."""
    behind_them: int
    """Entries here that it has not acknowledged."""
    version: str | None
    skew_ms: int | None
    """How far its clock is ahead of ours; None: not known."""
    trouble: str | None
    """Why the last link failed, as a sentence."""
    persons: list[str]
    """Names of the persons this machine speaks for."""
    given: list[str]
    """Addresses that someone gave (`host:port`)."""
    joined: int
    removed: int | None = None
    removed_by: str | None = None
    forked: str | None = None
    """Where its history split in two: that, and what to do, as a sentence."""


class FleetView(View, frozen=True, kw_only=True):
    """The machines, and what stands in the way of finding them."""

    fleet: str
    """Hex id."""
    machines: list[FleetMachine]
    """This one first, then by name; removed ones last."""
    port: int | None
    """Where this node takes links (None: it does not, while it is alone)."""
    mdns: str
    """`on`, `off`, or the sentence why it does not work."""
    removed: str | None
    """On a removed machine: by whom and when, as a sentence."""
    hold: str | None = None
    """On a machine that is on hold: why, and what ends it, as a sentence."""


class PairingView(View, frozen=True, kw_only=True):
    """A code that waits for another machine. The code is shown once, to who made it."""

    id: str
    code: str | None
    qr: list[str] | None = None
    """The QR picture of the code: rows of 0 and 1; the page's side draws it."""
    expires: int
    state: Literal["waiting", "paired", "failed", "expired", "stopped"]
    sentence: str
    """What happened, and what to do next."""
    addresses: list[str]
    """`host:port` to type on the other machine where mDNS does not reach."""
    machine: MachineView | None = None
    """The machine that joined."""


class Offer(View, frozen=True, kw_only=True):
    """A machine near by that shows a code right now."""

    machine: str
    address: str
    """`host:port` of its pairing listener."""


class Consequences(View, frozen=True, kw_only=True):
    """What joining another fleet, or leaving this one, will do to this machine."""

    allowed: bool
    sentences: list[str]
    """What will happen; or why not, and the way out."""


class JoinedView(View, frozen=True, kw_only=True):
    """This machine belongs to another fleet now."""

    machine: MachineView
    """The machine that let it in."""
    machines: int
    raised_again: int
    """Open asks that were raised again in the new fleet."""
    sentence: str


class LeftView(View, frozen=True, kw_only=True):
    """This machine left its fleet, and is one of its own again."""

    fleet: FleetView
    recovery_words: list[str]
    """Of the new fleet; shown once."""


class PrivacyLine(View, frozen=True, kw_only=True):
    """One thing that leaves this machine, derived from the running configuration."""

    what: str
    to: str
    on: bool
    how: str
    """How to switch it off, or why it is off."""


class Counts(View, frozen=True, kw_only=True):
    """One function feeds badge, title, tab and list from these."""

    needs_me: int
    open: int
    unread: int
    """Of the latest thousand notes and results."""


class Me(View, frozen=True, kw_only=True):
    """The signed-in person."""

    person: str
    name: str
    role: str
    session: str


class NodeView(View, frozen=True, kw_only=True):
    """This node."""

    machine: MachineView
    version: str
    started: int


class State(View, frozen=True, kw_only=True):
    """The whole page in one snapshot; later events have numbers above `n`."""

    store_id: str
    n: int
    now: int
    node: NodeView
    me: Me
    asks: list[AskView]
    """All open asks, and the latest closed ones (at most `limits.CLOSED_SHOWN`)."""
    sessions: list[SessionView]
    rules: RulesView | None
    fleet: FleetView
    counts: Counts
    banners: list[str]
    account: BannerView | None = None
    """How the account stands; null: as usual."""
    restored: int | None = None
    """This machine was put back to a copy of that time; null once a person put that away."""
    attention: AttentionView | None = None
    """How the person is called now."""


Topic = Literal[
    "ask", "session", "rules", "people", "node", "fleet", "attention", "message", "board"
]
"""What can change."""


class Change(View, frozen=True, kw_only=True):
    """One numbered event: something named `ref` under `topic` has changed."""

    n: int
    now: int
    topic: Topic
    ref: str
    fleet: FleetView | None = None
    """With topic `fleet`: all machines, as they stand."""
    ask: AskView | None = None
    session: SessionView | None = None
    counts: Counts | None = None


class SessionRow(View, frozen=True, kw_only=True):
    """A signed-in place of a person."""

    id: str
    kind: Literal["page", "terminal"]
    person: str
    name: str
    created: int
    last_used: int
    where: str
    """The browser's or terminal's own words about itself."""
    current: bool


class VoteReceipt(View, frozen=True, kw_only=True):
    """A vote was recorded, and where it stands now."""

    vote: str
    state: str
    """`recorded` while the home has not ruled, `uncounted` for an allow that adds nothing to
    another of its machine, else a `sync.decide.vote.Ruling` value."""
    ask: AskView
