"""`docs/threats.md`: each claim names a test that exists, and what is open names none."""

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "threats.md"
NAMED = re.compile(r"`(tests/[a-z_/]+\.py)::(\w+)`")


def parts() -> tuple[str, str]:
    """What is defended, and what is not."""
    _, _, page = PAGE.read_text("utf-8").partition("\n## Defended\n")
    defended, _, open_ = page.partition("\n## Not defended\n")
    assert defended
    assert open_
    return defended, open_


def claims(part: str) -> list[str]:
    """The points of a list, each with the lines under it."""
    return re.findall(r"^- .*(?:\n {2}.*)*", part, re.MULTILINE)


@cache
def functions(file: str) -> frozenset[str]:
    """The tests of a file."""
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(item.name for item in ast.walk(tree) if isinstance(item, kinds))


def test_each_claim_names_a_test_that_exists() -> None:
    made = claims(parts()[0])
    assert len(made) > 30
    for claim in made:
        named = NAMED.findall(claim)
        assert named, f"no test shows: {claim}"
        for file, test in named:
            assert test.startswith("test_")
            assert test in functions(file), f"{file} has no {test}"


def test_every_reference_is_read_as_one() -> None:
    """A slip in the form of a reference would be a claim nobody checks."""
    text = PAGE.read_text("utf-8")
    assert text.count("::") == len(NAMED.findall(text))


def test_what_is_not_defended_is_said_and_claims_no_test() -> None:
    left = claims(parts()[1])
    assert len(left) >= 8
    for sentence in left:
        assert not NAMED.findall(sentence)
        assert sentence.rstrip().endswith(".")
