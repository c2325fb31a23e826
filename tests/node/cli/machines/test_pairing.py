"""`askmesh node pair`: the code is shown, waited for and withdrawn."""

import json
import signal

import pytest

from tests.node.cli.conftest import Command
from tests.node.cli.scripted_node import THERE, ScriptedNode, pairing, sign_in
from web.views import MachineView

CODE = "K7QF-9M2D-XW4T-X"
PAIR = "POST /api/pairing"


def test_a_code_is_shown_and_waited_for(command: Command, node: ScriptedNode) -> None:
    there = MachineView(id=THERE, short="bbbb", name="attic\u202e")
    node.replies[PAIR] = [pairing(code=CODE)]
    node.replies["GET /api/pairing"] = [
        pairing(),
        pairing("paired", sentence="attic\u202e joined.", machine=there),
    ]
    with command.on_screen("node", "pair") as screen:
        sign_in(screen)
        drawn = screen.expect(f"Code: {CODE}")
        screen.expect(f"askmesh node pair {CODE} --host 192.168.1.10:40211")
        screen.expect("Waiting for the other machine: ")
        code, output = screen.end()
    assert code == 0, output
    assert "attic⟨U+202E⟩ joined." in output
    assert CODE not in output
    assert drawn.count("\x1b[30;107m") > 10, "no QR code was drawn"
    assert node.sessions == 0


@pytest.mark.parametrize(("state", "code"), [("failed", "pairing_failed"), ("expired", "expired")])
def test_a_code_that_came_to_nothing_says_why(
    command: Command, node: ScriptedNode, state: str, code: str
) -> None:
    node.replies[PAIR] = [pairing(code=CODE)]
    node.replies["GET /api/pairing"] = [pairing(state, sentence="Somebody typed a wrong code.")]
    with command.on_screen("node", "pair", "--json") as screen:
        sign_in(screen)
        ended, output = screen.end()
    first, last, *_ = output.splitlines()
    assert ended == 1
    assert json.loads(first)["state"] == "waiting"
    assert json.loads(last)["error"]["code"] == code
    assert "Somebody typed a wrong code." in output


def test_ctrl_c_withdraws_the_code(command: Command, node: ScriptedNode) -> None:
    node.replies[PAIR] = [pairing(code=CODE)]
    node.replies["GET /api/pairing"] = [pairing()]
    node.replies["DELETE /api/pairing"] = [{}]
    with command.on_screen("node", "pair") as screen:
        sign_in(screen)
        screen.expect("Ctrl-C withdraws it")
        screen.interrupt()
        code, output = screen.end()
    assert code == 1
    assert "The code was withdrawn" in output
    assert [line for line, _ in node.sent] == [PAIR, "DELETE /api/pairing"]
    assert node.sessions == 0


def test_a_code_that_was_replaced_is_not_waited_for(command: Command, node: ScriptedNode) -> None:
    node.replies[PAIR] = [pairing(code=CODE)]
    node.replies["GET /api/pairing"] = [pairing(id="p-2")]
    with command.on_screen("node", "pair") as screen:
        sign_in(screen)
        code, output = screen.end()
    assert code == 1
    assert "Another code was made meanwhile" in output


def test_a_program_gets_the_code_when_it_asks_for_json(
    command: Command, node: ScriptedNode
) -> None:
    node.replies[PAIR] = [pairing(code=CODE, qr="<svg/>")]
    there = MachineView(id=THERE, short="bbbb", name="attic")
    paired = pairing("paired", sentence="attic joined.", machine=there)
    node.replies["GET /api/pairing"] = [paired]
    with command.on_screen("node", "pair", "--json") as screen:
        sign_in(screen)
        code, output = screen.end()
    assert code == 0
    first, last = map(json.loads, output.splitlines())
    assert (first["code"], first["state"]) == (CODE, "waiting")
    assert (last["code"], last["state"], last["machine"]["id"]) == (None, "paired", THERE)
    assert "qr" not in first


def test_an_ended_command_leaves_no_code_behind(command: Command, node: ScriptedNode) -> None:
    node.replies[PAIR] = [pairing(code=CODE)]
    node.replies["GET /api/pairing"] = [pairing()]
    node.replies["DELETE /api/pairing"] = [{}]
    for number in (signal.SIGTERM, signal.SIGHUP):
        node.sent.clear()
        with command.on_screen("node", "pair") as screen:
            sign_in(screen)
            screen.expect("Ctrl-C withdraws it")
            screen.process.send_signal(number)
            screen.end()
        assert [line for line, _ in node.sent] == [PAIR, "DELETE /api/pairing"]
        assert node.sessions == 0


def test_a_failing_node_is_told_and_the_code_withdrawn(
    command: Command, node: ScriptedNode
) -> None:
    node.replies[PAIR] = [pairing(code=CODE)]
    node.replies["GET /api/pairing"] = [(500, "internal", "Something broke.")]
    node.replies["DELETE /api/pairing"] = [{}]
    with command.on_screen("node", "pair") as screen:
        sign_in(screen)
        code, output = screen.end()
    assert code == 1
    assert "Something broke." in output
    assert [line for line, _ in node.sent] == [PAIR, "DELETE /api/pairing"]


def test_where_nobody_ever_signed_in_no_code_is_shown_but_the_way_to_join(
    command: Command, node: ScriptedNode
) -> None:
    node.has_person = False
    result = command.run("node", "pair")
    assert result.code == 1
    assert "askmesh node join" in result.err
    assert node.sent == []


def test_options_of_the_joining_machine_need_a_code(command: Command, node: ScriptedNode) -> None:
    del node
    assert command.run("node", "pair", "--yes").code == 2
