"""Every card there is: what leads to it, and exactly what is seen, heard and offered.

The tests of the core, those of the page and docs/states.md use this one table.
"""

from typing import Any, NamedTuple

from sync.decide.ask import AskState, Kind, Outcome
from sync.decide.attention import Attention, Mode
from sync.decide.card_facts import CardFacts
from sync.decide.card_state import CardState, HomeState
from sync.decide.handover import Held, Status, Void
from sync.decide.people import Person, Role
from sync.decide.standing import Level
from sync.decide.verdict import Maker
from sync.decide.vote import Ruling

NOW = 1_000
BEFORE, AFTER = NOW - 1, NOW + 1
ME = Person(id="me", name="Me", role=Role.MEMBER)
LOOKS_ON = Person(id="viv", name="Viv", role=Role.VIEWER)
RESTORED = "box was put back to an older copy, so nothing is decided here until somebody says go."
YES_NO = ("deny", "allow")
ANSWERS = ("answer", "decline")
BACK = ("take_back",)


class Row(NamedTuple):
    """One card; `spoken` follows the words in what a screen reader says."""

    name: str
    facts: CardFacts
    state: CardState
    sign: str
    word: str
    tone: str
    spoken: str
    sentence: str
    actions: tuple[str, ...] = ()
    viewer: Person | None = ME


def opened(**more: object) -> CardFacts:
    """An approval that waits."""
    base = CardFacts(
        kind=Kind.APPROVAL,
        state=AskState.WAITING,
        deadline=AFTER,
        created=10,
        agent="claude",
        machine="box",
        home_seen=20,
        home_seen_by="studio",
    )
    return _with(base, more)


def decided(outcome: Outcome = Outcome.ALLOWED, **more: object) -> CardFacts:
    """One that Ann decided on her phone; nobody has picked that up."""
    voted = outcome not in (Outcome.EXPIRED, Outcome.WITHDRAWN)
    question = outcome in (Outcome.ANSWERED, Outcome.DECLINED)
    closed = opened(
        kind=Kind.QUESTION if question else Kind.APPROVAL,
        state=AskState.CLOSED,
        outcome=outcome,
        closed_at=30,
        closed_by="Ann" if voted else None,
        closed_on="phone" if voted else None,
        use_by=AFTER if outcome is Outcome.ALLOWED else None,
    )
    return _with(closed, more)


def handed(outcome: Outcome = Outcome.ALLOWED, **more: object) -> CardFacts:
    """What the agent has."""
    held = Held(session="s", token=1, lease_until=AFTER)
    given = decided(
        outcome, state=AskState.HANDED, handover=Status.HANDED, handover_at=40, held=held
    )
    return _with(given, more)


def resolved(outcome: Outcome = Outcome.ALLOWED, *, ok: bool, text: str = "") -> CardFacts:
    """What came of it, in the agent's words."""
    return handed(
        outcome, state=AskState.RESOLVED, resolved_ok=ok, resolved_at=50, resolved_text=text
    )


def voided(why: str) -> CardFacts:
    """An allow that nobody had."""
    return decided(state=AskState.VOID, handover=Status.VOID, handover_at=40, handover_reason=why)


def _with(facts: CardFacts, more: dict[str, object]) -> CardFacts:
    unknown = set(more) - set(facts.__struct_fields__)
    assert not unknown, unknown
    return CardFacts(**{name: getattr(facts, name) for name in facts.__struct_fields__} | more)


SILENT = Held(session="s", token=1, lease_until=BEFORE)
MINE: dict[str, Any] = {"closed_by": "Me", "closed_by_viewer": True}
AWAITED = "the machine that asked has not confirmed it"
NOT_TOLD = "the agent has not been told yet"
NEEDS = ("!", "Needs you", "act", "it waits for your answer")
AWAY = ("↓", "Machine away", "warn", "an answer is kept until it is back")
COUNTS = ("+", "Counted", "wait", "your answer counts, and more are needed")
OTHERS = ("○", "For others", "quiet", "you may not answer it")
QUIETER = ("◊", "You may answer", "wait", "it does not call you")
LATE = ("≥", "Deadline passed", "quiet", AWAITED)
GONE = ("░", "Machine removed", "warn", "nothing more will come of it")
SPLIT = ("Y", "Must join again", "warn", "the history of its machine split in two")
HOLD = ("║", "On hold", "warn", "this machine decides nothing for now")
ACCOUNT = ("=", "Account on hold", "warn", "it goes no further until that is settled")
SUSPENDED = ("■", "Account suspended", "warn", "it goes no further")
UNPICKED = ("…", "Allowed, not picked up", "wait", "nothing says that the agent has it")
EXPIRED = ("●", "Expired", "quiet", "the deadline passed before it was decided")
WITHDRAWN = ("▬", "Withdrawn", "quiet", "nobody decided it")
TOO_LATE = ("¬", "Came too late", "warn", "another answer was first, and yours does not count")
NOTHING = ("ø", "Came to nothing", "quiet", "what was decided was never used")
SAID = "what came of it has not been said"

