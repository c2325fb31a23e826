"""Many agents and two places of a person at once, while the node is killed again and again.

No stop points: the kills fall wherever they fall. Whoever called tries again as bridge and
page do, and writes down what was acknowledged; the log is held against that at the end.
"""

import contextlib
import random
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from node.bridge.client import Refused
from node.store.rebuild import compare
from sync.log.kinds import EntryType
from tests.fleet.crashing import GONE, end_holder
from tests.fleet.history import entries
from tests.running import Person, RunningNode, until

AGENTS = 5
ASKS = 12
KILLS = 4
LIFTED = {
    "open_asks_per_session": 1_000,
    "asks_per_second_session": 1_000,
    "asks_per_second_node": 5_000,
}


class Storm:
    """What everyone did, and what they were told."""

    def __init__(self, node: RunningNode, seed: int) -> None:
        self.node = node
        self.random = random.Random(seed)
        self.over = threading.Event()
        self.flagged: list[str] = []
        self.released: list[str] = []
        self.answered: list[str] = []
        self.voted: list[str] = []
        self.faults: list[BaseException] = []

    def again(self, call: Callable[[], Any]) -> Any:  # noqa: ANN401
        """Try until the node is there to answer."""

        def tried() -> Any:  # noqa: ANN401
            try:
                return call()
            except GONE:
                return None

        return until(tried, "the node answers", 60)

    def agent(self, number: int) -> None:
        """One session: asks, waits, tells what came of it, and asks again."""
        for count in range(ASKS):
            name = f"{number}-{count}"
            approval = self.random.random() < 0.5
            fields: dict[str, Any] = {"kind": "question", "title": name}
            if approval:
                fields = {"kind": "approval", "title": name, "call": {"tool": name}}
            ask = self.call("flag", fields, f"f{name}", number)["full_id"]
            self.flagged.append(ask)
            waiting = {"ask_id": ask, "wait_s": 20}
            told = self.call("await", waiting, f"a{name}", number)
            if told["state"] == "allowed":
                self.released.append(ask)
            elif told["state"] == "answered":
                self.answered.append(ask)
            if told["token"] is not None:
                done = {"ask_id": ask, "token": told["token"], "outcome": name, "ok": True}
                self.call("resolve", done, f"r{name}", number)

    def call(self, route: str, arguments: dict[str, Any], request: str, number: int) -> Any:  # noqa: ANN401
        """One call under one request id, however often it has to be sent."""
        return self.again(
            lambda: self.node.agent(route, arguments, session=f"s{number}", request=request)
        )

    def place(self, person: Person) -> None:
        """One place of the person: answers whatever is open, sometimes takes it back."""
        while not self.over.is_set():
            with contextlib.suppress(*GONE):
                for ask in person.state()["asks"]:
                    if ask["card"]["open"]:
                        self.decide(person, ask)

    def decide(self, person: Person, ask: dict[str, Any]) -> None:
        words: dict[str, Any] = {"text": "so"}
        decision = "answer" if ask["kind"] == "question" else self.random.choice(["allow", "deny"])
        if decision != "answer":
            words = {}
        status, value = person.vote(ask["id"], decision, seen=ask["seen"], **words)
        assert status in {202, 409}, value
        if status == 202:
            self.voted.append(value["vote"])
            if self.random.random() < 0.1:
                status, value = person.send("DELETE", f"/api/asks/{ask['id']}/votes/mine")
                assert status in {202, 409}, value

    def reached(self, share: int) -> bool:
        """Whether so much was asked, or all is over already."""
        return bool(self.faults) or len(self.flagged) >= share

    def thread(self, run: Callable[..., None], *arguments: Any) -> threading.Thread:  # noqa: ANN401
        """Run it on a thread, and keep what went wrong."""

        def kept() -> None:
            try:
                run(*arguments)
            except BaseException as error:  # noqa: BLE001 -- raised by the test
                self.faults.append(error)

        thread = threading.Thread(target=kept)
        thread.start()
        return thread


def test_a_storm_over_kills_keeps_every_promise(node: RunningNode) -> None:
    node.start(limits=LIFTED)
    storm = Storm(node, 7)
    people = [node.person(), node.person()]
    places = [storm.thread(storm.place, person) for person in people]
    agents = [storm.thread(storm.agent, number) for number in range(AGENTS)]
    for kill in range(1, KILLS + 1):
        share = kill * AGENTS * ASKS // (KILLS + 2)
        until(partial(storm.reached, share), "enough was asked", 60)
        end_holder(node.home)
        assert node.process is not None
        node.process.wait()
        node.start(limits=LIFTED)
    for agent in agents:
        agent.join(90)
    storm.over.set()
    for place in places:
        place.join(60)
    assert storm.faults == []
    check(node, storm)


def check(node: RunningNode, storm: Storm) -> None:
    """Hold the log against all that was acknowledged."""
    home = node.home
    finals = {entry.facts["ask"]: entry for entry in entries(home, EntryType.FINAL)}
    assert len(finals) == len(entries(home, EntryType.FINAL))
    handed = [e for e in entries(home, EntryType.HANDOVER) if e.facts["status"] == "handed"]
    by_ask = Counter(entry.facts["ask"] for entry in handed)
    assert set(by_ask.values()) == {1}
    assert storm.released
    assert storm.answered
    assert len(storm.flagged) == AGENTS * ASKS == len(entries(home, EntryType.ASK))
    for ask in storm.released:
        assert (finals[ask].facts["outcome"], by_ask[ask]) == ("allowed", 1)
    for ask in storm.answered:
        assert (finals[ask].facts["outcome"], by_ask[ask]) == ("answered", 1)
    for entry in handed:
        assert finals[entry.facts["ask"]].n < entry.n
    votes = {entry.hash.hex() for entry in entries(home, EntryType.VOTE)}
    assert set(storm.voted) <= votes
    assert len(entries(home, EntryType.RULING)) == len(votes)
    assert len(entries(home, EntryType.RESOLVED)) == len(handed)
    assert compare(home) == []


def test_the_storm_would_notice_a_refusal(running_node: RunningNode) -> None:
    """What the node refuses is no crash: it ends a session of the storm with its words."""
    storm = Storm(running_node, 1)
    thread = storm.thread(
        lambda: storm.call("resolve", {"ask_id": "a-1", "outcome": "x", "ok": True}, "r", 1)
    )
    thread.join(20)
    assert [type(fault) for fault in storm.faults] == [Refused]
