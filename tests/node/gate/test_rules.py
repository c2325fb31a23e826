"""Rules files: what is accepted and how it decides; what is refused, on which line, and why."""

import hashlib
import re

import pytest

from node import limits
from node.gate.checker import check
from node.gate.match import UNSAFE
from node.gate.reading import ACTIONS, KEYS
from node.gate.rules import EMPTY, Match, Rules, RulesRefused, parse
from tests.node.gate.hosts import ROOT
from tests.steps import calls

GOOD = """\
# Rules of the house.
[[rule]]
name = "no force"
tool = "Bash"
arguments = { command = "git push*--force*" }
action = "deny"
reason = "It rewrites what others have."

[[rule]]
name = "pushes"
tool = "Bash"
arguments = { command = "git push*" }
action = "ask"
deadline = "4h"

[[rule]]
name = "tests"
tool = "Bash"
action = "allow"
[rule.arguments]
command = "npm test*"

[[rule]]
name = "github"
tool = "mcp__github__*"
action = "ask"
"""


def rule(**keys: str) -> str:
    """One rule in TOML; values are TOML already."""
    known = {"name": '"r"', "tool": '"Bash"', "action": '"ask"'} | keys
    return "[[rule]]\n" + "".join(f"{key} = {value}\n" for key, value in known.items() if value)


def problems(source: str) -> list[tuple[int, str]]:
    found = check(source)
    assert all(problem["fix"] for problem in found)
    return [(problem["line"], problem["reason"]) for problem in found]


def bash(rules: Rules, command: str) -> Match | None:
    return rules.match("Bash", {"command": command})


def test_the_first_rule_that_matches_decides() -> None:
    rules = parse(GOOD, "house.toml")
    assert bash(rules, "git push --force x") == Match(
        rule="no force", action="deny", deadline_s=None, reason="It rewrites what others have."
    )
    assert bash(rules, "git push origin") == Match(
        rule="pushes", action="ask", deadline_s=4 * 3600.0, reason=None
    )
    allowed = bash(rules, "npm test -- --watch")
    assert allowed is not None
    assert allowed.action == "allow"
    assert bash(rules, "ls") is None
    assert rules.match("mcp__github__create_issue", {"title": "x"}) is not None
    assert rules.match("mcp__gitlab__create_issue", {}) is None


def test_rules_carry_name_source_and_version() -> None:
    rules = parse(GOOD, "house.toml")
    assert (rules.name, rules.source) == ("house.toml", GOOD)
    assert rules.version == hashlib.sha256(GOOD.encode()).hexdigest()[:12]
    assert [found.line for found in rules.rules] == [2, 9, 16, 23]


def test_no_rules_match_nothing() -> None:
    assert EMPTY.match("Bash", {"command": "ls"}) is None
    assert parse("# nothing yet\n").rules == ()


def test_a_shell_cannot_be_slipped_past_an_allow() -> None:
    rules = parse(GOOD)
    assert bash(rules, "npm test; rm -rf ~") is None
    assert bash(rules, "npm test\nrm -rf ~") is None


def test_a_missing_argument_never_matches() -> None:
    rules = parse(rule(arguments='{ command = "*" }'))
    assert rules.match("Bash", {"command": ""}) is not None
    others: list[object] = [{}, {"commands": "x"}, None, [], "command", 5]
    for arguments in others:
        assert rules.match("Bash", arguments) is None


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("true", True),
        ("null", None),
        ("5", 5),
        ("5", 5.0),
        ('{"a":[1,2],"b":"c"}', {"b": "c", "a": [1, 2]}),
        ('*"/etc/*', ["/etc/passwd"]),
    ],
)
def test_what_is_no_text_is_compared_as_canonical_json(pattern: str, value: object) -> None:
    rules = parse(rule(arguments=f"{{ x = '{pattern}' }}"))
    assert rules.match("Bash", {"x": value}) is not None
    assert rules.match("Bash", {"x": [value, 1]}) is None or "*" in pattern


@pytest.mark.parametrize("action", ACTIONS)
def test_a_value_without_canonical_form_matches_only_what_makes_stricter(action: str) -> None:
    rules = parse(rule(action=f'"{action}"', arguments='{ x = "1" }'))
    matched = rules.match("Bash", {"x": 2**60}) is not None
    assert matched == (action != "allow")


