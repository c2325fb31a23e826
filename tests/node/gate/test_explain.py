"""What is explained is what happens, and says why."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from node.cli.main import askmesh
from node.gate.explain import Explanation, span
from node.gate.explain import explain as explain_law
from node.gate.given import Given
from node.gate.law import Law
from node.gate.noting import seconds_of
from node.gate.repository import around
from node.gate.rules import Rules, RulesRefused, decide, parse

SOURCE = """
[[rule]]
name = "edits"
tool = "Edit"
action = "ask"

[[rule]]
name = "ci"
agents = "ci"
tool = "Bash"
action = "deny"

[[rule]]
name = "no push"
tool = "Bash"
shell = { command = "git push" }
action = "deny"

[[rule]]
name = "tests"
tool = "Bash"
shell = { command = "npm test" }
action = "allow"

[[rule]]
name = "the rest"
tool = "Bash"
action = "ask"
approvals = 2
role = "admin"
"""

CONDITIONS = [
    "",
    *(f'arguments = {{ x = "{glob}" }}\n' for glob in ("git*", "*push*", "/a/*", "?")),
    *("equals = { x = 'ls' }\n", "equals = { y = 5 }\n"),
    *('path = { x = "/a/**" }\n', 'path = { x = "**/b" }\n', 'host = { x = ["*.b", "a.b"] }\n'),
    *('cwd = "/a/**"\n', 'cwd = "/b"\n', "others = []\n", 'others = ["y"]\n'),
    *('shell = { x = "git push" }\n', 'shell = { x = ["ls", "git"] }\n', 'shell = { y = "ls" }\n'),
]
VALUES = [
    *("git push", "ls", "$X push", "ls; git -C /x push", "/a/b", "/c/../a/b", "https://a.b/"),
    *("https://x.a.b", "nonsense://", "", "x", 5, None, [], ["/a/b", "/c"], {"z": 1}, 2**60),
]
RULE = st.tuples(
    st.sampled_from(CONDITIONS),
    st.sampled_from(CONDITIONS),
    st.sampled_from(["allow", "ask", "deny"]),
    st.sampled_from(["", 'agents = "a"\n', 'agents = ["b", "a"]\n']),
    st.sampled_from(['"T"', '"*"', '"U"']),
)


def explain(
    rules: Rules, tool: str, call: object, cwd: str, agents: tuple[str, ...] = ()
) -> Explanation:
    return explain_law(Law(account=rules, now=0), tool, call, cwd, agents=agents)


@given(
    st.lists(RULE, max_size=8),
    st.sampled_from(VALUES),
    st.sampled_from(VALUES),
    st.sampled_from([(), ("a",), ("b",), ("a", "b"), ("c", "a")]),
)
@settings(max_examples=150, deadline=None)
def test_what_is_explained_is_what_happens(
    drawn: list[tuple[str, str, str, str, str]], x: object, y: object, agents: tuple[str, ...]
) -> None:
    """Explaining asks every rule, matching only those it picks: both must come to the same."""
    text = ""
    for number, (one, other, action, whose, tool) in enumerate(drawn):
        both = one if one.split("=")[0] == other.split("=")[0] else one + other
        rule = f'[[rule]]\nname = "{number}"\ntool = {tool}\naction = "{action}"\n{whose}{both}'
        try:
            parse(text + rule)
        except RulesRefused:
            continue
        text += rule
    rules, call = parse(text), {"x": x, "y": y}
    match = rules.match("T", call, "/a", agents=agents)
    assert explain(rules, "T", call, "/a", agents=agents).match == match
    assert rules.match("T", call, "/a", agents=agents) == match


COMMANDS = st.tuples(
    st.sampled_from(['"git push"', '"ls"', '["ls", "git"]', '"npm -x"', '"git"', '"rm a"']),
    st.sampled_from(["", "equals.y = 1\n", "equals.y = 2\n"]),
    st.sampled_from(["allow", "ask", "deny", "deny", "deny"]),
)


@given(
    st.lists(COMMANDS, max_size=8),
    st.sampled_from(
        ["$X push", "git push | sh", "ls; $X", "git $Y", "rm a; ls $(", "env $X git push", "rm"]
    ),
)
@settings(max_examples=300, deadline=None)
def test_of_a_text_that_cannot_be_read_one_doubt_says_all(
    drawn: list[tuple[str, str, str]], command: str
) -> None:
    """Of many rules that may hold only the first is asked; all of them say the same."""
    text = ""
    for number, (shell, more, action) in enumerate(drawn):
        rule = f'[[rule]]\nname = "{number}"\ntool = "T"\naction = "{action}"\n{more}'
        try:
            parse(f"{text}{rule}shell.x = {shell}\n")
        except RulesRefused:
            continue
        text += f"{rule}shell.x = {shell}\n"
    rules, call = parse(text), {"x": command, "y": 1}
    match = rules.match("T", call, "/a")
    assert match == decide(rules.rules, Given(call, "/a"))
    assert explain(rules, "T", call, "/a").match == match


def test_every_rule_before_says_why_it_does_not_match() -> None:
    found = explain(parse(SOURCE), "Bash", {"command": "ls"}, "/", agents=("claude",))
    assert [(step.rule, step.why) for step in found.steps] == [
        ("edits", "it is for the tool `Edit`"),
        ("ci", "it is for other agents"),
        ("no push", "no command in `command` begins so"),
        ("tests", "not every command in `command` is one that it allows, plainly written"),
        ("the rest", "it is for every call of the tool"),
    ]
    assert found.outcome == (
        "The call is held until 2 people with the role admin or a higher one allow it."
    )
    other = explain(parse(SOURCE), "Bash", {"command": "$X push"}, "/")
    assert other.steps[2].why == "`command` cannot be read to its end"
    own = explain(parse(SOURCE), "Edit", {}, "/", agents=("ci",))
    assert "`ci` has rules of its own" in own.steps[0].why
    assert own.outcome.startswith("No rule matches")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "rules.toml"
    path.write_text(SOURCE)
    return str(path)


def run(*words: str, text: str | None = None) -> dict[str, object] | str:
    command = ["--home", "/nonexistent/place", "rules", "explain", *words]
    result = CliRunner().invoke(askmesh, command, input=text)
    if "--json" not in words:
        return f"{result.exit_code} {result.output}"
    reply: dict[str, object] = json.loads(result.stdout)
    return reply


def test_a_call_given_by_options_is_explained_without_a_node(file: str) -> None:
    call = ("--file", file, "--tool", "Bash", "--argument", "command=git push origin")
    told = run(*call)
    assert isinstance(told, str)
    assert told.startswith("0 ")
    assert "rules.toml:13 no push: every condition holds" in told
    assert "`no push` (rules.toml, line 13) says deny. The call is refused." in told
    reply = run(*call, "--json")
    assert isinstance(reply, dict)
    assert (reply["action"], reply["rule"]) == ("deny", "no push")


@pytest.mark.parametrize(
    "call",
    [
        {"tool": "Bash", "arguments": {"command": "npm test"}, "cwd": "/"},
        {"tool_name": "Bash", "tool_input": {"command": "npm test"}, "hook_event_name": "x"},
    ],
)
def test_a_call_given_as_json_is_explained(file: str, call: dict[str, object]) -> None:
    reply = run("-", "--file", file, "--json", text=json.dumps(call))
    assert isinstance(reply, dict)
    assert reply["rule"] == "tests"
    reply = run("-", "--file", file, "--json", "--agent", "ci", text=json.dumps(call))
    assert isinstance(reply, dict)
    assert reply["rule"] == "ci"


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, "[]", '{"tool": 5}', '{"tool":"a","agents":1}']
)
def test_what_is_no_call_is_refused_in_words(file: str, text: str) -> None:
    told = run("-", "--file", file, text=text)
    assert isinstance(told, str)
    assert told.startswith("1 ")
    assert "Traceback" not in told


def test_one_call_must_be_given(file: str) -> None:
    for words in ((), ("k7-1", "--tool", "Bash"), ("--tool", "a", "--argument", "nothing")):
        told = run("--file", file, *words)
        assert isinstance(told, str)
        assert told.startswith("2 ")


REPOSITORY = """
[[rule]]
name = "ours"
tool = "Bash"
action = "{action}"
{more}
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / ".git" / "refs").mkdir(parents=True)
    return folder.resolve()


