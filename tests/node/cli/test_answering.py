"""A person answers at a terminal; nobody answers without one."""

import json
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.node.cli.conftest import Command
from tests.node.cli.screen import Screen
from tests.running import PASSPHRASE, Person, until

CALL = '{"tool": "Bash", "arguments": {"command": "make release\\n# \\u202e"}}'
RULES = '[[rule]]\nname = "ask-shell"\ntool = "Bash"\naction = "ask"\n'


def an_approval(command: Command) -> str:
    return command.ask("--kind", "approval", "--title", "Go?", "--call", CALL)


def a_question(command: Command) -> str:
    return command.ask("--kind", "question", "--title", "Q?", "--option", "a", "--option", "b")


def shown(command: Command, ask: str) -> dict[str, Any]:
    found: dict[str, Any] = command.run("show", ask, "--json").object["ask"]
    return found


def answer(command: Command, *words: str) -> tuple[int, str, str]:
    """Answer as a person who says yes; exit code, output, and what the terminal showed."""
    with command.on_screen("answer", *words) as screen:
        seen = screen.expect("[y/N]")
        screen.type("y")
        screen.expect("Passphrase:")
        screen.type(PASSPHRASE)
        code, output = screen.end()
    return code, output, seen


def sessions_left(command: Command) -> int:
    with sqlite3.connect(command.home / "store.db") as store:
        (count,) = store.execute(
            "SELECT count(*) FROM person_session WHERE kind = 'terminal'"
        ).fetchone()
    store.close()
    return int(count)


def test_an_approval_is_allowed_after_its_exact_call_was_shown(signed_in: Command) -> None:
    ask = an_approval(signed_in)
    code, output, seen = answer(signed_in, ask, "--allow", "--because", "looks right")
    assert code == 0, output
    assert "Allowed by you" in output
    for part in ("call: Bash", "command (2 lines)", "| make release", "| # ⟨U+202E⟩"):
        assert part in seen
    assert shown(signed_in, ask)["seen"] in seen
    final = shown(signed_in, ask)["final"]
    assert (final["outcome"], final["by"], final["because"]) == ("allowed", "Ann", "looks right")
    assert sessions_left(signed_in) == 0


ANSWERS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("--choose", "b"), {"outcome": "answered", "label": "b"}),
    (("--choose", "1", "--text", "for now"), {"label": "a", "text": "for now"}),
    (("--text", "neither"), {"outcome": "answered", "label": None, "text": "neither"}),
    (("--decline",), {"outcome": "declined"}),
]


def test_a_question_is_answered_by_choice_by_words_or_not(signed_in: Command) -> None:
    for words, expected in ANSWERS:
        ask = a_question(signed_in)
        code, output, _ = answer(signed_in, ask, *words)
        assert code == 0, output
        final = shown(signed_in, ask)["final"]
        assert {name: final[name] for name in expected} == expected


def test_the_receipt_is_one_object(signed_in: Command) -> None:
    ask = an_approval(signed_in)
    code, output, _ = answer(signed_in, ask, "--deny", "--json")
    receipt = json.loads(output)
    assert code == 0
    assert receipt["state"] == "accepted"
    assert receipt["ask"]["final"]["outcome"] == "denied"


def test_an_answer_is_taken_back_until_the_agent_has_it(signed_in: Command) -> None:
    ask = an_approval(signed_in)
    assert answer(signed_in, ask, "--allow")[0] == 0
    code, output, seen = answer(signed_in, ask, "--take-back")
    assert code == 0, output
    assert "Allowed" in seen
    assert shown(signed_in, ask)["card"]["state"] == "taken_back"


def test_anything_but_yes_sends_nothing(signed_in: Command) -> None:
    ask = an_approval(signed_in)
    for typed in ("n", "", "yess", "Y e s"):
        with signed_in.on_screen("answer", ask, "--allow") as screen:
            screen.expect("[y/N]")
            screen.type(typed)
            code, output = screen.end()
        assert code == 1
        assert "Nothing was done" in output
    assert shown(signed_in, ask)["card"]["open"]


def test_a_wrong_passphrase_sends_nothing(signed_in: Command) -> None:
    ask = an_approval(signed_in)
    with signed_in.on_screen("answer", ask, "--allow") as screen:
        screen.expect("[y/N]")
        screen.type("y")
        for _ in range(3):
            screen.expect("Passphrase:")
            screen.type("guess guess guess")
        code, output = screen.end()
    assert code == 1, output
    assert "guess" not in output + screen.shown
    assert shown(signed_in, ask)["card"]["open"]


def refused_everywhere(command: Command, *words: str, text: str = "") -> None:
    result = command.run(*words, text=text)
    assert result.code == 1, result.out
    assert "there is no terminal here" in result.err
    failed = command.run(*words, "--json", text=text)
    assert failed.object["error"]["code"] == "no_terminal"


