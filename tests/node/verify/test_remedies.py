"""Every command that a remedy of `verify` or `doctor` names exists."""

import re
from pathlib import Path

import pytest

from tests.node.cli.test_help import LEAVES, ROOT

FILES = sorted([*ROOT.glob("node/verify/*.py"), *ROOT.glob("node/cli/examin*.py")])
NAMED = re.compile(r"[`\"]askmesh (?:--home \{\w+\} )?([a-z]+(?: [a-z]+)*)")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_commands_it_names_exist(file: Path) -> None:
    text = re.sub(r"\"\n\s*f?\"", "", file.read_text())
    for said in NAMED.findall(text):
        words = tuple(said.split())
        assert any(words[: len(leaf)] == leaf for leaf in LEAVES), said


def test_some_are_named() -> None:
    named = {said for file in FILES for said in NAMED.findall(file.read_text())}
    assert {"restore", "node rejoin", "node remove", "up"} <= named
