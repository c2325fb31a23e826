"""Whose machine it is, between two real nodes: a consent, a far sign-in, its end, a new name.

Bob's first machine is the desk; an owner says that the laptop is his too.
"""

import json
from pathlib import Path

import pytest

from tests.fleet.fleets import Machine, alike, digits_across
from tests.node.cli.conftest import Command
from tests.running import PASSPHRASE, Person, until

BOBS = "other words that are Bob's own"


@pytest.fixture(scope="module")
def bob(pair_of_module: list[Machine]) -> Person:
    """Invited to the desk, and come."""
    desk, _ = pair_of_module
    invited = desk.person.ok(
        "POST", "/api/invitations", {"name": "Bob", "role": "member", "where": "here"}
    )
    person = desk.node.stranger()
    person.ok("POST", "/api/session", {"invitation": invited["code"], "passphrase": BOBS})
    return person


def of_bob(machine: Machine) -> list[str]:
    """Bob's machines, as Ann sees them there."""
    found = machine.person.ok("GET", "/api/people")["people"]
    return sorted(box["name"] for one in found if one["name"] == "Bob" for box in one["machines"])


def test_a_second_machine_waits_for_its_person_who_then_signs_in_there_and_is_ended_from_afar(
    two: list[Machine], bob: Person, tmp_path: Path
) -> None:
    desk, laptop = two
    command = Command(home=desk.home, project=tmp_path, web_port=desk.node.web_port, port=1)
    with command.on_screen("node", "assign", "laptop", "Bob", "--yes", "--json") as screen:
        screen.expect("Passphrase:")
        screen.type(PASSPHRASE)
        code, output = screen.end()
    assert code == 4, output
    waits = json.loads(output)["waits"]
    assert (waits["name"], waits["machine"]["name"]) == ("Bob", "laptop")
    alike(*two)
    # The word of an owner alone: on neither machine is it his.
    assert of_bob(desk) == of_bob(laptop) == ["desk"]
    assert [one["yours"] for one in bob.ok("GET", "/api/people")["consents"]] == [True]
    bob.ok("PUT", f"/api/machines/{laptop.id}/consent", {"accept": True})
    until(lambda: of_bob(laptop) == ["desk", "laptop"], "the laptop has heard of his consent")
    assert bob.ok("GET", "/api/people")["consents"] == []

    # The digits stand on the laptop and are typed at the desk.
    ann = laptop.person
    at_desk = Machine(desk.node)
    at_desk.person = bob
    digits_across(at_desk, laptop)
    place, laptop.person = laptop.person, ann
    ask = str(
        desk.node.flag(kind="question", title="Whose?", options=[{"label": "mine"}])["full_id"]
    )
    until(lambda: place.send("GET", f"/api/asks/{ask}")[0] == 200, "his page there shows it")
    assert place.vote(ask, "answer", choice="1", wait_s=20)[1]["state"] == "accepted"
    assert desk.becomes(ask, "answered_elsewhere")["final"]["by"] == "Bob"

    ended = bob.ok("DELETE", f"/api/machines/{laptop.id}/sessions")
    assert ended == {"ended": 1}
    assert place.send("GET", "/api/people")[0] == 401
    assert ann.send("GET", "/api/people")[0] == 200, "only his own"
    assert bob.send("GET", "/api/people")[0] == 200


def test_a_name_that_a_machine_takes_is_seen_on_the_other(two: list[Machine]) -> None:
    desk, laptop = two
    path = f"/api/machines/{laptop.id}/name"
    status, refused = laptop.person.send("PUT", path, {"name": "Desk"})
    assert (status, refused["error"]["code"]) == (409, "conflict")
    assert "looks like desk" in refused["error"]["message"]
    laptop.person.ok("PUT", path, {"name": "attic"})
    try:
        until(lambda: desk.sees("attic"), "the desk calls it so")
        until(
            lambda: laptop.node.stranger().ok("GET", "/api/hello")["machine"] == "attic",
            "it calls itself so",
        )
        laptop.node.restart()
        assert laptop.node.stranger().ok("GET", "/api/hello")["machine"] == "attic"
    finally:
        laptop.person.ok("PUT", path, {"name": "laptop"})
        until(lambda: desk.sees("laptop"), "it has its old name again")
