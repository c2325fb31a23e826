"""Agents write to each other from a shell, and an owner has a message erased at a terminal."""

from typing import Any

from node.bridge import client
from tests.node.cli.conftest import Command
from tests.running import PASSPHRASE

EVIL = "\x1b[2J\u202eevil\x07"


def codex(command: Command, route: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Another agent of the project."""
    folder = str(command.project)
    who = {"agent": "codex", "session": "c-1", "project": f"path:{folder}", "cwd": folder}
    return client.call(str(command.home), route, who, arguments)


def test_agents_write_to_each_other_and_an_owner_erases_it(signed_in: Command) -> None:
    nobody = signed_in.run("send", "codex", "--body", "hello")
    assert nobody.code == 1
    assert "No agent 'codex' was ever heard of in this project" in nobody.err
    codex(signed_in, "heard", {})
    wrong = signed_in.run("send", "codxe", "--body", "hello", "--json")
    assert (wrong.code, wrong.object["error"]["code"]) == (1, "not_found")
    assert "codex" in wrong.object["error"]["hint"]

    sent = signed_in.run("send", "codex", "--subject", "s", "--body", "-", text=EVIL)
    assert (sent.code, sent.out.strip()[4:]) == (0, "-m1")
    assert "on its machine, not read yet" in sent.err
    one = sent.out.strip()
    (got,) = codex(signed_in, "inbox", {})["messages"]
    assert not set("\x1b\u202e\x07") & set(got["text"])
    back = codex(signed_in, "send", {"reply_to": one, "body": "8000"})
    codex(signed_in, "ack", {"ids": [one]})

    assert back["id"] == one.replace("m1", "m2")
    shown = signed_in.run("messages", "--wait", "60s")
    assert shown.code == 0
    assert f"{back['id']} answers {one}." in shown.out
    assert "quoted" in shown.out
    assert "8000" in shown.out
    # Looking marks nothing: it is shown again, between other marks.
    again = signed_in.run("messages").out
    assert _nonce(again) != _nonce(shown.out)
    assert again.replace(_nonce(again), _nonce(shown.out)) == shown.out
    assert "acknowledged" in signed_in.run("messages", "--sent").out
    assert len(signed_in.run("messages", "--thread", one, "--json").object["messages"]) == 2
    assert signed_in.run("ack", back["id"]).out == f"Acknowledged: {back['id']}.\n"
    assert "No messages." in signed_in.run("messages").err
    assert signed_in.run("ack", "m77").code == 1

    redact(signed_in, one)
    talk = signed_in.run("messages", "--thread", one).out
    assert "this text was erased" in talk
    assert "evil" not in talk


def redact(signed_in: Command, message: str) -> None:
    """Have a message erased, as its owner does at a terminal."""
    with signed_in.on_screen("redact", message, "--reason", "a password") as screen:
        screen.expect("Passphrase:")
        screen.type(PASSPHRASE)
        screen.expect(f"type {message}:")
        screen.type(message)
        code, output = screen.end()
    assert (code, "Change any secret" in output) == (0, True), output


def _nonce(text: str) -> str:
    return text.partition("<<<")[2].partition("\n")[0]