def test_nested_arguments_have_dotted_paths() -> None:
    for written in ("{ a.b = 'x*' }", "{ 'a.b' = 'x*' }", "{ a = { b = 'x*' } }"):
        rules = parse(rule(arguments=written))
        assert rules.match("Bash", {"a": {"b": "xy"}}) is not None
        # A key with a dot in it must not stand for the nested value: agents choose keys.
        assert rules.match("Bash", {"a": {"b": "z"}, "a.b": "xy"}) is None
        assert rules.match("Bash", {"a": "xy"}) is None


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "//etc/passwd", "/home/me/../../etc/passwd", "/./etc/passwd", "../etc/passwd"],
)
def test_deny_and_ask_see_the_place_that_a_path_names(path: str) -> None:
    guarded = parse(rule(tool='"Edit"', action='"deny"', arguments="{ file_path = '/etc/*' }"))
    assert guarded.match("Edit", {"file_path": path}, "/tmp") is not None
    allowed = parse(rule(tool='"Edit"', action='"allow"', arguments="{ file_path = '/etc/*' }"))
    matched = allowed.match("Edit", {"file_path": path}, "/tmp") is not None
    assert matched == (path == "/etc/passwd")


def test_the_home_folder_has_two_spellings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    rules = parse(rule(tool='"Read"', action='"deny"', arguments="{ file_path = '*/.ssh/*' }"))
    assert rules.match("Read", {"file_path": "~/.ssh/id"}, "/tmp") is not None
    rules = parse(rule(tool='"Read"', action='"deny"', arguments="{ file_path = '/home/me/*' }"))
    assert rules.match("Read", {"file_path": "~/x"}) is not None


REFUSED = [
    ("[[rule]]\nname = \n", 2, "not TOML"),
    ("x = ", 1, "not TOML"),
    ('version = 1\n[[rule]]\nname="a"\ntool="b"\naction="ask"', 1, "`version` means nothing"),
    ("rules = []", 1, "`rules` means nothing outside of a rule"),
    ('rule = [{name="a", tool="b", action="ask"}]', 1, "not a list of tables"),
    ('[rule]\nname = "a"', 1, "not a list of tables"),
    (rule(name=""), 1, "no `name`"),
    (rule(tool=""), 1, "no `tool`"),
    (rule(action=""), 1, "no `action`"),
    (rule(name='""'), 2, "`name` must be"),
    (rule(name="5"), 2, "`name` must be"),
    (rule(name=f'"{"n" * 65}"'), 2, "65 characters"),
    (rule(name='"a\\u0007"'), 2, "control character"),
    (rule(tool='" "'), 3, "`tool` must be"),
    (rule(tool='"Edit|Write"'), 3, "names one tool"),
    (rule(tool='"Bash(git push:*)"'), 3, "without parentheses"),
    (rule(action='"maybe"'), 4, "none of the three"),
    (rule(action='"Allow"'), 4, "none of the three"),
    (rule(action="true"), 4, "none of the three"),
    (rule(actoin='"deny"'), 5, "`actoin` means nothing"),
    (rule(deadline='"8d"'), 5, "out of range"),
    (rule(deadline='"0s"'), 5, "out of range"),
    (rule(deadline='"4"'), 5, "no duration"),
    (rule(deadline="30"), 5, "no duration"),
    (rule(deadline='"1h30m"'), 5, "no duration"),
    (rule(deadline='"never"'), 5, "no duration"),
    (rule(deadline='"\u0661h"'), 5, "no duration"),
    (rule(action='"allow"', deadline='"4h"'), 5, "asks nobody"),
    (rule(action='"deny"', deadline='"4h"'), 5, "asks nobody"),
    (rule(reason='""'), 5, "`reason` must be"),
    (rule(arguments="{}"), 5, "not empty"),
    (rule(arguments='"git*"'), 5, "must be a table"),
    (rule(arguments='{ command = "" }'), 5, "is empty"),
    (rule(arguments="{ run_in_background = true }"), 5, "must be a text"),
    (rule(arguments="{ a.b = [] }"), 5, "`arguments.a.b` must be a text"),
    (rule(arguments="{ file_path = '~/.ssh/*' }"), 5, "does not expand"),
    (rule(tool='"mcp__askmesh__flag"'), 3, "own agent tools"),
    (rule(tool='"mcp__plugin_askmesh_askmesh__*"'), 3, "own agent tools"),
    (rule() + rule(tool='"Edit"'), 6, "has the name `r` too"),
    ("#" * (limits.RULES_BYTES + 1), 1, "is the most"),
    ("x = '\ud800'", 1, "Unicode"),
    ("x = " + "[" * 20_000, 1, "nested too deeply"),
]


@pytest.mark.parametrize(("source", "line", "reason"), REFUSED, ids=[case[2] for case in REFUSED])
def test_what_is_wrong_is_refused_with_its_line(source: str, line: int, reason: str) -> None:
    found = problems(source)
    assert [number for number, _ in found] == [line]
    assert reason in found[0][1]


