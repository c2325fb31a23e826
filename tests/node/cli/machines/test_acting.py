"""`askmesh node assign`, `remove`, `leave` and `address`: a person's acts on machines."""

import json

import pytest

from tests.node.cli.conftest import Command
from tests.node.cli.scripted_node import (
    HERE,
    HERE_ROW,
    PASSPHRASE,
    THERE,
    THERE_ROW,
    ScriptedNode,
    fleet,
    machine,
    sign_in,
)
from web.views import Consequences

ADDRESS = f"/api/machines/{THERE}/addresses"
REMOVE = f"DELETE /api/machines/{THERE}"
LEAVE = "POST /api/leaving"
CODE = "K7QF-9M2D-XW4T-X"
MEANS = Consequences(allowed=True, sentences=["Ann's account here ends.", "2 asks move over."])


def test_without_a_terminal_nothing_is_granted(command: Command, node: ScriptedNode) -> None:
    node.replies["GET /api/joining"] = [MEANS]
    for words in (
        ("pair",),
        ("pair", CODE, "--yes"),
        ("join", CODE, "--yes"),
        ("assign", "attic", "Ann", "--yes"),
        ("rename", "workshop", "--yes"),
        ("remove", "attic", "--yes"),
        ("leave", "--yes"),
        ("address", "add", "attic", "h:1"),
        ("address", "drop", "attic", "h:1"),
    ):
        result = command.run("node", *words, text=f"y\n{PASSPHRASE}\n")
        assert result.code == 1, words
        assert "there is no terminal here" in result.err
    assert node.sent == []


def test_this_machine_is_renamed(command: Command, node: ScriptedNode) -> None:
    path = f"PUT /api/machines/{HERE}/name"
    node.replies[path] = [node.fleet]
    with command.on_screen("node", "rename", " The  workshop ") as screen:
        sign_in(screen)
        screen.expect("studio (aaaaaaaa) is called The workshop from now on, everywhere.")
        screen.expect("Rename it? [y/N]")
        assert node.sent == []
        screen.type("y")
        code, output = screen.end()
    assert (code, output) == (0, "This machine is called The workshop now.\n")
    assert node.sent == [(path, {"name": "The workshop"})]
    for typed, said in (
        ("ATTIC", "looks like attic"),
        ("studio", "is called studio already"),
        ("", "The machine's name is empty."),
    ):
        with command.on_screen("node", "rename", typed) as screen:
            code, output = screen.end()
        assert code == 1
        assert said in output
        assert "Passphrase" not in screen.shown


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
    node.replies[LEAVE] = [{"fleet": fleet(HERE_ROW), "recovery_words": None}]
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


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_recovery_words_are_shown_once_and_on_the_terminal_only(
    command: Command, node: ScriptedNode, words: tuple[str, ...]
) -> None:
    node.replies["GET /api/leaving"] = [MEANS]
    node.replies[LEAVE] = [{"fleet": fleet(HERE_ROW), "recovery_words": ["anchor", "brook"]}]
    with command.on_screen("node", "leave", "--yes", *words) as screen:
        sign_in(screen)
        screen.expect("   1. anchor")
        screen.expect("   2. brook")
        screen.expect("Enter when they are written down:")
        screen.type("")
        code, output = screen.end()
    assert code == 0
    assert "anchor" not in output


def test_leaving_counts_when_the_window_is_closed_at_the_recovery_words(
    command: Command, node: ScriptedNode
) -> None:
    node.replies["GET /api/leaving"] = [MEANS]
    node.replies[LEAVE] = [{"fleet": fleet(HERE_ROW), "recovery_words": ["anchor"]}]
    with command.on_screen("node", "leave", "--yes") as screen:
        sign_in(screen)
        screen.expect("written down:")
        screen.end_of_file()
        code, output = screen.end()
    assert code == 0
    assert "has left" in output


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
