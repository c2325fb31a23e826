"""Who asks: claims made fit, and the kernel's word beside them."""

import json
from typing import Any

import pytest

from node.agents.asker import Hello, Peer, asker_over_http, asker_over_mcp, short_name
from sync.errors import Invalid
from sync.limits import NAME_CHARACTERS, PROJECT_CHARACTERS

PEER = Peer(pid=7, uid=1000)
PLAIN = Hello(askmesh=1, process="mcp-7-1", project="p", cwd="/w", branch="trunk")


def hello(**fields: Any) -> Hello:  # noqa: ANN401
    base: dict[str, Any] = {
        "askmesh": 1,
        "process": "mcp-7-1",
        "project": "p",
        "cwd": "/w",
        "branch": "trunk",
    }
    return Hello(**(base | fields))


@pytest.mark.parametrize(
    ("line", "client", "agent"),
    [
        (PLAIN, "claude-code", "claude"),
        (PLAIN, "codex-mcp-client", "codex"),
        (PLAIN, "copilot-cli", "copilot"),
        (PLAIN, "gemini-cli-mcp-client", "gemini"),
        (PLAIN, "own-bot", "own-bot"),
        (PLAIN, "", "agent"),
        (hello(agent="release-bot"), "claude-code", "release-bot"),
        (hello(environment_agent="claude"), "unknown", "claude"),
        # Started inside Claude, whose variables it inherits.
        (hello(environment_agent="claude"), "gemini-cli-mcp-client", "gemini"),
    ],
)
def test_the_agent_is_as_told_else_as_its_client_says(line: Hello, client: str, agent: str) -> None:
    assert asker_over_mcp(line, client, {}, PEER).agent == agent


CODEX = {"session_id": "x-1", "turn_id": "t"}


@pytest.mark.parametrize(
    ("line", "client", "meta", "session"),
    [
        (PLAIN, "bot", {}, "mcp-7-1"),
        (hello(session="s-1"), "claude-code", {}, "s-1"),
        (hello(environment_sessions={"claude": "c-1"}), "claude-code", {}, "c-1"),
        (hello(environment_sessions={"claude": "c-1"}), "gemini-cli-mcp-client", {}, "mcp-7-1"),
        (PLAIN, "codex-mcp-client", {"x-codex-turn-metadata": CODEX}, "x-1"),
        (PLAIN, "codex-mcp-client", {"x-codex-turn-metadata": json.dumps(CODEX)}, "x-1"),
        (PLAIN, "codex-mcp-client", {"x-codex-turn-metadata": "{"}, "mcp-7-1"),
        (PLAIN, "codex-mcp-client", {"x-codex-turn-metadata": [1]}, "mcp-7-1"),
        (PLAIN, "codex-mcp-client", {"x-codex-turn-metadata": {"session_id": 5}}, "mcp-7-1"),
        (hello(process=""), "bot", {}, "mcp-7"),
    ],
)
def test_the_session_is_the_hosts_own_where_it_has_one(
    line: Hello, client: str, meta: dict[str, Any], session: str
) -> None:
    assert asker_over_mcp(line, client, meta, PEER).session == session


def test_the_branch_is_that_of_the_call() -> None:
    assert asker_over_mcp(PLAIN, "bot", {}, PEER).branch == "trunk"
    assert asker_over_mcp(PLAIN, "bot", {"askmesh/branch": "fix"}, PEER).branch == "fix"
    assert asker_over_mcp(PLAIN, "bot", {"askmesh/branch": 5}, PEER).branch is None


def test_pid_and_uid_are_the_kernels_whatever_is_claimed() -> None:
    claim = {"agent": "a", "session": "s", "pid": 1, "uid": 0}
    asker = asker_over_http(claim, PEER)
    assert (asker.pid, asker.uid) == (7, 1000)


@pytest.mark.parametrize(
    "who",
    [
        None,
        5,
        {},
        {"agent": "a"},
        {"agent": "", "session": "s"},
        {"agent": "a\n", "session": "s"},
        {"agent": "a", "session": "s" * (NAME_CHARACTERS + 1)},
        {"agent": "a", "session": "s", "cwd": 5},
        {"agent": "a", "session": "\x1b[2J"},
    ],
)
def test_a_claim_that_is_no_name_is_refused(who: object) -> None:
    with pytest.raises(Invalid):
        asker_over_http(who, PEER)


def test_names_out_of_a_hello_are_made_fit_and_stay_apart() -> None:
    first, second = short_name("x" * 100 + "1"), short_name("x" * 100 + "2")
    assert len(first) <= NAME_CHARACTERS
    assert first != second
    assert short_name("a\x1b[2J\n") == "a[2J"
    assert short_name("\n") == "unknown"


def test_a_long_project_stays_one_project() -> None:
    line = hello(project="p" * 1000)
    asker = asker_over_mcp(line, "bot", {}, PEER)
    assert len(asker.project) <= PROJECT_CHARACTERS
    assert asker_over_http({"agent": "a", "session": "s", "project": "p" * 1000}, PEER).project == (
        asker.project
    )
