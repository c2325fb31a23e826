"""Machines of one fleet: real nodes, paired as persons pair them, each with its person.

Everything goes through the page's own routes. Between machines there is only the network:
loopback, or the switch of a lab (`tests.fleet.lab`) where cables are to be pulled.
"""

import contextlib
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from node.identity import load_key
from node.store.exchange import vector
from node.store.rebuild import compare
from sync.log.names import node_name
from tests.fleet.crashing import end_holder
from tests.fleet.history import reading
from tests.fleet.lab import Host
from tests.running import HERE, Person, Place, RunningNode, until

OWNER = "Ann"
HASTE: dict[str, float] = {
    "PING_MS": 1_000,
    "DEAD_MS": 3_000,
    "HAVE_MS": 2_000,
    "BACKOFF_FIRST_S": 0.2,
    "BACKOFF_MAX_S": 1.0,
    "CONNECT_S": 1.0,
    "HANDSHAKE_S": 2.0,
    "TICK_S": 0.25,
    "NETWORK_POLL_S": 0.5,
    "ANNOUNCE_MIN_S": 2.0,
    "ANNOUNCE_MAX_S": 2.5,
}
"""Links that notice in seconds what takes a minute otherwise; what they do is the same."""


class Machine:
    """A node and the person who is signed in on it."""

    def __init__(self, node: RunningNode) -> None:
        self.node = node
        self.name = node.name
        self.person: Person = node.stranger()

    @property
    def id(self) -> str:
        """Its full id, which joining does not change."""
        return node_name(load_key(self.node.home).node_id)

    @property
    def home(self) -> Path:
        """Its data directory."""
        return self.node.home

    def found(self, name: str = OWNER) -> "Machine":
        """Sign in as the first person of a fleet of its own."""
        self.person = self.node.person(name)
        return self

    # --- the other machines -----------------------------------------------------------------

    def fleet(self) -> dict[str, Any]:
        """All machines, as this one's page shows them."""
        found: dict[str, Any] = self.person.state()["fleet"]
        return found

    def sees(self, name: str) -> dict[str, Any]:
        """One machine, as this one's page shows it; {} when it shows none of the name."""
        rows = [one for one in self.fleet()["machines"] if one["machine"]["name"] == name]
        return rows[0] if rows else {}

    def members(self) -> list[str]:
        """The names of all machines of its fleet."""
        rows = self.fleet()["machines"]
        return sorted(one["machine"]["name"] for one in rows if one["removed"] is None)

    def linked(self, other: "Machine") -> bool:
        """Whether its page shows a link to the other."""
        return bool(self.sees(other.name).get("state") == "connected")

    # --- asks -------------------------------------------------------------------------------

    def shows(self, ask: str) -> dict[str, Any] | None:
        """An ask as this page shows it, None while it is not here."""
        status, value = self.person.send("GET", f"/api/asks/{ask}")
        assert status in (200, 404), (status, value)
        return value["ask"] if status == 200 else None

    def card(self, ask: str) -> str | None:
        """The state of its card here."""
        shown = self.shows(ask)
        return None if shown is None else str(shown["card"]["state"])

    def meets(self, ask: str) -> dict[str, Any]:
        """Wait until an ask of another machine is shown here."""
        shown: dict[str, Any] = until(lambda: self.shows(ask), f"{self.name} shows {ask}")
        return shown

    def becomes(self, ask: str, *states: str, seconds: float = 20.0) -> dict[str, Any]:
        """Wait until the card here has one of these states."""
        seen: list[str | None] = []

        def so() -> dict[str, Any] | None:
            shown = self.shows(ask)
            state = None if shown is None else shown["card"]["state"]
            seen[:] = [state]
            return shown if state in states else None

        try:
            shown: dict[str, Any] = until(so, f"{self.name} shows {states}", seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; it shows {seen}") from None
        return shown


def linked(*machines: Machine, seconds: float = 20.0) -> None:
    """Wait until each shows a link to each."""
    for one in machines:
        for other in machines:
            if one is not other:
                until(
                    lambda one=one, other=other: one.linked(other),  # type: ignore[misc]
                    f"{one.name} is linked to {other.name}",
                    seconds,
                )


def equal(*machines: Machine, seconds: float = 20.0) -> None:
    """Wait until all hold the same logs, as far as they count; what is derived must fit."""
    alike(*machines, seconds=seconds)
    for one in machines:
        assert compare(one.home) == [], one.name


def alike(*machines: Machine, seconds: float = 20.0) -> None:
    """Wait until all hold the same logs, as far as they count."""

    def same() -> bool:
        held = [reading(one.home, vector) for one in machines]
        return all(one == held[0] for one in held)

    until(same, f"{[one.name for one in machines]} hold the same", seconds)


# --- pairing ------------------------------------------------------------------------------------


def show_code(owner: Machine) -> dict[str, Any]:
    """Begin to show a code; it, and where to type it."""
    begun: dict[str, Any] = owner.person.ok("POST", "/api/pairing")["pairing"]
    return begun


def join(joiner: Machine, begun: dict[str, Any], **other: object) -> tuple[int, dict[str, Any]]:
    """Type a code on the other machine, with the address that stands beside it."""
    body = {"code": begun["code"], "address": begun["addresses"][0], **other}
    return joiner.person.send("POST", "/api/joining", body)


def pair(owner: Machine, joiner: Machine, *, person: str | None = OWNER) -> None:
    """Let `joiner` into the fleet; its person is `person` then, and signs in there."""
    begun = show_code(owner)
    status, joined = join(joiner, begun)
    assert status == 200, (status, joined)
    until(lambda: owner.person.ok("GET", "/api/pairing")["pairing"]["state"] == "paired", "paired")
    if person is not None:
        owner.person.ok("PUT", f"/api/machines/{joiner.id}/person", {"person": person})
        digits_across(owner, joiner)
        linked(owner, joiner)


def digits_across(signed_in: Machine, new: Machine) -> None:
    """Sign in on `new` by six digits that are typed on the other machine."""
    place = new.node.stranger()
    # Until it has heard for whom the other machine speaks, it takes no digits from there.
    alike(signed_in, new)
    wish = place.ok("POST", "/api/sign-ins")

    def waits() -> str | None:
        found = signed_in.person.ok("GET", "/api/sign-ins")["sign_ins"]
        return next((one["id"] for one in found if one["machine"] == new.name), None)

    name = until(waits, f"{signed_in.name} is told that someone signs in on {new.name}")
    signed_in.person.ok("POST", f"/api/sign-ins/{name}", {"digits": wish["digits"]})

    def collected() -> bool:
        path = f"/api/sign-ins/{wish['id']}/collect"
        status, value = place.send("POST", path, {"digits": wish["digits"]})
        assert status in (200, 202), (status, value)
        return status == 200

    until(collected, f"signed in on {new.name}")
    new.person = place


# --- fleets -------------------------------------------------------------------------------------


@contextlib.contextmanager
def machines_of(
    folder: Path,
    *names: str,
    hosts: Sequence[Host] = (),
    mdns: bool = False,
    constants: dict[str, float] | None = None,
    ahead: dict[str, int] | None = None,
) -> Iterator[list[Machine]]:
    """Started machines that know nothing of each other; ended, however they are, at the end.

    `constants`: others than `HASTE`; {} are those of the product.
    `ahead`: by how many milliseconds the clocks of some are wrong, from their beginning.
    """
    places: list[Place] = [*hosts] or [HERE] * len(names)
    made = []
    for name, place in zip(names, places, strict=True):
        (folder / name).mkdir(exist_ok=True)
        node = RunningNode(
            folder / name / "home",
            name=name,
            bind=None if hosts else "127.0.0.1",
            mdns=mdns,
            place=place,
            constants=HASTE if constants is None else constants,
        )
        node.set_clock(wall_ms=(ahead or {}).get(name, 0))
        made.append(Machine(node))
    try:
        for machine in made:
            machine.node.start(wait=False)
        for machine in made:
            machine.node.wait_ready()
        yield made
    finally:
        for machine in made:
            end(machine.node)


def alive(*machines: Machine) -> None:
    """Start what a test has killed or frozen; wait until each is linked to each."""
    for machine in machines:
        process = machine.node.process
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGCONT)
        else:
            machine.node.start(wait=False)
    for machine in machines:
        machine.node.wait_ready()
    linked(*machines)


def end(node: RunningNode) -> None:
    """kill -9 whatever runs there, also what was frozen or started by someone else."""
    if node.process is not None:
        node.process.kill()
        node.process.wait()
    end_holder(node.home)


@contextlib.contextmanager
def fleet_of(
    folder: Path,
    *names: str,
    hosts: Sequence[Host] = (),
    mdns: bool = False,
    constants: dict[str, float] | None = None,
    ahead: dict[str, int] | None = None,
) -> Iterator[list[Machine]]:
    """Machines of one fleet, all of one owner who is signed in on each, all linked."""
    with machines_of(
        folder, *names, hosts=hosts, mdns=mdns, constants=constants, ahead=ahead
    ) as made:
        first, *others = made
        first.found()
        for other in others:
            pair(first, other)
        linked(*made)
        yield made
