"""A rule made of a decision is for that call alone, and loosens nothing of others."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from node.gate.law import Law
from node.gate.proposal import Applier, Made, Wish, propose, text_of
from node.gate.repository import around
from node.gate.rules import Rules, parse
from sync.decide.people import Role
from sync.errors import Conflict, Invalid, NotAllowed

NOW = 1_796_000_000_000
WEEK = 7 * 86_400_000
ADMIN = Applier(role=Role.ADMIN, owns=False)

SOURCE = """# ours
[[rule]]
name = "pushes"
tool = "Bash"
arguments = { command = "git push*" }
action = "ask"

# Below here everything is asked about.
# By Ann.
[[rule]]
name = "the rest"
tool = "*"
action = "ask"
"""


def wish(
    arguments: object,
    action: Literal["allow", "deny"] = "allow",
    *,
    tool: str = "Bash",
    cwd: str = "/home/me/shop",
    agents: tuple[str, ...] = ("claude",),
    until: int | None = NOW + WEEK,
) -> Wish:
    return Wish(
        tool=tool,
        arguments=arguments,
        cwd=cwd,
        agents=agents,
        action=action,
        name="always",
        until=until,
    )


def made(source: str, wanted: Wish, by: Applier = ADMIN) -> tuple[Made, Rules]:
    made = propose(Law(account=parse(source), now=NOW), wanted, by)
    return made, parse(made.source)


def says(rules: Rules, tool: str, arguments: object, cwd: str, agent: str = "claude") -> str | None:
    ruled = Law(account=rules, now=NOW).judge(tool, arguments, cwd, agents=(agent,))
    return None if ruled.match is None else ruled.match.rule


def test_it_stands_before_the_rule_that_decides_with_the_comments_of_that() -> None:
    wanted = wish({"command": "npm test", "description": "Runs the tests", "timeout": 5})
    found, _ = made(SOURCE, wanted)
    assert found.rule == (
        '[[rule]]\nname = "always"\ntool = "Bash"\nequals.command = "npm test"\n'
        'equals.timeout = 5\ncwd = "/home/me/shop"\nothers = ["description"]\naction = "allow"\n'
        "until = 2026-12-07T00:53:20Z\n"
    )
    before, after = SOURCE.split("# Below")
    assert found.source == f"{before}{found.rule}\n# Below{after}"


def test_where_no_rule_decides_it_comes_last() -> None:
    for source in ("", SOURCE.split("# Below", maxsplit=1)[0]):
        found, rules = made(source, wish({"command": "ls"}))
        assert found.source.endswith(found.rule)
        assert says(rules, "Bash", {"command": "ls"}, "/home/me/shop") == "always"


JSON = st.recursive(
    st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=8) | st.floats(-5, 5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("bcd"), inner),
    max_leaves=5,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["command", "a", "ä b", "x-1"]), JSON, max_size=4)


@given(
    arguments=ARGUMENTS,
    other=ARGUMENTS,
    cwd=st.sampled_from(["/home/me/shop", "/", "/a b/ä"]),
    elsewhere=st.sampled_from(["/home/me/shop", "/home/me/shop/below", "/"]),
    action=st.sampled_from(["allow", "deny"]),
)
@settings(max_examples=150, deadline=None)
def test_it_is_for_the_very_call_and_for_no_other(
    arguments: dict[str, Any],
    other: dict[str, Any],
    cwd: str,
    elsewhere: str,
    action: Literal["allow", "deny"],
) -> None:
    tool = "mcp__x__y"
    found, rules = made(SOURCE, wish(arguments, action, tool=tool, cwd=cwd))
    assert says(rules, tool, arguments, cwd) == "always"
    assert says(rules, f"{tool}s", arguments, cwd) == "the rest"
    if elsewhere != cwd:
        assert says(rules, tool, arguments, elsewhere) == "the rest"
    more = {"one more": 1} | arguments
    assert says(rules, tool, more, cwd) == ("the rest" if action == "allow" else "always")
    assume(action == "allow" and json.dumps(other) != json.dumps(arguments))
    assume(all(other.get(key) != value for key, value in arguments.items()) and arguments)
    assert says(rules, tool, other, cwd) == "the rest"
    assert found.source.count("[[rule]]") == 3


@pytest.mark.parametrize(
    "text", ["a\nb", 'say "x"', "back\\slash", "\x7f\x1b[2J", "\u202eright", "\U000e0041", "ä", "'"]
)
def test_a_text_is_written_so_that_it_reads_as_itself_and_can_be_seen(text: str) -> None:
    found, rules = made(SOURCE, wish({"command": text}))
    assert all(line.isprintable() for line in found.source.split("\n"))
    assert says(rules, "Bash", {"command": text}, "/home/me/shop") == "always"
    assert text_of(text).isprintable()


def guarded(*lines: str, action: str = "ask") -> str:
    more = "\n".join(lines)
    return f'[[rule]]\nname = "guard"\ntool = "Bash"\naction = "{action}"\n{more}\n'


GUARDS = {
    "a role above": (guarded('role = "owner"'), "wants the role owner"),
    "two people": (guarded("approvals = 2"), "wants 2 people"),
    "not the agent's own": (guarded("self_approval = false"), "wants others"),
    "what is hidden": (guarded('hide = ["command"]'), "keeps arguments"),
    "a refusal": (guarded(action="deny"), "refuses such calls"),
    "a refusal in doubt": (
        guarded('shell = { command = "rm" }', action="deny"),
        "refuses such calls, or may",
    ),
    "what comes after a rule that ends": (
        guarded("until = 2026-12-01T00:00:00Z").replace('"guard"', '"short"')
        + guarded('role = "owner"'),
        "`guard` wants the role owner",
    ),
}


@pytest.mark.parametrize("guard", GUARDS)
def test_what_guards_more_than_who_applies_is_not_loosened(guard: str) -> None:
    source, reason = GUARDS[guard]
    with pytest.raises(NotAllowed, match=reason):
        made(source, wish({"command": "$X y"}), Applier(role=Role.ADMIN, owns=True))


def test_who_has_the_role_may_and_a_short_time_ends_before_the_guard() -> None:
    owner = Applier(role=Role.OWNER, owns=False)
    call = {"command": "make"}
    for guard in ("a role above", "not the agent's own", "what comes after a rule that ends"):
        made(GUARDS[guard][0], wish(call), owner)
    made(GUARDS["what comes after a rule that ends"][0], wish(call, until=NOW + 3_600_000))


def test_a_guard_may_be_made_stricter_by_anyone_who_applies_rules() -> None:
    for source, _ in GUARDS.values():
        if 'action = "deny"' not in source:
            _, rules = made(source, wish({"command": "make"}, "deny"))
            assert says(rules, "Bash", {"command": "make"}, "/home/me/shop") == "always"


def test_an_agent_with_rules_of_its_own_gets_one_more() -> None:
    source = SOURCE + '[[rule]]\nname = "own"\ntool = "Read"\nagents = ["cl*"]\naction = "ask"\n'
    found, rules = made(source, wish({"command": "ls"}, agents=("claude",)))
    assert 'agents = ["claude"]' in found.rule
    assert says(rules, "Bash", {"command": "ls"}, "/home/me/shop") == "always"
    assert says(rules, "Bash", {"command": "ls"}, "/home/me/shop", "codex") == "the rest"
    with pytest.raises(Invalid, match="still decide"):
        made(source, wish({"command": "ls"}, agents=("claude", "codex")))
    with pytest.raises(Invalid, match=r"`\*` or `\?`"):
        made(source, wish({"command": "ls"}, agents=("cl*",)))


DEEP: list[Any] = []
for _ in range(900):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (wish({"a": None}), "null"),
        (wish({"a": [{"b": None}]}), "null"),
        (wish({"a": DEEP}), "nested too deeply"),
        (wish({"a.b": 1}), "name that no rule can hold"),
        (wish({"": 1}), "name that no rule can hold"),
        (wish([1]), "no arguments by name"),
        (wish({"content": "x" * 2_000}), "No rule can name this call"),
        (wish({str(n): n for n in range(20)}), "No rule can name this call"),
        (wish({}, tool="mcp__x__*"), "name of the tool"),
        (wish({}, cwd="/a/*"), "name of the call's folder"),
    ],
)
def test_what_no_rule_can_name_exactly_is_refused_in_words(wanted: Wish, reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        made(SOURCE, wanted)


def test_what_the_rules_say_already_needs_no_rule() -> None:
    source = '[[rule]]\nname = "a"\ntool = "Bash"\naction = "allow"\n'
    with pytest.raises(Invalid, match="already"):
        made(source, wish({"command": "ls"}))


def test_a_repositorys_own_file_is_not_overruled(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    (folder / ".askmesh.toml").write_text('[[rule]]\nname = "w"\ntool = "Bash"\naction = "ask"\n')
    law = Law(account=parse(SOURCE), repository=around(str(folder)), now=NOW)
    with pytest.raises(Invalid, match=r"\.askmesh\.toml: w` would still decide"):
        propose(law, wish({"command": "ls"}, cwd=str(folder)), ADMIN)


def test_rules_side_by_side_are_settled_first() -> None:
    from dataclasses import replace

    rules = replace(parse(SOURCE), siblings=(parse(""),))
    with pytest.raises(Conflict, match="at the same time"):
        propose(Law(account=rules, now=NOW), wish({"command": "ls"}), ADMIN)
