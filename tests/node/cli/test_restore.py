"""`restore` by its owner at a terminal, then a start: what a person and an agent find."""

import json
from pathlib import Path

from tests.node.backup.copies import tree
from tests.node.cli.conftest import Command
from tests.node.cli.screen import Screen
from tests.node.cli.test_backup import KEPT, back_up
from tests.running import PASSPHRASE, Person

FILE = "Passphrase of the backup:"
OWNER = "or the recovery words:"


def proving(screen: Screen, *, passphrase: str = PASSPHRASE) -> None:
    screen.expect(FILE)
    screen.type(KEPT)
    screen.expect("Its open approvals are withdrawn")
    screen.expect(OWNER)
    screen.type(passphrase)


def restored(command: Command, file: Path, *words: str) -> str:
    """Restore as Ann would; what was printed."""
    with command.on_screen("restore", str(file), *words) as screen:
        proving(screen)
        code, printed = screen.end()
    assert code == 0, printed
    return printed


def signed_in_again(command: Command) -> Person:
    person = command.person()
    person.ok("POST", "/api/session", {"passphrase": PASSPHRASE})
    return person


def refused_while_it_runs(command: Command, file: Path) -> None:
    with command.on_screen("restore", str(file), "--replace") as screen:
        code, printed = screen.end()
    assert code == 1
    assert "runs on" in printed
    assert FILE not in printed


def test_what_was_decided_before_counts_no_more_and_questions_wait_on(signed_in: Command) -> None:
    person = signed_in_again(signed_in)
    question = signed_in.ask("--kind", "question", "--title", "Which port?")
    still_open, allowed, answered = (
        signed_in.ask("--kind", kind, "--title", f"May I {number}?")
        for number, kind in enumerate(("approval", "approval", "question"))
    )
    assert person.vote(allowed, "allow")[0] == 202
    assert person.vote(answered, "answer", text="yes")[0] == 202
    file = signed_in.project / "copy"
    back_up(signed_in, file)
    later = signed_in.ask("--kind", "question", "--title", "After the copy?")
    refused_while_it_runs(signed_in, file)
    signed_in.run("down")
    key = (signed_in.home / "node.key").read_bytes()
    told = json.loads(restored(signed_in, file, "--replace", "--json"))
    assert told["by"] == "Ann"
    assert (Path(told["aside"]) / "node.key").read_bytes() == key
    assert (signed_in.home / "node.key").read_bytes() == key
    assert signed_in.up().code == 0
    assert person.send("GET", "/api/state")[0] == 401
    person = signed_in_again(signed_in)
    cards = {ask: person.ask(ask)["card"] for ask in (question, still_open, allowed, answered)}
    assert cards[question]["state"] == "waiting"
    assert cards[still_open]["state"] == "withdrawn"
    assert "was put back to an older copy" in cards[still_open]["sentence"]
    assert cards[allowed]["state"] == "void"
    assert "was put back to an older copy: it is void" in cards[allowed]["sentence"]
    assert person.send("GET", f"/api/asks/{later}")[0] == 404
    assert person.vote(question, "answer", text="8080")[0] == 202
    result = signed_in.run("show", still_open, "--json")
    assert "put back to a copy of" in json.loads(result.out)["ask"]["final"]["reason"]
    # What was answered is told as it was: a question is handed over as often as is asked.
    assert person.ask(answered)["final"]["text"] == "yes"
    # It is made up for once.
    signed_in.run("down")
    assert signed_in.up().code == 0
    assert signed_in_again(signed_in).ask(question)["final"]["text"] == "8080"


def test_an_empty_place_takes_it_by_the_owners_passphrase_alone(signed_in: Command) -> None:
    file = signed_in.project / "copy"
    back_up(signed_in, file)
    signed_in.run("down")
    empty = Command(
        home=signed_in.home.parent / "other",
        project=signed_in.project,
        web_port=signed_in.web_port,
        port=signed_in.port,
    )
    with empty.on_screen("restore", str(file)) as screen:
        proving(screen, passphrase="not hers")
        for _ in range(2):
            screen.expect(OWNER)
            screen.type("nor this")
        code, printed = screen.end()
    assert code == 1
    assert "only an owner may do this" in printed
    assert not empty.home.exists()
    with empty.on_screen("restore", str(file)) as screen:
        for _ in range(3):
            screen.expect(FILE)
            screen.type("not it")
        assert "not the one to sign in with" in screen.end()[1]
    assert not empty.home.exists()
    printed = restored(empty, file)
    assert "Start it with `askmesh up`" in printed
    assert empty.up().code == 0
    assert signed_in_again(empty).state()["me"]["name"] == "Ann"
    empty.run("down")


def test_an_agent_can_restore_nothing_and_other_folders_are_left_alone(signed_in: Command) -> None:
    file = signed_in.project / "copy"
    back_up(signed_in, file, "--no-passphrase")
    signed_in.run("down")
    before = tree(signed_in.home)
    for words in ((), ("--replace",), ("--json",)):
        result = signed_in.run("restore", str(file), *words, text=f"{PASSPHRASE}\n" * 4)
        assert (result.code, "for a person at a terminal" in result.err) == (1, True)
    assert tree(signed_in.home) == before
    project = Command(home=signed_in.project, project=signed_in.project, web_port=1, port=1)
    with project.on_screen("restore", str(file)) as screen:
        code, printed = screen.end()
    assert code == 1
    assert "holds other things" in printed
    assert {path.name for path in signed_in.project.iterdir()} == {"copy"}


def test_the_notice_stands_on_page_and_in_status_until_a_person_puts_it_away(
    signed_in: Command,
) -> None:
    file = signed_in.project / "copy"
    back_up(signed_in, file)
    signed_in.run("down")
    restored(signed_in, file, "--replace")
    assert signed_in.up().code == 0
    person = signed_in_again(signed_in)
    shown = person.state()["restored"]
    assert 0 < shown < person.state()["now"]
    banner = "! This machine was restored from a copy of 20"
    assert banner in signed_in.run("status").out
    assert person.send("DELETE", "/api/restored", headers={"Cookie": ""})[0] == 401
    assert person.state()["restored"] == shown
    for _ in range(2):
        assert person.ok("DELETE", "/api/restored") == {}
    assert person.state()["restored"] is None
    assert banner not in signed_in.run("status").out