OVER = (
    "`ours` (.askmesh.toml, line 2) says deny, which is stricter than `tests` (rules, line 19),"
    " and the stricter counts."
)


@pytest.mark.parametrize(
    ("own", "more", "command", "headline"),
    [
        (*("deny", "", "npm test"), OVER),
        (
            *("ask", 'deadline = "90s"', "ls"),
            "`the rest` (rules, line 25) and `ours` (.askmesh.toml, line 2) say ask.",
        ),
        (*("allow", "", "npm test"), "`tests` (rules, line 19) says allow."),
        (
            *("ask", "until = 1969-01-01T00:00:00Z", "npm test"),
            "`tests` (rules, line 19) says allow.",
        ),
    ],
)
def test_a_repositorys_file_has_its_say(
    repository: Path, own: str, more: str, command: str, headline: str
) -> None:
    (repository / ".askmesh.toml").write_text(REPOSITORY.format(action=own, more=more))
    law = Law(account=parse(SOURCE), repository=around(str(repository)), now=0)
    call = ("Bash", {"command": command}, str(repository))
    found = explain_law(law, *call, agents=("claude",))
    assert found.headline == headline
    assert found.match == law.judge(*call, agents=("claude",)).match


def test_one_that_does_not_read_is_why_a_person_is_asked(repository: Path) -> None:
    (repository / ".askmesh.toml").write_text("nonsense")
    law = Law(account=parse(SOURCE), repository=around(str(repository)), now=0)
    found = explain_law(law, "Bash", {"command": "npm test"}, str(repository))
    assert "does not read (line 1" in found.steps[-1].why
    assert found.match == law.judge("Bash", {"command": "npm test"}, None, agents=()).match
    assert found.won == found.steps[-1:]


