"""The recovery words on a real node: every session ends, open approvals are withdrawn."""

from typing import Any

from node.store.rebuild import compare
from tests.running import PASSPHRASE, Person, RunningNode

NEW_PASSPHRASE = "other words than before"


def founded(node: RunningNode) -> tuple[Person, str]:
    """The first person, and the words shown once."""
    person = Person(node.web_port)
    told = person.ok(
        "POST",
        "/api/session",
        {"token": node.token, "name": "Ann", "passphrase": PASSPHRASE},
    )
    return person, " ".join(told["recovery_words"])


def tried(node: RunningNode, **body: Any) -> tuple[int, dict[str, Any], Person]:  # noqa: ANN401
    """A fresh browser signing in."""
    person = Person(node.web_port)
    status, value = person.send("POST", "/api/session", body)
    return status, value, person


def test_recovery_ends_all_that_was_there(running_node: RunningNode) -> None:
    first, words = founded(running_node)
    _, _, second = tried(running_node, passphrase=PASSPHRASE)
    approval = running_node.flag(kind="approval", title="Deploy", call={"tool": "deploy"})
    question = running_node.flag(kind="question", title="Which?")
    assert first.state()["banners"] == []

    status, _, recovered = tried(running_node, recovery=f"  {words.upper()} ")
    assert status == 200
    for old in (first, second):
        assert old.send("GET", "/api/state")[0] == 401
    shown = recovered.ask(approval["id"])
    assert shown["card"]["state"] == "withdrawn"
    assert "recovery words" in shown["final"]["reason"]
    assert recovered.ask(question["id"])["card"]["state"] == "waiting"
    assert "recovery words were used" in recovered.state()["banners"][0]
    told = running_node.agent("await", {"ask_id": approval["id"], "wait_s": 0})
    assert told["state"] == "withdrawn"
    assert tried(running_node, passphrase=PASSPHRASE)[0] != 200
    assert compare(running_node.home) == []


def test_a_new_passphrase_can_be_set_after_recovery(running_node: RunningNode) -> None:
    _, words = founded(running_node)
    _, _, recovered = tried(running_node, recovery=words)
    recovered.ok("PUT", "/api/passphrase", {"passphrase": NEW_PASSPHRASE})
    assert tried(running_node, passphrase=NEW_PASSPHRASE)[0] == 200
    assert tried(running_node, passphrase=PASSPHRASE)[0] != 200


def test_wrong_words_open_nothing_and_are_counted(running_node: RunningNode) -> None:
    person, words = founded(running_node)
    wrong = " ".join(reversed(words.split()))
    replies = [tried(running_node, recovery=wrong)[:2] for _ in range(6)]
    statuses = [status for status, _ in replies]
    assert 200 not in statuses
    assert statuses[-1] == 429
    # The right words too wait then: an attacker learns nothing from the difference.
    assert tried(running_node, recovery=words)[0] == 429
    assert person.state()["banners"] == []


def test_the_words_are_shown_once(running_node: RunningNode) -> None:
    person, words = founded(running_node)
    # The page's first request after it showed them.
    assert person.state()["me"]["name"] == "Ann"
    again = tried(running_node, passphrase=PASSPHRASE)[1]
    assert not again.get("recovery_words")
    assert words not in str(person.state())
    status, _, _ = tried(running_node, token=running_node.token, name="Eve", passphrase=None)
    assert status == 403


def test_recovery_works_after_a_restart(running_node: RunningNode) -> None:
    _, words = founded(running_node)
    running_node.restart()
    status, _, recovered = tried(running_node, recovery=words)
    assert status == 200
    running_node.restart()
    assert "recovery words were used" in recovered.state()["banners"][0]