@pytest.mark.parametrize(
    "key",
    [
        *("on_timeout", "on_silence", "on_expiry", "on-timeout", "OnTimeout", "if_no_answer"),
        *("default", "default_action", "fallback", "timeout", "timeout_action", "auto_allow"),
    ],
)
def test_no_rule_can_say_that_silence_means_yes(key: str) -> None:
    for source, line in ((rule(**{key: '"deny"'}), 5), (f'{key} = "allow"\n', 1)):
        assert problems(source) == [
            (line, f"`{key}`: silence is never an answer in askmesh, so no rule can say it is.")
        ]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({"tool": '"*"'}, {"tool": '"Edit"'}),
        ({"tool": '"Bash"'}, {"tool": '"Bash"', "arguments": '{ command = "x" }'}),
        (
            {"arguments": '{ command = "git *" }'},
            {"arguments": '{ command = "git push*", description = "x" }'},
        ),
        (
            {"action": '"allow"', "arguments": '{ command = "git *" }'},
            {"action": '"deny"', "arguments": '{ command = "git push" }'},
        ),
    ],
)
def test_a_rule_that_nothing_reaches_is_refused(
    earlier: dict[str, str], later: dict[str, str]
) -> None:
    first = rule(**earlier)
    found = problems(first + "\n" + rule(name='"late"', **later))
    assert len(found) == 1
    assert found[0][0] == first.count("\n") + 2
    assert "`late` is never reached: `r` (line 1)" in found[0][1]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({"arguments": '{ command = "git *" }'}, {}),
        ({"arguments": '{ command = "git *" }'}, {"arguments": '{ description = "git x" }'}),
        ({"tool": '"Bash?"'}, {"tool": '"Bash"'}),
        # The wildcard of `allow` leaves the dangerous commands to the rule after it.
        (
            {"action": '"allow"', "arguments": '{ command = "git *" }'},
            {"action": '"deny"', "arguments": '{ command = "git *" }'},
        ),
    ],
)
def test_a_rule_that_something_reaches_stays(
    earlier: dict[str, str], later: dict[str, str]
) -> None:
    assert problems(rule(**earlier) + rule(name='"late"', **later)) == []


def test_every_problem_is_told_at_once_in_order() -> None:
    source = rule(action='"x"', deadline='"y"') + "\n" + rule(name='"s"', tool="1", foo="1")
    assert [line for line, _ in problems(source)] == [4, 5, 9, 11]
    with pytest.raises(RulesRefused, match=r"^Line 4: .* \(3 more\)$"):
        parse(source)


def test_lines_are_found_past_texts_that_look_like_rules() -> None:
    source = (
        '[[rule]] # [[rule]]\n"name" = "a"\r\ntool = "Bash"\n'
        'action = """ask"""\n\n'
        "reason = '''\n[[rule]]\nnmae = 1\n'''\n[[ 'rule' ]]\nnmae = 1\n"
    )
    found = problems(source)
    assert [line for line, _ in found] == [6, 10, 10, 10, 11]


def test_a_thousand_rules_decide_in_few_steps() -> None:
    source = "".join(
        f'[[rule]]\nname="{n}"\ntool="T"\naction="ask"\narguments.c="{n:x}"\n'
        for n in range(limits.RULES)
    )
    rules = parse(source)
    call = {"c": "git push --force origin main"}
    assert calls(lambda: rules.match("T", call), limit=40 * limits.RULES) > 0
    assert rules.match("T", call) is None
    assert rules.match("T", {"c": f"{limits.RULES - 1:x}"}) is not None
    refused = source + "\n" + rule(name='"one more"', tool='"Edit"')
    assert "is the most" in problems(refused)[0][1]


def test_names_that_agents_make_up_are_not_kept_for_ever() -> None:
    rules = parse(GOOD)
    for number in range(2000):
        rules.match(f"tool{number}", {})
    assert len(rules._of_tool) <= 256


def test_the_rules_that_the_documentation_shows_are_rules() -> None:
    text = (ROOT / "docs" / "rules.md").read_text()
    shown = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert len(shown) == 3
    assert [check(source) for source in shown] == [[], [], []]
    for key in (*KEYS, *ACTIONS):
        assert f"| `{key}`" in text


def test_the_documentation_names_what_a_wildcard_of_allow_never_stands_for() -> None:
    text = (ROOT / "docs" / "rules.md").read_text()
    [named] = re.findall(r"never for `` (.*?) ``", text)
    specials = "".join(c for c in map(chr, range(33, 127)) if UNSAFE.match(c))
    assert sorted(named.replace(" ", "")) == sorted(specials)
