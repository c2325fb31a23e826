"""Whose rule it is, which tools a set names, and what a rule says about those who are asked."""

import pytest

from node.gate.checker import check
from node.gate.rules import Match, Rules, parse


def rule(name: str = "r", **keys: str) -> str:
    """One rule in TOML; values are TOML already."""
    known = {"name": f'"{name}"', "tool": '"Bash"', "action": '"ask"'} | keys
    return "[[rule]]\n" + "".join(f"{key} = {value}\n" for key, value in known.items())


def met(rules: Rules, *agents: str, tool: str = "Bash") -> str | None:
    match = rules.match(tool, {}, "/", agents=agents)
    return None if match is None else match.rule


def test_a_rule_says_all_about_those_who_are_asked() -> None:
    source = rule(
        deadline='"4h"',
        approvals="2",
        role='"admin"',
        self_approval="false",
        hide='["content", "a.b"]',
        escalate='{ after = "1h", to = "owner" }',
    )
    assert parse(source).match("Bash", {}) == Match(
        rule="r",
        action="ask",
        deadline_s=4 * 3600.0,
        reason=None,
        approvals=2,
        role="admin",
        self_approval=False,
        hide=("content", "a.b"),
        escalate_s=3600.0,
        escalate_to="owner",
    )


def test_an_agent_with_rules_of_its_own_has_no_others() -> None:
    own = rule("own", agents='["ci", "release-*"]', tool='"Edit"')
    rules = parse(rule("account") + own)
    assert met(rules) == met(rules, "claude") == "account"
    assert met(rules, "ci") is met(rules, "release-bot") is None
    assert met(rules, "release-bot", tool="Edit") == "own"
    assert met(rules, "claude", tool="Edit") is None


def test_a_renamed_agent_meets_the_rules_of_both_names() -> None:
    rules = parse(
        rule("account", action='"deny"')
        + rule("ci", agents='"ci"', action='"allow"')
        + rule("bot", agents='"bot"', approvals="2")
        + rule("lead", agents='"lead"', role='"admin"', deadline='"1h"')
    )
    assert met(rules, "ci") == "ci"
    assert met(rules, "ci", "bot") == met(rules, "bot", "ci") == "bot"
    assert met(rules, "ci", "new") == met(rules, "new", "ci") == "account"
    both = rules.match("Bash", {}, agents=("bot", "lead"))
    assert both is not None
    assert (both.approvals, both.role, both.deadline_s) == (2, "admin", 3600.0)


@pytest.mark.parametrize(("pattern", "text"), [("?", "x"), ("??*", "ab"), ("*?", "z")])
def test_a_pattern_without_any_text_of_its_own_matches(pattern: str, text: str) -> None:
    rules = parse(rule(arguments=f'{{ x = "{pattern}" }}'))
    assert rules.match("Bash", {"x": text}, "/") is not None
    assert rules.match("Bash", {"x": ""}, "/") is None


def test_a_command_that_is_no_text_is_asked_about() -> None:
    rules = parse(rule(action='"deny"') + 'shell = { x = "git push" }')
    for value in (["ls"], [], {"a": 1}, 5, None):
        match = rules.match("Bash", {"x": value}, "/")
        assert match is not None
        assert match.action == "ask"


def test_a_set_names_tools() -> None:
    rules = parse('[set]\nfiles = ["Edit", "Write*"]\n' + rule(tool='"set.files"'))
    assert [met(rules, tool=tool) for tool in ("Edit", "Writer", "Bash", "set.files")] == [
        *("r", "r", None, None)
    ]


