"""kill -9 of either of two machines at each step of an ask's life, answered from the other.

The steps are those of `test_crashes`, with what two machines add to them: the ask arrives
at the machine of the person, the vote at the home. Whoever loses the node tries again, as
bridge and page do; what was acknowledged is there, nothing is there twice, and both stores
hold the same history in the end.
"""

from collections.abc import Callable
from typing import Any

import pytest

from node.bridge.client import NodeAway
from sync.log.kinds import EntryType
from tests.fleet.crashing import GONE
from tests.fleet.fleets import Machine, alive, equal
from tests.fleet.history import check_life, entries
from tests.running import until

AT_HOME = ("flag", "receive", "hand_over", "resolve")
"""A vote that arrives is ruled on, and makes its final, in the transaction that stores it."""
WITH_THE_PERSON = ("receive", "vote")
POINTS = [
    (victim, f"{step}:{when}-commit")
    for victim, steps in (("desk", AT_HOME), ("laptop", WITH_THE_PERSON))
    for step in steps
    for when in ("before", "after")
]
ASKS: dict[str, dict[str, Any]] = {
    "question": {"options": [{"label": "yes"}, {"label": "no"}]},
    "approval": {"call": {"tool": "deploy", "arguments": {"target": "staging"}}},
}
BALLOTS: dict[str, dict[str, Any]] = {
    "question": {"decision": "answer", "choice": "1", "because": "it is time"},
    "approval": {"decision": "allow", "because": "it is time"},
}