WAITING_ROWS = (
    Row("a note", opened(kind=Kind.NOTE, deadline=None), CardState.POSTED,
        "*", "Note", "quiet", "nobody has to answer it", "A note from claude."),
    Row("a note that was read", opened(kind=Kind.NOTE, deadline=None, read=True),
        CardState.POSTED, "·", "Read", "quiet", "you have put it away", "A note from claude."),
    Row("a result", opened(kind=Kind.DONE, deadline=None), CardState.POSTED,
        "¶", "Result", "good", "finished work, to be read", "A finished result from claude."),
    Row("an approval", opened(), CardState.WAITING, *NEEDS,
        "claude waits for your answer.", YES_NO),
    Row("a question", opened(kind=Kind.QUESTION, deadline=None), CardState.WAITING, *NEEDS,
        "claude waits for your answer.", ANSWERS),
    Row("an approval whose call is not here", opened(call_here=False), CardState.WAITING, *NEEDS,
        "claude waits for your answer. The exact call is still on its way.", ("deny",)),
    Row("one that others allowed too", opened(needed=3, counted=2), CardState.WAITING, *NEEDS,
        "claude waits for your answer. 2 of 3 so far.", YES_NO),
    Row("one that changed", opened(kind=Kind.QUESTION, own_refused=Ruling.STALE),
        CardState.WAITING, *NEEDS, "claude waits for your answer. It has changed since you"
        " answered; that answer does not count.", ANSWERS),
    Row("one answered while on hold", opened(own_refused=Ruling.ON_HOLD), CardState.WAITING,
        *NEEDS, "claude waits for your answer. Your earlier answer came while no answer of the"
        " account counted; answer again.", YES_NO),
    Row("one answered without the right to", opened(own_refused=Ruling.NOT_ALLOWED),
        CardState.WAITING, *NEEDS,
        "claude waits for your answer. box did not accept your earlier answer.", YES_NO),
    Row("one passed on", opened(attention=Attention(mode=Mode.ESCALATED)), CardState.WAITING,
        *NEEDS, "claude waits for your answer. Nobody has answered so far, so it was passed on"
        " to you.", YES_NO),
    Row("one while muted", opened(attention=Attention(mode=Mode.MUTED)), CardState.WAITING,
        *QUIETER, "claude waits for your answer. You are muted, so it does not call you.",
        YES_NO),
    Row("one that calls nobody",
        opened(attention=Attention(mode=Mode.NOT_SUBSCRIBED), unheard=True), CardState.WAITING,
        *QUIETER, "claude waits for your answer. You are not subscribed to this agent, so it"
        " does not call you. Nobody who may answer is called for it now.", YES_NO),
    Row("one of a machine that is away", opened(home=HomeState.AWAY), CardState.AWAY, *AWAY,
        "claude waits for your answer. box is away: an answer is kept until it is back.", YES_NO),
    Row("one of a machine never seen", opened(home=HomeState.NEVER_SEEN), CardState.AWAY, *AWAY,
        "claude waits for your answer. box is away: an answer is kept until it is back.", YES_NO),
    Row("answered on the way", opened(home=HomeState.CONNECTED, own_pending=True),
        CardState.SENDING, "→", "On its way", "wait", f"your answer, and {AWAITED}",
        "Your answer is recorded and on its way to box.", BACK),
    Row("answered, kept", opened(home=HomeState.AWAY, own_pending=True), CardState.KEPT,
        "□", "Kept until it is back", "wait", "your answer, for the machine that asked",
        "Your answer is kept until box is back; claude was not told yet.", BACK),
    Row("taken back, kept", opened(home=HomeState.AWAY, own_taking_back=True),
        CardState.TAKING_BACK, "←", "Taking it back", "wait", AWAITED,
        "You took your answer back; that is kept for box.", YES_NO),
    Row("counted", opened(own_counted=True, needed=2, counted=1), CardState.COUNTED, *COUNTS,
        "Your answer counts: 1 of 2.", BACK),
    Row("beside another on one machine",
        opened(own_counted=True, own_beside="Ann", needed=2, counted=1), CardState.COUNTED,
        "±", "Not counted", "warn", "your answer is recorded beside another one",
        "Your answer is recorded, but Ann allowed it on the same machine, and people on one"
        " machine count as one: 1 of 2. Take it back and allow it on a machine of your own.",
        BACK),
)  # fmt: skip
"""What waits, and for whom it is."""

