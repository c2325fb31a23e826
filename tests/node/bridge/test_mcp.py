"""`askmesh mcp` as a process, between a scripted client and a scripted node."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from node.bridge.lines import LINE_BYTES
from node.bridge.start import launcher
from tests.node.bridge.client_side import PLAIN, BridgeProcess
from tests.node.bridge.scripted_node import ScriptedNode, Side, in_thread

SERVER = {"name": "askmesh", "version": "1"}


def greeted(bridge: BridgeProcess, node: ScriptedNode) -> Side:
    """A handshake of the older era, done."""
    side = node.take()
    side.upgrade()
    bridge.ask(0, "initialize")
    assert side.message()["method"] == "initialize"
    side.say(id=0, result={"serverInfo": SERVER})
    assert bridge.heard()["id"] == 0
    bridge.say(method="notifications/initialized")
    assert side.message()["method"] == "notifications/initialized"
    return side


def test_the_hello_names_the_asker_and_nothing_secret(
    node: ScriptedNode, home: Path, tmp_path: Path
) -> None:
    environment = {
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "c-1",
        "CLAUDE_CODE_MESSAGING_TOKEN": "secret-token",
    }
    with BridgeProcess(home, "--no-start", environment=environment, cwd=tmp_path):
        hello = node.take().upgrade()
    assert hello["environment_agent"] == "claude"
    assert hello["environment_sessions"] == {"claude": "c-1"}
    assert hello["project"] == f"path:{tmp_path}"
    assert hello["process"].startswith(f"mcp-{os.getpid()}-")
    assert "secret-token" not in json.dumps(hello)


def test_the_agents_name_can_be_given_by_installer_and_environment(
    node: ScriptedNode, home: Path
) -> None:
    overrides = {"ASKMESH_AGENT": "bot", "ASKMESH_SESSION": "s-1", "ASKMESH_PROJECT": "p"}
    with BridgeProcess(home, "--no-start", environment=overrides):
        hello = node.take().upgrade()
    assert (hello["agent"], hello["session"], hello["project"]) == ("bot", "s-1", "p")
    with BridgeProcess(home, "--no-start", "--agent", "codex", environment=overrides):
        assert node.take().upgrade()["agent"] == "codex"


def test_a_call_in_flight_reaches_the_next_node_under_its_id(
    node: ScriptedNode, home: Path
) -> None:
    with BridgeProcess(home, "--no-start") as bridge:
        side = greeted(bridge, node)
        bridge.ask(1, name="await_answer")
        first = side.message()
        side.raw(b'{"jsonrpc":"2.0","id":1,"result":{"to')  # dies while it writes
        node.kill()
        node.up()
        side = node.take()
        side.upgrade()
        handshake = side.message()
        assert handshake["method"] == "initialize"
        side.say(method="notifications/message", params={})  # not for the client
        side.say(id=handshake["id"], result={"serverInfo": SERVER})
        assert side.message()["method"] == "notifications/initialized"
        assert side.message() == first
        assert first["params"]["_meta"]["askmesh/request"]
        side.say(id=1, result={"answer": "yes"})
        side.say(id=1, result={"answer": "no"})  # once is enough
        assert bridge.heard()["result"] == {"answer": "yes"}
        bridge.ask(2, "ping")
        side.message()
        side.say(id=2, result={})
        assert bridge.heard()["id"] == 2


def test_a_call_made_while_there_is_no_node_waits_for_the_next(
    node: ScriptedNode, home: Path
) -> None:
    with BridgeProcess(home, "--no-start") as bridge:
        greeted(bridge, node)
        node.kill()
        bridge.ask(1, name="flag")
        node.up()
        side = node.take()
        side.upgrade()
        side.say(id=side.message()["id"], result={"serverInfo": SERVER})
        assert side.message()["method"] == "notifications/initialized"
        assert side.message()["params"]["name"] == "flag"


def test_each_call_has_an_id_of_its_own(node: ScriptedNode, home: Path) -> None:
    with BridgeProcess(home, "--no-start") as bridge:
        side = greeted(bridge, node)
        bridge.ask(1, name="flag")
        bridge.ask(2, name="flag")
        ids = {side.message()["params"]["_meta"]["askmesh/request"] for _ in range(2)}
        assert len(ids) == 2


def test_a_handshake_after_an_unanswered_probe_gets_a_fresh_connection(
    node: ScriptedNode, home: Path
) -> None:
    with BridgeProcess(home, "--no-start") as bridge:
        side = node.take()
        side.upgrade()
        bridge.ask("probe", "server/discover")
        assert side.message()["id"] == "probe"
        bridge.ask(0, "initialize")
        assert bridge.heard()["id"] == "probe"
        assert side.gone()
        side = node.take()
        side.upgrade()
        assert side.message()["method"] == "initialize"


def test_a_node_that_dies_during_the_replay_is_tried_again(node: ScriptedNode, home: Path) -> None:
    with BridgeProcess(home, "--no-start") as bridge:
        side = greeted(bridge, node)
        bridge.ask(1, name="await_answer")
        side.message()
        side.die()
        for _ in range(3):
            side = node.take()
            side.upgrade()
            side.message()
            side.die()
        side = node.take()
        side.upgrade()
        side.say(id=side.message()["id"], result={"serverInfo": SERVER})
        side.message()
        assert side.message()["params"]["name"] == "await_answer"


def test_a_node_that_refuses_says_why(node: ScriptedNode, home: Path) -> None:
    body = b'{"error": {"code": "limit", "message": "Too many streams.", "hint": "Close one."}}'

    def refuse() -> None:
        with contextlib.suppress(OSError):  # until the test ends it
            while True:
                side = node.take()
                side.head()
                side.raw(b"HTTP/1.1 429 X\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
                side.die()

    with in_thread(refuse):
        with BridgeProcess(home, "--no-start") as bridge:
            bridge.ask(0, "initialize")
            message = bridge.heard()["error"]["message"]
        node.kill()
    assert message == "The node refuses: Too many streams. Close one."


def test_a_directory_that_was_not_set_up_is_told_at_once_and_left_alone(home: Path) -> None:
    with BridgeProcess(home) as bridge:
        bridge.ask("probe", "server/discover")
        error = bridge.heard()["error"]
        bridge.ask(0, "initialize")
        assert bridge.heard()["error"] == error
        bridge.ask(1, name="flag")
        assert "Nothing was recorded." in bridge.heard()["error"]["message"]
    assert "was not set up" in error["message"]
    assert "askmesh up" in error["message"]
    assert list(home.iterdir()) == []


def test_a_node_that_cannot_be_reached_holds_up_a_starting_client_once(
    node: ScriptedNode, home: Path
) -> None:
    node.kill()
    with BridgeProcess(home, "--no-start") as bridge:
        began = time.monotonic()
        bridge.ask("probe", "server/discover")
        assert bridge.heard()["id"] == "probe"
        once = time.monotonic()
        bridge.ask(0, "initialize")
        message = bridge.heard()["error"]["message"]
        assert time.monotonic() - once < (once - began) / 2
    assert "is not running" in message
    assert "askmesh up" in message


def test_a_message_too_long_is_answered_and_the_next_one_works(
    node: ScriptedNode, home: Path
) -> None:
    with BridgeProcess(home, "--no-start") as bridge:
        side = greeted(bridge, node)
        bridge.ask(7, name="flag", arguments={"detail": "x" * (LINE_BYTES + 1)})
        reply = bridge.heard()
        assert (reply["id"], reply["error"]["code"]) == (7, -32600)
        bridge.raw(b"garbage\n")
        assert bridge.heard()["error"]["code"] == -32700
        bridge.ask(8, name="flag")
        assert side.message()["id"] == 8


def test_a_call_of_four_mebibytes_passes(node: ScriptedNode, home: Path) -> None:
    detail = "\u2028" * (4 * 1024 * 1024 // 3)
    with BridgeProcess(home, "--no-start") as bridge:
        side = greeted(bridge, node)
        bridge.ask(1, name="flag", arguments={"detail": detail})
        assert side.message()["params"]["arguments"]["detail"] == detail


def test_it_ends_with_its_client_even_while_a_call_waits(node: ScriptedNode, home: Path) -> None:
    with BridgeProcess(home, "--no-start") as bridge:
        side = greeted(bridge, node)
        bridge.ask(1, name="await_answer")
        side.message()
        assert bridge.ended() == 0
        assert side.gone()


def test_it_ends_when_nobody_reads_what_it_says(node: ScriptedNode, home: Path) -> None:
    with BridgeProcess(home, "--no-start") as bridge:
        side = greeted(bridge, node)
        assert bridge.process.stdout is not None
        bridge.process.stdout.close()
        side.say(method="notifications/message", params={})
        assert bridge.process.wait(20) == 0


def test_it_works_in_a_folder_that_was_deleted(
    node: ScriptedNode, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    program = (
        "import os, sys; os.rmdir(os.getcwd()); "
        "os.execv(sys.executable, [sys.executable] + sys.argv[1:])"
    )
    words = ["-I", "-S", launcher(), "mcp", "--home", str(home), "--no-start"]
    with subprocess.Popen(
        [sys.executable, "-c", program, *words], stdin=subprocess.PIPE, cwd=folder, env=PLAIN
    ) as process:
        assert node.take().upgrade()["cwd"] == "/"
        process.kill()


@pytest.mark.parametrize("words", [["--home"], ["--what"], ["more"], ["--agent", ""]])
def test_wrong_words_are_refused_with_the_usage(home: Path, words: list[str]) -> None:
    with BridgeProcess(home, *words) as bridge:
        assert bridge.ended() == 2
        assert bridge.process.stderr is not None
        assert b"usage: askmesh mcp" in bridge.process.stderr.read()


def test_it_stays_small(node: ScriptedNode, home: Path) -> None:
    with BridgeProcess(home, "--no-start") as bridge:
        greeted(bridge, node)
        status = Path(f"/proc/{bridge.process.pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    assert int(resident.split()[1]) < 20 * 1024
