"""`askmesh node join`: what it means, where to, and by which code."""

import pytest

from tests.node.cli.conftest import Command
from tests.node.cli.scripted_node import THERE, ScriptedNode, sign_in
from web.views import Consequences, JoinedView, MachineView, Offer

CODE = "K7QF-9M2D-XW4T-X"
JOIN = "POST /api/joining"
MEANS = Consequences(allowed=True, sentences=["Ann's account here ends.", "2 asks move over."])


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("K7QF-9M2D-XW4T-Y",), "This code is mistyped somewhere."),
        (("K7QF",), "A code has 13 symbols; 4 were typed."),
        ((CODE, "--host", "attic"), "“attic” is not an address."),
    ],
)
def test_what_is_mistyped_is_told_before_the_passphrase_is_asked_for(
    command: Command, node: ScriptedNode, words: tuple[str, ...], said: str
) -> None:
    joinable(node, NEAR)
    with command.on_screen("node", "join", *words) as screen:
        code, output = screen.end()
    assert (code, said in output) == (1, True), output
    assert "Passphrase" not in screen.shown
    assert node.sent == []


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


def test_a_node_that_does_not_reply_leaves_it_open_whether_it_joined(
    command: Command, node: ScriptedNode
) -> None:
    joinable(node, NEAR)
    node.silent = JOIN
    with command.on_screen("node", "join", CODE, "--yes") as screen:
        sign_in(screen)
        screen.expect("Joining … 0 s")
        screen.interrupt()
        code, output = screen.end()
    assert code == 1
    assert "whether this machine joined is not known" in output
    node.broken = JOIN
    result = command.run("node", "join", CODE, "--yes", "--host", "h:1")
    assert result.code == 1, "somebody has signed in here"
    node.has_person = False
    result = command.run("node", "join", CODE, "--yes", "--host", "h:1")
    assert result.code == 3
    assert "whether this machine joined is not known" in result.err
