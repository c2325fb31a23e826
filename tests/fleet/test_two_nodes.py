"""Asked on one machine, answered on the other: two real nodes, linked as they are in life.

The agent talks to its own node only, the person to theirs. What is checked at the end is
the log of both: one final, one hand-over, and the same history on either side.
"""

import signal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from sync.log.kinds import EntryType
from tests.fleet.fleets import Machine, equal, linked
from tests.fleet.history import check_life, entries
from tests.node.bridge.client_side import BridgeProcess
from tests.node.gate.sessions import Run, Session
from tests.running import until

CALL = {"tool": "deploy", "arguments": {"target": "staging"}}
YES_NO = [{"label": "yes"}, {"label": "no"}]
RULES = '[[rule]]\nname = "pushes"\ntool = "Bash"\naction = "ask"\n'


class Waiter(threading.Thread):
    """An agent that waits for an answer, as a tool call does."""

    def __init__(self, machine: Machine, ask: str) -> None:
        super().__init__(daemon=True)
        self.machine = machine
        self.ask = ask
        self.told: dict[str, Any] = {}
        self.start()

    def run(self) -> None:
        self.told = self.machine.node.agent("await", {"ask_id": self.ask, "wait_s": 40})

    def released(self) -> dict[str, Any]:
        """What it was told."""
        self.join(40)
        assert self.told, "the agent still waits"
        return self.told


def question(machine: Machine, title: str) -> str:
    flagged = machine.node.flag(kind="question", title=title, options=YES_NO)
    return str(flagged["full_id"])


def approval(machine: Machine, title: str) -> str:
    flagged = machine.node.flag(kind="approval", title=title, call=CALL)
    return str(flagged["full_id"])


def settled(two: list[Machine], ask: str, *, approval: bool) -> None:
    """Both hold the same, with one final."""
    equal(*two)
    for one in two:
        check_life(one.home, ask, approval=approval)
        assert len(entries(one.home, EntryType.FINAL, ask)) == 1


def test_a_question_is_seen_and_answered_there_and_the_agent_here_goes_on(
    two: list[Machine],
) -> None:
    desk, laptop = two
    ask = question(desk, "Which way?")
    waiter = Waiter(desk, ask)
    shown = laptop.meets(ask)
    assert (shown["machine"]["name"], shown["title"]) == ("desk", "Which way?")
    assert shown["card"]["needs_me"] is True
    status, receipt = laptop.person.vote(ask, "answer", choice="2", because="shorter", wait_s=20)
    assert (status, receipt["state"]) == (202, "accepted")
    told = waiter.released()
    assert (told["state"], told["choice"], told["because"]) == ("answered", "no", "shorter")
    final = laptop.becomes(ask, "handed")["final"]
    assert (final["by"], final["machine"]) == ("Ann", "laptop")
    assert desk.person.ask(ask)["final"] == final
    settled(two, ask, approval=False)


def test_an_answer_there_releases_a_call_that_the_gate_holds_here(two: list[Machine]) -> None:
    desk, laptop = two
    desk.node.rules(desk.person, RULES)
    hook = Session(desk.node, "gate").before("Bash", {"command": "git push"})

    def found() -> dict[str, Any] | None:
        open_ = [ask for ask in laptop.person.state()["asks"] if ask["session"] == "gate"]
        return open_[0] if open_ else None

    ask = until(found, "laptop shows the call")
    assert ask["enforced"] is True
    until(lambda: laptop.person.ask(ask["id"])["call"]["here"], "the exact call has come")
    call = laptop.person.ok("GET", f"/api/asks/{ask['id']}")["call"]
    assert call["arguments"] == {"command": "git push"}
    assert laptop.person.vote(ask["id"], "allow")[0] == 202
    assert hook.word() == "allow"
    laptop.becomes(ask["id"], "handed")
    settled(two, ask["id"], approval=True)


def test_an_answer_there_releases_a_tool_call_over_the_bridge(two: list[Machine]) -> None:
    desk, laptop = two
    with BridgeProcess(desk.home) as bridge:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
        bridge.ask(1, "initialize", **hello, clientInfo={"name": "test", "version": "1"})
        assert bridge.heard()["id"] == 1
        bridge.say(method="notifications/initialized")
        arguments = {"kind": "question", "title": "Bridge?", "options": YES_NO, "wait_s": 40}
        bridge.ask(2, name="flag", arguments=arguments)

        def found() -> str | None:
            titles = {one["title"]: str(one["id"]) for one in laptop.person.state()["asks"]}
            return titles.get("Bridge?")

        ask = until(found, "laptop shows it")
        assert laptop.person.vote(ask, "answer", choice="1")[0] == 202
        while (message := bridge.heard()).get("id") != 2:
            assert "method" in message
        told = message["result"]["structuredContent"]
        assert (told["state"], told["choice"]) == ("answered", "yes")


@pytest.fixture(autouse=True)
def hooks_end() -> Iterator[None]:
    yield
    Run.end_all()


def test_a_denied_call_is_denied_there(two: list[Machine]) -> None:
    desk, laptop = two
    ask = approval(desk, "Deploy?")
    waiter = Waiter(desk, ask)
    laptop.meets(ask)
    assert laptop.person.vote(ask, "deny", because="not today")[0] == 202
    told = waiter.released()
    assert (told["state"], told["because"]) == ("denied", "not today")
    settled(two, ask, approval=True)
    assert entries(desk.home, EntryType.HANDOVER, ask)[0].facts["status"] == "handed"


