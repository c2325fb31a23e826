"""The life of each kind of ask on a real node: raise, answer, hand over, resolve."""

import threading
from typing import Any

import pytest

from node.bridge.client import Refused
from tests.running import PASSPHRASE, Person, RunningNode, until

HOUR_MS = 3_600_000


def test_question_is_answered_and_resolved(running_node: RunningNode, person: Person) -> None:
    asked = running_node.flag(kind="question", title="Ship?", options=[{"label": "yes"}])
    assert asked["state"] == "waiting"
    assert asked["reach"] == 1
    status, receipt = person.vote(asked["id"], "answer", choice="1", because="tests pass")
    assert (status, receipt["state"]) == (202, "accepted")
    answer = running_node.agent("await", {"ask_id": asked["id"], "wait_s": 5})
    assert (answer["state"], answer["choice"], answer["because"], answer["by"]) == (
        "answered",
        "yes",
        "tests pass",
        "Ann",
    )
    assert person.ask(asked["id"])["card"]["state"] == "handed"
    running_node.agent(
        "resolve",
        {"ask_id": asked["id"], "token": answer["token"], "outcome": "shipped", "ok": True},
    )
    assert person.ask(asked["id"])["card"]["state"] == "done"


def test_waiting_call_is_released_by_the_answer(running_node: RunningNode, person: Person) -> None:
    asked = running_node.flag(kind="question", title="Which port?")
    answers: list[dict[str, Any]] = []
    waiter = threading.Thread(
        target=lambda: answers.append(
            running_node.agent("await", {"ask_id": asked["id"], "wait_s": 30})
        )
    )
    waiter.start()
    person.vote(asked["id"], "answer", text="8080")
    waiter.join(20)
    assert answers[0]["text"] == "8080"


def test_silence_is_never_yes(running_node: RunningNode, person: Person) -> None:
    question = running_node.flag(kind="question", title="Colour?", deadline_s=60, fallback="blue")
    approval = running_node.flag(
        kind="approval", title="Deploy", call={"tool": "deploy"}, deadline_s=60
    )
    running_node.advance(61_000)
    told = running_node.agent("await", {"ask_id": question["id"], "wait_s": 0})
    assert (told["state"], told["fallback"], told["by"], told["text"]) == (
        "expired",
        "blue",
        None,
        None,
    )
    assert (
        running_node.agent("await", {"ask_id": approval["id"], "wait_s": 0})["state"] == "expired"
    )
    assert person.ask(approval["id"])["card"]["state"] == "expired"


def test_answer_after_the_deadline_loses_without_a_sweeper(
    running_node: RunningNode, person: Person
) -> None:
    approval = running_node.flag(
        kind="approval", title="Deploy", call={"tool": "deploy"}, deadline_s=60
    )
    seen = person.ask(approval["id"])["seen"]
    running_node.advance(60_000)
    status, value = person.vote(approval["id"], "allow", seen=seen)
    assert status == 409
    assert value["error"]["final"]["outcome"] == "expired"


def test_approval_is_handed_over_once(running_node: RunningNode, person: Person) -> None:
    asked = running_node.flag(kind="approval", title="Deploy", call={"tool": "deploy"})
    person.vote(asked["id"], "allow")
    first = running_node.agent("await", {"ask_id": asked["id"], "wait_s": 0}, request="r1")
    assert first["state"] == "allowed"
    # The same request again (its reply was lost) gets the same reply, any other gets none.
    again = running_node.agent("await", {"ask_id": asked["id"], "wait_s": 0}, request="r1")
    assert again == first
    with pytest.raises(Refused, match="handed over before"):
        running_node.agent("await", {"ask_id": asked["id"], "wait_s": 0}, request="r2")


