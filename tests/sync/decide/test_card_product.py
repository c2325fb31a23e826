"""Invariants of the card over the product of all its inputs."""

from collections.abc import Callable, Iterator

import pytest

from sync.decide import card_marks
from sync.decide.ask import DECIDED, AskState, Kind, Outcome, expired
from sync.decide.card import card
from sync.decide.card_facts import Card, CardFacts
from sync.decide.card_state import EITHER_STATES, GONE, OPEN_STATES, CardState, Tone
from sync.decide.final import rule
from sync.decide.people import eligible
from sync.decide.vote import DECISIONS, Decision, Ruling, Vote
from tests.sync.decide.card_product import Case, closed_cases, open_cases, without
from tests.sync.decide.card_table import NOW, ROWS
from tests.sync.decide.votes import SEEN, an_ask

COUNT = 25_000
"""Of each half: all values of all inputs meet each other many times."""
HELD_STATES = (CardState.ON_HOLD, CardState.ACCOUNT_ON_HOLD, CardState.SUSPENDED)
GOOD_RULINGS = (Ruling.ACCEPTED, Ruling.COUNTED, Ruling.TAKEN_BACK)
VERDICTS = ("Allowed", "Denied", "Answered", "Declined", "Expired", "Withdrawn", "Done", "Failed")
YES = ("Allowed", "Answered", "Done")
Shown = list[tuple[Case, Card]]
STOPS: tuple[tuple[Callable[[CardFacts], bool], set[CardState]], ...] = (
    (lambda facts: facts.kind not in DECIDED, {CardState.POSTED}),
    (lambda facts: facts.home in GONE, {CardState.MACHINE_REMOVED, CardState.MUST_REJOIN}),
    (lambda facts: facts.erased is not None, {CardState.RESTRICTED}),
    (lambda facts: expired(facts.deadline, NOW), {CardState.DEADLINE_PASSED}),
    (lambda facts: facts.on_hold is not None, {CardState.ON_HOLD}),
    (
        lambda facts: facts.account is not None,
        {CardState.ACCOUNT_ON_HOLD, CardState.SUSPENDED},
    ),
)
"""What stops an ask that waits, and what is told then; the first of them counts."""


@pytest.fixture(scope="module")
def waiting() -> Shown:
    return [(case, card(case.facts, case.viewer, NOW)) for case in open_cases(COUNT)]


@pytest.fixture(scope="module")
def closed() -> Shown:
    return [(case, card(case.facts, case.viewer, NOW)) for case in closed_cases(COUNT)]


@pytest.fixture(scope="module")
def every(waiting: Shown, closed: Shown) -> Shown:
    return [*waiting, *closed]


def buttons(shown: Shown) -> Iterator[tuple[Case, Card, Decision]]:
    for case, one in shown:
        for action in one.actions:
            yield case, one, Decision(action)


def test_every_state_is_reached_and_only_states_of_the_table(every: Shown) -> None:
    assert {one.state for _, one in every} == set(CardState)
    signs = {(row.state, row.sign, row.tone) for row in ROWS}
    named = {(row.state, row.word) for row in ROWS}
    for _, one in every:
        mark = one.mark
        verdicts = mark.word.endswith((", agent has it", ", not picked up"))
        after_no = mark.word.endswith(("agent is done", "agent failed"))
        told = (one.state, mark.sign, mark.tone.value) in signs
        assert told or after_no or verdicts, mark
        assert (one.state, mark.word) in named or after_no or verdicts, mark


def test_every_card_says_something_and_nothing_of_our_insides(every: Shown) -> None:
    for _, one in every:
        assert one.sentence
        assert one.sentence.strip() == one.sentence
        assert "  " not in one.sentence
        assert ".." not in one.sentence
        for inside in ("None", "_", "HomeState", "Outcome."):
            assert inside not in one.sentence
            assert inside not in one.mark.spoken
        assert one.mark.spoken.startswith(f"{one.mark.word}: ")
        assert one.since > 0


def test_a_card_is_open_until_a_final_or_the_end_of_its_machine(every: Shown) -> None:
    for case, one in every:
        waits = case.facts.kind in DECIDED and case.facts.state is AskState.WAITING
        assert one.open is (waits and case.facts.home not in GONE)
        assert (one.state in OPEN_STATES) <= one.open
        assert one.open <= (one.state in OPEN_STATES | EITHER_STATES)
        assert one.needs_me <= (one.open and bool(one.actions))


def test_nothing_sounds_decided_before_its_final(waiting: Shown) -> None:
    for case, one in waiting:
        assert case.facts.outcome is None
        if case.facts.kind not in DECIDED:
            continue
        assert not one.sentence.startswith(VERDICTS)
        assert not one.mark.word.startswith(VERDICTS)
        assert one.mark.tone not in (Tone.GOOD, Tone.BAD)


def test_silence_is_never_a_yes(every: Shown) -> None:
    """Neither a deadline, nor a session that went away, nor a taking back reads as one."""
    for case, one in every:
        if case.facts.outcome in (Outcome.EXPIRED, Outcome.WITHDRAWN):
            assert one.state in (CardState.EXPIRED, CardState.WITHDRAWN, CardState.DISPUTED)
            assert not one.sentence.startswith((*YES, "Denied", "Declined"))
            assert one.mark.tone in (Tone.QUIET, Tone.WARN)
            assert " by Ann" not in one.sentence.replace("erased by Ann", "")
            assert one.actions == ()
        if one.mark.word.startswith(YES):
            assert case.facts.outcome in (Outcome.ALLOWED, Outcome.ANSWERED)
        if one.mark.tone is Tone.GOOD and one.state is not CardState.POSTED:
            assert case.facts.outcome in (Outcome.ALLOWED, Outcome.ANSWERED)


