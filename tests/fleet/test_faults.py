"""Faults on one machine: rivals, clocks, size, number, and programs that are in the way."""

import os
import socket
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from node.bridge.client import Refused
from node.clock import SystemTimes
from node.desk.context import Limits
from node.desk.raising import NewAsk, record
from node.desk.requests import Asker
from node.founding import open_store
from node.limits import OPEN_SHOWN
from node.store.transaction import Transaction
from sync.decide.ask import Kind
from sync.log.kinds import EntryType
from tests.fleet.crashing import restart
from tests.fleet.history import check_life, entries, rows
from tests.node.bridge.client_side import BridgeProcess
from tests.running import Person, RunningNode, until

CALL = {"tool": "deploy", "arguments": {"target": "staging"}}
DAY_MS = 24 * 3_600_000
HOUR_MS = 3_600_000
MANY = 10_000
LIFTED = {
    "open_asks_per_session": 2 * MANY,
    "asks_per_second_session": MANY,
    "asks_per_second_node": MANY,
}


# --- rivals ---------------------------------------------------------------------------


def test_two_answers_at_one_moment_from_two_places_make_one_final(
    running_node: RunningNode, person: Person
) -> None:
    places = [person, running_node.person()]
    for number in range(8):
        asked = running_node.flag(kind="approval", title=f"Deploy {number}", call=CALL)
        seen = person.ask(asked["id"])["seen"]
        results: list[tuple[int, dict[str, Any]]] = []
        barrier = threading.Barrier(len(places))

        def vote(place: Person, decision: str, ask: str = asked["id"], seen: str = seen) -> None:
            barrier.wait()  # noqa: B023 -- joined before the next round
            results.append(place.vote(ask, decision, seen=seen))  # noqa: B023

        voters = [
            threading.Thread(target=vote, args=pair)
            for pair in zip(places, ("allow", "deny"), strict=True)
        ]
        for voter in voters:
            voter.start()
        for voter in voters:
            voter.join(20)
        assert sorted(status for status, _ in results) == [202, 409]
        [final] = entries(running_node.home, EntryType.FINAL, asked["full_id"])
        told = {
            value["error"]["final"]["outcome"]
            if status == 409
            else value["ask"]["final"]["outcome"]
            for status, value in results
        }
        assert told == {final.facts["outcome"]}
        check_life(running_node.home, asked["full_id"], approval=True)


def test_many_sessions_that_want_one_answer_get_one_live_token(
    running_node: RunningNode, person: Person
) -> None:
    asked = running_node.flag(kind="question", title="Which?")
    person.vote(asked["id"], "answer", text="left")
    told: list[dict[str, Any]] = []

    def take(number: int) -> None:
        arguments = {"ask_id": asked["id"], "take_over": True}
        told.append(running_node.agent("claim", arguments, session=f"s-{number}"))

    takers = [threading.Thread(target=take, args=(number,)) for number in range(8)]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join(20)
    assert sorted(answer["token"] for answer in told) == list(range(1, 9))
    done = {"ask_id": asked["id"], "outcome": "x", "ok": True}
    with pytest.raises(Refused):
        running_node.agent("resolve", {**done, "token": 7}, session="s-0")
    check_life(running_node.home, asked["full_id"], approval=False)


def test_only_one_of_many_requests_gets_an_approval(
    running_node: RunningNode, person: Person
) -> None:
    asked = running_node.flag(kind="approval", title="Deploy", call=CALL)
    told: list[str] = []

    def wait(number: int) -> None:
        try:
            reply = running_node.agent(
                "await", {"ask_id": asked["id"], "wait_s": 20}, request=f"r-{number}"
            )
            told.append(reply["state"])
        except Refused:
            told.append("refused")

    waiters = [threading.Thread(target=wait, args=(number,)) for number in range(8)]
    for waiter in waiters:
        waiter.start()
    person.vote(asked["id"], "allow")
    for waiter in waiters:
        waiter.join(30)
    assert sorted(told) == ["allowed"] + ["refused"] * 7
    check_life(running_node.home, asked["full_id"], approval=True)


