"""The card: a sentence for every combination, and no button that is certain to be refused."""

from itertools import product

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.decide.ask import DECIDED, OUTCOMES, STEPS, AskState, Kind, Outcome
from sync.decide.card import card
from sync.decide.card_facts import CardFacts
from sync.decide.card_state import EITHER_STATES, GONE, OPEN_STATES, CardState, HomeState
from sync.decide.final import rule
from sync.decide.handover import Held, Status, Void
from sync.decide.people import Person, Role
from sync.decide.vote import DECISIONS, Decision, Ruling, Vote, check_ballot
from sync.errors import Invalid
from tests.sync.decide.votes import SEEN, a_person, an_ask

ANSWERED = [Kind.QUESTION, Kind.APPROVAL]
NOW = 1_000
VIEWERS = [
    None,
    *(a_person("me", role) for role in Role),
    a_person("me", Role.OWNER, ended=True),
]
ROLES = [None, "member", "admin", "owner", "of a newer askmesh"]
DEADLINES = [None, NOW - 1, NOW, NOW + 1]
OWN = ["nothing", "pending", "counted", "lost"]
BEFORE, AFTER = NOW - 1, NOW + 1


def opened(kind: Kind, own: str, role: str | None, deadline: int | None) -> CardFacts:
    return CardFacts(
        kind=kind,
        state=AskState.WAITING,
        deadline=deadline,
        created=1,
        agent="claude",
        machine="box",
        role=role,
        own_pending=own == "pending",
        own_counted=own == "counted",
        own_lost=own == "lost",
        needed=2 if own == "counted" else 1,
        counted=1 if own == "counted" else 0,
    )


def closings() -> list[CardFacts]:
    """Every reachable combination after a final, as far as the card looks at it."""
    found = []
    for kind, mine, lost, use_by in product(ANSWERED, (True, False), (True, False), (NOW, AFTER)):
        for outcome, state in product(OUTCOMES[kind], AskState):
            if state is AskState.WAITING:
                continue
            by_vote = outcome not in (Outcome.EXPIRED, Outcome.WITHDRAWN)
            base = opened(kind, "lost" if lost else "nothing", None, AFTER)
            closed = msgspec.structs.replace(
                base,
                state=state,
                outcome=outcome,
                closed_at=5,
                closed_by="Me" if mine and by_vote else "Ann" if by_vote else None,
                closed_by_viewer=mine and by_vote,
                closed_on="box" if by_vote else None,
                use_by=use_by if by_vote and kind is Kind.APPROVAL else None,
            )
            found += after(closed)
            if outcome in (Outcome.DENIED, Outcome.DECLINED):
                found += after(msgspec.structs.replace(closed, unclear=True))
    return found


def after(closed: CardFacts) -> list[CardFacts]:
    """What can have become of a final."""
    if closed.state is AskState.CLOSED:
        return [closed]
    if closed.state is AskState.VOID:
        return [
            msgspec.structs.replace(
                closed, handover=Status.VOID, handover_at=6, handover_reason=why.value
            )
            for why in Void
        ]
    handed = [
        msgspec.structs.replace(
            closed,
            handover=Status.HANDED,
            handover_at=6,
            held=Held(session="s", token=1, lease_until=lease),
        )
        for lease in (NOW, AFTER)
    ]
    if closed.state is AskState.HANDED:
        return handed
    return [
        msgspec.structs.replace(one, resolved_ok=ok, resolved_at=7, resolved_text=text)
        for one in handed
        for ok, text in ((True, ""), (False, "broke"))
    ]


def ruled(facts: CardFacts, viewer: Person, action: str) -> tuple[Ruling, bool]:
    """What the home would rule if this button were pressed right now."""
    decision = Decision(action)
    choice = "1" if decision is Decision.ANSWER else None
    check_ballot(
        facts.kind, decision=decision, options=["1", "2"], choice=choice, text=None, because=None
    )
    before = min(DECISIONS[facts.kind], key=lambda item: item.value)
    mine = Vote(hash=b"mine", node=b"n1", person=viewer.id, decision=before, seen=SEEN)
    voted = facts.own_pending or facts.own_counted or facts.closed_by_viewer
    verdict = rule(
        an_ask(
            facts.kind,
            needed=facts.needed,
            role=facts.role,
            deadline=facts.deadline,
            state=facts.state,
        ),
        msgspec.structs.replace(mine, hash=b"new", decision=decision, choice=choice),
        earlier=[mine] if voted else [],
        person=viewer,
        speaks_for=True,
        final_by=[b"mine"] if facts.closed_by_viewer else [],
        now=NOW,
    )
    return verdict.ruling, verdict.voids


def check_buttons(facts: CardFacts, viewer: Person | None) -> None:
    shown = card(facts, viewer, NOW)
    assert len(set(shown.actions)) == len(shown.actions)
    assert viewer is not None or shown.actions == ()
    for action in shown.actions:
        assert viewer is not None
        ruling, voids = ruled(facts, viewer, action)
        assert ruling in (Ruling.ACCEPTED, Ruling.COUNTED, Ruling.TAKEN_BACK), (facts, viewer)
        if not shown.open:
            assert voids, "a button on a closed card that would change nothing"