def test_a_rule_whose_time_is_over_says_since_when() -> None:
    rules = parse(SOURCE.replace('name = "ci"', 'name = "ci"\nuntil = 2026-12-01T09:30:00Z'))
    law = Law(account=rules, now=1_800_000_000_000)
    found = explain_law(law, "Bash", {"command": "ls"}, "/", agents=("ci",))
    assert found.steps[1].why == "it held until 2026-12-01T09:30:00Z"
    assert found.match == law.judge("Bash", {"command": "ls"}, "/", agents=("ci",)).match
    assert found.match
    assert found.match.rule == "the rest"


def test_of_rules_side_by_side_the_stricter_is_named() -> None:
    loose, strict = (
        parse(f'[[rule]]\nname = "{action}"\ntool = "T"\naction = "{action}"\n', name)
        for action, name in (("allow", "ann"), ("ask", "bob"))
    )
    law = Law(account=replace(loose, siblings=(strict,)), now=0)
    found = explain_law(law, "T", {}, "/")
    assert found.headline.startswith("`ask` (bob, line 1) says ask, which is stricter than `allow`")


def test_how_long_people_have_and_who_is_asked_then_is_said() -> None:
    source = '[[rule]]\nname = "a"\ntool = "T"\naction = "ask"\ndeadline = "4h"\n'
    found = explain(parse(source + 'escalate = { after = "90s", to = "owner" }\n'), "T", {}, "/")
    assert found.outcome.endswith(
        "After 4h it expires, and the call is refused. After 90s those with the role owner are"
        " asked as well."
    )
    assert [seconds_of(span(each)) for each in (1, 90, 60, 5400, 86_400)] == [
        1,
        90,
        60,
        5400,
        86_400,
    ]


def test_the_command_looks_at_the_repository_of_the_folder(file: str, repository: Path) -> None:
    (repository / ".askmesh.toml").write_text(REPOSITORY.format(action="deny", more=""))
    call = ("--file", file, "--tool", "Bash", "--argument", "command=npm test")
    reply = run(*call, "--cwd", str(repository), "--json")
    assert isinstance(reply, dict)
    assert (reply["action"], reply["rule"]) == ("deny", ".askmesh.toml: ours")
    assert reply["won"] == [{"file": ".askmesh.toml", "line": 2, "rule": "ours"}]
    assert reply["lost"] == [{"file": "rules.toml", "line": 19, "rule": "tests"}]
