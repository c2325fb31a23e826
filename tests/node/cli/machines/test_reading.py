"""`askmesh node list` and `status`: what everyone on the machine may read."""

import os

from tests.node.cli.conftest import Command
from tests.node.cli.scripted_node import HERE_ROW, NOW, THERE, ScriptedNode, fleet, machine
from web.views import PrivacyLine


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
        behind_them=1,
        address="192.168.1.20:7717",
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
        "away, last seen 3 h ago by cellar, nobody's",
        "last at 192.168.1.20:7717, 12 entries to come, 1 entry to send",
        "No route to 192.168.1.20:7717.",
        "Its clock is 1 d behind this machine's.",
        "Nobody can answer from it yet",
        "removed 1 min ago by Ann",
        "Machines near by are not found: Port 5353 is taken.",
    ):
        assert part in result.out, result.out
    listed = command.run("node", "list", "--json").object
    assert [row["state"] for row in listed["fleet"]["machines"]] == ["here", "away", "removed"]


def test_status_shows_the_machines_and_what_is_in_the_way(
    command: Command, node: ScriptedNode
) -> None:
    met = machine(
        THERE,
        "attic",
        state="connected",
        persons=["Ann", "Bo"],
        address="192.168.1.20:7717",
        round_trip_ms=12.0,
        version="0.2.0",
        skew_ms=-120,
    )
    node.fleet = fleet(HERE_ROW, met)
    shown = command.run("status").out
    assert "studio (aaaa): this machine, Ann's\n" in shown
    assert "attic (bbbb): connected, Ann's and Bo's, version 0.2.0\n" in shown
    assert "192.168.1.20:7717, round trip 12 ms, nothing behind, clock -0.1 s\n" in shown
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


def test_a_node_too_old_to_tell_of_machines_is_said_in_words(
    command: Command, node: ScriptedNode
) -> None:
    node.older = True
    result = command.run("status")
    assert result.code == 0, result.err
    assert "2 open asks" in result.out
    assert "! The node that runs here is of an older version" in result.out
    for words in (("status", "--privacy"), ("node", "list"), ("node", "list", "--json")):
        result = command.run(*words)
        assert result.code == 1, words
        assert "Run `askmesh down`, then `askmesh up`." in result.err
    assert "fleet" not in command.run("status", "--json").object


def test_without_a_node_every_command_says_so(command: Command) -> None:
    assert not os.path.lexists(command.home)
    for words in (("list",), ("join", "K7QF-9M2D-XW4T-X", "--yes"), ("pair",)):
        assert command.run("node", *words).code == 3
    command.home.parent.rmdir()
