"""`up` starts one node, says where it is, and shows the first link to a person only."""

import json
import os
import re
import socket
import stat
from pathlib import Path

import pytest

from tests.node.cli.conftest import Command

LINK = re.compile(r"http://127\.0\.0\.1:\d+/#t=([A-Za-z0-9_-]+)")


def process_text(pid: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
    return words.decode().replace("\0", "\n")


def test_up_twice_and_down_twice(command: Command) -> None:
    first = command.up("--json")
    assert first.code == 0, first.err
    assert first.object["started"] is True
    assert first.object["created"] is True
    pid = first.object["pid"]
    second = command.run("up")
    assert second.code == 0
    assert f"askmesh runs: http://127.0.0.1:{command.web_port}/  (pid {pid}" in second.out
    assert command.run("up", "--json").object["pid"] == pid
    down = command.run("down")
    assert (down.code, down.out) == (0, f"The node (pid {pid}) has stopped.\n")
    assert command.run("down", "--json").object["was_running"] is False
    assert command.run("list").code == 3


def test_what_up_was_told_is_kept(command: Command) -> None:
    assert command.up("--name", "workshop", "--no-mdns").code == 0
    assert command.run("down").code == 0
    again = command.run("up", "--json").object
    assert (again["web_port"], again["port"]) == (command.web_port, command.port)
    assert again["created"] is False
    assert command.run("status", "--json").object["machine"]["name"] == "workshop"
    other = command.run("up", "--web-port", "1", "--name", "workshop", "--no-mdns")
    assert other.code == 0
    assert "--web-port 1 is ignored" in other.err
    assert "--name" not in other.err
    assert "--no-mdns" not in other.err


def test_another_name_is_told_apart_and_how_it_is_given(command: Command) -> None:
    assert command.up("--name", "workshop").code == 0
    for running in (True, False):
        if not running:
            assert command.run("down").code == 0
        result = command.up("--name", "The Attic", "--json")
        assert result.code == 0
        assert result.object["ignored"] == ["--name The Attic"]
        assert "This machine is called workshop; --name counts on the first start" in result.err
        assert "askmesh node rename 'The Attic'" in result.err
        assert "To change it" not in result.err
        assert command.run("status", "--json").object["machine"]["name"] == "workshop"


def test_the_node_runs_apart_from_the_terminal_and_the_environment(command: Command) -> None:
    pid = command.up("--json").object["pid"]
    assert os.getsid(pid) == pid
    assert Path(f"/proc/{pid}/cwd").resolve() == Path("/")
    text = process_text(pid)
    assert "ASKMESH_SESSION" not in text
    assert f"\nHOME={command.home.parent}" not in text  # from the account, not the caller
    assert stat.S_IMODE((command.home / "node.log").stat().st_mode) == 0o600


def test_the_link_goes_to_the_terminal_and_nowhere_else(command: Command) -> None:
    ports = ["--web-port", str(command.web_port), "--port", str(command.port)]
    with command.on_screen("up", *ports) as screen:
        screen.expect("Sign in once to become the owner")
        screen.expect("\n\n    ")
        link = screen.expect("\n").strip()
        code, output = screen.end()
    assert code == 0
    found = LINK.fullmatch(link)
    assert found is not None
    assert found[1] not in output
    pid = json.loads((command.home / "node.json").read_text())["pid"]
    assert found[1] not in process_text(pid)
    for file in command.home.rglob("*"):
        if file.is_file():
            assert found[1].encode() not in file.read_bytes(), file
    assert command.sign_in_first(link) == 200
    assert command.sign_in_first(link) == 403


def test_no_place_for_the_link_is_said_with_what_to_do(command: Command) -> None:
    result = command.up("--json")
    assert result.code == 0
    assert not LINK.search(result.out + result.err)
    assert "could not be shown" in result.err
    assert "run `askmesh down`, then `askmesh up`" in result.err
    assert "Nobody has signed in yet" in command.run("up").err


def test_while_nobody_signed_in_each_start_makes_a_new_link(command: Command) -> None:
    links = []
    assert command.up().code == 0
    for _ in range(2):
        assert command.run("down").code == 0
        with command.on_screen("up") as screen:
            screen.expect("Sign in once")
            screen.expect("    http")
            links.append(f"http{screen.expect(chr(10))}".strip())
            assert screen.end()[0] == 0
    assert command.sign_in_first(links[0]) == 403
    assert command.sign_in_first(links[1]) == 200
    assert command.run("down").code == 0
    with command.on_screen("up") as screen:
        code, output = screen.end()
    assert code == 0
    assert "#t=" not in screen.shown + output


def test_the_link_file_is_private_new_and_for_the_first_start_only(command: Command) -> None:
    file = command.home.parent / "link"
    file.write_text("mine")
    refused = command.up("--first-sign-in", str(file))
    assert refused.code == 1
    assert "exists already" in refused.err
    assert not command.home.joinpath("store.db").exists()
    file.unlink()
    assert command.up("--first-sign-in", str(file)).code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    other = command.home.parent / "other"
    running = command.run("up", "--first-sign-in", str(other))
    assert (running.code, other.exists()) == (1, False)
    assert "first start only" in running.err
    assert command.run("down").code == 0
    later = command.run("up", "--first-sign-in", str(other))
    assert (later.code, other.exists()) == (1, False)
    assert "first start only" in later.err
    assert command.run("status").code == 3
    assert command.run("up").code == 0
    assert command.sign_in_first(file.read_text()) == 403  # its token died with its node


def test_a_start_that_fails_says_why_and_leaves_no_link_file(command: Command) -> None:
    file = command.home.parent / "link"
    with socket.create_server(("127.0.0.1", command.web_port)):
        result = command.up("--first-sign-in", str(file))
    assert result.code == 1
    assert f"port {command.web_port} is taken" in result.err
    assert not file.exists()
    assert command.up().code == 0


def test_in_the_foreground_it_stays_and_ctrl_c_stops_it_in_order(command: Command) -> None:
    ports = ["--web-port", str(command.web_port), "--port", str(command.port)]
    with command.on_screen("up", "--foreground", *ports) as screen:
        screen.expect("#t=")
        assert command.run("status").code == 0
        screen.interrupt()
        code, output = screen.end()
    assert code == 0, output
    assert f"A new fleet was begun: http://127.0.0.1:{command.web_port}/" in output
    assert command.run("status").code == 3
    assert not (command.home / "node.json").exists()


def test_a_service_manager_stops_the_foreground_in_order(command: Command) -> None:
    ports = ["--web-port", str(command.web_port), "--port", str(command.port)]
    with command.on_screen("up", "--foreground", *ports) as screen:
        screen.expect("#t=")
        screen.process.terminate()
        code, output = screen.end()
    assert code == 0, output
    assert command.run("down", "--json").object["was_running"] is False


def test_a_home_that_cannot_be_written_is_said_in_words(command: Command) -> None:
    command.home.parent.joinpath("file").touch()
    blocked = Command(
        home=command.home.parent / "file" / "data",
        project=command.project,
        web_port=command.web_port,
        port=command.port,
    )
    result = blocked.up()
    assert result.code == 1
    assert "Not a directory" in result.err


@pytest.mark.parametrize("words", [("--port", "0"), ("--web-port", "x"), ("--detatch",)])
def test_wrong_options_are_usage_errors(command: Command, words: tuple[str, ...]) -> None:
    assert command.run("up", *words).code == 2
    assert not command.home.exists()


def test_a_name_that_hides_something_is_refused_before_anything_begins(command: Command) -> None:
    result = command.up("--name", "desk\u202e", "--json")
    assert result.code == 1
    assert "holds U+202E (RIGHT-TO-LEFT OVERRIDE)" in result.object["error"]["message"]
    assert not command.home.exists()


def test_open_prints_the_plain_address_without_a_desktop(command: Command) -> None:
    assert command.run("open").code == 3
    assert command.up().code == 0
    for words in (("open",), ("open", "--print")):
        result = command.run(*words)
        assert (result.code, result.out) == (0, f"http://127.0.0.1:{command.web_port}/\n")


def test_a_very_long_home_works_too(command: Command) -> None:
    far = Command(
        home=command.home.parent / ("deep" * 30) / "data",
        project=command.project,
        web_port=command.web_port,
        port=command.port,
    )
    try:
        assert far.up().code == 0
        assert far.run("list").code == 0
    finally:
        assert far.run("down").code == 0


def pretend_version(command: Command, version: str) -> None:
    facts = json.loads((command.home / "node.json").read_text())
    (command.home / "node.json").write_text(json.dumps(facts | {"version": version}))


def test_after_an_upgrade_it_says_that_the_old_node_still_runs(command: Command) -> None:
    assert command.up().code == 0
    pretend_version(command, "0.0.9")
    result = command.run("up")
    assert result.code == 0
    assert "still runs version 0.0.9" in result.err
    assert "askmesh down" in result.err
    assert any(
        "version 0.0.9" in row["what"] for row in command.run("doctor", "--json").object["findings"]
    )
