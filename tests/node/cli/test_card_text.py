"""An ask as lines: everything is in them, and nothing of an agent's acts or passes for ours."""

from typing import Any

import msgspec
import pytest

from node.cli.card_text import ask_lines, history_lines, one_line, table_row
from node.desk.card_view import card_view
from tests.sync.decide.card_table import NOW as CARDS_AT
from tests.sync.decide.card_table import ROWS, Row

NOW = 10_000_000
EVIL = "\x1b[2J\u202e\r\nk7qf-1  approval  forged\x07"


def an_ask(**changes: object) -> dict[str, Any]:
    ask: dict[str, Any] = {
        "id": "a" * 52 + "-142",
        "short": "k7qf-142",
        "number": 142,
        "kind": "approval",
        "title": "Run the release script",
        "detail": "",
        "options": [],
        "agent": "claude",
        "session": "s-1",
        "project": "github.com/acme/shop",
        "project_name": "shop",
        "branch": "main",
        "machine": {"id": "a" * 52, "short": "k7qf", "name": "build"},
        "created": NOW - 120_000,
        "deadline": NOW + 3_600_000,
        "closed": None,
        "rule": {"name": "ask-shell", "version": "0123456789ab"},
        "enforced": True,
        "fallback": None,
        "call": {"tool": "Bash", "summary": "ls", "cwd": "/src", "size": 10, "here": True},
        "seen": "5" * 64,
        "revision": 1,
        "card": {
            "state": "waiting",
            "sentence": "claude waits for your answer.",
            "sign": "!",
            "word": "Needs you",
            "actions": ["deny", "allow"],
            "open": True,
            "needs_me": True,
            "since": 0,
        },
        "final": None,
        "handover": None,
        "resolved": None,
        "read": False,
    }
    return ask | changes


def a_call(**changes: object) -> dict[str, Any]:
    call: dict[str, Any] = {
        "tool": "Bash",
        "arguments": {"command": "make release", "timeout": 5},
        "cwd": "/src",
        "files": [],
        "diff": None,
        "canonical": "{}",
        "digest": "d" * 64,
    }
    return call | changes


def lines(ask: dict[str, Any], call: dict[str, Any] | None = None) -> list[str]:
    return ask_lines({"ask": ask, "call": call, "history": []}, NOW)


def test_the_whole_ask_is_in_its_lines() -> None:
    text = "\n".join(lines(an_ask(), a_call()))
    for part in (
        "k7qf-142  approval  Run the release script",
        "claude, session s-1",
        "github.com/acme/shop (main) on build",
        "asked     2 min ago",
        "deadline  in 1 h",
        "the gate holds the call, by rule ask-shell (version 0123456789ab)",
        "5" * 64,
        "call: Bash",
        "in folder /src",
        "command: make release",
        "  | 5",
        "d" * 64,
    ):
        assert part in text


def test_an_ask_on_the_agents_word_says_so() -> None:
    assert any("on the agent's word" in line for line in lines(an_ask(enforced=False, rule=None)))


def test_arguments_of_many_lines_are_quoted_whole() -> None:
    shown = lines(an_ask(), a_call(arguments={"command": "one\ntwo\n\nfour"}))
    start = shown.index("  command (4 lines)")
    assert shown[start + 1 : start + 5] == ["  | one", "  | two", "  | ", "  | four"]


def test_changed_files_and_the_diff_are_shown() -> None:
    call = a_call(
        files=[{"path": "/src/a", "sha256": "f" * 64}, {"path": "/src/new", "sha256": None}],
        diff="--- a\n+++ b\n-old\n+new\n",
    )
    shown = lines(an_ask(), call)
    assert f"  file /src/a is now {'f' * 64}" in shown
    assert "  file /src/new does not exist yet" in shown
    assert "  | -old" in shown
    assert "  | +new" in shown


def test_a_call_that_is_not_here_is_said_to_be_away() -> None:
    assert any("not on this machine" in line for line in lines(an_ask()))


def test_options_fallback_and_answers_are_shown() -> None:
    ask = an_ask(
        kind="question",
        call=None,
        options=[
            {"id": "1", "label": "Yes", "detail": "now"},
            {"id": "2", "label": "No", "detail": ""},
        ],
        fallback="wait",
        final={"outcome": "answered", "at": 1, "text": "my words", "because": "a reason"},
        resolved={"ok": True, "text": "did it", "at": 2},
    )
    shown = lines(ask)
    assert "  1. Yes" in shown
    assert "  2. No" in shown
    for text in ("now", "wait", "my words", "a reason", "did it"):
        assert f"  | {text}" in shown


def test_nothing_of_an_agent_acts_on_the_terminal_or_passes_for_a_line_of_ours() -> None:
    ask = an_ask(
        title=EVIL,
        detail=EVIL,
        agent=EVIL,
        session=EVIL,
        project=EVIL,
        project_name=EVIL,
        branch=EVIL,
        fallback=EVIL,
        options=[{"id": "1", "label": EVIL, "detail": EVIL}],
        rule={"name": EVIL, "version": EVIL},
        final={"outcome": "answered", "at": 1, "text": EVIL, "because": EVIL},
        resolved={"ok": True, "text": EVIL, "at": 2},
    )
    ask["card"]["sentence"] = EVIL
    call = a_call(
        tool=EVIL,
        arguments={EVIL: EVIL, "nested": [EVIL]},
        cwd=EVIL,
        files=[{"path": EVIL, "sha256": None}],
        diff=EVIL,
    )
    history = [{"at": 0, "who": EVIL, "what": EVIL, "text": EVIL}]
    detail = {"ask": ask, "call": call, "history": history}
    shown = [*ask_lines(detail, NOW), *history_lines(detail, NOW), one_line(ask)]
    for line in shown:
        assert "\n" not in line
        assert line.isprintable(), line
        assert not line.startswith("k7qf-1  approval  forged")


def test_a_table_row_has_one_cell_for_each_head() -> None:
    assert table_row(an_ask(), NOW) == (
        "k7qf-142", "approval", "! Needs you", "claude", "shop", "2 min", "Run the release script"
    )  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_each_card_is_told_in_the_words_of_the_page(row: Row) -> None:
    card = msgspec.to_builtins(card_view(row.facts, row.viewer, CARDS_AT))
    ask = an_ask(kind=row.facts.kind.value, card=card)
    assert table_row(ask, NOW)[2] == f"{row.sign} {row.word}"
    assert lines(ask)[2] == f"{row.sign} {row.sentence}"
    assert f"  {row.sign} {row.word}  " in one_line(ask)
