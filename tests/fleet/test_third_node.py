"""Three machines: answers that another one carries home, and one that was removed while away."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sync.limits import DAY_MS
from sync.log.kinds import EntryType
from tests.fleet.fleets import Machine, alive, equal, fleet_of, linked
from tests.fleet.history import check_life, entries, rows
from tests.running import until

YES_NO = [{"label": "yes"}, {"label": "no"}]


@pytest.fixture(scope="module")
def fleet_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Machine]]:
    with fleet_of(tmp_path_factory.mktemp("three"), "desk", "laptop", "server") as made:
        yield made


@pytest.fixture
def three(fleet_of_module: list[Machine]) -> list[Machine]:
    """All alive and linked, whatever the test before has done to them."""
    alive(*fleet_of_module)
    return fleet_of_module


@pytest.fixture
def passing(tmp_path: Path) -> Iterator[list[Machine]]:
    """Three that one test has for itself."""
    with fleet_of(tmp_path, "desk", "laptop", "server") as made:
        yield made


def asked(machine: Machine, title: str, *others: Machine) -> str:
    """A question that the others show."""
    flagged = machine.node.flag(kind="question", title=title, options=YES_NO)
    ask = str(flagged["full_id"])
    for other in others:
        other.meets(ask)
    return ask


def taken(machine: Machine, ask: str) -> dict[str, Any]:
    """The answer, as the agent gets it."""
    return machine.node.agent("await", {"ask_id": ask, "wait_s": 30})


@pytest.mark.parametrize("days", [0, 7])
def test_an_answer_given_while_the_home_is_away_is_delivered_by_who_meets_both(
    three: list[Machine], days: int
) -> None:
    """Home and the machine of the answer never run at the same time, for a week even."""
    desk, laptop, server = three
    ask = asked(desk, f"Home is away for {days} days?", laptop, server)
    desk.node.kill()
    laptop.becomes(ask, "away")
    for machine in three:
        machine.node.advance(days * DAY_MS)
    assert laptop.person.vote(ask, "answer", choice="2")[1]["state"] == "recorded"
    laptop.becomes(ask, "kept")
    server.becomes(ask, "kept")
    laptop.node.kill()
    server.node.restart()
    desk.node.start()
    assert taken(desk, ask)["choice"] == "no"
    server.becomes(ask, "handed")
    desk.node.kill()
    laptop.node.start()
    final = laptop.becomes(ask, "not_seen", "handed")["final"]
    assert (final["by"], final["machine"]) == ("Ann", "laptop")
    alive(*three)
    equal(*three)
    check_life(desk.home, ask, approval=False)


def test_two_answers_kept_apart_meet_at_the_home_and_one_counts(three: list[Machine]) -> None:
    desk, laptop, server = three
    ask = asked(desk, "Two answers kept?", laptop, server)
    desk.node.kill()
    server.node.kill()
    laptop.becomes(ask, "away")
    assert laptop.person.vote(ask, "answer", choice="1")[1]["state"] == "recorded"
    laptop.node.kill()
    server.node.start()
    server.becomes(ask, "away")
    assert server.person.vote(ask, "answer", choice="2")[1]["state"] == "recorded"
    server.becomes(ask, "kept")
    alive(*three)
    told = taken(desk, ask)
    equal(*three)
    check_life(desk.home, ask, approval=False)
    finals = [machine.person.ask(ask)["final"] for machine in three]
    assert finals[0] == finals[1] == finals[2]
    where = {"yes": "laptop", "no": "server"}[told["choice"]]
    assert (finals[0]["label"], finals[0]["machine"]) == (told["choice"], where)
    rulings = [one.facts["ruling"] for one in entries(server.home, EntryType.RULING, ask)]
    assert sorted(rulings) == ["accepted", "superseded"]
    # The machine whose answer lost does not show it as applied.
    for machine in (laptop, server):
        assert (
            f"“{told['choice']}” by you on {where}" in machine.person.ask(ask)["card"]["sentence"]
        )


def test_who_was_away_hears_all_of_it_from_whoever_is_there(three: list[Machine]) -> None:
    desk, laptop, server = three
    server.node.kill()
    asks = [asked(desk, f"Missed {number}?", laptop) for number in range(5)]
    notes = [desk.node.flag(kind="note", title=f"Note {n}")["full_id"] for n in range(5)]
    for ask in asks:
        assert laptop.person.vote(ask, "answer", choice="1", wait_s=20)[0] == 202
    laptop.meets(notes[-1])
    equal(desk, laptop)
    desk.node.kill()
    server.node.start()
    equal(laptop, server)
    for ask in asks:
        assert server.person.ask(ask)["final"]["label"] == "yes"
    assert all(server.shows(note) for note in notes)
    seen = server.sees("desk")
    assert (seen["state"], seen["seen"] is not None) == ("away", True)


def remove(machine: Machine, name: str) -> None:
    machine.person.ok("DELETE", f"/api/machines/{name}")


def test_a_removed_machine_is_cut_off_at_once_and_is_told(passing: list[Machine]) -> None:
    desk, laptop, server = passing
    ask = asked(server, "Of the removed one?", desk, laptop)
    open_ = asked(desk, "Still open?", laptop, server)
    remove(desk, "server")
    for machine in (desk, laptop):
        machine.becomes(ask, "machine_removed")
        until(lambda m=machine: m.sees("server")["state"] == "removed", "it shows as removed")  # type: ignore[misc]
        assert machine.sees("server")["removed_by"] == "Ann"
        status, said = machine.person.vote(ask, "answer", choice="1")
        assert (status, "no machine of this fleet" in said["error"]["message"]) == (409, True)
    until(lambda: server.fleet()["removed"], "it is told")
    assert "by Ann on desk" in server.fleet()["removed"]
    # What it goes on to say reaches nobody, and nothing reaches it.
    status, said = server.person.vote(open_, "answer", choice="1")
    late = server.node.flag(kind="question", title="Too late?")["full_id"]
    after = asked(desk, "After it?", laptop)
    equal(desk, laptop)
    assert (desk.shows(late), laptop.shows(late), server.shows(after)) == (None, None, None)
    assert entries(desk.home, EntryType.VOTE, open_) == []
    assert desk.person.ask(open_)["card"]["state"] == "waiting", (status, said)


def test_a_machine_that_was_removed_while_away_learns_it_and_cannot_come_back_by_an_old_peer(
    passing: list[Machine],
) -> None:
    desk, laptop, server = passing
    server.node.kill()
    laptop.node.kill()
    remove(desk, "server")
    assert desk.sees("server")["state"] == "removed"
    desk.node.kill()
    # The laptop has not heard of it: these two still take each other for members.
    laptop.node.start()
    server.node.start()
    linked(laptop, server)
    smuggled = asked(server, "Smuggled?", laptop)
    server.node.kill()
    desk.node.start()
    until(lambda: laptop.sees("server")["state"] == "removed", "the laptop hears of it")
    linked(desk, laptop)
    equal(desk, laptop)
    until(lambda: laptop.shows(smuggled) is None, "what came after the cut is gone")
    server.node.start()
    until(lambda: server.fleet()["removed"], "it is told when it comes")
    assert not server.linked(desk)
    assert not server.linked(laptop)
    # Its entries beyond the cut count on no machine, whoever brings them.
    laptop.node.restart()
    desk.node.restart()
    linked(desk, laptop)
    assert [one.facts["ask"] for one in entries(desk.home, EntryType.FINAL, smuggled)] == []
    assert rows(desk.home, "SELECT id FROM ask WHERE id = ?", smuggled) == []
    assert rows(laptop.home, "SELECT id FROM ask WHERE id = ?", smuggled) == []
