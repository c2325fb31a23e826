"""`askmesh recover`: what is mistyped is asked for again, and nothing ends before all is typed."""

import sqlite3

from tests.node.cli.conftest import Command
from tests.running import PASSPHRASE, Person

ANOTHER = "abandon " * 11 + "about"
"""Words that could be some fleet's, and are not of this one."""
NEW = "quite another passphrase"


def first_person(command: Command) -> tuple[str, Person]:
    """Ann, signed in on the page; the words she was shown."""
    link = command.home.parent / "link"
    assert command.up("--first-sign-in", str(link)).code == 0
    person = command.person()
    token = link.read_text().strip().partition("#t=")[2]
    body = {"token": token, "name": "Ann", "passphrase": PASSPHRASE}
    return " ".join(person.ok("POST", "/api/session", body)["recovery_words"]), person


def sessions(command: Command) -> int:
    store = sqlite3.connect(command.home / "store.db")
    (count,) = store.execute("SELECT count(*) FROM person_session").fetchone()
    store.close()
    return int(count)


def test_nothing_ends_before_all_is_typed_and_then_all_does(command: Command) -> None:
    words, ann = first_person(command)
    with command.on_screen("recover") as screen:
        screen.expect("Recovery words:")
        screen.type(words.rpartition(" ")[0])
        screen.expect("These are not recovery words.")
        screen.expect("Recovery words:")
        screen.type(words)
        screen.expect("New passphrase:")
        screen.type("short")
        screen.expect("The passphrase has 5 characters")
        screen.expect("New passphrase:")
        screen.interrupt()
        code, _ = screen.end()
    assert code == 1
    assert ann.send("GET", "/api/state")[0] == 200, "nothing was done"
    for typed, ended, said in (
        (ANOTHER, 1, "That is not right."),
        (words, 0, "All sessions have ended."),
    ):
        with command.on_screen("recover") as screen:
            screen.expect("Recovery words:")
            screen.type(typed)
            for prompt in ("New passphrase:", "The same once more:"):
                screen.expect(prompt)
                screen.type(NEW)
            code, output = screen.end()
        assert (code, said in output) == (ended, True), output
    assert sessions(command) == 0
    command.person().ok("POST", "/api/session", {"passphrase": NEW})


def test_a_node_that_is_away_is_told_before_anything_is_typed(command: Command) -> None:
    with command.on_screen("recover") as screen:
        code, _ = screen.end()
    assert code == 3
    assert "Recovery words" not in screen.shown
