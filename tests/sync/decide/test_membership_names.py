"""A machine says itself what it is called, and comes to look like no other by that."""

import pytest

from sync.log import facts as say
from tests.sync.decide.histories import Machine, of_role, removed


def called(machine: Machine) -> dict[bytes, str]:
    return {node.id: node.name for node in machine.fleet().nodes.values()}


def renamed(machine: Machine, name: str) -> None:
    machine.say(say.CertificateFacts(certificate=b"cert", machine=name, by="bob", at=7))


def test_a_machine_says_what_it_is_called() -> None:
    home, lap = of_role("member")
    renamed(lap, "first")
    renamed(lap, "attic")
    lap.say(say.CertificateFacts(certificate=b"newer", at=8))
    home.hear(lap)
    assert called(home) == called(lap) == {home.id: "home", lap.id: "attic"}
    home.say(removed("lap", "ann", {0: 9}))
    assert called(home)[lap.id] == "attic", "who was removed is known by its last name"


@pytest.mark.parametrize("name", ["Home", "h\u043eme", "at\u202etic", "", " attic", "q" * 52])
def test_no_machine_comes_to_look_like_another(name: str) -> None:
    home, lap = of_role("owner")
    renamed(lap, name)
    home.hear(lap)
    assert called(home) == {home.id: "home", lap.id: "lap"}


def test_of_two_that_take_one_name_the_same_has_it_everywhere() -> None:
    home, lap = of_role("owner")
    renamed(lap, "attic")
    renamed(home, "ATTIC")
    home.hear(lap)
    lap.hear(home)
    assert called(home) == called(lap)
    assert sorted(called(home).values()) in (["ATTIC", "lap"], ["attic", "home"])
