"""Rules for calls in one folder, and for calls that have no other arguments."""

from pathlib import Path

import pytest

from node.gate.checker import check
from node.gate.rules import parse


def rule(*lines: str, action: str = "allow") -> str:
    more = "\n".join(lines)
    return f'[[rule]]\nname = "a"\ntool = "Bash"\naction = "{action}"\n{more}\n'


def says(source: str, arguments: object, cwd: str | None = "/home/me/shop") -> str | None:
    match = parse(source).match("Bash", arguments, cwd)
    return None if match is None else match.action


@pytest.mark.parametrize(
    ("arguments", "holds"),
    [
        ({"command": "make"}, True),
        ({"command": "make", "description": "builds"}, True),
        ({"command": "make", "run": {"deep": {"down": 1, "beside": 2}}}, True),
        ({"command": "make", "run": {"deep": {"down": 1, "other": 2}}}, False),
        ({"command": "make", "run": {}}, True),
        ({"command": "make", "run": 5}, False),
        ({"command": "make", "dangerouslyDisableSandbox": True}, False),
        ({"command": "make", "run.deep": 1}, False),
        ({"command": "make all"}, False),
        ({}, False),
        ([], False),
        (None, False),
    ],
)
def test_a_call_with_arguments_that_are_not_named_is_another(
    arguments: object, holds: bool
) -> None:
    others = 'others = ["description", "run.deep.down", "run.deep.beside"]'
    source = rule('equals = { command = "make" }', others)
    assert (says(source, arguments) == "allow") is holds


def test_without_conditions_it_is_the_call_without_arguments() -> None:
    source = rule("others = []")
    calls: list[object] = [{}, {"a": 1}, [], None]
    assert [says(source, each) for each in calls] == ["allow", None, None, None]


@pytest.mark.parametrize("action", ["allow", "ask", "deny"])
def test_a_rule_can_be_for_one_folder(action: str, tmp_path: Path) -> None:
    shop = tmp_path.resolve() / "shop"
    shop.mkdir()
    link = tmp_path.resolve() / "link"
    link.symlink_to(shop)
    source = rule(f'cwd = "{shop}"', action=action)
    assert says(source, {}, str(shop)) == action
    assert says(source, {}, str(shop / "below")) is None
    assert says(source, {"cwd": str(shop), "\0cwd": str(shop)}, "/elsewhere") is None
    assert says(source, {}, None) is None
    below = rule(f'cwd = "{shop}/**"', action=action)
    assert says(below, {}, str(shop / "below")) == action
    # Who guards the link guards the place; who allows it, allows no other place by it.
    assert says(rule(f'cwd = "{link}"', action=action), {}, str(shop)) == (
        None if action == "allow" else action
    )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('cwd = "shop"', "not a path from the root"),
        ("cwd = 5", "must be a text"),
        ("cwd = []", "names nothing"),
        ("others = 5", "must be a text"),
        ('others = ["a*"]', "the name of no argument"),
        ('others = ["a..b"]', "the name of no argument"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_line(line: str, reason: str) -> None:
    [problem] = check(rule(line))
    assert problem["line"] == 5
    assert reason in problem["reason"]


def test_a_narrower_rule_before_a_wider_one_stays_and_after_it_is_refused() -> None:
    narrow = rule('equals = { command = "make" }', 'cwd = "/a"', "others = []")
    wide = rule('equals = { command = "make" }').replace('"a"', '"b"', 1)
    assert check(narrow + wide) == []
    assert [problem["line"] for problem in check(wide + narrow)] == [6]
