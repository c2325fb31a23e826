"""A peer that does what no askmesh does, against a real node that others go on using.

Whoever it is, it holds the key of a machine of the fleet (or of none). What it may cost the
others is shown by what they do meanwhile: an ask raised here is answered there.
"""

import contextlib
import os
import socket
from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sync.limits import FRAME_BYTES, PLACES, WINDOW
from sync.log.entry import NodeKey, sha256
from sync.log.kinds import EntryType
from sync.wire import frames
from tests.bench.figures import memory_mib
from tests.fleet.fleets import Machine, alive, equal, fleet_of, linked
from tests.fleet.history import rows
from tests.fleet.hostile import Rogue, busy, key_of, stored
from tests.running import until

NEWER = 40
"""A type of entry that this version does not know; it stands among the decisions."""
NEWER_CHATTER = 200
GROWTH_MIB = 48.0
"""More than a few full buffers and what Python keeps for the next time."""


@pytest.fixture(scope="module")
def fleet_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Machine]]:
    """The desk and the server go on working; the laptop's key is in other hands."""
    with fleet_of(tmp_path_factory.mktemp("hostile"), "desk", "server", "laptop") as made:
        yield made


@pytest.fixture
def fleet(fleet_of_module: list[Machine]) -> list[Machine]:
    desk, server, laptop = fleet_of_module
    if laptop.node.process is not None and laptop.node.process.poll() is None:
        laptop.node.kill()
    alive(desk, server)
    until(lambda: not desk.linked(laptop), "the laptop is away")
    return fleet_of_module


def works(fleet: list[Machine], title: str) -> None:
    """Asked at the desk, answered on the server, picked up at the desk."""
    desk, server, _ = fleet
    flagged = desk.node.flag(kind="question", title=title)
    ask = str(flagged["full_id"])
    server.meets(ask)
    assert server.person.vote(ask, "answer", text="yes", wait_s=20)[0] == 202
    told = desk.node.agent("await", {"ask_id": ask, "wait_s": 20})
    assert (told["state"], told["text"]) == ("answered", "yes")


GARBAGE: dict[str, list[bytes]] = {
    "noise": [os.urandom(300) for _ in range(20)],
    "empty": [b""],
    "a cut entry": [bytes([frames.FrameType.ENTRIES]) + bytes(100)],
    "no JSON": [bytes([frames.FrameType.HAVE]) + b"\xff\x00{"],
    "deep JSON": [bytes([frames.FrameType.WANT]) + b"[" * 100_000],
    "a blob of no end": [bytes([frames.FrameType.BLOB]) + b"\xff" * 80],
    "too long": [bytes(FRAME_BYTES + 1)],
}


@pytest.mark.parametrize("what", GARBAGE)
def test_garbage_ends_the_link_and_nothing_else(fleet: list[Machine], what: str) -> None:
    desk, _, laptop = fleet
    with Rogue(desk, key_of(laptop)) as rogue:
        rogue.send(rogue.hello())
        until(lambda: desk.linked(laptop), "it is linked")
        rogue.send(*GARBAGE[what])
        code, reason = rogue.is_sent_away()
        assert code >= 1_000, (code, reason)
    until(lambda: not desk.linked(laptop), "the link has ended")
    assert desk.sees("laptop")["trouble"]
    works(fleet, f"After {what}?")
    log = desk.node.log.read_text()
    assert "Traceback" not in log, log


def test_a_flood_ends_the_link_and_holds_nobody_up(fleet: list[Machine]) -> None:
    desk, _, laptop = fleet
    assert desk.node.process is not None
    before = memory_mib(desk.node.process.pid)
    with Rogue(desk, key_of(laptop)) as rogue:
        rogue.send(rogue.hello())
        until(lambda: desk.linked(laptop), "it is linked")
        ping = frames.encode(frames.Ping(number=1))
        flooding = busy(lambda: rogue.closed is None and rogue.send(*[ping] * 500))
        works(fleet, "While it floods?")
        _, reason = rogue.is_sent_away(60)
        flooding.join(30)
        assert "floods" in reason
    works(fleet, "After the flood?")
    assert memory_mib(desk.node.process.pid) - before < GROWTH_MIB


def test_a_flood_of_chatter_holds_no_answer_up(fleet: list[Machine]) -> None:
    """Entries of its own are what a member may send: they are stored, and stand in no way."""
    desk, server, laptop = fleet
    with Rogue(desk, key_of(laptop)) as rogue:
        rogue.send(rogue.hello())
        until(lambda: desk.linked(laptop), "it is linked")
        head, made = rogue.head(1), []
        for _ in range(2_000):
            made.append(rogue.entry(head, NEWER_CHATTER))
            head = type(head)(seq=made[-1].header.seq, hash=made[-1].hash)
        for number, batch in enumerate(frames.batches(made)):
            # As many as the other side takes without having stored them.
            until(lambda n=number: len(rogue.of(frames.Ack)) > n - WINDOW, "it has stored some")  # type: ignore[misc]
            assert rogue.send(frames.Entries(entries=batch)), rogue.closed
        works(fleet, "Behind the chatter?")
        until(lambda: rogue.head(1) == head, "all of it is stored")
    equal(desk, server)