def test_two_answers_at_one_moment_make_one_final(two: list[Machine]) -> None:
    for number in range(6):
        ask = approval(two[0], f"At once {number}?")
        seen = two[1].meets(ask)["seen"]
        until(lambda ask=ask: two[1].person.ask(ask)["call"]["here"], "the call is there")  # type: ignore[misc]
        replies: dict[str, tuple[int, dict[str, Any]]] = {}
        start = threading.Barrier(2)

        def vote(machine: Machine, decision: str, ask: str = ask, seen: str = seen) -> None:
            start.wait()  # noqa: B023 -- joined before the next round
            replies[machine.name] = machine.person.vote(ask, decision, seen=seen, wait_s=20)  # noqa: B023

        voters = [
            threading.Thread(target=vote, args=pair)
            for pair in zip(two, ("allow", "deny"), strict=True)
        ]
        for voter in voters:
            voter.start()
        for voter in voters:
            voter.join(40)
        assert set(replies) == {"desk", "laptop"}
        settled(two, ask, approval=True)
        one, other = (machine.person.ask(ask)["final"] for machine in two)
        assert one == other
        told = two[0].node.agent("await", {"ask_id": ask, "wait_s": 0})
        assert told["state"] == one["outcome"]
        # One of them is told in its reply that its answer does not count, never both.
        lost = [name for name, (status, _) in replies.items() if status == 409]
        assert len(lost) == 1, replies
        assert replies[lost[0]][1]["error"]["final"] == one


def test_an_allow_is_taken_back_there_until_the_agent_has_it(two: list[Machine]) -> None:
    desk, laptop = two
    ask = approval(desk, "Take back?")
    laptop.meets(ask)
    until(lambda: laptop.person.ask(ask)["call"]["here"], "the call is there")
    assert laptop.person.vote(ask, "allow", wait_s=20)[0] == 202
    laptop.becomes(ask, "not_picked_up")
    laptop.person.ok("DELETE", f"/api/asks/{ask}/votes/mine")
    laptop.becomes(ask, "taken_back")
    assert desk.node.agent("await", {"ask_id": ask, "wait_s": 0})["state"] == "void"
    settled(two, ask, approval=True)
    again = approval(desk, "Take back too late?")
    laptop.meets(again)
    until(lambda: laptop.person.ask(again)["call"]["here"], "the call is there")
    assert laptop.person.vote(again, "allow", wait_s=20)[0] == 202
    assert desk.node.agent("await", {"ask_id": again, "wait_s": 0})["state"] == "allowed"
    laptop.becomes(again, "handed")
    status, said = laptop.person.send("DELETE", f"/api/asks/{again}/votes/mine")
    assert status == 409
    assert "handed over already" in said["error"]["message"]
    settled(two, again, approval=True)


def test_a_note_read_there_is_read_here_and_the_last_word_holds(two: list[Machine]) -> None:
    desk, laptop = two
    note = str(desk.node.flag(kind="note", title="Built")["full_id"])
    assert laptop.meets(note)["read"] is False
    laptop.person.ok("PUT", f"/api/asks/{note}/read", {"read": True})
    until(lambda: desk.person.ask(note)["read"], "it is read at the desk")
    desk.person.ok("PUT", f"/api/asks/{note}/read", {"read": False})
    until(lambda: not laptop.person.ask(note)["read"], "it is unread on the laptop")
    equal(*two)


def test_an_answer_is_kept_while_the_home_is_down_and_delivered_when_it_is_back(
    two: list[Machine],
) -> None:
    desk, laptop = two
    ask, other = question(desk, "Kept?"), question(desk, "Kept and taken back?")
    laptop.meets(other)
    desk.node.kill()
    laptop.becomes(ask, "away")
    for one in (ask, other):
        status, receipt = laptop.person.vote(one, "answer", choice="1")
        assert (status, receipt["state"]) == (202, "recorded")
        assert laptop.becomes(one, "kept")["card"]["actions"] == ["take_back"]
    assert "kept until desk is back" in laptop.person.ask(ask)["card"]["sentence"]
    assert laptop.person.ask(ask)["final"] is None
    laptop.person.ok("DELETE", f"/api/asks/{other}/votes/mine")
    laptop.becomes(other, "taking_back")
    laptop.node.kill()
    laptop.node.start()
    desk.node.start()
    assert Waiter(desk, ask).released()["choice"] == "yes"
    laptop.becomes(ask, "handed")
    laptop.becomes(other, "waiting")
    assert entries(desk.home, EntryType.FINAL, other) == []
    settled(two, ask, approval=False)


@pytest.mark.parametrize("frozen", ["desk", "laptop"])
def test_a_frozen_machine_misses_nothing(two: list[Machine], frozen: str) -> None:
    """A machine that stops answering without a word, for longer than a link may be silent."""
    desk, laptop = two
    ask = question(desk, f"While {frozen} is frozen?")
    laptop.meets(ask)
    sleeper, other = (desk, laptop) if frozen == "desk" else (laptop, desk)
    assert sleeper.node.process is not None
    sleeper.node.process.send_signal(signal.SIGSTOP)
    until(lambda: not other.linked(sleeper), "the silence is noticed")
    assert "silent" in other.sees(sleeper.name)["trouble"]
    if frozen == "desk":
        assert laptop.person.vote(ask, "answer", choice="1")[1]["state"] == "recorded"
        laptop.becomes(ask, "kept")
    else:
        assert desk.person.vote(ask, "answer", choice="1")[1]["state"] == "accepted"
    sleeper.node.process.send_signal(signal.SIGCONT)
    linked(*two)
    assert Waiter(desk, ask).released()["choice"] == "yes"
    laptop.becomes(ask, "handed")
    settled(two, ask, approval=False)
