"""Rules that hold for a time only."""

from dataclasses import replace
from typing import Any

import pytest

from node.gate.checker import check
from node.gate.rules import Match, Rules, parse
from node.gate.until import in_time, written

NOON = 1_800_000_000_000


def rule(name: str, action: str, until: str = "", tool: str = "Bash") -> str:
    end = f"until = {until}\n" if until else ""
    return f'[[rule]]\nname = "{name}"\ntool = "{tool}"\naction = "{action}"\n{end}'


TIMED = rule("today", "allow", written(NOON)) + rule("always", "ask")


def action(rules: Rules, now: int, **more: Any) -> str | None:  # noqa: ANN401 - passed on
    match: Match | None = in_time(rules, now).match("Bash", {}, **more)
    return None if match is None else match.action


def test_a_rule_matches_nothing_from_its_end_on() -> None:
    rules = parse(TIMED)
    assert in_time(rules, NOON - 1) is rules
    assert [action(rules, NOON + step) for step in (-1, 0, 1)] == ["allow", "ask", "ask"]
    assert in_time(rules, NOON + 1) is in_time(rules, NOON + 2)
    assert action(rules, NOON - 1) == "allow"


def test_siblings_have_their_own_ends() -> None:
    rules = replace(parse(rule("a", "allow")), siblings=(parse(rule("b", "deny", written(NOON))),))
    assert [action(rules, now) for now in (NOON - 1, NOON)] == ["deny", None]


def test_an_agent_whose_own_rules_are_over_meets_those_of_the_account() -> None:
    own = rule("own", "allow", written(NOON)) + 'agents = ["bot"]\n'
    rules = parse(own + rule("all", "deny"))
    assert action(rules, NOON - 1, agents=("bot",)) == "allow"
    assert action(rules, NOON, agents=("bot",)) == "deny"


def test_a_timed_rule_does_not_hide_one_that_outlives_it() -> None:
    assert check(TIMED) == []
    assert check(rule("a", "allow", written(NOON)) + rule("b", "ask", written(NOON + 1000))) == []
    [problem] = check(rule("a", "allow", written(NOON)) + rule("b", "ask", written(NOON)))
    assert "never reached" in problem["reason"]


@pytest.mark.parametrize(
    "until", ['"2027-01-31T18:00:00Z"', "2027-01-31T18:00:00", "2027-01-31", "18:00:00", "7", "[]"]
)
def test_what_is_no_moment_with_a_zone_is_refused(until: str) -> None:
    [problem] = check(rule("a", "allow", until))
    assert problem["line"] == 5
    assert "until = 2027-01-31T18:00:00Z" in problem["fix"]


def test_a_moment_is_written_as_it_is_read() -> None:
    [read] = parse(rule("a", "allow", "2027-01-31T20:00:00+02:00")).rules
    assert read.until is not None
    assert written(read.until) == "2027-01-31T18:00:00Z"
