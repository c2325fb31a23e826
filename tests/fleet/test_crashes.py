"""kill -9 of the node between any two steps of an ask's life, on the agents' socket.

A stop point kills the node right before or right after a job's commit. Whoever called it
learns nothing and tries again, as bridge and page do: agents under the same request id,
a person after looking. What was acknowledged must still be there, and nothing twice.
"""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from node.bridge.client import NodeAway, Refused
from sync.log.kinds import EntryType
from tests.fleet.crashing import GONE, restart
from tests.fleet.history import check_life, entries
from tests.running import Person, RunningNode, until

STEPS = ("flag", "vote", "rule", "hand_over", "resolve")
POINTS = [f"{step}:{when}-commit" for step in STEPS for when in ("before", "after")]
ASKS: dict[str, dict[str, Any]] = {
    "question": {"options": [{"label": "yes"}, {"label": "no"}]},
    "approval": {"call": {"tool": "deploy", "arguments": {"target": "staging"}}},
}
BALLOTS: dict[str, dict[str, Any]] = {
    "question": {"decision": "answer", "choice": "1", "because": "it is time"},
    "approval": {"decision": "allow", "because": "it is time"},
}


class Caller:
    """Carries out steps on a node that may die under it, and counts how often it did."""

    def __init__(self, node: RunningNode, person: Person) -> None:
        self.node = node
        self.person = person
        self.deaths = 0

    def carry(self, step: Callable[[], Any]) -> Any:  # noqa: ANN401
        """Do it; when the node dies of it, start the node again and do it once more."""
        try:
            return step()
        except GONE:
            self.node.wait_dead()
            self.deaths += 1
            self.node.start()
            return step()

    def agent(self, route: str, arguments: dict[str, Any], request: str) -> dict[str, Any]:
        """An agent's call, which must be answered the same when it is sent once more."""

        def call() -> dict[str, Any]:
            return self.node.agent(route, arguments, request=request)

        first: dict[str, Any] = self.carry(call)
        assert call() == first
        return first

    def answer(self, ask: str, ballot: dict[str, Any]) -> dict[str, Any]:
        """A person's answer: looks first, and answers only what is still open."""

        def step() -> dict[str, Any]:
            shown = self.person.ask(ask)
            if shown["final"] is None:
                status, receipt = self.person.vote(ask, **ballot)
                assert (status, receipt["state"]) == (202, "accepted")
            return self.person.ask(ask)

        shown: dict[str, Any] = self.carry(step)
        return shown


@pytest.fixture
def caller(home_node: RunningNode) -> Caller:
    if home_node.process is None or home_node.process.poll() is not None:
        home_node.start()
    return Caller(home_node, home_node.person())


def live(caller: Caller, kind: str, name: str) -> tuple[str, dict[str, Any]]:
    """The whole life of one ask; its id and the hand-over."""
    fields = {"kind": kind, "title": name, **ASKS[kind]}
    flagged = caller.agent("flag", fields, f"flag {name}")
    ask = flagged["full_id"]
    assert flagged["already_open"] is False
    shown = caller.answer(ask, BALLOTS[kind])
    assert (shown["final"]["by"], shown["final"]["because"]) == ("Ann", "it is time")
    handed = caller.agent("await", {"ask_id": ask, "wait_s": 0}, f"await {name}")
    assert handed["state"] == {"question": "answered", "approval": "allowed"}[kind]
    done = {"ask_id": ask, "token": handed["token"], "outcome": "done", "ok": True}
    assert caller.agent("resolve", done, f"resolve {name}")["resolved"] is True
    return ask, handed


def check_whole(home: Path, ask: str, *, approval: bool) -> None:
    check_life(home, ask, approval=approval)
    for kind in (EntryType.VOTE, EntryType.FINAL, EntryType.HANDOVER, EntryType.RESOLVED):
        assert len(entries(home, kind, ask)) == 1, kind


