"""An old copy is restored while another machine knows more: it learns, then goes on above it."""

from contextlib import closing
from pathlib import Path

import pytest

from node.bridge.client import Refused
from node.store.connection import open_reader
from sync.log.kinds import EntryType
from tests.fleet.fleets import Machine, digits_across, equal, linked
from tests.fleet.history import entries
from tests.fleet.test_two_nodes import approval, question
from tests.node.backup.copies import backed_up, put_back
from tests.running import until


def allowed(desk: Machine, laptop: Machine, title: str) -> str:
    """An approval of the laptop that is allowed and not handed over."""
    ask = approval(laptop, title)
    decided(desk, ask, "allow")
    return ask


def decided(desk: Machine, ask: str, word: str) -> None:
    """Answer there; the call itself may arrive after the ask."""
    desk.meets(ask)
    until(lambda: desk.person.vote(ask, word, wait_s=20)[0] == 202, "it is answered")


def forks(machine: Machine) -> int:
    with closing(open_reader(machine.home)) as store:
        (found,) = store.execute("SELECT count(*) FROM fork").fetchone()
    return int(found)


def test_what_happened_since_the_copy_comes_back_and_the_rest_is_void(
    two: list[Machine], tmp_path: Path
) -> None:
    desk, laptop = two
    used, unused = allowed(desk, laptop, "May I push?"), allowed(desk, laptop, "May I pull?")
    still_open, waits = approval(laptop, "May I wait?"), question(laptop, "Which way?")
    backed_up(laptop.home, tmp_path / "copy")
    # Since then: one was handed over, one asked, one denied; the copy knows nothing of it.
    assert laptop.node.agent("await", {"ask_id": used, "wait_s": 20})["state"] == "allowed"
    later, denied = question(laptop, "What now?"), approval(laptop, "May I fall?")
    decided(desk, denied, "deny")
    equal(desk, laptop)
    laptop.node.stop()
    put_back(laptop.home, (tmp_path / "copy").read_bytes(), replace=True)
    laptop.node.start()
    # An agent asks at once, as one does that was waiting for its node.
    fresh = question(laptop, "And then?")
    assert laptop.person.send("GET", "/api/state")[0] == 401
    until(lambda: desk.linked(laptop), "they are linked")
    digits_across(desk, laptop)
    linked(desk, laptop)
    for machine in (desk, laptop):
        machine.becomes(used, "handed")
        machine.becomes(unused, "void")
        machine.becomes(still_open, "withdrawn")
        machine.becomes(denied, "answered_elsewhere", "denied", "answered_here", "handed")
        assert {machine.becomes(ask, "waiting")["id"] for ask in (waits, later, fresh)}
    assert len({used, unused, still_open, waits, later, denied, fresh}) == 7
    assert "put back to an older copy" in desk.person.ask(unused)["card"]["sentence"]
    assert laptop.node.agent("await", {"ask_id": unused, "wait_s": 0})["state"] != "allowed"
    equal(desk, laptop)
    assert (forks(desk), forks(laptop)) == (0, 0)
    for ask in (used, unused):
        assert len(entries(desk.home, EntryType.FINAL, ask)) == 1
        assert len(entries(desk.home, EntryType.HANDOVER, ask)) == 1


def test_with_nobody_to_ask_it_starts_on_hold_and_learns_later(
    two: list[Machine], tmp_path: Path
) -> None:
    desk, laptop = two
    unused = allowed(desk, laptop, "May I push?")
    backed_up(laptop.home, tmp_path / "copy")
    later = question(laptop, "What now?")
    equal(desk, laptop)
    for machine in two:
        machine.node.stop()
    put_back(laptop.home, (tmp_path / "copy").read_bytes(), replace=True)
    laptop.node.start()
    with pytest.raises(Refused, match="on hold"):
        laptop.node.agent("await", {"ask_id": unused, "wait_s": 0})
    assert entries(laptop.home, EntryType.HANDOVER, unused) == []
    desk.node.start()
    until(lambda: desk.linked(laptop), "they are linked")
    digits_across(desk, laptop)
    laptop.becomes(unused, "void")
    laptop.becomes(later, "waiting")
    equal(desk, laptop)
    assert (forks(desk), forks(laptop)) == (0, 0)
