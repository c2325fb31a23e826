"""`askmesh node …`: what is shown, asked and sent, against a node that plays a part."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.node.cli.conftest import Command
from tests.node.cli.scripted_node import (
    HERE_ROW,
    NOW,
    PASSPHRASE,
    THERE,
    THERE_ROW,
    ScriptedNode,
    fleet,
    machine,
    pairing,
    scripted_node,
)
from web.views import Consequences, JoinedView, MachineView, Offer, PrivacyLine

CODE = "K7QF-9M2D-XW4T-H"
PAIR = "POST /api/pairing"
JOIN = "POST /api/joining"
ADDRESS = f"/api/machines/{THERE}/addresses"
REMOVE = f"DELETE /api/machines/{THERE}"
MEANS = Consequences(allowed=True, sentences=["Ann's account here ends.", "2 asks move over."])


@pytest.fixture
def command(tmp_path: Path) -> Command:
    # A socket's path is short, a test's own folder need not be.
    (tmp_path / "project").mkdir()
    home = Path(tempfile.mkdtemp(prefix="askmesh-"), "data")
    return Command(home=home, project=tmp_path / "project", web_port=1, port=1)


@pytest.fixture
def node(command: Command) -> Iterator[ScriptedNode]:
    with scripted_node(command.home) as playing:
        yield playing
    for path in (*command.home.iterdir(), command.home, command.home.parent):
        path.rmdir() if path.is_dir() else path.unlink()


def sign_in(screen: Any) -> None:  # noqa: ANN401
    screen.expect("Passphrase:")
    screen.type(PASSPHRASE)


# --- pair ---------------------------------------------------------------------------------


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
        screen.expect("Waiting for the other machine: 10 min left")
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
    assert CODE not in output


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


def test_the_code_reaches_standard_output_only_on_purpose(
    command: Command, node: ScriptedNode
) -> None:
    node.replies[PAIR] = [pairing(code=CODE)]
    node.replies["GET /api/pairing"] = [pairing("paired", sentence="attic joined.")]
    for words, first in ((("--print-code",), CODE), (("--print-code", "--json"), None)):
        with command.on_screen("node", "pair", *words) as screen:
            sign_in(screen)
            code, output = screen.end()
        assert code == 0
        line = output.splitlines()[0]
        assert line == first or json.loads(line)["code"] == CODE


# --- join ---------------------------------------------------------------------------------


JOINED = JoinedView(
    machine=MachineView(id=THERE, short="bbbb", name="attic"),
    machines=2,
    raised_again=2,
    sentence="This machine belongs to attic's fleet now.",
)


def joinable(node: ScriptedNode, *offers: Offer) -> None:
    node.replies["GET /api/joining"] = [MEANS]
    node.replies["GET /api/pairing/offers"] = [{"offers": list(offers)}]
    node.replies[JOIN] = [JOINED]


NEAR = Offer(machine="attic", address="192.168.1.20:40211")
HOSTILE = Offer(machine="at\x1b[2Jtic", address="10.0.0.6:1")


@pytest.mark.parametrize("words", [("join",), ("join", CODE), ("pair", CODE)])
def test_joining_says_what_it_means_before_it_asks(
    command: Command, node: ScriptedNode, words: tuple[str, ...]
) -> None:
    joinable(node, NEAR)
    with command.on_screen("node", *words) as screen:
        sign_in(screen)
        screen.expect("- Ann's account here ends.")
        screen.expect("- 2 asks move over.")
        screen.expect("Found attic (192.168.1.20:40211).")
        screen.expect("Join 192.168.1.20:40211? [y/N]")
        assert node.sent == []
        screen.type("y")
        if CODE not in words:
            screen.expect("Code:")
            screen.type(CODE)
        code, output = screen.end()
    assert (code, output) == (0, f"{JOINED.sentence}\n")
    assert node.sent == [(JOIN, {"code": CODE, "address": NEAR.address})]


def test_of_several_machines_near_by_one_is_chosen(command: Command, node: ScriptedNode) -> None:
    joinable(node, HOSTILE, NEAR)
    with command.on_screen("node", "join", CODE, "--yes") as screen:
        sign_in(screen)
        screen.expect("1. at⟨U+001B⟩[2Jtic (10.0.0.6:1)")
        screen.expect("Which one (1 to 2)?")
        screen.type("2")
        assert screen.end()[0] == 0
    assert node.sent == [(JOIN, {"code": CODE, "address": NEAR.address})]


@pytest.mark.parametrize("typed", ["3", "0", "x", "", "²"])
def test_a_choice_that_is_none_does_nothing(
    command: Command, node: ScriptedNode, typed: str
) -> None:
    joinable(node, HOSTILE, NEAR)
    with command.on_screen("node", "join", CODE) as screen:
        sign_in(screen)
        screen.expect("Which one (1 to 2)?")
        screen.type(typed)
        assert screen.end()[0] == 1
    assert node.sent == []


def test_where_none_is_near_by_the_address_is_asked_for(
    command: Command, node: ScriptedNode
) -> None:
    joinable(node)
    with command.on_screen("node", "join", CODE) as screen:
        sign_in(screen)
        screen.expect("Address (HOST:PORT):")
        screen.type("box.local:40211")
        screen.expect("Join box.local:40211? [y/N]")
        screen.type("y")
        assert screen.end()[0] == 0
    assert node.sent == [(JOIN, {"code": CODE, "address": "box.local:40211"})]


def test_a_given_address_is_not_looked_for(command: Command, node: ScriptedNode) -> None:
    joinable(node)
    with command.on_screen("node", "pair", "--host", "h:1") as screen:
        sign_in(screen)
        screen.expect("Join h:1? [y/N]")
        screen.type("y")
        screen.expect("Code:")
        screen.type(CODE)
        assert screen.end()[0] == 0
    assert node.sent == [(JOIN, {"code": CODE, "address": "h:1"})]


def test_saying_no_sends_nothing(command: Command, node: ScriptedNode) -> None:
    joinable(node, NEAR)
    with command.on_screen("node", "join", CODE) as screen:
        sign_in(screen)
        screen.expect("[y/N]")
        screen.type("n")
        assert screen.end()[0] == 1
    assert node.sent == []
    assert node.sessions == 0


def test_a_fleet_with_members_is_told_the_way_out_before_a_code_is_asked_for(
    command: Command, node: ScriptedNode
) -> None:
    joinable(node, NEAR)
    refused = Consequences(allowed=False, sentences=["It has 3 machines.", "Leave first."])
    node.replies["GET /api/joining"] = [refused]
    with command.on_screen("node", "join") as screen:
        sign_in(screen)
        code, output = screen.end()
    assert code == 1
    assert "It has 3 machines." in output
    assert "Leave first." in output
    assert "Code:" not in screen.shown


def test_a_mistyped_code_is_asked_for_again_and_a_refused_one_is_not(
    command: Command, node: ScriptedNode
) -> None:
    joinable(node, NEAR)
    wrong = (400, "invalid", "The code was mistyped.")
    node.replies[JOIN] = [wrong, (502, "pairing_failed", "The code is used up.")]
    with command.on_screen("node", "join", "--yes") as screen:
        sign_in(screen)
        screen.expect("Code:")
        screen.type("K7QF")
        screen.expect("The code was mistyped.")
        screen.expect("Code:")
        screen.type(CODE)
        code, output = screen.end()
    assert code == 1
    assert "The code is used up." in output
    assert [body["code"] for _, body in node.sent] == ["K7QF", CODE]


def test_where_nobody_ever_signed_in_no_passphrase_is_asked_for(
    command: Command, node: ScriptedNode
) -> None:
    node.has_person = False
    joinable(node, NEAR)
    with command.on_screen("node", "join", CODE) as screen:
        screen.expect("[y/N]")
        screen.type("y")
        assert screen.end()[0] == 0
    assert "Passphrase" not in screen.shown
    assert node.sent == [(JOIN, {"code": CODE, "address": NEAR.address})]


def test_a_machine_being_set_up_joins_without_a_terminal(
    command: Command, node: ScriptedNode
) -> None:
    node.has_person = False
    joinable(node, NEAR)
    assert command.run("node", "join", CODE).code == 1
    assert node.sent == []
    result = command.run("node", "join", CODE, "--yes", "--json")
    assert result.code == 0, result.err
    assert result.object["sentence"] == JOINED.sentence
    joinable(node, HOSTILE, NEAR)
    several = command.run("node", "join", CODE, "--yes")
    assert several.code == 1
    assert "Say which one by --host." in several.err
    assert "\x1b" not in several.err
    joinable(node)
    assert "No machine near by shows a code." in command.run("node", "join", CODE, "--yes").err
    assert len(node.sent) == 1


# --- the machines ---------------------------------------------------------------------------


def test_without_a_terminal_nothing_is_granted(command: Command, node: ScriptedNode) -> None:
    joinable(node, NEAR)
    for words in (
        ("pair",),
        ("pair", CODE, "--yes"),
        ("join", CODE, "--yes"),
        ("assign", "attic", "Ann", "--yes"),
        ("remove", "attic", "--yes"),
        ("leave", "--yes"),
        ("address", "add", "attic", "h:1"),
        ("address", "drop", "attic", "h:1"),
    ):
        result = command.run("node", *words, text=f"y\n{PASSPHRASE}\n")
        assert result.code == 1, words
        assert "there is no terminal here" in result.err
    assert node.sent == []


def test_a_machine_is_assigned_by_its_id(command: Command, node: ScriptedNode) -> None:
    path = f"PUT /api/machines/{THERE}/person"
    node.replies[path] = [node.fleet]
    with command.on_screen("node", "assign", "ATTIC", "Bo\u200b") as screen:
        screen.expect("attic (bbbbbbbb) becomes a machine of Bo⟨U+200B⟩")
        screen.expect("[y/N]")
        screen.type("y")
        sign_in(screen)
        code, output = screen.end()
    assert (code, output) == (0, "attic (bbbbbbbb) speaks for Bo⟨U+200B⟩ now.\n")
    assert node.sent == [(path, {"person": "Bo\u200b"})]


def test_removing_says_what_it_means_and_wants_the_name(
    command: Command, node: ScriptedNode
) -> None:
    node.replies[REMOVE] = [fleet(HERE_ROW)]
    with command.on_screen("node", "remove", "bbbb") as screen:
        screen.expect("they show 'machine removed'")
        screen.expect("Ann can no longer answer from it.")
        screen.expect("Type its name (attic) to remove it:")
        screen.type("atti")
        code, output = screen.end()
    assert code == 1
    assert "not its name" in output
    assert "Passphrase" not in screen.shown
    with command.on_screen("node", "remove", "attic", "--json") as screen:
        screen.expect("to remove it:")
        screen.type("Attic")
        sign_in(screen)
        code, output = screen.end()
    assert code == 0
    assert len(json.loads(output)["fleet"]["machines"]) == 1
    assert node.sent == [(REMOVE, {})]


def test_a_machine_is_not_asked_to_remove_itself(command: Command, node: ScriptedNode) -> None:
    del node
    with command.on_screen("node", "remove", "studio") as screen:
        code, output = screen.end()
    assert code == 1
    assert "askmesh node leave" in output


def test_a_name_that_fits_none_or_several_does_nothing(
    command: Command, node: ScriptedNode
) -> None:
    node.fleet = fleet(HERE_ROW, THERE_ROW, machine("c" * 52, "attic"))
    for typed, said in (("cellar", "There is no machine"), ("attic", "names several machines")):
        with command.on_screen("node", "remove", typed) as screen:
            code, output = screen.end()
        assert code == 1
        assert said in output
    removed = machine("d" * 52, "studio", state="removed")
    node.fleet = fleet(HERE_ROW, removed)
    with command.on_screen("node", "remove", "studio") as screen:
        assert "A machine cannot remove itself" in screen.end()[1], "a member goes first"


def test_leaving_says_what_will_happen(command: Command, node: ScriptedNode) -> None:
    node.replies["GET /api/leaving"] = [MEANS]
    node.replies["POST /api/leaving"] = [fleet(HERE_ROW)]
    with command.on_screen("node", "leave") as screen:
        sign_in(screen)
        screen.expect("- Ann's account here ends.")
        screen.expect("Leave the fleet? [y/N]")
        assert node.sent == []
        screen.type("y")
        code, output = screen.end()
    assert (code, output) == (0, "This machine has left; it is a fleet of its own now.\n")
    node.replies["GET /api/leaving"] = [Consequences(allowed=False, sentences=["It is alone."])]
    with command.on_screen("node", "leave", "--yes") as screen:
        sign_in(screen)
        code, output = screen.end()
    assert code == 1
    assert "It is alone." in output
    assert len(node.sent) == 1


def test_addresses_are_given_and_taken_back(command: Command, node: ScriptedNode) -> None:
    node.replies = {f"POST {ADDRESS}": [node.fleet], f"DELETE {ADDRESS}": [node.fleet]}
    for word, said in (("add", "is tried at h:1"), ("drop", "h:1 is no address of attic")):
        with command.on_screen("node", "address", word, "attic", "h:1") as screen:
            sign_in(screen)
            code, output = screen.end()
        assert code == 0
        assert said in output
    body = {"address": "h:1"}
    assert node.sent == [(f"POST {ADDRESS}", body), (f"DELETE {ADDRESS}", body)]


# --- what everyone may read -------------------------------------------------------------------


def test_the_list_needs_no_terminal_and_shows_hostile_names(
    command: Command, node: ScriptedNode
) -> None:
    away = machine(
        THERE,
        "at\x1b[31mtic\u202e",
        state="away",
        seen=NOW - 3 * 3_600_000,
        seen_by="cellar",
        behind_us=12,
        behind_them=3,
        trouble="No route to 192.168.1.20:7717.",
        skew_ms=-86_400_000,
        version="\x07",
    )
    gone = machine("c" * 52, "old", state="removed", removed=NOW - 60_000, removed_by="Ann")
    node.fleet = fleet(HERE_ROW, away, gone, mdns="Port 5353 is taken.")
    result = command.run("node", "list")
    assert result.code == 0, result.err
    assert result.out.isprintable() or not set("\x1b\x07\u202e") & set(result.out)
    for part in (
        "this machine",
        "at⟨U+001B⟩[31mtic⟨U+202E⟩",
        "seen 3 h ago by cellar",
        "12 to come, 3 to go",
        "No route to 192.168.1.20:7717.",
        "its clock is 1 d behind this machine's.",
        "nobody can answer from it yet",
        "removed 1 min ago by Ann",
        "Machines near by are not found: Port 5353 is taken.",
    ):
        assert part in result.out, result.out
    listed = command.run("node", "list", "--json").object
    assert [row["state"] for row in listed["fleet"]["machines"]] == ["here", "away", "removed"]


def test_status_shows_the_machines_and_what_is_in_the_way(
    command: Command, node: ScriptedNode
) -> None:
    assert "1.2 ms" in command.run("status").out
    node.fleet = fleet(HERE_ROW, removed="Ann removed this machine at studio, today.")
    result = command.run("status")
    assert result.code == 0, result.err
    assert "! Ann removed this machine at studio, today." in result.out
    assert command.run("status", "--json").object["fleet"]["removed"]


def test_status_tells_what_leaves_this_machine(command: Command, node: ScriptedNode) -> None:
    off = PrivacyLine(what="Usage.", to="nobody", on=False, how="There is no code for it.")
    on = PrivacyLine(what="Asks.", to="the machine at\x1btic", on=True, how="askmesh node leave")
    node.privacy = [off, on]
    result = command.run("status", "--privacy")
    assert result.code == 0, result.err
    assert result.out.index("leaves  Asks.") < result.out.index("stays   Usage.")
    assert "at⟨U+001B⟩tic" in result.out
    assert command.run("status", "--privacy", "--json").object["privacy"][0]["on"] is False
    assert command.run("status", "--privacy", "--short").code == 2


def test_without_a_node_every_command_says_so(command: Command) -> None:
    assert not os.path.lexists(command.home)
    for words in (("list",), ("join", CODE, "--yes")):
        assert command.run("node", *words).code == 3
    command.home.parent.rmdir()
