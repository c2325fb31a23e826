"""A directory that is copied and used twice: held at first, found out, and joined again.

Real machines. The copy is a second start under the same identity, as a restored disk or a
cloned virtual machine makes it.
"""

import shutil
from pathlib import Path

from tests.fleet.fleets import Machine, equal, join, linked, machines_of, pair, show_code
from tests.running import RunningNode, until

HELD = "wait on hold"


def hold(machine: Machine) -> str | None:
    found: str | None = machine.fleet()["hold"]
    return found


def copied(machine: Machine) -> None:
    """Move the directory aside and put a copy in its place."""
    home = machine.home
    machine.node.stop()
    was = home.with_name("was")
    home.rename(was)
    shutil.copytree(was, home, ignore=shutil.ignore_patterns("*.sock", "node.sock"))
    home.chmod(0o700)


def test_a_copy_waits_until_another_machine_has_told_it_its_last_word(
    two: list[Machine],
) -> None:
    desk, laptop = two
    kept = desk.home.with_name("kept")
    desk.node.stop()
    shutil.copytree(desk.home, kept)
    desk.node.start()
    linked(desk, laptop)
    lost = str(desk.node.flag(kind="question", title="Lost?")["full_id"])
    laptop.meets(lost)
    equal(desk, laptop)
    laptop.node.stop()
    put_back(desk, kept)
    desk.node.start()
    assert HELD in (hold(desk) or "")
    laptop.node.start()
    linked(desk, laptop)
    until(lambda: hold(desk) is None, "it goes on by itself")
    assert desk.shows(lost) is not None, "it has its own past again"
    new = str(desk.node.flag(kind="question", title="New?")["full_id"])
    assert new != lost
    laptop.meets(new)
    assert laptop.person.vote(new, "answer", text="yes")[0] == 202
    desk.becomes(new, "answered_elsewhere", "answered_here")
    equal(desk, laptop)
    assert all(row["forked"] is None for row in laptop.fleet()["machines"])


def put_back(machine: Machine, kept: Path) -> None:
    """An older copy comes into the place of its directory."""
    machine.node.stop()
    shutil.rmtree(machine.home)
    kept.rename(machine.home)


def forked(desk: Machine, laptop: Machine, phone: Machine, kept: Path) -> str:
    """Two asks of the laptop under one number, in two histories; the number's id."""
    laptop.node.stop()
    shutil.copytree(laptop.home, kept)
    laptop.node.start()
    first = str(laptop.node.flag(kind="question", title="One history")["full_id"])
    desk.meets(first)
    put_back(laptop, kept)
    desk.node.stop()
    phone.node.stop()
    # Asks are never held: this one is written over what the others have.
    laptop.node.start()
    again = str(laptop.node.flag(kind="question", title="Another history")["full_id"])
    assert again == first
    desk.node.start()
    phone.node.start()
    return first


def test_a_fork_is_told_everywhere_and_the_machine_joins_again(tmp_path: Path) -> None:
    with machines_of(tmp_path, "desk", "laptop", "phone") as (desk, laptop, phone):
        desk.found()
        pair(desk, laptop)
        pair(desk, phone)
        linked(desk, laptop, phone)
        equal(desk, laptop, phone)
        old = laptop.id
        ask = forked(desk, laptop, phone, tmp_path / "kept")
        for machine in (desk, phone, laptop):
            until(
                lambda machine=machine: machine.sees("laptop")["forked"],  # type: ignore[misc]
                f"{machine.name} says that it split",
            )
        assert desk.card(ask) == "must_rejoin"
        assert "askmesh node rejoin" in phone.sees("laptop")["forked"]
        status, refused = laptop.person.vote(ask, "answer", text="no")
        assert (status, refused["error"]["code"]) == (409, "conflict")

        assert laptop.person.ok("GET", "/api/rejoining")["allowed"]
        assert len(laptop.person.ok("POST", "/api/rejoining", {})["recovery_words"]) == 12
        assert laptop.id != old
        assert laptop.shows(ask) is not None
        assert join(laptop, show_code(desk))[0] == 200
        raised = until(lambda: _of(desk, laptop.id), "its question is raised again everywhere")
        assert raised["title"] == "Another history"
        assert laptop.node.agent("await", {"ask_id": ask, "wait_s": 0})["state"] == "waiting"
        assert desk.person.vote(raised["id"], "answer", text="yes")[0] == 202
        told = laptop.node.agent("await", {"ask_id": ask, "wait_s": 20})
        assert (told["state"], told["text"]) == ("answered", "yes")


def _of(machine: Machine, home: str) -> dict[str, str] | None:
    asks = machine.person.state()["asks"]
    return next((one for one in asks if one["machine"]["id"] == home), None)


def test_a_copy_that_is_alone_waits_for_a_person(running_node: RunningNode) -> None:
    machine = Machine(running_node).found()
    ask = str(running_node.flag(kind="question", title="Go?")["full_id"])
    copied(machine)
    running_node.start()
    assert machine.card(ask) == "on_hold"
    status, refused = machine.person.vote(ask, "answer", text="x")
    assert (status, refused["error"]["code"]) == (409, "on_hold")
    assert machine.person.ok("GET", "/api/hold")["allowed"]
    assert machine.person.ok("POST", "/api/hold", {})["hold"] is None
    assert machine.person.vote(ask, "answer", text="x")[0] == 202