class Life:
    """One ask of the desk, answered on the laptop, on machines of which one will die."""

    def __init__(self, two: list[Machine], kind: str, name: str) -> None:
        self.desk, self.laptop = two
        self.kind = kind
        self.name = name
        self.deaths = 0

    def carry(self, machine: Machine, step: Callable[[], Any]) -> Any:  # noqa: ANN401
        """Do it; when the node dies of it, start it again and do it once more."""
        try:
            return step()
        except GONE:
            self.revive(machine)
            return step()

    def revive(self, machine: Machine) -> None:
        machine.node.wait_dead()
        self.deaths += 1
        machine.node.start()

    def agent(self, route: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """An agent's call, which must be answered the same when it is sent once more."""

        def call() -> dict[str, Any]:
            return self.desk.node.agent(route, arguments, request=f"{route} {self.name}")

        first: dict[str, Any] = self.carry(self.desk, call)
        assert call() == first
        return first

    def shown(self, machine: Machine, ask: str, ready: Callable[[dict[str, Any]], object]) -> None:
        """Wait until a page shows it so; a machine that died of it is started again."""

        def so() -> bool:
            process = machine.node.process
            assert process is not None
            if process.poll() is not None:
                self.revive(machine)
            try:
                found = machine.shows(ask)
            except GONE:
                return False
            return found is not None and bool(ready(found))

        until(so, f"{machine.name} shows {self.name}")

    def answer(self, ask: str) -> None:
        """A person's answer: looks first, and answers only what is still open."""
        self.shown(self.laptop, ask, lambda shown: shown["call"] is None or shown["call"]["here"])

        def step() -> None:
            if self.laptop.person.ask(ask)["card"]["state"] in ("waiting", "away"):
                assert self.laptop.person.vote(ask, **BALLOTS[self.kind])[0] == 202

        self.carry(self.laptop, step)

    def released(self, ask: str) -> dict[str, Any]:
        """The hand-over, once the answer is here."""
        self.shown(self.desk, ask, lambda shown: shown["final"])
        return self.agent("await", {"ask_id": ask, "wait_s": 0})

    def live(self) -> str:
        """The whole of it; the ask's id."""
        flagged = self.agent("flag", {"kind": self.kind, "title": self.name, **ASKS[self.kind]})
        ask = str(flagged["full_id"])
        assert flagged["already_open"] is False
        self.answer(ask)
        handed = self.released(ask)
        assert handed["state"] == {"question": "answered", "approval": "allowed"}[self.kind]
        assert (handed["token"], handed["because"]) == (1, "it is time")
        done = {"ask_id": ask, "token": 1, "outcome": "done", "ok": True}
        assert self.agent("resolve", done)["resolved"] is True
        self.shown(self.laptop, ask, lambda shown: shown["card"]["state"] == "done")
        return ask

    def check(self, ask: str) -> None:
        """What both logs must say."""
        equal(self.desk, self.laptop)
        for machine in (self.desk, self.laptop):
            check_life(machine.home, ask, approval=self.kind == "approval")
            for kind in (EntryType.VOTE, EntryType.FINAL, EntryType.HANDOVER, EntryType.RESOLVED):
                assert len(entries(machine.home, kind, ask)) == 1, kind
            assert machine.person.ask(ask)["final"]["machine"] == "laptop"


@pytest.mark.parametrize("kind", ASKS)
@pytest.mark.parametrize(("victim", "point"), POINTS, ids=lambda value: value)
def test_a_kill_around_a_commit_loses_and_doubles_nothing(
    two: list[Machine], victim: str, point: str, kind: str
) -> None:
    desk, laptop = two
    (desk if victim == "desk" else laptop).node.restart_to(point)
    life = Life(two, kind, f"{kind} {victim} {point}")
    ask = life.live()
    assert life.deaths == 1
    alive(*two)
    life.check(ask)


@pytest.mark.parametrize("kind", ASKS)
def test_a_kill_of_both_after_each_step_loses_nothing(two: list[Machine], kind: str) -> None:
    """Each step is done while the other machine is down, so nothing is handed over in passing."""
    desk, laptop = two
    life = Life(two, kind, f"{kind} by turns")
    flagged = life.agent("flag", {"kind": kind, "title": life.name, **ASKS[kind]})
    ask = str(flagged["full_id"])
    laptop.meets(ask)
    until(lambda: kind == "question" or laptop.person.ask(ask)["call"]["here"], "it is whole")
    desk.node.kill()
    laptop.becomes(ask, "away")
    life.answer(ask)
    laptop.becomes(ask, "kept")
    laptop.node.kill()
    desk.node.start()
    assert desk.person.ask(ask)["card"]["state"] == "waiting"
    laptop.node.start()
    life.shown(desk, ask, lambda shown: shown["final"])
    laptop.node.kill()
    handed = life.released(ask)
    desk.node.kill()
    laptop.node.start()
    desk.node.start()
    done = {"ask_id": ask, "token": handed["token"], "outcome": "done", "ok": True}
    life.agent("resolve", done)
    laptop.becomes(ask, "done")
    life.check(ask)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_while_a_taking_back_arrives_leaves_one_outcome(
    two: list[Machine], when: str
) -> None:
    desk, laptop = two
    life = Life(two, "approval", f"back {when}")
    ask = str(
        life.agent("flag", {"kind": "approval", "title": life.name, **ASKS["approval"]})["full_id"]
    )
    life.answer(ask)
    laptop.becomes(ask, "not_picked_up")
    desk.node.restart_to(f"receive:{when}-commit")
    laptop.becomes(ask, "not_picked_up")
    laptop.person.ok("DELETE", f"/api/asks/{ask}/votes/mine")
    life.revive(desk)
    laptop.becomes(ask, "taken_back")
    assert desk.node.agent("await", {"ask_id": ask, "wait_s": 0})["state"] == "void"
    equal(*two)
    check_life(desk.home, ask, approval=True)


def test_no_allow_is_handed_over_twice_when_the_reply_is_lost_with_the_node(
    two: list[Machine],
) -> None:
    desk, laptop = two
    desk.node.restart_to("hand_over:after-commit")
    life = Life(two, "approval", "once")
    flagged = desk.node.flag(kind="approval", title="once", **ASKS["approval"])
    life.answer(str(flagged["full_id"]))
    laptop.becomes(flagged["full_id"], "not_picked_up")
    with pytest.raises(NodeAway):
        desk.node.agent("await", {"ask_id": flagged["id"], "wait_s": 0}, request="first")
    life.revive(desk)
    told = desk.node.agent("await", {"ask_id": flagged["id"], "wait_s": 0}, request="first")
    assert told["state"] == "allowed"
    laptop.becomes(flagged["full_id"], "handed")
    equal(*two)
    assert len(entries(laptop.home, EntryType.HANDOVER, flagged["full_id"])) == 1
