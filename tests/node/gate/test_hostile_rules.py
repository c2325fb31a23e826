"""Rules files of whoever writes to a repository: refused or read, and never for long."""

import tomllib
from typing import Any

import pytest

from node import limits
from node.gate.checker import check
from node.gate.match import Glob, bounded
from node.gate.reading import KEYS
from node.gate.rules import parse

RULE = {"name": 'name = "a"', "tool": 'tool = "T"', "action": 'action = "ask"'}
TABLES = (*KEYS, "escalate.after", "escalate.to", "nonsense")


def rule(**more: str) -> str:
    return "[[rule]]\n" + "".join(f"{line}\n" for line in (RULE | more).values())


def never(*_given: object) -> dict[str, Any]:
    raise AssertionError("the text was read as TOML")


@pytest.mark.parametrize(
    "source",
    [
        "#" * 1024 * 1024,
        rule() * 20_000,
        rule() + f"equals.{'.'.join(['a'] * 20_000)} = 1\n",
        rule() + f"[rule.{'.'.join(['a'] * 20_000)}]\nb = 1\n",
        f"{'.'.join(['a'] * 20_000)} = 1\n",
    ],
    ids=["1 MB", "1 MB of rules", "a deep key", "a deep table", "a deep key at the top"],
)
def test_what_would_take_long_to_read_is_refused_before(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tomllib, "loads", never)
    [problem] = check(source)
    assert "is the most" in problem["reason"] or "dots" in problem["reason"]
    assert problem["fix"]


@pytest.mark.parametrize(
    ("key", "shape"),
    [
        *((key, "list") for key in TABLES),
        *(("equals", shape) for shape in ("table", "inline", "array")),
    ],
)
def test_a_value_that_is_nested_deeply_is_refused_in_words(key: str, shape: str) -> None:
    deep = ".".join(["a"] * limits.RULE_DOTS)[: -2 * 5]
    lines = {
        "table": f"{key}.{deep} = 1",
        "list": f"{key} = [{{ {deep} = 1 }}]",
        "inline": f"{key} = {'{ a = ' * 300}1{' }' * 300}",
        "array": f"{key} = {'[' * 20_000}",
    }
    source = rule(**{key: lines[shape]})
    # As deep again below it, in the way of tables.
    deeper = source + f"[rule.x.{deep}]\n{deep} = 1\n"
    for text in (source, deeper):
        problems = check(text)
        # An argument may lie as deep as an argument can.
        assert problems or (key in {"arguments", "equals"} and shape in {"table", "inline"})
        assert all(len(problem["reason"]) < 2 * limits.GLOB_CHARACTERS for problem in problems)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "line",
    [
        "[" + " " * 60_000,
        " " * 60_000 + "[",
        "a" * 60_000,
        "'a" + " " * 60_000 + "'",
        '"' + "." * 400 + " " * 50_000 + '",',
    ],
    ids=["a bracket and blanks", "blanks and a bracket", "a long word", "a text", "dots"],
)
def test_no_line_keeps_the_search_for_lines_busy(line: str) -> None:
    """Looking for headers by going back took the cube of a line's length: days for this."""
    text = f"{rule()}equals.c = [\n{line}\n1]]\n"
    check(text)
    check(f"{rule()}equals.c = '''\n{line}'''\n")


def test_a_text_that_ends_with_quotes_hides_no_line() -> None:
    for end in ('"""', '""""', '"""""'):
        source = rule(equals=f'equals.c = """x{end} # "') + rule(name='name = "b"', tool="tool = 5")
        [problem] = check(source)
        assert problem["line"] == 8


def test_so_many_problems_end_the_reading() -> None:
    source = rule() + "".join(f"k{number} = 1\n" for number in range(5_000))
    assert len(check(source)) == limits.RULE_PROBLEMS


def test_patterns_that_cover_each_other_slowly_are_compared_for_a_bounded_time() -> None:
    slow = [f"*{'a' * (420 + number)}b{'a' * (480 - number)}*" for number in range(60)]
    pairs = [(Glob(one), Glob(other)) for one in slow for other in slow if one != other]
    with bounded(10_000) as effort:
        assert not any(one.covers(other) for one, other in pairs)
        # Spent, and no pair after that took more than the step that says so.
        assert -len(pairs) <= effort.steps < 0
    source = "".join(
        rule(name=f'name = "{number}"', arguments=f'arguments.c = "{pattern}"')
        for number, pattern in enumerate(slow)
    )
    # What is certain within the bound is still refused.
    assert len(parse(source).rules) == 60
    twice = rule() + rule(name='name = "b"')
    assert "never reached" in check(twice)[0]["reason"]