def test_without_a_terminal_a_person_command_is_refused(signed_in: Command) -> None:
    ask = an_approval(signed_in)
    typed = f"y\n{PASSPHRASE}\n"
    file = signed_in.project / "rules.toml"
    file.write_text(RULES)
    refused_everywhere(signed_in, "answer", ask, "--allow", text=typed)
    refused_everywhere(signed_in, "answer", ask, "--take-back", text=typed)
    refused_everywhere(signed_in, "rules", "apply", str(file), text=typed)
    refused_everywhere(signed_in, "rules", "show", "--source", text=typed)
    refused_everywhere(signed_in, "sessions", "list", text=typed)
    refused_everywhere(signed_in, "sessions", "end", "--others", text=typed)
    assert shown(signed_in, ask)["card"]["open"]
    assert signed_in.run("rules", "show", "--json").object == {"rules": None}


def test_no_variable_gives_the_passphrase(signed_in: Command) -> None:
    """With a terminal but nobody at it, a command waits at the first prompt."""
    ask = an_approval(signed_in)
    names = ("PASSPHRASE", "PASSWORD", "TOKEN", "YES", "ASSUME_YES", "NO_INPUT", "TTY", "SESSION")
    given = {f"ASKMESH_{name}": PASSPHRASE for name in names} | {"SSH_ASKPASS": "/bin/true"}
    line = [*signed_in.line, "answer", ask, "--allow"]
    with Screen(line, environment=signed_in.environment() | given) as screen:
        screen.expect("[y/N]")
        assert screen.process.poll() is None
    assert shown(signed_in, ask)["card"]["open"]


def test_what_was_seen_elsewhere_must_be_what_is_shown(signed_in: Command) -> None:
    ask = an_approval(signed_in)
    with signed_in.on_screen("answer", ask, "--allow", "--seen", "0" * 64) as screen:
        code, output = screen.end()
    assert code == 1
    assert "is not what --seen names" in output
    seen = shown(signed_in, ask)["seen"]
    assert answer(signed_in, ask, "--allow", "--seen", seen)[0] == 0


def test_an_answer_that_comes_second_says_whose_was_first(signed_in: Command) -> None:
    ask = an_approval(signed_in)
    browser = signed_in.person()
    browser.ok("POST", "/api/session", {"passphrase": PASSPHRASE})
    with signed_in.on_screen("answer", ask, "--allow") as screen:
        screen.expect("[y/N]")
        screen.type("y")
        screen.expect("Passphrase:")
        assert browser.vote(ask, "deny")[0] == 202
        screen.type(PASSPHRASE)
        code, output = screen.end()
    assert code == 1
    assert f"{ask} is closed: Denied by you on " in output
    assert "Your answer came after that and was not recorded." in output
    assert shown(signed_in, ask)["final"]["outcome"] == "denied"


def test_what_is_certain_to_be_refused_asks_for_no_passphrase(signed_in: Command) -> None:
    question, approval = a_question(signed_in), an_approval(signed_in)
    note = signed_in.ask("--kind", "note", "--title", "n")
    assert answer(signed_in, approval, "--deny")[0] == 0
    for words, said in (
        ((question, "--allow"), "Use --choose, --text or --decline."),
        ((question, "--choose", "c"), "Choose one of: 1. a, 2. b"),
        ((approval, "--text", "x"), "Use --allow or --deny."),
        ((approval, "--allow"), "is closed: Denied by"),
        ((note, "--decline"), "it is only read"),
        (("zzzz-1", "--allow"), "zzzz-1"),
    ):
        with signed_in.on_screen("answer", *words) as screen:
            code, output = screen.end()
        assert code == 1
        assert said in output, words
        assert "Passphrase" not in screen.shown


@pytest.mark.parametrize(
    "words",
    [(), ("--allow", "--deny"), ("--allow", "--text", "x"), ("--take-back", "--because", "x")],
)
def test_one_thing_must_be_said(command: Command, words: tuple[str, ...]) -> None:
    assert command.run("answer", "k7qf-1", *words).code == 2


def test_while_nobody_signed_in_nobody_can_answer(command: Command) -> None:
    assert command.up().code == 0
    ask = command.run("ask", "--kind", "question", "--title", "Q?").out.strip()
    with command.on_screen("answer", ask, "--decline") as screen:
        screen.expect("[y/N]")
        screen.type("y")
        code, output = screen.end()
    assert code == 1
    assert "Nobody has signed in" in output


def test_a_dead_nodes_port_gets_no_passphrase(signed_in: Command) -> None:
    """Facts left behind by kill -9 must not lead to whoever took the port since."""
    facts = (signed_in.home / "node.json").read_text()
    assert signed_in.run("down").code == 0
    (signed_in.home / "node.json").write_text(facts)
    with signed_in.on_screen("sessions", "list") as screen:
        code, output = screen.end()
    assert code == 3
    assert "is not running" in output
    assert "Passphrase" not in screen.shown