HELD_ROWS = (
    Row("for a role", opened(role="admin"), CardState.RESTRICTED, *OTHERS,
        "Waiting for someone with the role admin."),
    Row("for others, and some allowed", opened(role="admin", needed=2, counted=1),
        CardState.RESTRICTED, *OTHERS, "Waiting for someone with the role admin. 1 of 2 so far."),
    Row("for others, and nobody is called", opened(unheard=True), CardState.RESTRICTED, *OTHERS,
        "Waiting for someone who may answer. Nobody who may answer is called for it now.",
        viewer=LOOKS_ON),
    Row("in a terminal", opened(), CardState.RESTRICTED,
        "○", "Waiting", "quiet", "for someone who may answer",
        "Waiting for someone who may answer.", viewer=None),
    Row("not from this machine", opened(speaks_here=False), CardState.RESTRICTED,
        "○", "Not from here", "quiet", "this machine does not speak for you",
        "You cannot answer from this machine: it does not speak for you."
        " An owner can say that it does."),
    Row("of one's own agent", opened(own_agent=True), CardState.RESTRICTED,
        "○", "For others to allow", "quiet", "your own agent asks it",
        "Your own agent asks this, so it is for someone else to allow it. You may deny it.",
        ("deny",)),
    Row("erased", opened(erased="Ann"), CardState.RESTRICTED,
        "○", "Text erased", "quiet", "nobody can answer it",
        "Its text was erased by Ann, so nobody can answer it; box has not withdrawn it yet."),
    Row("past its deadline", opened(deadline=NOW), CardState.DEADLINE_PASSED, *LATE,
        "The deadline has passed here; box has not confirmed it."),
    Row("past its deadline, answered", opened(deadline=NOW, own_pending=True),
        CardState.DEADLINE_PASSED, *LATE, "The deadline has passed here; box has not confirmed"
        " it. It decides whether your answer came in time."),
    Row("of a removed machine", opened(home=HomeState.REMOVED, home_seen_by="Ann"),
        CardState.MACHINE_REMOVED, *GONE,
        "claude waited here. box was removed by Ann, so nothing more will come of it."),
    Row("of a machine that split", opened(home=HomeState.MUST_REJOIN), CardState.MUST_REJOIN,
        *SPLIT, "claude waited here. box must join again: its history split in two."),
    Row("on a restored machine", opened(on_hold=RESTORED), CardState.ON_HOLD, *HOLD, RESTORED),
    Row("account on hold", opened(account=Level.ON_HOLD), CardState.ACCOUNT_ON_HOLD, *ACCOUNT,
        "This account is on hold: it cannot be answered until that is settled."),
    Row("own account on hold, answered",
        opened(account=Level.ON_HOLD, account_whole=False, own_pending=True),
        CardState.ACCOUNT_ON_HOLD, *ACCOUNT, "Your account is on hold: it cannot be answered"
        " until that is settled. Your answer does not count if it is still so when it arrives."),
    Row("account suspended", opened(account=Level.SUSPENDED), CardState.SUSPENDED, *SUSPENDED,
        "This account is suspended: it cannot be answered."),
)  # fmt: skip
"""What waits, and cannot go on here."""

