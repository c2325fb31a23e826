"""An owner has a text erased at a terminal; nobody does without one."""

import json

from tests.node.cli.conftest import Command
from tests.running import PASSPHRASE

SECRET = "hunter2-Zq9"
CALL = json.dumps({"tool": "Bash", "arguments": {"command": f"login {SECRET}"}})


def holds(command: Command) -> list[str]:
    """The files of the node in which the secret can be read, its log among them."""
    return [
        str(path.relative_to(command.home))
        for path in sorted(command.home.rglob("*"))
        if path.is_file() and SECRET.encode() in path.read_bytes()
    ]


def redact(command: Command, ask: str, typed: str, *words: str) -> tuple[int, str]:
    with command.on_screen("redact", ask, *words) as screen:
        screen.expect(f"type {ask}:")
        screen.type(typed)
        if typed == ask:
            screen.expect("Passphrase:")
            screen.type(PASSPHRASE)
        return screen.end()


def test_the_text_is_gone_from_every_file_and_show_says_who_had_it_erased(
    signed_in: Command,
) -> None:
    ask = signed_in.ask("--kind", "approval", "--title", f"Use {SECRET}?", "--call", CALL)
    note = signed_in.ask("--kind", "note", "--title", "A note", "--detail", SECRET)
    assert holds(signed_in) != []
    for one in (ask, note):
        code, output = redact(signed_in, one, one, "--reason", "a password")
        assert code == 0, output
        assert "Change any secret" in output
    assert holds(signed_in) == []
    shown = signed_in.run("show", ask)
    assert "The text was erased by Ann on " in shown.out
    assert ": a password" in shown.out
    assert "text erased a password" in shown.out
    detail = signed_in.run("show", ask, "--json").object
    assert detail["call"] is None
    assert detail["ask"]["card"]["state"] == "withdrawn"
    assert signed_in.run("list", "--all").code == 0
    again = signed_in.on_screen("redact", ask)
    with again as screen:
        code, output = screen.end()
    assert (code, "erased already" in output) == (1, True)


def test_anything_but_its_id_erases_nothing(signed_in: Command) -> None:
    ask = signed_in.ask("--kind", "question", "--title", SECRET)
    for typed in ("y", "", ask.partition("-")[2]):
        code, output = redact(signed_in, ask, typed)
        assert (code, "nothing was erased" in output) == (1, True)
    assert SECRET in signed_in.run("show", ask).out


def test_without_a_terminal_it_is_refused(signed_in: Command) -> None:
    ask = signed_in.ask("--kind", "question", "--title", SECRET)
    result = signed_in.run("redact", ask, "--json", text=f"{ask}\n{PASSPHRASE}\n")
    assert result.code == 1
    assert json.loads(result.out or result.err)["error"]["code"] == "no_terminal"
    assert SECRET in signed_in.run("show", ask).out


def test_how_long_texts_are_kept_is_said_and_has_limits(signed_in: Command) -> None:
    assert "texts    kept 90 days after an ask is over" in signed_in.run("status").out
    assert "Texts are kept 90 days on this machine" in " ".join(
        signed_in.run("status", "--privacy").out.split()
    )
    refused = signed_in.up("--keep-texts", "3")
    assert (refused.code, "cannot be kept for 3 days" in refused.err) == (1, True)
    assert "--keep-texts 30" in signed_in.up("--keep-texts", "30").err
    assert signed_in.run("down").code == 0
    assert signed_in.up("--keep-texts", "0").code == 0
    assert "kept for ever" in signed_in.run("status").out
    assert signed_in.run("down").code == 0
    assert signed_in.up().code == 0
    assert signed_in.run("status", "--json").object["keep_texts_days"] == 0