def test_a_huge_vector_costs_nothing(fleet: list[Machine]) -> None:
    desk, _, laptop = fleet
    assert desk.node.process is not None
    before = memory_mib(desk.node.process.pid)

    def row(n: int, seq: int = 2**63 - 1) -> frames.HeadRow:
        return frames.HeadRow(sha256(b"%d" % n), n % 2, seq, sha256(b"h"))

    with Rogue(desk, key_of(laptop)) as rogue:
        rogue.send(rogue.hello())
        own = [frames.HeadRow(rogue.key.node_id, log, 2**63 - 1, sha256(b"h")) for log in (0, 1)]
        heads = [*own, *(row(n) for n in range(PLACES - 2))]
        rogue.send(frames.Have(digest=bytes(32), heads=heads, whole=True))
        until(lambda: desk.sees("laptop").get("behind_us", 0) > 10**12, "it is said to be behind")
        works(fleet, "Beside a huge vector?")
        wants = [run for want in rogue.of(frames.Want) for run in want.runs]
        assert wants
        rogue.send(frames.Have(digest=bytes(32), heads=[row(n) for n in range(PLACES + 1)]))
        rogue.is_sent_away()
    until(lambda: not desk.linked(laptop), "the link has ended")
    works(fleet, "After a huge vector?")
    assert memory_mib(desk.node.process.pid) - before < GROWTH_MIB


def test_what_is_sent_again_changes_nothing(fleet: list[Machine]) -> None:
    desk, server, laptop = fleet
    works(fleet, "Before the replay?")
    equal(desk, server)
    count = rows(desk.home, "SELECT count(*) FROM entry")
    with Rogue(desk, key_of(laptop)) as rogue:
        rogue.send(rogue.hello())
        until(lambda: desk.linked(laptop), "it is linked")
        again = list(frames.batches(stored(desk), 32 * 1024))
        for _ in range(3):
            for batch in again:
                if not rogue.send(frames.Entries(entries=batch)):
                    break
        until(lambda: rogue.closed or len(rogue.of(frames.Ack)) >= 3, "it was dealt with")
    assert rows(desk.home, "SELECT count(*) FROM entry") == count
    works(fleet, "After the replay?")
    equal(desk, server)


@pytest.mark.parametrize("how", ["tcp", "links", "greeted"])
def test_who_holds_links_open_silently_keeps_nobody_out(fleet: list[Machine], how: str) -> None:
    desk, server, laptop = fleet
    with contextlib.ExitStack() as stack:
        if how == "tcp":
            for _ in range(24):
                place = ("127.0.0.1", desk.node.peer_port)
                stack.enter_context(socket.create_connection(place, timeout=10))
        else:
            rogues = [stack.enter_context(Rogue(desk, key_of(laptop))) for _ in range(3)]
            if how == "greeted":
                for rogue in rogues:
                    rogue.send(rogue.hello())
            until(lambda: all(rogue.closed or rogue.refused for rogue in rogues), "they are cut")
        server.node.kill()
        server.node.start()
        linked(desk, server)
        works(fleet, f"Beside silent {how}?")


def test_a_node_of_no_fleet_is_not_let_in(fleet: list[Machine]) -> None:
    desk, server, _ = fleet
    with Rogue(desk, NodeKey(Ed25519PrivateKey.generate())) as rogue:
        assert rogue.refused is not None or rogue.is_sent_away()
        assert rogue.heard == []
    until(lambda: "was not let in" in desk.node.log.read_text(), "the log says so")
    names = [one["machine"]["name"] for one in desk.fleet()["machines"]]
    assert sorted(names) == ["desk", "laptop", "server"]
    works(fleet, "After a stranger?")
    linked(desk, server)


def test_a_newer_machine_is_understood_as_far_as_it_goes(fleet: list[Machine]) -> None:
    """A newer minor protocol, frames and entries of unknown types: stored, relayed, not applied."""
    desk, server, laptop = fleet
    with Rogue(desk, key_of(laptop)) as rogue:
        rogue.send(rogue.hello(least=0, most=9, minor=12))
        until(lambda: desk.linked(laptop), "it is linked")
        assert desk.sees("laptop")["version"] == "9.9.9"
        made = [rogue.entry(rogue.head(0), NEWER), rogue.entry(rogue.head(1), NEWER_CHATTER)]
        rogue.send(b"\x63a frame of tomorrow", frames.Entries(entries=tuple(made)))
        for machine in (desk, server):
            until(
                lambda m=machine: all(  # type: ignore[misc]
                    rows(m.home, "SELECT 1 FROM entry WHERE hash = ?", one.hash) for one in made
                ),
                f"{machine.name} has stored it",
            )
        assert rogue.closed is None
        equal(desk, server)
        works(fleet, "Beside a newer one?")
    assert {one.header.type for one in stored(server)} >= {NEWER, NEWER_CHATTER, EntryType.ASK}
    server.node.restart()
    desk.node.restart()
    linked(desk, server)
    works(fleet, "After a restart?")
