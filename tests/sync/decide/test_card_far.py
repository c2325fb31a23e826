"""The card of an ask that another machine raised: only what is known here, and no more."""

from collections.abc import Iterator
from itertools import product

import msgspec
import pytest

from sync.decide.ask import AskState, Kind, Outcome
from sync.decide.card import card
from sync.decide.card_facts import CardFacts
from sync.decide.card_state import (
    EITHER_STATES,
    GONE,
    OPEN_STATES,
    REACHED,
    CardState,
    HomeState,
)
from sync.decide.handover import Held, Status
from sync.decide.people import Person, Role, eligible
from sync.decide.standing import Level
from sync.decide.vote import Ruling
from tests.sync.decide.test_card import (
    AFTER,
    ANSWERED,
    BEFORE,
    DEADLINES,
    NOW,
    ROLES,
    VIEWERS,
    check_buttons,
    closings,
    opened,
)
from tests.sync.decide.votes import a_person

ME = a_person("me", Role.OWNER)
SEEN_AT = 77
OWN = ["nothing", "pending", "taking back", "counted", "stale", "not allowed"]
AWAY = [HomeState.AWAY, HomeState.NEVER_SEEN]


def far(kind: Kind, home: HomeState, own: str = "nothing", **more: object) -> CardFacts:
    """An open ask of another machine."""
    refused = {"stale": Ruling.STALE, "not allowed": Ruling.NOT_ALLOWED}
    base = opened(kind, own, None, AFTER)
    return msgspec.structs.replace(
        base,
        home=home,
        home_seen=SEEN_AT,
        own_taking_back=own == "taking back",
        own_refused=refused.get(own),
        **more,
    )


def every_open() -> Iterator[CardFacts]:
    for kind, home, own, role, deadline, speaks, here in product(
        ANSWERED, HomeState, OWN, ROLES, DEADLINES, (True, False), (True, False)
    ):
        yield far(kind, home, own, role=role, deadline=deadline, speaks_here=speaks, call_here=here)


@pytest.mark.parametrize("viewer", VIEWERS, ids=str)
def test_no_button_would_be_refused(viewer: Person | None) -> None:
    for facts in every_open():
        shown = card(facts, viewer, NOW)
        check_buttons(facts, viewer)
        assert shown.sentence
        assert "None" not in shown.sentence
        assert shown.open is (facts.home not in GONE)
        assert shown.state in OPEN_STATES | EITHER_STATES
        assert shown.needs_me is (shown.state in (CardState.WAITING, CardState.AWAY))
        may = eligible(viewer, facts.role) and facts.speaks_here and facts.home not in GONE
        assert may or not shown.actions
        assert facts.call_here or "allow" not in shown.actions


def test_a_closed_one_offers_at_most_to_take_back_what_can_still_arrive() -> None:
    for facts, home, speaks in product(closings(), HomeState, (True, False)):
        there = msgspec.structs.replace(facts, home=home, speaks_here=speaks, own_made=True)
        shown = card(there, ME, NOW)
        assert not shown.open
        assert not shown.needs_me
        assert set(shown.actions) <= {"take_back"}
        if shown.actions:
            assert speaks
            assert home not in GONE
            assert there.state is AskState.CLOSED


@pytest.mark.parametrize("kind", ANSWERED)
def test_an_answer_is_sent_or_kept_by_whether_its_home_is_reached(kind: Kind) -> None:
    for home in set(HomeState) - GONE:
        shown = card(far(kind, home, "pending"), ME, NOW)
        if home in REACHED:
            assert (shown.state, shown.since) == (CardState.SENDING, 1)
        else:
            assert (shown.state, shown.since) == (CardState.KEPT, SEEN_AT)
            assert "kept until box is back" in shown.sentence
        assert shown.actions == ("take_back",)
        assert not shown.needs_me


@pytest.mark.parametrize("home", AWAY)
def test_one_may_answer_while_the_home_is_away(home: HomeState) -> None:
    shown = card(far(Kind.APPROVAL, home), ME, NOW)
    assert (shown.state, shown.needs_me, shown.since) == (CardState.AWAY, True, SEEN_AT)
    assert shown.actions == ("deny", "allow")
    assert "kept until it is back" in shown.sentence


def test_who_took_back_on_the_way_may_answer_again() -> None:
    for kind, home in product(ANSWERED, set(HomeState) - GONE):
        shown = card(far(kind, home, "taking back"), ME, NOW)
        assert shown.state is CardState.TAKING_BACK
        assert shown.actions
        assert "take_back" not in shown.actions