def test_stored_reply_to_an_allow_is_not_repeated_when_stale(
    running_node: RunningNode, person: Person
) -> None:
    asked = running_node.flag(kind="approval", title="Deploy", call={"tool": "deploy"})
    person.vote(asked["id"], "allow")
    running_node.agent("await", {"ask_id": asked["id"], "wait_s": 0}, request="r1")
    running_node.advance(11 * 60_000)
    with pytest.raises(Refused, match="unknown"):
        running_node.agent("await", {"ask_id": asked["id"], "wait_s": 0}, request="r1")
    assert person.ask(asked["id"])["card"]["state"] in {"handed", "outcome_unknown"}


def test_allow_nobody_fetched_is_void_after_its_use_by(
    running_node: RunningNode, person: Person
) -> None:
    asked = running_node.flag(kind="approval", title="Deploy", call={"tool": "deploy"})
    person.vote(asked["id"], "allow")
    running_node.advance(HOUR_MS)
    told = running_node.agent("await", {"ask_id": asked["id"], "wait_s": 0})
    assert (told["state"], told["reason"]) == ("void", "use-by passed")
    assert person.ask(asked["id"])["card"]["state"] == "void"


def test_take_back_before_and_after_hand_over(running_node: RunningNode, person: Person) -> None:
    asked = running_node.flag(kind="approval", title="Deploy", call={"tool": "deploy"})
    person.vote(asked["id"], "allow")
    taken = person.ok("DELETE", f"/api/asks/{asked['id']}/votes/mine")
    assert taken["state"] == "taken_back"
    assert taken["ask"]["card"]["state"] == "taken_back"
    told = running_node.agent("await", {"ask_id": asked["id"], "wait_s": 0})
    assert (told["state"], told["reason"]) == ("void", "taken back")
    other = running_node.flag(kind="approval", title="Again", call={"tool": "deploy"})
    person.vote(other["id"], "allow")
    running_node.agent("await", {"ask_id": other["id"], "wait_s": 0})
    status, value = person.send("DELETE", f"/api/asks/{other['id']}/votes/mine")
    assert status == 409
    assert "handed over" in value["error"]["message"]


def test_two_answers_at_once_one_wins(running_node: RunningNode, person: Person) -> None:
    for number in range(10):
        asked = running_node.flag(
            kind="approval", title=f"Deploy {number}", call={"tool": "deploy"}
        )
        seen = person.ask(asked["id"])["seen"]
        results: list[tuple[int, dict[str, Any]]] = []
        barrier = threading.Barrier(2)

        def vote(decision: str, ask: str = asked["id"], seen: str = seen) -> None:
            barrier.wait()  # noqa: B023 -- joined before the next round
            results.append(person.vote(ask, decision, seen=seen))  # noqa: B023

        voters = [threading.Thread(target=vote, args=(word,)) for word in ("allow", "deny")]
        for voter in voters:
            voter.start()
        for voter in voters:
            voter.join(20)
        assert sorted(status for status, _ in results) == [202, 409]
        won = next(value for status, value in results if status == 202)
        lost = next(value for status, value in results if status == 409)
        assert lost["error"]["final"]["outcome"] == won["ask"]["final"]["outcome"]


def test_stale_seen_is_refused(running_node: RunningNode, person: Person) -> None:
    asked = running_node.flag(kind="question", title="Which?")
    status, value = person.vote(asked["id"], "answer", text="x", seen="00" * 32)
    assert (status, value["error"]["code"]) == (409, "conflict")
    assert person.ask(asked["id"])["card"]["state"] == "waiting"


def test_key_and_content_are_idempotent(running_node: RunningNode) -> None:
    first = running_node.flag(kind="question", title="A?", key="k")
    same = running_node.flag(kind="question", title="A?", key="k")
    assert (same["id"], same["already_open"]) == (first["id"], True)
    with pytest.raises(Refused, match="key"):
        running_node.flag(kind="question", title="B?", key="k")
    plain = running_node.flag(kind="question", title="C?")
    assert running_node.flag(kind="question", title="C?")["id"] == plain["id"]
    assert running_node.flag(kind="question", title="C?", session="two")["id"] != plain["id"]