REFUSED = [
    (rule(tool='"set.fles"') + '[set]\nfiles = "Edit"\n', 3, "does not define"),
    ("[set]\nfiles = []\n", 2, "names nothing"),
    ('[set]\nfiles = ["Edit, Write"]\n', 2, "names one tool"),
    ('[set]\nall = ["set.files"]\n', 2, "names another set"),
    ('[set]\n"a b" = ["Edit"]\n', 2, "no name of a set"),
    ("set = 5\n", 1, "must be a table"),
    (rule(tool=f'"{"T" * 600}"'), 3, "longer than the name of any tool"),
    (rule(agents="[]"), 5, "names nothing"),
    (rule(agents="5"), 5, "must be a text"),
    (rule(agents='" x"'), 5, "the name of no agent"),
    (rule(agents=f'"{"x" * 65}"'), 5, "the name of no agent"),
    (rule(approvals="0"), 5, "silence would be enough"),
    (rule(approvals="-1"), 5, "silence would be enough"),
    (rule(approvals="17"), 5, "nobody could reach"),
    (rule(approvals="true"), 5, "not a whole number"),
    (rule(approvals='"2"'), 5, "not a whole number"),
    (rule(role='"boss"'), 5, "no role of people"),
    (rule(role='"viewer"'), 5, "viewers only look"),
    (rule(role="5"), 5, "no role of people"),
    (rule(self_approval='"no"'), 5, "`self_approval` is"),
    (rule(hide="[]"), 5, "names nothing"),
    (rule(hide='["*"]'), 5, "name of no argument"),
    (rule(hide='["a..b"]'), 5, "name of no argument"),
    (rule(escalate='"1h"'), 5, "must say `after`"),
    (rule(escalate='{ after = "1h" }'), 5, "must say `after`"),
    (rule(escalate='{ after = "soon", to = "admin" }'), 5, "no duration"),
    (rule(escalate='{ after = "1h", to = "viewer" }'), 5, "viewers only look"),
    (rule(escalate='{ after = "1h", to = "admin", at = 1 }'), 5, "means nothing in `escalate`"),
    (rule(escalate='{ after = "1d", to = "admin" }'), 5, "at or after the deadline"),
    (rule(deadline='"1h"', escalate='{ after = "1h", to = "admin" }'), 6, "at or after"),
    (rule(role='"owner"', escalate='{ after = "1h", to = "admin" }'), 6, "would not count"),
    (rule("late") + rule("all", agents='"*"', tool='"Edit"'), 1, "is for every agent"),
    (
        rule("a", agents='"ci*"') + rule("b", agents='["ci-1", "ci"]', equals="{ x = 1 }"),
        6,
        "is never reached",
    ),
]


@pytest.mark.parametrize(("source", "line", "reason"), REFUSED, ids=[case[2] for case in REFUSED])
def test_what_makes_no_sense_is_refused_with_its_line(source: str, line: int, reason: str) -> None:
    found = check(source)
    assert [problem["line"] for problem in found] == [line]
    assert reason in found[0]["reason"]
    assert found[0]["fix"]


@pytest.mark.parametrize("action", ["allow", "deny"])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("deadline", '"1h"'), ("approvals", "2"), ("role", '"admin"'), ("hide", '"x"')),
        *(("self_approval", "false"), ("escalate", '{ after = "1h", to = "admin" }')),
    ],
)
def test_what_never_asks_says_nothing_about_people(action: str, key: str, value: str) -> None:
    [problem] = check(rule(action=f'"{action}"', **{key: value}))
    assert problem["line"] == 5
    assert "asks nobody" in problem["reason"]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("agnets", "agents"), ("approval", "approvals"), ("shel", "shell"), ("tools", "tool")],
)
def test_the_nearest_key_is_named(wrong: str, right: str) -> None:
    [problem] = check(rule(**{wrong: '"x"'}))
    assert f"`{right}`?" in problem["fix"]


def test_a_count_that_nobody_could_reach_is_refused() -> None:
    people = ["owner", "admin", "member", "viewer"]
    assert check(rule(approvals="3"), people) == []
    assert check(rule(approvals="2", role='"admin"'), people) == []
    for keys in ({"approvals": "4"}, {"approvals": "3", "role": '"admin"'}):
        [problem] = check(rule(**keys), people)
        assert (problem["line"], "Nobody could ever" in problem["reason"]) == (5, True)
    assert len(check(rule(role='"owner"'), ["admin"])) == 1
    # Of two people one owns the agent that asks.
    assert len(check(rule(approvals="2", self_approval="false"), ["owner", "admin"])) == 1
    assert check(rule(approvals="1", self_approval="false"), ["owner", "admin"]) == []
    assert len(check(rule(self_approval="false"), ["owner"])) == 1
    assert check(rule(approvals="9")) == []


def test_rules_side_by_side_ask_for_what_either_wants() -> None:
    from dataclasses import replace

    one = parse(rule("one", approvals="2", hide='"a"', escalate='{ after = "2h", to = "owner" }'))
    other = parse(rule("other", role='"admin"', self_approval="false", deadline='"1h"', hide='"b"'))
    match = replace(one, siblings=(other,)).match("Bash", {})
    assert match == Match(
        rule="one",
        action="ask",
        deadline_s=3600.0,
        reason=None,
        approvals=2,
        role="admin",
        self_approval=False,
        hide=("a", "b"),
    )
