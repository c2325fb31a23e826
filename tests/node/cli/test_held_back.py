"""Waiting that ends without a verdict: the ask is recorded, so its name is not lost."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from node.cli import ask as asking
from node.cli.main import askmesh
from tests.node.cli.scripted_node import ScriptedNode, scripted_node

FLAGGED: Final[dict[str, Any]] = {
    "id": "k7qf-1",
    "full_id": f"{'k7qf' * 13}-1",
    "state": "waiting",
    "already_open": False,
    "reach": 1,
    "reach_reason": None,
    "deadline": None,
    "needed": 1,
    "role": None,
}
HELD: Final = (409, "on_hold", "k7qf-1 was allowed, but it is not handed over.")


@pytest.fixture
def node(tmp_path: Path) -> Iterator[ScriptedNode]:
    with scripted_node(tmp_path / "data") as played:
        played.replies["POST /agent/flag"] = [FLAGGED]
        yield played


def wait(node: ScriptedNode, *words: str) -> Result:
    line = ["--home", str(node.home), "ask", "--kind", "approval", "--title", "t", "--wait", "1s"]
    return CliRunner().invoke(askmesh, [*line, *words])


def test_an_allow_that_is_held_back_is_kept(node: ScriptedNode) -> None:
    node.replies["POST /agent/await"] = [HELD]
    told = wait(node)
    assert (told.exit_code, told.stdout) == (4, "k7qf-1\n")
    assert HELD[2] in told.stderr
    told = wait(node, "--json")
    error = json.loads(told.stdout)["error"]
    assert (told.exit_code, error["code"], error["id"]) == (4, "on_hold", "k7qf-1")
    assert error["full_id"] == FLAGGED["full_id"]


def test_what_is_refused_while_waiting_is_refused(node: ScriptedNode) -> None:
    node.replies["POST /agent/await"] = [(409, "conflict", "It was handed over before.")]
    told = wait(node, "--json")
    error = json.loads(told.stdout)["error"]
    assert (told.exit_code, error["code"], error["id"]) == (1, "conflict", "k7qf-1")


def test_a_node_that_goes_away_while_it_waits_does_not_lose_the_ask(
    node: ScriptedNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE_S", 0.0)
    node.broken = "POST /agent/await"
    told = wait(node, "--json")
    error = json.loads(told.stdout)["error"]
    assert (told.exit_code, error["code"], error["id"]) == (3, "node_away", "k7qf-1")
    assert "k7qf-1 is recorded and stays open" in error["hint"]