@pytest.mark.parametrize("kind", ASKS)
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_around_a_commit_loses_and_doubles_nothing(
    home_node: RunningNode, kind: str, point: str
) -> None:
    restart(home_node, point)
    caller = Caller(home_node, home_node.person())
    before = len(entries(home_node.home, EntryType.ASK))
    ask, handed = live(caller, kind, f"{kind} {point}")
    assert caller.deaths == 1
    assert handed["token"] == 1
    assert len(entries(home_node.home, EntryType.ASK)) == before + 1
    check_whole(home_node.home, ask, approval=kind == "approval")
    assert caller.person.ask(ask)["card"]["state"] == "done"


@pytest.mark.parametrize("kind", ASKS)
def test_a_kill_after_each_reply_loses_nothing(caller: Caller, kind: str) -> None:
    node = caller.node

    def killed() -> None:
        node.kill()
        node.start()

    flagged = caller.agent("flag", {"kind": kind, "title": "Kept?", **ASKS[kind]}, f"f {kind}")
    ask = flagged["full_id"]
    killed()
    assert caller.person.ask(ask)["card"]["state"] == "waiting"
    caller.answer(ask, BALLOTS[kind])
    killed()
    handed = caller.agent("await", {"ask_id": ask, "wait_s": 0}, f"a {kind}")
    killed()
    done = {"ask_id": ask, "token": handed["token"], "outcome": "done", "ok": True}
    caller.agent("resolve", done, f"r {kind}")
    killed()
    assert caller.agent("flag", {"kind": kind, "title": "Kept?", **ASKS[kind]}, f"f {kind}") == (
        flagged
    )
    assert caller.person.ask(ask)["card"]["state"] == "done"
    check_whole(node.home, ask, approval=kind == "approval")


def test_another_request_gets_no_second_hand_over_of_an_approval(home_node: RunningNode) -> None:
    """The reply was lost with the node: only the very request that asked may have it again."""
    restart(home_node, "hand_over:after-commit")
    person = home_node.person()
    asked = home_node.flag(kind="approval", title="Once", **ASKS["approval"])
    person.vote(asked["id"], "allow")
    with pytest.raises(NodeAway):
        home_node.agent("await", {"ask_id": asked["id"], "wait_s": 0}, request="first")
    home_node.wait_dead()
    home_node.start()
    with pytest.raises(Refused, match="handed over before"):
        home_node.agent("await", {"ask_id": asked["id"], "wait_s": 0}, request="other")
    told = home_node.agent("await", {"ask_id": asked["id"], "wait_s": 0}, request="first")
    assert told["state"] == "allowed"
    assert len(entries(home_node.home, EntryType.HANDOVER, asked["full_id"])) == 1


