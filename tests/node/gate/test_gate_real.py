"""The gate on a real node: hook processes as the host starts them, a person over HTTP."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from node.agents.kits.wrapper import wrapper
from tests.node.gate.hosts import LAUNCHER
from tests.node.gate.sessions import (
    Run,
    Session,
    allow,
    asks,
    card,
    started_by_a_hook,
    the_ask,
    waiting,
)
from tests.running import Person, RunningNode, until

RULES = """
[[rule]]
name = "never"
tool = "Bash"
arguments = { command = "rm *" }
action = "deny"
reason = "Nothing is removed."

[[rule]]
name = "pushes"
tool = "Bash"
arguments = { command = "git push*" }
action = "ask"
deadline = "4h"

[[rule]]
name = "tests"
tool = "Bash"
arguments = { command = "npm test*" }
action = "allow"
"""

PUSH = {"command": "git push"}
HOUR_MS = 3_600_000


@pytest.fixture
def session(running_node: RunningNode, person: Person) -> Iterator[Session]:
    running_node.rules(person, RULES)
    yield Session(running_node)
    Run.end_all()


def test_a_held_call_is_allowed_by_a_person(session: Session, person: Person) -> None:
    hook = session.before("Bash", PUSH)
    ask = the_ask(person)
    assert (ask["title"], ask["kind"], ask["enforced"]) == ("Bash: git push", "approval", True)
    assert ask["rule"]["name"] == "pushes"
    assert (ask["agent"], ask["session"]) == ("claude", "s-1")
    assert ask["deadline"] - ask["created"] == 4 * HOUR_MS
    call = person.ok("GET", f"/api/asks/{ask['id']}")["call"]
    assert (call["tool"], call["arguments"], call["cwd"]) == ("Bash", PUSH, "/")
    allow(person, ask, because="go ahead")
    assert hook.word() == "allow"
    assert "Ann" in hook.sentence()
    assert "go ahead" in hook.sentence()
    assert card(person, ask) == "handed"
    session.ran()
    assert card(person, ask) == "done"


def test_a_held_call_is_denied_by_a_person(session: Session, person: Person) -> None:
    hook = session.before("Bash", PUSH)
    person.vote(the_ask(person)["id"], "deny", because="Not on a Friday.")
    assert hook.word() == "deny"
    assert "Not on a Friday." in hook.sentence()


def test_rules_decide_alone_where_they_say_so(session: Session, person: Person) -> None:
    refused = session.before("Bash", {"command": "rm x"})
    assert refused.word() == "deny"
    assert refused.sentence() == "Refused by the rule `never`: Nothing is removed."
    assert session.before("Bash", {"command": "npm test"}).word() == ""
    assert session.permission("Bash", {"command": "npm test"}).word() == "allow"
    assert asks(person) == []


def test_what_the_host_would_ask_a_person_decides(session: Session, person: Person) -> None:
    hook = session.both("Bash", {"command": "make"})
    ask = the_ask(person)
    assert ask["rule"] is None
    allow(person, ask)
    assert hook.word() == "allow"
    session.ran(ok=False)
    shown = person.ask(ask["id"])
    assert (shown["resolved"]["ok"], shown["resolved"]["text"]) == (False, "Exit code 1")


def test_a_call_handed_over_is_let_through_the_second_stage_once(
    session: Session, person: Person
) -> None:
    hook = session.before("Bash", PUSH)
    allow(person, the_ask(person))
    assert hook.word() == "allow"
    assert session.permission("Bash", PUSH).word() == "allow"
    again = session.permission("Bash", PUSH, hold=0.2)
    assert again.word() == "deny"
    assert len(asks(person)) == 2


def test_not_decided_in_time_is_a_deny_and_is_picked_up_once(
    session: Session, person: Person
) -> None:
    hook = session.before("Bash", PUSH, hold=0.3)
    assert hook.word() == "deny"
    assert "Not decided yet" in hook.sentence()
    ask = the_ask(person)
    assert ask["short"] in hook.sentence()
    session.event("Stop")
    session.event("SessionEnd")
    assert the_ask(person)["id"] == ask["id"]
    allow(person, ask)
    repeated = session.before("Bash", PUSH)
    assert repeated.word() == "allow"
    session.ran()
    assert card(person, ask) == "done"
    third = session.before("Bash", PUSH, hold=0.3)
    assert third.word() == "deny"
    assert the_ask(person)["id"] != ask["id"]


def test_a_repeated_call_waits_on_the_same_ask(session: Session, person: Person) -> None:
    assert session.both("Bash", {"command": "make"}, hold=0.3).word() == "deny"
    ask = the_ask(person)
    hook = session.both("Bash", {"command": "make"})
    allow(person, ask)
    assert hook.word() == "allow"
    session.ran()
    assert card(person, ask) == "done"
    assert len(asks(person)) == 1


def test_another_session_does_not_get_the_verdict(session: Session, person: Person) -> None:
    assert session.before("Bash", PUSH, hold=0.3).word() == "deny"
    ask = the_ask(person)
    allow(person, ask)
    other = Session(session.node, "s-2").before("Bash", PUSH, hold=0.3)
    assert other.word() == "deny"
    assert the_ask(person)["session"] == "s-2"
    assert card(person, ask) != "handed"
    assert session.before("Bash", PUSH).word() == "allow"


@pytest.mark.parametrize(
    "changed",
    [{"command": "git push "}, {"command": "git push", "timeout": 1}, {"command": "git push -f"}],
)
def test_another_call_does_not_get_the_verdict(
    session: Session, person: Person, changed: dict[str, object]
) -> None:
    assert session.before("Bash", PUSH, hold=0.3).word() == "deny"
    allow(person, the_ask(person))
    assert session.before("Bash", changed, hold=0.3).word() == "deny"
    assert len(asks(person)) == 2


def test_another_folder_is_another_call(session: Session, person: Person, tmp_path: Path) -> None:
    assert session.before("Bash", PUSH, hold=0.3).word() == "deny"
    allow(person, the_ask(person))
    elsewhere = Session(session.node, session.name, tmp_path)
    assert elsewhere.before("Bash", PUSH, hold=0.3).word() == "deny"


def test_a_file_that_changed_after_it_was_shown_is_asked_about_again(
    session: Session, person: Person, tmp_path: Path
) -> None:
    file = tmp_path / "f"
    file.write_text("a\n")
    edit = {"file_path": str(file), "old_string": "a", "new_string": "b"}
    assert session.both("Edit", edit, hold=0.3).word() == "deny"
    ask = the_ask(person)
    call = person.ok("GET", f"/api/asks/{ask['id']}")["call"]
    assert "-a\n+b\n" in call["diff"]
    allow(person, ask)
    file.write_text("a\nmore\n")
    assert session.both("Edit", edit, hold=0.3).word() == "deny"
    assert the_ask(person)["id"] != ask["id"]
    file.write_text("a\n")
    assert session.both("Edit", edit).word() == "allow"


def test_two_identical_calls_at_once_are_two_asks(session: Session, person: Person) -> None:
    hooks = [session.before("Bash", PUSH), session.before("Bash", PUSH)]
    the_ask(person, open_asks=2)
    first, second = waiting(person)
    allow(person, first)
    until(lambda: any(hook.process.poll() is not None for hook in hooks), "one hook ended")
    assert card(person, second) == "waiting"
    person.vote(second["id"], "deny")
    assert sorted(hook.word() for hook in hooks) == ["allow", "deny"]


def test_a_verdict_is_void_after_its_use_by(session: Session, person: Person) -> None:
    assert session.before("Bash", PUSH, hold=0.3).word() == "deny"
    ask = the_ask(person)
    allow(person, ask)
    session.node.advance(HOUR_MS + 1000)
    assert session.before("Bash", PUSH, hold=0.3).word() == "deny"
    assert the_ask(person)["id"] != ask["id"]
    assert person.ask(ask["id"])["handover"] is None or (
        person.ask(ask["id"])["handover"]["status"] == "void"
    )


def test_a_rule_made_stricter_takes_an_allow_away(session: Session, person: Person) -> None:
    assert session.before("Bash", PUSH, hold=0.3).word() == "deny"
    allow(person, the_ask(person))
    stricter = RULES.replace('action = "ask"\ndeadline = "4h"', 'action = "deny"')
    session.node.rules(person, stricter)
    refused = session.before("Bash", PUSH)
    assert refused.word() == "deny"
    assert "pushes" in refused.sentence()


def test_after_the_deadline_nobody_has_allowed_it(session: Session, person: Person) -> None:
    hook = session.before("Bash", PUSH)
    ask = the_ask(person)
    session.node.advance(4 * HOUR_MS + 1000)
    assert person.vote(ask["id"], "allow", seen=ask["seen"])[0] == 409
    assert hook.word() == "deny"
    assert "deadline" in hook.sentence()


def test_a_hook_meets_its_node_again_after_a_crash(session: Session, person: Person) -> None:
    hook = session.before("Bash", PUSH)
    ask = the_ask(person)
    session.node.kill()
    with started_by_a_hook(session.node):
        person = session.node.person()
        assert the_ask(person)["id"] == ask["id"]
        allow(person, ask)
        assert hook.word() == "allow"
        assert len(asks(person)) == 1


def test_a_hook_starts_a_node_that_is_away(session: Session) -> None:
    session.node.kill()
    hook = session.before("Bash", PUSH)
    with started_by_a_hook(session.node):
        person = session.node.person()
        allow(person, the_ask(person))
        assert hook.word() == "allow"


@pytest.mark.parametrize("point", ["gate_hand_over:before-commit", "gate_hand_over:after-commit"])
def test_a_crash_at_the_hand_over_gives_one_allow_to_this_hook_alone(
    session: Session, person: Person, point: str
) -> None:
    session.node.stop()
    session.node.start(stop=point)
    person = session.node.person()
    hook = session.before("Bash", PUSH)
    ask = the_ask(person)
    with suppress(ConnectionError):  # the node may be gone before it replies to the vote
        allow(person, ask)
    session.node.wait_dead()
    with started_by_a_hook(session.node):
        assert hook.word() == "allow"
        person = session.node.person()
        assert card(person, ask) == "handed"
        assert session.before("Bash", PUSH, hold=0.3).word() == "deny"
        assert len(asks(person)) == 2


def test_a_hook_that_was_killed_leaves_the_ask_to_the_next(
    session: Session, person: Person
) -> None:
    hook = session.before("Bash", PUSH)
    ask = the_ask(person)
    hook.kill()
    again = session.before("Bash", PUSH)
    allow(person, ask)
    assert again.word() == "allow"
    assert len(asks(person)) == 1


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop", "SessionEnd"])
def test_a_call_whose_gate_vanished_was_settled_at_the_agent(
    session: Session, person: Person, event: str
) -> None:
    hook = session.both("Bash", {"command": "make"})
    ask = the_ask(person)
    hook.kill()
    session.event("SessionStart")
    assert card(person, ask) == "waiting"

    def settled() -> bool:
        session.event(event)
        return card(person, ask) == "withdrawn"

    until(settled, "the node has seen the hook go")
    assert "settled at the agent" in person.ask(ask["id"])["final"]["reason"]


def test_a_call_answered_in_the_terminal_is_closed_while_its_hook_still_waits(
    session: Session, person: Person
) -> None:
    """The host leaves the hook running; that the call ran shows that it was settled there."""
    hook = session.both("Bash", {"command": "make"})
    ask = the_ask(person)
    session.ran()
    assert card(person, ask) == "withdrawn"
    assert hook.word() == "deny"
    assert "settled at the agent" in person.ask(ask["id"])["final"]["reason"]


def test_the_same_call_made_twice_is_resolved_by_its_own_id(
    session: Session, person: Person
) -> None:
    first = session.before("Bash", PUSH)
    allow(person, the_ask(person))
    assert first.word() == "allow"
    earlier = session.id
    second = session.before("Bash", PUSH)
    held = the_ask(person)
    session.ran(id=earlier)
    assert card(person, held) == "waiting"
    allow(person, held)
    assert second.word() == "allow"
    session.ran()
    assert [card(person, ask) for ask in asks(person)] == ["done", "done"]


def test_a_deleted_environment_denies_while_the_node_runs(
    session: Session, person: Person, tmp_path: Path
) -> None:
    environment = tmp_path / "environment"
    environment.mkdir()
    (environment / "python").symlink_to(os.path.realpath(sys.executable))
    script = tmp_path / "claude"
    python = str(environment / "python")
    script.write_text(wrapper(python, str(LAUNCHER), str(session.node.home)))
    script.chmod(0o700)
    hook = session.before("Bash", PUSH, script=script)
    allow(person, the_ask(person))
    assert hook.word() == "allow"
    assert session.before("Bash", {"command": "ls"}, script=script).word() == ""
    shutil.rmtree(environment)
    done = session.before("Bash", {"command": "ls"}, script=script).process
    assert b'"permissionDecision": "deny"' in done.communicate(timeout=20)[0]


def test_a_frozen_node_holds_the_call(session: Session, person: Person) -> None:
    """Silence of the node is no consent; once it goes on, the person decides."""
    process = session.node.process
    assert process is not None
    process.send_signal(signal.SIGSTOP)
    hook = session.before("Bash", PUSH)
    process.send_signal(signal.SIGCONT)
    allow(person, the_ask(person))
    assert hook.word() == "allow"


def test_hostile_text_is_held_like_any_other(session: Session, person: Person) -> None:
    command = "git push\x1b[2K\u202e\r\n; true\x00"
    hook = session.before("Bash", {"command": command})
    ask = the_ask(person)
    call = person.ok("GET", f"/api/asks/{ask['id']}")["call"]
    assert call["arguments"] == {"command": command}
    allow(person, ask)
    assert hook.word() == "allow"


def test_a_large_call_is_held_and_a_larger_one_refused(session: Session, person: Person) -> None:
    hook = session.before("Bash", {"command": "git push " + "x" * (1 << 20)})
    allow(person, the_ask(person))
    assert hook.word() == "allow"
    refused = session.before("Bash", {"command": "git push " + "x" * (5 << 20)})
    assert refused.word() == "deny"
    assert "is the most" in refused.sentence()


def test_the_session_shows_that_its_gate_is_in_force(session: Session, person: Person) -> None:
    session.event("SessionStart")
    [shown] = person.state()["sessions"]
    assert (shown["id"], shown["gate"], shown["ended"]) == ("s-1", "in_force", False)
    session.event("SessionEnd")
    assert person.state()["sessions"][0]["ended"] is True