def test_claim_takes_a_question_over_under_a_higher_token(
    running_node: RunningNode, person: Person
) -> None:
    asked = running_node.flag(kind="question", title="Which?")
    person.vote(asked["id"], "answer", text="left")
    first = running_node.agent("await", {"ask_id": asked["id"], "wait_s": 0})
    with pytest.raises(Refused, match="handed over before"):
        running_node.agent("claim", {"ask_id": asked["id"]}, session="two")
    second = running_node.agent("claim", {"ask_id": asked["id"], "take_over": True}, session="two")
    assert second["token"] == first["token"] + 1
    assert second["text"] == "left"
    with pytest.raises(Refused, match="moved on"):
        running_node.agent(
            "resolve", {"ask_id": asked["id"], "token": first["token"], "outcome": "x", "ok": True}
        )
    with pytest.raises(Refused, match="another project"):
        running_node.agent("claim", {"ask_id": asked["id"], "take_over": True}, project="other")


def test_decline_and_withdraw(running_node: RunningNode, person: Person) -> None:
    declined = running_node.flag(kind="question", title="A?")
    person.vote(declined["id"], "decline", because="not mine")
    told = running_node.agent("await", {"ask_id": declined["id"], "wait_s": 0})
    assert (told["state"], told["because"]) == ("declined", "not mine")
    open_ask = running_node.flag(kind="question", title="B?")
    with pytest.raises(Refused):
        running_node.agent("withdraw", {"ask_id": open_ask["id"], "reason": "x"}, session="two")
    gone = running_node.agent("withdraw", {"ask_id": open_ask["id"], "reason": "found it"})
    assert (gone["state"], gone["reason"]) == ("withdrawn", "found it")
    status, value = person.vote(open_ask["id"], "answer", text="late")
    assert (status, value["error"]["final"]["outcome"]) == (409, "withdrawn")


def test_note_and_done_are_only_read(running_node: RunningNode, person: Person) -> None:
    note = running_node.flag(kind="note", title="Assumed UTC")
    done = running_node.flag(kind="done", title="Merged")
    assert (note["state"], done["state"]) == ("posted", "posted")
    assert person.state()["counts"]["unread"] == 2
    person.ok("PUT", f"/api/asks/{note['id']}/read", {"read": True})
    assert person.state()["counts"]["unread"] == 1
    assert person.vote(note["id"], "answer", text="x")[0] == 400


def test_nobody_signed_in_means_no_reach(running_node: RunningNode) -> None:
    asked = running_node.flag(kind="question", title="Anyone?")
    assert asked["reach"] == 0
    assert "nobody has signed in" in asked["reach_reason"]


@pytest.mark.parametrize("jump_ms", [-86_400_000, 86_400_000])
def test_wall_clock_jumps_move_no_deadline(
    running_node: RunningNode, person: Person, jump_ms: int
) -> None:
    asked = running_node.flag(kind="question", title="Which?", deadline_s=600)
    running_node.set_clock(wall_ms=jump_ms)
    assert person.ask(asked["id"])["card"]["state"] == "waiting"
    running_node.restart()
    person = running_node.person()
    assert person.ask(asked["id"])["card"]["state"] == "waiting"
    running_node.advance(600_000)
    until(
        lambda: person.ask(asked["id"])["card"]["state"] in {"expired", "deadline_passed"},
        "the deadline passes by the clock that counts",
    )


def test_a_new_passphrase_needs_the_old_one(running_node: RunningNode, person: Person) -> None:
    new = "five other words are fine"
    for old in ({}, {"old": "not the old one"}):
        assert person.send("PUT", "/api/passphrase", {"passphrase": new} | old)[0] == 403
    person.ok("PUT", "/api/passphrase", {"passphrase": new, "old": PASSPHRASE})
    other = Person(running_node.web_port)
    assert other.send("POST", "/api/session", {"passphrase": PASSPHRASE})[0] == 403
    other.ok("POST", "/api/session", {"passphrase": new})
