"""Pairing of real nodes through their pages: what a code lets in, and all that it does not."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sync.log.kinds import EntryType
from sync.wire.pairing_code import new_code
from tests.fleet.fleets import (
    HASTE,
    Machine,
    digits_across,
    equal,
    join,
    linked,
    machines_of,
    pair,
    show_code,
)
from tests.fleet.history import check_life, entries, rows
from tests.running import PASSPHRASE, until
from tests.sync.net.pairings import Change, as_it_is, relay
from tests.sync.net.test_pairing import puts_its_key

YES_NO = [{"label": "yes"}, {"label": "no"}]


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[list[Machine]]:
    """The desk with its owner, and a laptop that nobody ever used."""
    with machines_of(tmp_path, "desk", "laptop") as made:
        made[0].found()
        yield made


@pytest.fixture
def three_apart(tmp_path: Path) -> Iterator[list[Machine]]:
    """The desk with its owner, and two that nobody ever used."""
    with machines_of(tmp_path, "desk", "laptop", "server") as made:
        made[0].found()
        yield made


def said(reply: tuple[int, dict[str, Any]]) -> str:
    """The words of a refusal."""
    status, value = reply
    assert status >= 400, value
    error = value["error"]
    return f"{error['code']}: {error['message']} {error['hint'] or ''}"


def code_state(owner: Machine) -> tuple[str, str]:
    shown = owner.person.ok("GET", "/api/pairing")["pairing"]
    assert shown["code"] is None
    return shown["state"], shown["sentence"]


def nothing_stored(desk: Machine, laptop: Machine) -> None:
    assert desk.members() == ["desk"]
    assert entries(desk.home, EntryType.MEMBER) == []
    assert rows(laptop.home, "SELECT name FROM node") == [("laptop",)]
    assert entries(laptop.home, EntryType.MEMBER) == []


# --- the code ---------------------------------------------------------------------------------


def test_the_first_wrong_code_burns_the_right_one(apart: list[Machine]) -> None:
    desk, laptop = apart
    begun = show_code(desk)
    wrong = new_code(b"another1").shown()
    assert "did not accept the code" in said(join(laptop, begun, code=wrong))
    until(lambda: code_state(desk)[0] == "failed", "the desk says so")
    assert "a wrong code was typed" in code_state(desk)[1]
    assert "Nothing waits for a code" in said(join(laptop, begun))
    nothing_stored(desk, laptop)
    pair(desk, laptop)


def test_a_mistyped_code_costs_nothing(apart: list[Machine]) -> None:
    desk, laptop = apart
    begun = show_code(desk)
    right = begun["code"]
    typo = ("X" if right[0] != "X" else "Y") + right[1:]
    assert "mistyped" in said(join(laptop, begun, code=typo))
    assert code_state(desk)[0] == "waiting"
    assert join(laptop, begun, code=right.lower().replace("-", " "))[0] == 200


def test_a_code_is_used_once(three_apart: list[Machine]) -> None:
    desk, laptop, server = three_apart
    begun = show_code(desk)
    assert join(laptop, begun)[0] == 200
    assert "Nothing waits for a code" in said(join(server, begun))
    until(lambda: desk.members() == ["desk", "laptop"], "the laptop is in")
    assert rows(server.home, "SELECT name FROM node") == [("server",)]


def test_a_code_that_was_withdrawn_or_has_run_out_lets_nobody_in(tmp_path: Path) -> None:
    constants = HASTE | {"PAIRING_S": 1.5}
    with machines_of(tmp_path, "desk", "laptop", constants=constants) as (desk, laptop):
        desk.found()
        withdrawn = show_code(desk)
        desk.person.ok("DELETE", "/api/pairing")
        assert "Nothing waits for a code" in said(join(laptop, withdrawn))
        begun = show_code(desk)
        until(lambda: code_state(desk)[0] == "expired", "it has run out")
        assert "has run out" in code_state(desk)[1]
        assert "Nothing waits for a code" in said(join(laptop, begun))
        nothing_stored(desk, laptop)


@pytest.mark.parametrize("change", [as_it_is, puts_its_key], ids=["its certificate", "its key"])
async def test_a_relay_in_the_middle_gets_nobody_in(apart: list[Machine], change: Change) -> None:
    desk, laptop = apart
    begun = await asyncio.to_thread(show_code, desk)
    port = int(begun["addresses"][0].rpartition(":")[2])
    async with relay(port, change) as (_, between):
        reply = await asyncio.to_thread(join, laptop, begun, address=f"127.0.0.1:{between}")
    words = said(reply)
    assert "stands in between" in words or "someone interfered" in words
    await asyncio.to_thread(nothing_stored, desk, laptop)


def test_only_an_owner_shows_a_code_and_only_a_new_machine_joins_without_a_session(
    apart: list[Machine],
) -> None:
    desk, laptop = apart
    begun = show_code(desk)
    stranger = desk.node.stranger()
    assert stranger.send("POST", "/api/pairing")[0] == 401
    laptop.found("Bob")
    body = {"code": begun["code"], "address": begun["addresses"][0]}
    assert laptop.node.stranger().send("POST", "/api/joining", body)[0] in (401, 403)
    assert code_state(desk)[0] == "waiting"
    nothing_stored(desk, laptop)
    assert laptop.person.send("POST", "/api/joining", body)[0] == 200


# --- whose machine it is ----------------------------------------------------------------------


def test_it_is_nobody_s_until_an_owner_says_whose(apart: list[Machine]) -> None:
    """Its agents may ask, and are answered from elsewhere; nobody signs in or answers there."""
    desk, laptop = apart
    pair(desk, laptop, person=None)
    until(lambda: desk.linked(laptop), "they are linked")
    assert desk.sees("laptop")["persons"] == []
    here = laptop.node.stranger()
    assert here.ok("GET", "/api/hello")["has_person"] is True
    token = {"token": laptop.node.token, "name": "Eve", "passphrase": PASSPHRASE}
    assert here.send("POST", "/api/session", token)[0] == 403
    assert here.send("POST", "/api/session", {"passphrase": PASSPHRASE})[0] == 403
    ask = laptop.node.flag(kind="question", title="Anyone?", options=YES_NO)
    desk.meets(ask["full_id"])
    assert desk.person.vote(ask["full_id"], "answer", choice="1", wait_s=20)[0] == 202
    told = laptop.node.agent("await", {"ask_id": ask["id"], "wait_s": 20})
    assert (told["state"], told["choice"], told["by"]) == ("answered", "yes", "Ann")
    desk.person.ok("PUT", f"/api/machines/{laptop.id}/person", {"person": "Ann"})
    assert desk.sees("laptop")["persons"] == ["Ann"]
    digits_across(desk, laptop)
    assert laptop.person.state()["me"]["name"] == "Ann"
    # A passphrase is each machine's own; this one has none yet.
    assert here.send("POST", "/api/session", {"passphrase": PASSPHRASE})[0] == 403


def test_wrong_digits_do_not_travel_far(apart: list[Machine]) -> None:
    desk, laptop = apart
    pair(desk, laptop)
    place = laptop.node.stranger()
    wish = place.ok("POST", "/api/sign-ins")

    def waits() -> str | None:
        found = desk.person.ok("GET", "/api/sign-ins")["sign_ins"]
        return next((one["id"] for one in found if one["machine"] == "laptop"), None)

    name = until(waits, "the desk is told")
    wrong = f"{(int(wish['digits']) + 1) % 1_000_000:06d}"
    for left in ("2 tries left", "1 tries left", "Begin again"):
        status, value = desk.person.send("POST", f"/api/sign-ins/{name}", {"digits": wrong})
        assert (status, left in value["error"]["hint"]) == (403, True), value
    right = {"digits": wish["digits"]}
    assert desk.person.send("POST", f"/api/sign-ins/{name}", right)[0] >= 400
    assert place.send("POST", f"/api/sign-ins/{wish['id']}/collect", right)[0] >= 400
    assert place.send("GET", "/api/state")[0] == 401


def test_both_had_a_fleet_the_former_person_ends_and_open_asks_go_on(
    apart: list[Machine],
) -> None:
    desk, laptop = apart
    laptop.found("Bob")
    bob = laptop.person
    old = laptop.node.flag(kind="question", title="Still open?", options=YES_NO)
    closed = laptop.node.flag(kind="question", title="Was answered", options=YES_NO)
    assert bob.vote(closed["id"], "answer", choice="1")[0] == 202
    consequences = bob.ok("GET", "/api/joining")
    assert consequences["allowed"] is True
    assert "1 open ask" in " ".join(consequences["sentences"])
    begun = show_code(desk)
    status, joined = join(laptop, begun)
    assert (status, joined["raised_again"], joined["machine"]["name"]) == (200, 1, "desk")
    assert bob.send("GET", "/api/state")[0] == 401
    again = laptop.node.stranger()
    until(lambda: again.ok("GET", "/api/hello")["has_person"], "Ann is known")
    assert again.send("POST", "/api/session", {"passphrase": PASSPHRASE})[0] == 403
    desk.person.ok("PUT", f"/api/machines/{laptop.id}/person", {"person": "Ann"})
    digits_across(desk, laptop)
    linked(desk, laptop)

    def raised() -> dict[str, Any] | None:
        found = [one for one in desk.person.state()["asks"] if one["title"] == "Still open?"]
        return found[0] if found else None

    new = until(raised, "the desk shows the open ask")
    assert new["id"] != old["full_id"]
    assert desk.shows(closed["full_id"]) is None
    assert desk.person.vote(new["id"], "answer", choice="2", wait_s=20)[0] == 202
    # The agent still waits for the id that it was given before.
    told = laptop.node.agent("await", {"ask_id": old["full_id"], "wait_s": 20})
    assert (told["state"], told["choice"]) == ("answered", "no")
    equal(desk, laptop)
    check_life(laptop.home, new["id"], approval=False)
    assert desk.members() == laptop.members() == ["desk", "laptop"]


def test_a_fleet_with_members_does_not_dissolve_into_another(three_apart: list[Machine]) -> None:
    desk, laptop, server = three_apart
    laptop.found("Bob")
    pair(laptop, server, person="Bob")
    begun = show_code(desk)
    refused = said(join(laptop, begun))
    assert "server" in refused
    assert "askmesh node leave" in refused
    assert code_state(desk)[0] == "waiting"
    assert laptop.members() == ["laptop", "server"]
    assert desk.members() == ["desk"]


# --- several, and crashes ---------------------------------------------------------------------


def test_three_are_paired_by_two_different_machines(three_apart: list[Machine]) -> None:
    desk, laptop, server = three_apart
    pair(desk, laptop)
    pair(laptop, server)
    linked(desk, laptop, server)
    equal(desk, laptop, server)
    for machine in three_apart:
        assert machine.members() == ["desk", "laptop", "server"]
    ask = server.node.flag(kind="question", title="All?", options=YES_NO)["full_id"]
    desk.meets(ask)
    assert desk.person.vote(ask, "answer", choice="1", wait_s=20)[0] == 202
    laptop.becomes(ask, "answered_here", "handed")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("victim", ["desk", "laptop"])
def test_a_kill_in_the_middle_of_pairing_is_mended_by_another_code(
    apart: list[Machine], victim: str, when: str
) -> None:
    desk, laptop = apart
    step = {"desk": "admit", "laptop": "join"}[victim]
    dying = desk if victim == "desk" else laptop
    dying.node.restart_to(f"{step}:{when}-commit")
    begun = show_code(desk)
    if victim == "desk":
        assert join(laptop, begun)[0] >= 400
    else:
        with pytest.raises(OSError):  # noqa: PT011 -- whichever way the connection ends
            join(laptop, begun)
    dying.node.wait_dead()
    dying.node.start()
    if victim == "laptop" and when == "after":
        # It is in: only the reply was lost.
        until(lambda: desk.linked(laptop), "they are linked")
        desk.person.ok("PUT", f"/api/machines/{laptop.id}/person", {"person": "Ann"})
        digits_across(desk, laptop)
    else:
        pair(desk, laptop)
    equal(desk, laptop)
    assert desk.members() == laptop.members() == ["desk", "laptop"]
    assert len(entries(desk.home, EntryType.MEMBER)) == 1