def test_a_vote_that_was_not_ruled_on_before_the_deadline_is_late(home_node: RunningNode) -> None:
    """The person got no reply, so nothing acknowledged is lost; silence stays no."""
    restart(home_node, "vote:after-commit")
    person = home_node.person()
    asked = home_node.flag(kind="approval", title="Late", deadline_s=60, **ASKS["approval"])
    with pytest.raises(GONE):
        person.vote(asked["id"], "allow")
    home_node.wait_dead()
    home_node.advance(60_000)
    home_node.start()
    shown = person.ask(asked["id"])
    assert shown["final"]["outcome"] == "expired"
    check_life(home_node.home, asked["full_id"], approval=True)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_while_taking_back_leaves_one_outcome(home_node: RunningNode, when: str) -> None:
    restart(home_node, f"take_back:{when}-commit")
    person = home_node.person()
    asked = home_node.flag(kind="approval", title=f"Back {when}", **ASKS["approval"])
    person.vote(asked["id"], "allow")
    with pytest.raises(GONE):
        person.send("DELETE", f"/api/asks/{asked['id']}/votes/mine")
    home_node.wait_dead()
    home_node.start()
    told = home_node.agent("await", {"ask_id": asked["id"], "wait_s": 0})
    assert told["state"] == {"before": "allowed", "after": "void"}[when]
    check_life(home_node.home, asked["full_id"], approval=True)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_while_withdrawing_leaves_one_final(home_node: RunningNode, when: str) -> None:
    restart(home_node, f"withdraw:{when}-commit")
    caller = Caller(home_node, home_node.person())
    asked = home_node.flag(kind="question", title=f"Withdraw {when}?")
    gone = {"ask_id": asked["full_id"], "reason": "found it"}
    told = caller.agent("withdraw", gone, f"withdraw {when}")
    assert (caller.deaths, told["state"], told["reason"]) == (1, "withdrawn", "found it")
    assert len(entries(home_node.home, EntryType.FINAL, asked["full_id"])) == 1
    check_life(home_node.home, asked["full_id"], approval=False)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_of_the_sweeper_leaves_one_final(home_node: RunningNode, when: str) -> None:
    restart(home_node, f"expire:{when}-commit")
    person = home_node.person()
    asked = home_node.flag(kind="question", title=f"Expire {when}?", deadline_s=60)
    home_node.advance(60_000)
    assert home_node.wait_dead(60) == -signal.SIGKILL
    home_node.start()
    until(lambda: person.ask(asked["id"])["final"], "the deadline is a final")
    told = home_node.agent("await", {"ask_id": asked["id"], "wait_s": 0})
    assert (told["state"], told["by"]) == ("expired", None)
    assert len(entries(home_node.home, EntryType.FINAL, asked["full_id"])) == 1
    check_life(home_node.home, asked["full_id"], approval=False)


@pytest.mark.parametrize("when", ["before", "after"])
def test_rules_applied_in_a_crash_are_in_force_or_not_at_all(node: RunningNode, when: str) -> None:
    node.start(stop=f"apply_rules:{when}-commit")
    person = node.person()
    source = '[[rule]]\nname = "never"\ntool = "Bash"\naction = "deny"\n'
    with pytest.raises(GONE):
        node.rules(person, source)
    node.wait_dead()
    node.start()
    found = person.ok("GET", "/api/rules")["rules"]
    assert (found is None) is (when == "before")
    if found is None:
        found = node.rules(person, source)
    assert (found["source"], found["applied_by"]) == (source, "Ann")
    assert len(entries(node.home, EntryType.RULES)) == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_first_sign_in_that_was_killed_is_whole_or_not_at_all(
    node: RunningNode, when: str
) -> None:
    node.start(stop=f"first_sign_in:{when}-commit")
    with pytest.raises(GONE):
        node.person()
    node.wait_dead()
    node.start()
    assert Person(node.web_port).ok("GET", "/api/hello")["has_person"] is (when == "after")
    person = node.person()
    assert person.state()["me"]["name"] == "Ann"
    assert len(entries(node.home, EntryType.PERSON)) == 1


def test_a_request_id_of_one_call_gets_no_reply_of_another(caller: Caller) -> None:
    """Else an allow of one ask could be read as that of another."""
    node = caller.node
    one, two = (
        node.flag(kind="approval", title=title, **ASKS["approval"]) for title in ("One", "Two")
    )
    caller.answer(one["id"], BALLOTS["approval"])
    node.agent("await", {"ask_id": one["id"], "wait_s": 0}, request="same")
    with pytest.raises(Refused, match="another call"):
        node.agent("await", {"ask_id": two["id"], "wait_s": 0}, request="same")
    node.agent("withdraw", {"ask_id": two["id"], "reason": "x"}, request="same")
    three = node.flag(kind="question", title="Three", request="same")
    with pytest.raises(Refused, match="another call"):
        node.agent("withdraw", {"ask_id": three["id"], "reason": "x"}, request="same")
    with pytest.raises(Refused, match="another call"):
        node.flag(kind="question", title="Four", request="same")
    node.agent("withdraw", {"ask_id": three["id"], "reason": "x"})