CLOSED_ROWS = (
    Row("answered here", decided(Outcome.ANSWERED, answer_label="blue", **MINE),
        CardState.ANSWERED_HERE, "⌂", "Answered, not picked up", "wait", NOT_TOLD,
        "Answered “blue” by you on phone; claude has not been told yet.", BACK),
    Row("denied here", decided(Outcome.DENIED, **MINE), CardState.ANSWERED_HERE,
        "⌂", "Denied, not picked up", "wait", NOT_TOLD,
        "Denied by you on phone; claude has not been told yet.", BACK),
    Row("denied here, account on hold",
        decided(Outcome.DENIED, account=Level.ON_HOLD, **MINE), CardState.ANSWERED_HERE,
        "⌂", "Denied, not picked up", "wait", NOT_TOLD,
        "Denied by you on phone; claude has not been told yet."),
    Row("answered elsewhere", decided(Outcome.DECLINED), CardState.ANSWERED_ELSEWHERE,
        "»", "Declined, not picked up", "wait", NOT_TOLD,
        "Declined by Ann on phone; claude has not been told yet."),
    Row("unclear", decided(Outcome.DENIED, unclear=True), CardState.UNCLEAR,
        "~", "Sent back as unclear", "wait", NOT_TOLD,
        "Sent back as unclear by Ann on phone; claude has not been told yet."),
    Row("lost", decided(Outcome.DENIED, own_lost=True), CardState.LOST, *TOO_LATE,
        "Denied by Ann on phone first; your answer came later and does not count."),
    Row("allowed", decided(), CardState.NOT_PICKED_UP, *UNPICKED,
        "Allowed by Ann on phone; claude has not picked it up yet."),
    Row("allowed with others",
        decided(own_made=True, also_by=(Maker(name="Me", machine="box", viewer=True),)),
        CardState.NOT_PICKED_UP, *UNPICKED, "Allowed by you on box and Ann on phone; claude has"
        " not picked it up yet.", BACK),
    Row("allowed by others",
        decided(also_by=(Maker(name="Cid", machine="box"), Maker(name="Dee", machine="tower"))),
        CardState.NOT_PICKED_UP, *UNPICKED, "Allowed by Cid on box, Dee on tower and Ann on"
        " phone; claude has not picked it up yet."),
    Row("allowed, too old here, and not heard of",
        decided(home=HomeState.AWAY, use_by=NOW), CardState.NOT_PICKED_UP, *UNPICKED,
        "Allowed by Ann on phone; the time to use it has passed here, and box has not said"
        " whether claude picked it up."),
    Row("allowed, taken back on the way", decided(own_taking_back=True, **MINE),
        CardState.TAKING_BACK, "←", "Taking it back", "wait", AWAITED,
        "Allowed by you on phone; you took it back. That counts unless claude has it by the time"
        " box hears of it."),
    Row("allowed on a restored machine", decided(on_hold=RESTORED), CardState.ON_HOLD, *HOLD,
        f"Allowed by Ann on phone. {RESTORED}"),
    Row("allowed, account on hold", decided(allow_held=Level.ON_HOLD, **MINE),
        CardState.ACCOUNT_ON_HOLD, *ACCOUNT, "Allowed by you on phone; it is not handed over"
        " while this account is on hold."),
    Row("allowed, account of who did suspended",
        decided(allow_held=Level.SUSPENDED, allow_held_of="Ann"), CardState.SUSPENDED,
        *SUSPENDED, "Allowed by Ann on phone; it is not handed over while the account of Ann is"
        " suspended."),
    Row("disputed", decided(disputed=True), CardState.DISPUTED,
        "≠", "Disputed", "warn", "another copy of its machine may say otherwise",
        "Allowed by Ann on phone, but this is disputed: the history of box had split in two by"
        " then, and another copy of it may say otherwise."),
    Row("allowed by a removed machine", decided(home=HomeState.REMOVED),
        CardState.MACHINE_REMOVED, *GONE, "Allowed by Ann on phone. box was removed by studio,"
        " so nothing more will come of it."),
    Row("expired", decided(Outcome.EXPIRED), CardState.EXPIRED, *EXPIRED,
        "The deadline passed; nobody answered in time."),
    Row("expired before enough allowed", decided(Outcome.EXPIRED, needed=2), CardState.EXPIRED,
        *EXPIRED, "The deadline passed before 2 people had allowed it."),
    Row("expired before one's answer", decided(Outcome.EXPIRED, own_lost=True),
        CardState.EXPIRED, *EXPIRED, "The deadline passed; your answer came after it."),
    Row("withdrawn", decided(Outcome.WITHDRAWN, reason="answered in the terminal"),
        CardState.WITHDRAWN, *WITHDRAWN, "Withdrawn by claude: answered in the terminal"),
    Row("withdrawn before one's answer", decided(Outcome.WITHDRAWN, own_lost=True),
        CardState.WITHDRAWN, *WITHDRAWN,
        "Withdrawn by claude. Your answer came later and does not count."),
    Row("withdrawn by its restored machine", decided(Outcome.WITHDRAWN, restored=True),
        CardState.WITHDRAWN, *WITHDRAWN,
        "Withdrawn: box was put back to an older copy since it was asked."),
    Row("withdrawn as erased",
        decided(Outcome.WITHDRAWN, withdrawn_by_home=True, erased="Ann",
            reason=f"{Void.ERASED.value} by Ann"),
        CardState.WITHDRAWN, *WITHDRAWN, f"Withdrawn: {Void.ERASED.value} by Ann"),
    Row("withdrawn by its machine",
        decided(Outcome.WITHDRAWN, withdrawn_by_home=True, reason="the recovery words were used"),
        CardState.WITHDRAWN, *WITHDRAWN, "Withdrawn: the recovery words were used"),
    Row("withdrawn by an agent that speaks as its machine would",
        decided(Outcome.WITHDRAWN, erased="Ann", reason=f"{Void.ERASED.value} by Bob"),
        CardState.WITHDRAWN, *WITHDRAWN, f"Withdrawn by claude: {Void.ERASED.value} by Bob"),
)  # fmt: skip
"""What was decided, or never will be."""