def test_rules_are_put_into_force_after_their_difference_was_shown(signed_in: Command) -> None:
    file = signed_in.project / "rules.toml"
    file.write_text(RULES)
    assert "is not applied" in signed_in.run("rules", "show", str(file)).out
    with signed_in.on_screen("rules", "apply", str(file)) as screen:
        screen.expect("Passphrase:")
        screen.type(PASSPHRASE)
        seen = screen.expect("Put 1 rule into force? [y/N]")
        screen.type("y")
        code, output = screen.end()
    assert code == 0, output
    assert '+name = "ask-shell"' in seen
    assert "In force: rules.toml, version " in output
    assert signed_in.run("rules", "show", str(file), "--json").object["applied"] is True
    file.write_text(f"{RULES}# changed\n")
    assert signed_in.run("rules", "show", str(file), "--json").object["applied"] is False
    with signed_in.on_screen("rules", "apply", str(file)) as screen:
        screen.expect("Passphrase:")
        screen.type(PASSPHRASE)
        assert "+# changed" in screen.expect("[y/N]")
        screen.type("n")
        assert screen.end()[0] == 1
    assert signed_in.run("rules", "show", str(file), "--json").object["applied"] is False
    assert sessions_left(signed_in) == 0


def test_a_bad_rules_file_is_refused_before_anything_is_asked(signed_in: Command) -> None:
    file = signed_in.project / "rules.toml"
    file.write_text(RULES.replace("ask", "maybe"))
    with signed_in.on_screen("rules", "apply", str(file)) as screen:
        code, output = screen.end()
    assert code == 1
    assert f"{file}:4: " in output
    assert "Passphrase" not in screen.shown


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_terminals_session_ends_with_its_process_however_that_ends(
    signed_in: Command, number: signal.Signals
) -> None:
    with signed_in.on_screen("people", "invite", "Bob") as screen:
        screen.expect("Passphrase:")
        screen.type(PASSPHRASE)
        screen.expect("[y/N]")
        assert sessions_left(signed_in) == 1
        screen.process.send_signal(number)
        code, output = screen.end()
        until(lambda: sessions_left(signed_in) == 0, "the session has ended")
    assert code == (-number if number is signal.SIGKILL else 128 + number)
    assert "Traceback" not in output


def test_sessions_are_listed_and_ended(signed_in: Command) -> None:
    browser = Person(signed_in.web_port)
    browser.ok("POST", "/api/session", {"passphrase": PASSPHRASE})

    def typed(*words: str) -> str:
        with signed_in.on_screen("sessions", *words) as screen:
            screen.expect("Passphrase:")
            screen.type(PASSPHRASE)
            code, output = screen.end()
        assert code == 0, output
        return output

    rows = json.loads(typed("list", "--json"))["sessions"]
    assert sorted(row["kind"] for row in rows) == ["page", "page", "terminal"]
    assert "(this one)" in typed("list")
    assert browser.send("GET", "/api/state")[0] == 200
    assert "2 sessions ended." in typed("end", "--others")
    assert browser.send("GET", "/api/state")[0] == 401
    assert sessions_left(signed_in) == 0


def test_a_passphrase_stands_in_no_file_and_no_process(signed_in: Command) -> None:
    ask = an_approval(signed_in)
    assert answer(signed_in, ask, "--allow")[0] == 0
    pid = json.loads((signed_in.home / "node.json").read_text())["pid"]
    assert PASSPHRASE.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    for folder, _, names in os.walk(signed_in.home):
        for name in names:
            path = Path(folder, name)
            if path.is_file():
                assert PASSPHRASE.encode() not in path.read_bytes(), path


def test_several_are_answered_together_each_by_its_own_vote(signed_in: Command) -> None:
    one, two = (
        signed_in.ask("--kind", "approval", "--title", title, "--call", CALL)
        for title in ("Here?", "And here?")
    )
    question = a_question(signed_in)
    with signed_in.on_screen("answer", one, question, "--allow") as screen:
        code, output = screen.end()
    assert (code, "does not fit a question" in output) == (1, True), output
    code, output, seen = answer(signed_in, one, two, "--allow")
    assert code == 0, output
    assert f"Allow all 2: {one}, {two}?" in seen
    assert "and the same call for" in seen
    assert [shown(signed_in, ask)["final"]["outcome"] for ask in (one, two)] == ["allowed"] * 2
    again = an_approval(signed_in)
    code, output, seen = answer(signed_in, again, question, "--unclear", "Which release?")
    assert code == 0, output
    for ask, outcome in ((again, "denied"), (question, "declined")):
        after = shown(signed_in, ask)
        assert (after["final"]["outcome"], after["card"]["state"]) == (outcome, "unclear")
        assert after["final"]["because"] == "Which release?"


def test_what_need_not_have_been_asked_is_counted_and_can_be_undone(signed_in: Command) -> None:
    ask = a_question(signed_in)
    before = signed_in.run("agent", "report", "--json").object["agents"]
    for words, counted in (((), 1), (("--undo",), 0)):
        with signed_in.on_screen("needless", ask, *words) as screen:
            screen.expect("Passphrase:")
            screen.type(PASSPHRASE)
            assert screen.end()[0] == 0
        after = signed_in.run("agent", "report", "--json").object["agents"]
        assert (
            sum(row["needless"] - was["needless"] for row, was in zip(after, before, strict=True))
            == counted
        )
        assert all(row["contract"] for row in after)
    assert "INSTRUCTIONS" in signed_in.run("agent", "report").out