# --- programs -------------------------------------------------------------------------


def hello(bridge: BridgeProcess) -> None:
    bridge.ask(
        1,
        "initialize",
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo={"name": "claude-code", "version": "1"},
    )
    bridge.heard()
    bridge.say(method="notifications/initialized")


def test_a_bridge_that_is_killed_leaves_its_ask_to_the_next(
    running_node: RunningNode, person: Person
) -> None:
    environment = {"ASKMESH_AGENT": "claude", "ASKMESH_SESSION": "s-killed"}
    with BridgeProcess(running_node.home, environment=environment) as bridge:
        hello(bridge)
        bridge.ask(2, name="flag", arguments={"kind": "question", "title": "Left?", "wait_s": 60})
        [ask] = until(
            lambda: rows(running_node.home, "SELECT id FROM ask WHERE session = 's-killed'"),
            "the ask is recorded",
        )[0]
    person.vote(ask, "answer", text="yes")
    with BridgeProcess(running_node.home, environment=environment) as bridge:
        hello(bridge)
        bridge.ask(2, name="await_answer", arguments={"id": ask, "wait_s": 5})
        told = bridge.heard()["result"]["structuredContent"]
    assert (told["state"], told["text"]) == ("answered", "yes")
    check_life(running_node.home, ask, approval=False)


def test_a_second_node_on_the_directory_is_told_who_holds_it(
    running_node: RunningNode, person: Person
) -> None:
    other = RunningNode(running_node.home)
    other.log = running_node.home.parent / "other.log"
    other.start(wait=False)
    assert other.wait_dead() == 5
    assert running_node.process is not None
    said = other.log.read_text()
    assert f"pid {running_node.process.pid}" in said
    assert "Traceback" not in said
    assert running_node.flag(kind="question", title="Still?")["reach"] == 1
    assert person.state()["counts"]["open"] == 1


def test_a_taken_port_is_named_and_nothing_is_left_behind(node: RunningNode) -> None:
    with socket.create_server(("127.0.0.1", node.web_port)):
        node.start(wait=False)
        assert node.wait_dead() == 1
    said = node.log.read_text()
    assert f"port {node.web_port} is taken" in said
    assert "Traceback" not in said
    assert not (node.home / "node.json").exists()
    node.start()
    assert node.person().state()["counts"]["open"] == 0


# --- clocks ---------------------------------------------------------------------------


@pytest.mark.parametrize("jump_ms", [-DAY_MS, DAY_MS])
def test_a_wall_clock_that_jumps_moves_no_use_by(
    running_node: RunningNode, person: Person, jump_ms: int
) -> None:
    kept, late = (
        running_node.flag(kind="approval", title=title, call=CALL) for title in ("Kept", "Late")
    )
    for asked in (kept, late):
        person.vote(asked["id"], "allow")
    running_node.set_clock(wall_ms=jump_ms)
    running_node.restart()
    told = running_node.agent("await", {"ask_id": kept["id"], "wait_s": 0})
    assert told["state"] == "allowed"
    running_node.advance(HOUR_MS)
    told = running_node.agent("await", {"ask_id": late["id"], "wait_s": 0})
    assert (told["state"], told["reason"]) == ("void", "use-by passed")


@pytest.mark.parametrize(
    ("jump_ms", "state"), [(-DAY_MS, "waiting"), (0, "waiting"), (2 * DAY_MS, "expired")]
)
def test_after_a_boot_the_wall_clock_rules_and_never_falls(
    running_node: RunningNode, person: Person, jump_ms: int, state: str
) -> None:
    asked = running_node.flag(kind="approval", title="Deploy", call=CALL, deadline_s=DAY_MS / 1000)
    before = person.state()["now"]
    running_node.stop()
    running_node.set_clock(wall_ms=jump_ms, boot_ms=-1_000_000_000)
    running_node.start()
    # The mark is stored with what is written, at most once a second.
    assert person.state()["now"] > before - 2_000
    assert person.ask(asked["id"])["card"]["state"] in {state, "deadline_passed"}
    status, _ = person.vote(asked["id"], "allow")
    assert status == (202 if state == "waiting" else 409)
    check_life(running_node.home, asked["full_id"], approval=True)


