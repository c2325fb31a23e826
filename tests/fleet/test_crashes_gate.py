"""kill -9 of the node, and of hooks, while a call is held at the gate by a real hook process.

The hook of the host waits through each crash, has the node started again by itself, and
must print allow only once the log holds the final and the one hand-over.
"""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from sync.log.kinds import EntryType
from tests.fleet.crashing import Persistent, end_holder, restart
from tests.fleet.history import check_life, entries
from tests.node.gate.sessions import Run, Session, card, waiting
from tests.running import RunningNode, until

RULES = """
[[rule]]
name = "pushes"
tool = "Bash"
arguments = { command = "git push*" }
action = "ask"
"""
PUSH = {"command": "git push"}
STEPS = ("gate_find", "gate", "vote", "rule", "gate_hand_over", "resolve")
POINTS = [f"{step}:{when}-commit" for step in STEPS for when in ("before", "after")]


class Held:
    """One session of the host on a node that will die."""

    def __init__(self, node: RunningNode, name: str) -> None:
        self.node = node
        self.person = Persistent(node.web_port)
        self.person.cookie = node.person().cookie
        if self.person.ok("GET", "/api/rules")["rules"] is None:
            node.rules(self.person, RULES)
        self.session = Session(node, name)

    def open_ask(self) -> dict[str, Any]:
        """The one open ask of this session, once it is there."""

        def found() -> list[dict[str, Any]]:
            return [ask for ask in waiting(self.person) if ask["session"] == self.session.name]

        [ask] = until(found, "the ask is recorded")
        return dict(ask)

    def check_allowed(self, ask: str) -> None:
        """What must be in the log at the moment at which a hook has printed allow."""
        home = self.node.home
        [final] = entries(home, EntryType.FINAL, ask)
        [handed] = entries(home, EntryType.HANDOVER, ask)
        [vote] = entries(home, EntryType.VOTE, ask)
        assert final.facts["outcome"] == "allowed"
        assert handed.facts["status"] == "handed"
        assert vote.n < final.n < handed.n
        check_life(home, ask, approval=True)


@pytest.fixture
def hooks_end(home_node: RunningNode) -> Iterator[None]:
    """Ends hooks before their node: one that waits would start it again."""
    yield
    Run.end_all()
    end_holder(home_node.home)


@pytest.fixture
def held(home_node: RunningNode, hooks_end: None, request: pytest.FixtureRequest) -> Held:
    """A session on a node that dies at the test's stop point, if it names one."""
    point = getattr(request, "param", None)
    restart(home_node, point)
    return Held(home_node, f"s-{os.urandom(4).hex()}")


@pytest.mark.parametrize("held", POINTS, indirect=True)
def test_a_kill_around_a_commit_releases_a_call_once_and_only_with_its_final(held: Held) -> None:
    asked = len(entries(held.node.home, EntryType.ASK))
    hook = held.session.before("Bash", PUSH)
    ask = held.open_ask()
    held.person.decide(ask["id"], "allow")
    assert hook.word() == "allow"
    held.check_allowed(ask["id"])
    held.session.ran()
    assert card(held.person, ask) == "done"
    assert held.node.wait_dead() == -signal.SIGKILL
    assert len(entries(held.node.home, EntryType.ASK)) == asked + 1
    assert len(entries(held.node.home, EntryType.RESOLVED, ask["id"])) == 1
    held.check_allowed(ask["id"])


@pytest.mark.parametrize("held", POINTS[6:10], indirect=True)
def test_a_kill_around_a_commit_turns_no_deny_into_an_allow(held: Held) -> None:
    hook = held.session.before("Bash", PUSH)
    ask = held.open_ask()
    held.person.decide(ask["id"], "deny")
    assert hook.word() == "deny"
    assert held.node.wait_dead() == -signal.SIGKILL
    [final] = entries(held.node.home, EntryType.FINAL, ask["id"])
    assert final.facts["outcome"] == "denied"
    check_life(held.node.home, ask["id"], approval=True)


@pytest.mark.parametrize("held", ["tool_use:before-commit", "tool_use:after-commit"], indirect=True)
def test_a_kill_at_the_first_stage_keeps_what_the_second_needs(held: Held) -> None:
    hook = held.session.both("Bash", {"command": "make"})
    ask = held.open_ask()
    held.person.decide(ask["id"], "allow")
    assert hook.word() == "allow"
    held.session.ran()
    assert card(held.person, ask) == "done"
    held.check_allowed(ask["id"])


@pytest.mark.parametrize(
    "held", ["gate_reuse:before-commit", "gate_reuse:after-commit"], indirect=True
)
def test_a_kill_at_the_second_stage_lets_a_call_through_at_most_once(held: Held) -> None:
    hook = held.session.before("Bash", PUSH)
    ask = held.open_ask()
    held.person.decide(ask["id"], "allow")
    assert hook.word() == "allow"
    second = held.session.permission("Bash", PUSH, hold=2)
    words = [second.word(), held.session.permission("Bash", PUSH, hold=0.2).word()]
    assert words.count("allow") <= 1
    assert words[1] == "deny"
    held.check_allowed(ask["id"])


def stopped(hook: Run) -> None:
    """Stop a hook between the node's reply and its print."""
    hook.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, hook.process.pid, os.WSTOPPED | os.WNOWAIT)


def test_a_kill_between_hand_over_and_print_leaves_the_print_to_that_hook(held: Held) -> None:
    hook = held.session.before("Bash", PUSH)
    ask = held.open_ask()
    stopped(hook)
    held.person.decide(ask["id"], "allow")
    until(lambda: card(held.person, ask) == "handed", "the hand-over is committed")
    restart(held.node)
    hook.process.send_signal(signal.SIGCONT)
    assert hook.word() == "allow"
    held.check_allowed(ask["id"])
    assert held.session.before("Bash", PUSH, hold=0.2).word() == "deny"
    held.check_allowed(ask["id"])


def test_a_hook_killed_between_hand_over_and_print_releases_nothing(held: Held) -> None:
    hook = held.session.before("Bash", PUSH)
    ask = held.open_ask()
    stopped(hook)
    held.person.decide(ask["id"], "allow")
    until(lambda: card(held.person, ask) == "handed", "the hand-over is committed")
    hook.process.kill()
    assert hook.printed() == b""
    again = held.session.before("Bash", PUSH, hold=0.2)
    assert again.word() == "deny"
    other = held.open_ask()
    assert other["id"] != ask["id"]
    held.check_allowed(ask["id"])
    held.person.decide(other["id"], "deny")
    held.node.advance(11 * 60_000)
    until(lambda: card(held.person, ask) == "outcome_unknown", "a person is told")


def test_kills_between_all_steps_release_the_call_once(held: Held) -> None:
    hook = held.session.before("Bash", PUSH, hold=0.2)
    assert hook.word() == "deny"
    ask = held.open_ask()
    restart(held.node)
    held.person.decide(ask["id"], "allow")
    restart(held.node)
    again = held.session.before("Bash", PUSH)
    assert again.word() == "allow"
    held.check_allowed(ask["id"])
    restart(held.node)
    held.session.ran()
    restart(held.node)
    assert card(held.person, ask) == "done"
    held.check_allowed(ask["id"])