def test_done_is_only_what_the_agent_said(every: Shown) -> None:
    for case, one in every:
        assert (one.state is CardState.DONE) <= (case.facts.state is AskState.RESOLVED)
        if "Done" in one.sentence or one.mark is card_marks.MARKS[CardState.DONE]:
            assert case.facts.resolved_ok
        if one.state is CardState.HANDED:
            assert case.facts.state is AskState.HANDED


def test_no_button_would_be_refused(every: Shown) -> None:
    """By the home's own ruling on it, with all that is known here."""
    pressed = 0
    for case, one, decision in buttons(every):
        facts, viewer = case
        pressed += 1
        assert viewer is not None
        assert facts.home not in GONE
        assert facts.erased is None or not one.open
        assert facts.call_here or decision is not Decision.ALLOW, "what cannot be read here"
        before = min(DECISIONS[facts.kind], key=lambda item: item.value)
        own = Vote(hash=b"own", node=b"n1", person="me", decision=before, seen=SEEN)
        voted = facts.own_pending or facts.own_counted or facts.own_made
        ruled = rule(
            an_ask(
                facts.kind,
                needed=facts.needed,
                role=facts.role,
                deadline=facts.deadline,
                state=facts.state,
                not_by=["me"] if facts.own_agent else [],
            ),
            Vote(
                hash=b"new",
                node=b"n1",
                person="me",
                decision=decision,
                seen=SEEN,
                choice="1" if decision is Decision.ANSWER else None,
            ),
            earlier=[own] if voted else [],
            person=viewer,
            speaks_for=facts.speaks_here,
            final_by=[b"own"] if facts.own_made else [],
            on_hold=facts.account is not None,
            now=NOW,
        )
        assert ruled.ruling in GOOD_RULINGS, case
        assert one.open or ruled.voids, "a button on a closed card that would change nothing"
    assert pressed > COUNT // 30


def test_who_may_answer_finds_a_button(waiting: Shown) -> None:
    """A card that offers too little is as wrong as one that offers too much."""
    found = 0
    for (facts, viewer), one in waiting:
        stopped = (
            facts.home in GONE
            or expired(facts.deadline, NOW)
            or facts.on_hold is not None
            or facts.account is not None
            or facts.erased is not None
            or facts.kind not in DECIDED
        )
        may = eligible(viewer, facts.role) and facts.speaks_here and not stopped
        assert bool(one.actions) is may, facts
        found += may
    assert found > COUNT // 100


def test_what_is_held_has_no_button_and_says_why(every: Shown) -> None:
    for case, one in every:
        facts = case.facts
        if facts.account is not None or one.state in HELD_STATES:
            assert one.actions == ()
            assert not one.needs_me
        if one.state is CardState.SUSPENDED:
            assert "suspended" in one.sentence
        if one.state is CardState.ACCOUNT_ON_HOLD:
            assert "on hold" in one.sentence


def test_suspended_names_no_remedy_and_no_invoice(every: Shown) -> None:
    for _, one in every:
        if one.state is CardState.SUSPENDED:
            said = f"{one.sentence} {one.mark.word} {one.mark.spoken}".lower()
            for word in ("settle", "until", "invoice", "pay", "http", "remedy", "owner", "wait"):
                assert word not in said


def test_only_what_the_viewer_may_do_calls_the_viewer(every: Shown) -> None:
    for case, one in every:
        if one.needs_me:
            assert case.facts.attention.calls
            assert one.state in (CardState.WAITING, CardState.AWAY)
        assert (one.mark.tone is Tone.ACT) <= one.needs_me
        assert (one.mark.word == "Needs you") <= one.needs_me


def test_the_viewers_own_word_beats_its_echo(every: Shown) -> None:
    for case, one in every:
        facts = case.facts
        if one.state in (CardState.SENDING, CardState.KEPT, CardState.COUNTED):
            assert facts.own_pending or facts.own_counted
        gone = one.state in (CardState.DISPUTED, CardState.MACHINE_REMOVED, CardState.MUST_REJOIN)
        if facts.state is AskState.CLOSED and facts.lost and not gone:
            held = one.state in HELD_STATES or one.state in (
                CardState.VOID,
                CardState.NOT_PICKED_UP,
            )
            assert held or "your answer came" in one.sentence.lower(), one


def test_the_first_thing_that_stops_an_ask_is_the_one_that_is_told(waiting: Shown) -> None:
    for case, one in waiting:
        for stops, states in STOPS:
            if stops(case.facts):
                assert one.state in states
                break
        else:
            assert one.state in OPEN_STATES | {CardState.TAKING_BACK}
            assert one.state is not CardState.DEADLINE_PASSED


def test_another_viewer_sees_the_same_final(closed: Shown) -> None:
    """Who looks changes the buttons, and at most the words about oneself."""
    for (facts, viewer), one in closed[:5_000]:
        other = card(without(facts, speaks_here=False), None, NOW)
        assert (other.state, other.sentence) == (one.state, one.sentence), viewer
        assert other.actions == ()
        assert facts.kind in (Kind.APPROVAL, Kind.QUESTION)