@pytest.mark.parametrize(
    ("home", "state", "words"),
    [
        (HomeState.REMOVED, CardState.MACHINE_REMOVED, "was removed by Ann"),
        (HomeState.MUST_REJOIN, CardState.MUST_REJOIN, "must join again"),
    ],
)
def test_nothing_more_comes_of_what_a_lost_machine_left(
    home: HomeState, state: CardState, words: str
) -> None:
    facts = far(Kind.APPROVAL, home, "pending", home_seen_by="Ann")
    for left in (
        facts,
        msgspec.structs.replace(facts, state=AskState.CLOSED, outcome=Outcome.ALLOWED),
        msgspec.structs.replace(facts, state=AskState.HANDED, outcome=Outcome.ALLOWED),
    ):
        shown = card(left, ME, NOW)
        assert (shown.state, shown.actions, shown.open) == (state, (), False)
        assert shown.since == SEEN_AT
        assert words in shown.sentence
    settled = msgspec.structs.replace(facts, state=AskState.RESOLVED, outcome=Outcome.ALLOWED)
    assert card(settled, ME, NOW).state is CardState.DONE


def test_what_came_of_it_is_unknown_only_where_the_home_is_reached() -> None:
    for home, lease in product(set(HomeState) - GONE, (BEFORE, NOW, AFTER)):
        facts = far(
            Kind.APPROVAL,
            home,
            state=AskState.HANDED,
            outcome=Outcome.ALLOWED,
            handover=Status.HANDED,
            handover_at=6,
            held=Held(session="s", token=1, lease_until=lease),
        )
        shown = card(facts, ME, NOW).state
        if lease > NOW:
            assert shown is CardState.HANDED
        elif home in REACHED:
            assert shown is CardState.OUTCOME_UNKNOWN
        else:
            assert shown is CardState.NOT_SEEN


def test_an_old_allow_is_void_only_by_its_homes_word() -> None:
    for home in set(HomeState) - GONE:
        facts = far(
            Kind.APPROVAL,
            home,
            state=AskState.CLOSED,
            outcome=Outcome.ALLOWED,
            closed_by_viewer=True,
            use_by=NOW,
        )
        shown = card(facts, ME, NOW)
        assert shown.actions == ()
        if home is HomeState.HERE:
            assert shown.state is CardState.VOID
        else:
            assert shown.state is CardState.NOT_PICKED_UP
            assert "has not said" in shown.sentence


def test_an_answer_on_the_way_has_lost_once_another_final_is_known() -> None:
    for pending in (True, False):
        facts = far(
            Kind.APPROVAL,
            HomeState.CONNECTED,
            state=AskState.CLOSED,
            outcome=Outcome.DENIED,
            closed_by="Bob",
            closed_on="phone",
            own_pending=pending,
            own_lost=not pending,
        )
        shown = card(facts, ME, NOW)
        assert (shown.state, shown.actions) == (CardState.LOST, ())
        assert "by Bob on phone" in shown.sentence


def test_each_of_those_who_made_an_allow_may_take_it_back() -> None:
    facts = far(
        Kind.APPROVAL,
        HomeState.AWAY,
        state=AskState.CLOSED,
        outcome=Outcome.ALLOWED,
        closed_by="Bob",
        own_made=True,
        use_by=AFTER,
    )
    assert card(facts, ME, NOW).actions == ("take_back",)
    back = card(msgspec.structs.replace(facts, own_taking_back=True), ME, NOW)
    assert (back.state, back.actions, back.open) == (CardState.TAKING_BACK, (), False)


def test_what_was_refused_before_is_said() -> None:
    stale = card(far(Kind.QUESTION, HomeState.CONNECTED, "stale"), ME, NOW)
    assert "changed since you answered" in stale.sentence
    refused = card(far(Kind.QUESTION, HomeState.CONNECTED, "not allowed"), ME, NOW)
    assert "did not accept" in refused.sentence
    for shown in (stale, refused):
        assert (shown.state, shown.actions) == (CardState.WAITING, ("answer", "decline"))


def test_every_state_is_reached() -> None:
    """No state stands in the table that no ask can be in."""
    found = {card(facts, ME, NOW).state for facts in every_open()}
    for facts, home, back in product(closings(), HomeState, (True, False)):
        there = msgspec.structs.replace(
            facts, home=home, own_taking_back=back, own_lost=facts.own_lost and not back
        )
        found.add(card(there, ME, NOW).state)
        found.add(card(msgspec.structs.replace(there, on_hold="On hold."), ME, NOW).state)
        found.add(card(msgspec.structs.replace(there, disputed=True), ME, NOW).state)
        for level in (Level.ON_HOLD, Level.SUSPENDED):
            found.add(card(msgspec.structs.replace(there, allow_held=level), ME, NOW).state)
    assert found == set(CardState) - {CardState.POSTED}
