"""The boards of a project in a shell."""

from node.bridge import client
from tests.node.cli.conftest import Command


def test_a_board_is_listed_and_shown_as_text(command: Command) -> None:
    assert command.up().code == 0
    assert "no boards" in command.run("boards").err
    folder = str(command.project)
    who = {"agent": "codex", "session": "c-1", "project": f"path:{folder}", "cwd": folder}
    rows = [
        {"label": "docs\x1b[2J", "status": "done", "outcome": "merged"},
        {"label": "keys", "note": "two exist"},
    ]
    wanted = {"title": "Release 4", "rows": rows}
    assert client.call(str(command.home), "board_upsert", who, wanted)["ok"]
    assert "1 of 2" in command.run("boards").out
    shown = command.run("boards", "Release 4").out
    assert "docs⟨U+001B⟩" in shown
    assert "merged" in shown
    assert "two exist" in shown
    assert len(command.run("boards", "Release 4", "--json").object["board"]["rows"]) == 2
    missing = command.run("boards", "Nothing", "--json")
    assert (missing.code, missing.object["error"]["code"]) == (1, "not_found")
