"""`askmesh verify` on stores of a fleet: other machines' logs, cuts, forks, broken words."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from node.store import receive
from node.store.transaction import Transaction
from node.verify.report import Finding
from node.verify.whole import verify
from sync.log import facts as say
from sync.log.chain import Head
from sync.log.entry import Entry, decode, seal
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine
from tests.node.store.fleet_lives import fork, live, lived_fleet


def findings(home: Path, level: str = "fault") -> list[tuple[str, Finding]]:
    return [
        (checked.kind, one)
        for checked in verify(home).kinds
        for one in checked.findings
        if one.level == level
    ]


@pytest.mark.parametrize("removed", [False, True])
@pytest.mark.parametrize("forked", [False, True])
async def test_each_machine_of_a_fleet_is_sound(
    tmp_path: Path, removed: bool, forked: bool
) -> None:
    async with lived_fleet(tmp_path, removed=removed, forked=forked) as fleet:
        for machine in fleet.machines.values():
            assert findings(machine.home) == [], machine.home.name
        # Evidence is no fault of the store, and is told.
        notes = findings(fleet["desk"].home, "note")
        assert [kind for kind, _ in notes] == ["forks"] * forked
        assert all("laptop" in one.what for _, one in notes)


SAME = "UPDATE fork SET header = at_header, signature = at_signature"


def of(column: str, value: str) -> str:
    return f"UPDATE fork SET {column} = {value}"  # noqa: S608 -- columns of ours


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (of("signature", "randomblob(64)"), "does not verify"),
        (of("at_signature", "randomblob(64)"), "does not verify"),
        (of("signature", "x'00'"), "proves nothing"),
        (of("header", "x'00'"), "proves nothing"),
        (of("at_header", "x'00'"), "proves nothing"),
        (of("author", "randomblob(32)"), "another place"),
        (of("seq", "seq + 1"), "another place"),
        (of("fleet", "randomblob(16)"), "another place"),
        (SAME, "do not contradict"),
    ],
)
async def test_spoiled_evidence_of_a_fork_is_found(tmp_path: Path, spoil: str, words: str) -> None:
    async with fleet_of(tmp_path, "desk", "laptop") as fleet:
        await live(fleet)
        desk = fleet["desk"]
        await fork(fleet["laptop"], desk)
        await desk.writer.run("spoil", lambda job: job.run(spoil))
        (found,) = [one for kind, one in findings(desk.home) if kind == "forks"]
        assert words in found.what


async def test_spoiled_entries_of_another_machine_are_found(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "desk", "laptop") as fleet:
        await live(fleet)
        laptop = fleet["laptop"].identity.key.node_id

        def spoil(job: Transaction) -> None:
            job.run(
                "UPDATE entry SET facts = cast(facts || x'20' AS BLOB) WHERE author = ?", laptop
            )

        await fleet["desk"].writer.run("spoil", spoil)
        found = [one.what for kind, one in findings(fleet["desk"].home) if kind == "entries"]
        assert found
        assert all("laptop" in what for what in found)


def _last(connection: sqlite3.Connection, author: bytes, kind: EntryType) -> tuple[Entry, Head]:
    row = connection.execute(
        "SELECT header, signature, facts, text FROM entry WHERE author = ? AND type = ?"
        " ORDER BY seq DESC LIMIT 1",
        (author, kind.value),
    ).fetchone()
    seq, entry_hash = connection.execute(
        "SELECT seq, hash FROM head WHERE author = ? AND log = 0", (author,)
    ).fetchone()
    return decode(*row), Head(seq=seq, hash=entry_hash)


async def says_again(
    machine: Machine, at: Machine, kind: EntryType, change: Callable[[bytes], bytes]
) -> None:
    """A machine that breaks its word signs something once more, and another one hears it."""
    author = machine.identity.key.node_id
    said, head = await at.reader.run(lambda connection: _last(connection, author, kind))
    again = seal(
        machine.identity.key,
        fleet=said.header.fleet,
        seq=head.seq + 1,
        prev=head.hash,
        hlc=said.header.hlc + 1,
        entry_type=kind,
        facts=change(said.facts),
        text=said.text or b"",
    )
    received = await at.writer.run("receive", lambda job: receive.keep(job, [again]))
    assert received.kept.trouble is None


def higher(facts: bytes) -> bytes:
    said = say.read(say.HandoverFacts, facts)
    return say.pack_facts(msgspec.structs.replace(said, token=said.token + 1))


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (EntryType.FINAL, lambda facts: facts, "second final"),
        (EntryType.HANDOVER, higher, "a second time"),
        (EntryType.RULING, lambda facts: facts, "second ruling"),
    ],
)
async def test_a_machine_that_breaks_its_word_is_named(
    tmp_path: Path, kind: EntryType, change: Callable[[bytes], bytes], words: str
) -> None:
    async with fleet_of(tmp_path, "desk", "laptop") as fleet:
        await live(fleet)
        await _handed(fleet)
        desk, laptop = fleet["desk"], fleet["laptop"]
        await says_again(laptop, desk, kind, change)
        ((where, found),) = findings(desk.home)
        assert where == "finals"
        assert words in found.what
        assert "laptop" in found.what
        assert "askmesh node remove" in found.remedy


async def _handed(fleet: Fleet) -> None:
    """The last hand-over of the laptop is of an approval."""
    ask = await fleet["laptop"].ask("approval")
    await fleet["laptop"].vote(fleet.ann, ask, "allow")
    await fleet["laptop"].fetch(ask)
    await fleet.meet_all()