@pytest.mark.parametrize("viewer", VIEWERS, ids=str)
@pytest.mark.parametrize("kind", ANSWERED)
def test_no_button_on_an_open_card_would_be_refused(kind: Kind, viewer: Person | None) -> None:
    for own, role, deadline in product(OWN, ROLES, DEADLINES):
        facts = opened(kind, own, role, deadline)
        check_buttons(facts, viewer)
        shown = card(facts, viewer, NOW)
        assert shown.open
        assert shown.state in OPEN_STATES
        assert shown.needs_me == (shown.state is CardState.WAITING)


@pytest.mark.parametrize("viewer", VIEWERS, ids=str)
def test_no_button_on_a_closed_card_would_be_refused(viewer: Person | None) -> None:
    for facts, role in product(closings(), ROLES):
        check_buttons(msgspec.structs.replace(facts, role=role), viewer)


def test_every_closed_combination_has_its_card() -> None:
    shown = [card(facts, VIEWERS[1], NOW) for facts in closings()]
    for one in shown:
        assert not one.open
        assert one.state not in OPEN_STATES
        assert one.sentence
        assert "None" not in one.sentence
        assert one.since > 0
    of_other_machines = EITHER_STATES | {CardState.NOT_SEEN, CardState.DISPUTED}
    found = {one.state for one in shown}
    assert found == set(CardState) - OPEN_STATES - of_other_machines - {CardState.POSTED}


@pytest.mark.parametrize("kind", [Kind.NOTE, Kind.DONE])
def test_what_is_only_read_has_no_buttons(kind: Kind) -> None:
    for viewer in VIEWERS:
        shown = card(opened(kind, "nothing", None, None), viewer, NOW)
        assert (shown.state, shown.actions, shown.open) == (CardState.POSTED, (), False)


def test_who_may_answer_sees_the_buttons_and_nobody_else() -> None:
    for kind, viewer in product(ANSWERED, VIEWERS):
        shown = card(opened(kind, "nothing", None, AFTER), viewer, NOW)
        may = viewer is not None and not viewer.ended and viewer.role is not Role.VIEWER
        expected = {
            Kind.APPROVAL: ("deny", "allow"),
            Kind.QUESTION: ("answer", "decline"),
        }[kind]
        assert shown.actions == (expected if may else ())
        assert shown.state is (CardState.WAITING if may else CardState.RESTRICTED)


def test_ones_own_verdict_beats_its_echo() -> None:
    sending = card(opened(Kind.APPROVAL, "pending", None, AFTER), VIEWERS[1], NOW)
    assert (sending.state, sending.actions) == (CardState.SENDING, ("take_back",))
    counted = card(opened(Kind.APPROVAL, "counted", None, AFTER), VIEWERS[1], NOW)
    assert (counted.state, counted.actions) == (CardState.COUNTED, ("take_back",))
    assert "1 of 2" in counted.sentence


def test_only_an_unknown_outcome_of_the_closed_cards_needs_a_person() -> None:
    for facts in closings():
        shown = card(facts, VIEWERS[1], NOW)
        unknown = (
            facts.kind is Kind.APPROVAL
            and facts.state is AskState.HANDED
            and facts.outcome is Outcome.ALLOWED
            and facts.held is not None
            and facts.held.lease_until <= NOW
        )
        assert not shown.needs_me
        assert (shown.state is CardState.OUTCOME_UNKNOWN) is unknown


def test_expired_is_nobodys_denial() -> None:
    for facts in closings():
        if facts.outcome is Outcome.EXPIRED:
            shown = card(facts, VIEWERS[1], NOW)
            assert shown.state is CardState.EXPIRED
            assert "denied" not in shown.sentence.lower()
            assert "by" not in shown.sentence.lower().split()


@given(
    facts=st.builds(
        CardFacts,
        kind=st.sampled_from(Kind),
        state=st.sampled_from(AskState),
        deadline=st.none() | st.integers(0, 9),
        created=st.integers(0, 9),
        agent=st.text(max_size=5),
        machine=st.text(max_size=5),
        home=st.sampled_from(HomeState),
        home_seen=st.none() | st.integers(0, 9),
        own_pending=st.booleans(),
        own_taking_back=st.booleans(),
        own_made=st.booleans(),
        on_hold=st.none() | st.just("It is on hold."),
        disputed=st.booleans(),
        outcome=st.none() | st.sampled_from(Outcome),
        use_by=st.none() | st.integers(0, 9),
        handover_reason=st.none() | st.text(max_size=5),
    ),
    viewer=st.sampled_from(VIEWERS),
    now=st.integers(0, 9),
)
def test_even_an_impossible_combination_shows_a_card(
    facts: CardFacts, viewer: Person | None, now: int
) -> None:
    """A node of a later version may send what this one would not: the page still stands."""
    shown = card(facts, viewer, now)
    assert shown.sentence
    waits = facts.kind in DECIDED and facts.state is AskState.WAITING
    assert shown.open is (waits and facts.home not in GONE)


def test_the_combinations_are_those_the_table_allows() -> None:
    for kind in ANSWERED:
        reached = {state for row in STEPS[kind].values() for state in row.values()}
        assert {facts.state for facts in closings() if facts.kind is kind} == reached


def test_a_refused_ballot_is_refused_in_words() -> None:
    with pytest.raises(Invalid):
        ruled(opened(Kind.APPROVAL, "nothing", None, AFTER), a_person("me"), "answer")