AFTER_ROWS = (
    Row("handed over", handed(), CardState.HANDED, "►", "Allowed, agent has it", "good", SAID,
        "Allowed by Ann on phone. claude has it."),
    Row("told of a no", handed(Outcome.DENIED), CardState.HANDED,
        "►", "Denied, agent has it", "bad", SAID, "Denied by Ann on phone. claude has it."),
    Row("told that it is unclear", handed(Outcome.DENIED, unclear=True), CardState.HANDED,
        "►", "Unclear, agent has it", "quiet", SAID,
        "Sent back as unclear by Ann on phone. claude has it."),
    Row("handed over, one's own later",
        handed(Outcome.ANSWERED, answer_label="blue", own_lost=True), CardState.HANDED,
        "►", "Answered, agent has it", "good", SAID,
        "Answered “blue” by Ann on phone. claude has it. Your answer came later and does not"
        " count."),
    Row("not seen since", handed(home=HomeState.AWAY, held=SILENT), CardState.NOT_SEEN,
        "¿", "Machine not seen since", "warn", "what came of it is not known here",
        "Allowed by Ann on phone. claude took it; box was not seen since, so what came of it is"
        " not known here."),
    Row("silent", handed(held=SILENT), CardState.OUTCOME_UNKNOWN,
        "?", "Outcome unknown", "warn", "the agent took it and fell silent",
        "Allowed by Ann on phone. claude took it and has been silent since: whether the call ran"
        " is unknown. Running it needs a new ask."),
    Row("handed over by a machine that split", handed(home=HomeState.MUST_REJOIN),
        CardState.MUST_REJOIN, *SPLIT, "Allowed by Ann on phone; claude has it. box must join"
        " again: its history split in two."),
    Row("done", resolved(ok=True, text="42 tests passed"), CardState.DONE,
        "√", "Done", "good", "the agent says that it worked",
        "Allowed by Ann on phone. Done: 42 tests passed"),
    Row("failed", resolved(ok=False), CardState.DONE,
        "X", "Failed", "bad", "the agent says that it did not work",
        "Allowed by Ann on phone. Failed"),
    Row("done without", resolved(Outcome.DECLINED, ok=True, text="took the default"),
        CardState.DONE, "√", "Declined, agent is done", "quiet", "the agent says that it worked",
        "Declined by Ann on phone. Done: took the default"),
    Row("taken back", voided(Void.TAKEN_BACK.value), CardState.TAKEN_BACK,
        "◄", "Taken back", "quiet", "before the agent had it",
        "Allowed by Ann on phone, then taken back before it was used."),
    Row("too old", voided(Void.USE_BY.value), CardState.VOID, *NOTHING,
        "Allowed by Ann on phone, but claude did not come back for it in time."),
    Row("too old, and not swept", decided(use_by=NOW), CardState.VOID, *NOTHING,
        "Allowed by Ann on phone, but claude did not come back for it in time."),
    Row("rules tightened", voided(Void.RULES.value), CardState.VOID, *NOTHING,
        f"Allowed by Ann on phone, but it came to nothing: {Void.RULES.value}."),
    Row("restored", voided(Void.RESTORED.value), CardState.VOID, *NOTHING,
        "Allowed by Ann on phone, but box was put back to an older copy: it is void."),
)  # fmt: skip
"""What became of it."""

ROWS = (*WAITING_ROWS, *HELD_ROWS, *CLOSED_ROWS, *AFTER_ROWS)
