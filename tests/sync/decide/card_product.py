"""All inputs of a card, each with all that it can be, and combinations of them.

A product of so many is beyond any test: of each, every n-th combination is taken, with a
step that shares no factor with the size, so that all values of all inputs meet.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import gcd, prod
from typing import Any, NamedTuple

import msgspec

from sync.decide.ask import OUTCOMES, AskState, Kind, Outcome
from sync.decide.attention import Attention, Mode
from sync.decide.card_facts import CardFacts
from sync.decide.card_state import HomeState
from sync.decide.handover import Held, Status, Void
from sync.decide.people import Person, Role
from sync.decide.standing import Level
from sync.decide.vote import Ruling
from tests.sync.decide.card_table import AFTER, BEFORE, NOW, RESTORED, opened

Set = Mapping[str, Any]
"""Fields of `CardFacts`."""
VIEWERS: Sequence[Person | None] = (
    None,
    *(Person(id="me", name="Me", role=role) for role in Role),
    Person(id="me", name="Me", role=Role.ADMIN),
    Person(id="me", name="Me", role=Role.OWNER),
    Person(id="me", name="Me", role=Role.OWNER, ended=True),
)


REACHABLE = (HomeState.HERE, HomeState.CONNECTED, HomeState.AWAY, HomeState.NEVER_SEEN)
# What stops an ask stands beside several of what does not: else hardly one would be answerable.


class Case(NamedTuple):
    """One combination."""

    facts: CardFacts
    viewer: Person | None


def each(name: str, *values: object) -> list[Set]:
    return [{name: value} for value in values]


ANYWHERE: list[Sequence[Set]] = [
    each("home", *2 * REACHABLE, *HomeState),
    each("role", None, None, None, "member", "admin", "owner", "of a newer askmesh"),
    each("speaks_here", True, True, True, False),
    each("disputed", *4 * (False,), True),
    each("on_hold", *4 * (None,), RESTORED),
    [
        *8 * ({},),
        {"account": Level.ON_HOLD},
        {"account": Level.ON_HOLD, "account_whole": False},
        {"account": Level.SUSPENDED},
        {"account": Level.SUSPENDED, "account_whole": False},
    ],
    [
        {},
        {"attention": Attention(mode=Mode.ESCALATED)},
        {"attention": Attention(mode=Mode.MUTED), "unheard": True},
        {"attention": Attention(mode=Mode.NOT_SUBSCRIBED)},
        {"attention": Attention(mode=Mode.QUIET)},
    ],
    each("erased", *5 * (None,), "Ann"),
    each("call_here", True, False),
    each("home_seen", None, 20),
]
OWN: Sequence[Set] = (
    {},
    {"own_pending": True},
    {"own_taking_back": True},
    *each("own_refused", Ruling.STALE, Ruling.NOT_ALLOWED, Ruling.ON_HOLD),
)
QUORUM: Sequence[Set] = (
    {},
    {"needed": 2},
    {"needed": 3, "counted": 1},
    {"needed": 2, "counted": 1, "own_counted": True},
    {"needed": 2, "counted": 1, "own_counted": True, "own_beside": "Ann"},
)
OPEN: list[Sequence[Set]] = [
    each("kind", *4 * (Kind.APPROVAL,), *2 * (Kind.QUESTION,), Kind.NOTE, Kind.DONE),
    each("deadline", None, BEFORE, NOW, *3 * (AFTER,)),
    each("own_agent", False, False, True),
    each("read", False, True),
    OWN,
    QUORUM,
    *ANYWHERE,
]
CLOSED: list[Sequence[Set]] = [
    [
        {"kind": kind, "outcome": outcome}
        for kind in (Kind.APPROVAL, Kind.QUESTION)
        for outcome in sorted(OUTCOMES[kind], key=lambda one: one.value)
    ],
    [
        {"state": AskState.CLOSED},
        {"state": AskState.CLOSED, "own_taking_back": True},
        *({"state": AskState.HANDED, "lease": lease} for lease in (BEFORE, AFTER)),
        *({"state": AskState.RESOLVED, "resolved_ok": ok} for ok in (True, False)),
        *({"state": AskState.VOID, "handover_reason": why.value} for why in Void),
    ],
    each("own", "", "made", "with others", "lost", "pending"),
    each("unclear", False, False, True),
    each("use_by", NOW, AFTER),
    each("needed", 1, 2),
    each("resolved_text", "", "It says so itself"),
    each("reason", None, "answered in the chat"),
    each("restored", False, False, True),
    [
        {},
        {},
        {"allow_held": Level.ON_HOLD},
        {"allow_held": Level.SUSPENDED, "allow_held_of": "Ann"},
    ],
    *ANYWHERE,
]


def sampled(inputs: list[Sequence[Set]], count: int) -> Iterator[dict[str, Any]]:
    """Every n-th combination: `count` of them, always the same."""
    size = prod(len(values) for values in inputs)
    step = max(int(size * 0.6180339887), 1)
    while gcd(step, size) != 1:
        step += 1
    for index in range(min(count, size)):
        place, found = index * step % size, dict[str, Any]()
        for values in inputs:
            place, digit = divmod(place, len(values))
            found |= values[digit]
        yield found


def _open(found: dict[str, Any]) -> CardFacts:
    if found["kind"] is not Kind.APPROVAL:
        # Only approvals are counted, or held back from whose agent asks.
        found |= {"own_agent": False, "needed": 1, "counted": 0, "own_counted": False}
        found["own_beside"] = None
    if any(found.get(name) for name in ("own_pending", "own_taking_back", "own_refused")):
        # The viewer's last word is one thing.
        found |= {"own_counted": False, "own_beside": None}
    return opened(**found)


def _closed(found: dict[str, Any]) -> CardFacts:
    lease, own = found.pop("lease", None), found.pop("own")
    outcome = found["outcome"]
    if outcome in (Outcome.EXPIRED, Outcome.WITHDRAWN):
        own = own if own in ("lost", "pending") else ""
        found["unclear"] = False
    else:
        found |= {"closed_by": "Ann", "closed_on": "phone"}
        found["unclear"] = found["unclear"] and outcome in (Outcome.DENIED, Outcome.DECLINED)
    if outcome is not Outcome.ALLOWED:
        found |= {"use_by": None, "allow_held": None, "allow_held_of": None}
    if found["state"] in (AskState.HANDED, AskState.RESOLVED):
        held = Held(session="s", token=1, lease_until=lease or AFTER)
        found |= {"handover": Status.HANDED, "handover_at": 40, "held": held}
    if found["state"] is AskState.VOID:
        found |= {"handover": Status.VOID, "handover_at": 40}
    if own == "made":
        found |= {"closed_by": "Me", "closed_by_viewer": True, "own_made": True}
    found |= {"own_made": own in ("made", "with others"), "own_lost": own == "lost"}
    found["own_pending"] = own == "pending" and not found.get("own_taking_back")
    return opened(closed_at=30, **found)


def _cases(
    inputs: list[Sequence[Set]], build: Callable[[dict[str, Any]], CardFacts], count: int
) -> Iterator[Case]:
    with_viewer: list[Sequence[Set]] = [each("viewer", *VIEWERS), *inputs]
    for found in sampled(with_viewer, count):
        viewer = found.pop("viewer")
        yield Case(build(found), viewer)


def open_cases(count: int) -> Iterator[Case]:
    """What waits."""
    return _cases(OPEN, _open, count)


def closed_cases(count: int) -> Iterator[Case]:
    """What has closed."""
    return _cases(CLOSED, _closed, count)


def without(facts: CardFacts, **more: object) -> CardFacts:
    """The same with some fields changed."""
    return msgspec.structs.replace(facts, **more)