# --- size and number ------------------------------------------------------------------


def test_a_call_of_a_mebibyte_is_shown_whole_and_handed_over(
    running_node: RunningNode, person: Person
) -> None:
    text = "".join(f"line {number} \u202e\n" for number in range(80_000))
    assert len(text.encode()) > 1 << 20
    call: dict[str, Any] = {"tool": "write", "arguments": {"text": text}}
    asked = running_node.flag(kind="approval", title="Large", call=call)
    shown = person.ok("GET", f"/api/asks/{asked['id']}")
    assert shown["call"]["arguments"] == {"text": text}
    # The list carries one line of it, not the whole.
    assert len(str(person.state())) < 64 * 1024
    person.vote(asked["id"], "allow")
    restart(running_node)
    told = running_node.agent("await", {"ask_id": asked["id"], "wait_s": 0})
    assert told["state"] == "allowed"
    call["arguments"]["text"] = text * 4
    with pytest.raises(Refused, match="most"):
        running_node.agent("flag", {"kind": "approval", "title": "Larger", "call": call})
    check_life(running_node.home, asked["full_id"], approval=True)


def raise_many(home: Path, number: int, *, deadline_ms: int) -> list[str]:
    """Record asks as the node does, all in one transaction."""
    opened = open_store(home, create=False, machine="box", times=SystemTimes(), random=os.urandom)
    with closing(opened.connection) as store:
        store.execute("BEGIN IMMEDIATE")
        transaction = Transaction(
            store,
            identity=opened.identity,
            now=opened.clock.now(),
            wall=opened.clock.times.wall_ms(),
            random=os.urandom,
        )
        who = Asker(agent="claude", session="session-1", project="example.org/team/app", cwd="/")
        made = [
            record(
                transaction,
                who,
                NewAsk(kind=Kind.QUESTION, title=f"Which of {n}?", deadline_ms=deadline_ms),
                Limits(**LIFTED),
            ).id
            for n in range(number)
        ]
        store.execute("COMMIT")
    return made


@pytest.mark.slow
def test_ten_thousand_open_asks_are_shown_answered_and_expired(node: RunningNode) -> None:
    node.start()
    person = node.person()
    node.stop()
    asks = raise_many(node.home, MANY, deadline_ms=DAY_MS)
    node.start(limits=LIFTED)
    state = person.state()
    assert (state["counts"]["open"], state["counts"]["needs_me"]) == (MANY, MANY)
    assert len(state["asks"]) <= OPEN_SHOWN
    assert len(node.agent("list", {})["rows"]) <= OPEN_SHOWN
    for ask in (asks[0], asks[MANY // 2], asks[-1]):
        assert person.vote(ask, "answer", text="this one")[0] == 202
        assert node.agent("await", {"ask_id": ask, "wait_s": 0})["text"] == "this one"
        check_one_final(node.home, ask)
    fresh = node.flag(kind="question", title="One more?")
    assert fresh["state"] == "waiting"
    node.advance(DAY_MS - HOUR_MS)
    assert person.state()["counts"]["open"] == MANY - 2
    node.advance(2 * HOUR_MS)
    # What is due counts as expired at once, whether or not the sweeper has come to it.
    assert person.vote(asks[7], "answer", text="late")[0] == 409
    open_ = "SELECT count(*) FROM ask WHERE state = 'waiting'"
    until(lambda: rows(node.home, open_) == [(1,)], "all that is due has expired", 60)
    assert person.state()["counts"]["open"] == 1
    assert len(entries(node.home, EntryType.FINAL)) == MANY


def check_one_final(home: Path, ask: str) -> None:
    assert len(entries(home, EntryType.FINAL, ask)) == 1
