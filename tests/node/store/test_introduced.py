"""Who let this node in: taken at the word of the pairing until the log says who belongs."""

from pathlib import Path

import msgspec

from node.founding import Opened
from node.store import introduced, membership_tables, receive
from node.store.introduced import Introduced
from node.store.transaction import Transaction
from sync.log.entry import Entry
from sync.log.facts import GenesisFacts, MemberFacts, PersonFacts, SpeaksForFacts, pack_facts
from sync.log.kinds import EntryType
from tests.node.store.stores import Kept, writing
from tests.sync.log.entries import entry, head_of, key

FOUNDER, LIAR, STRANGER = key(31), key(32), key(33)
FLEET = b"another fleet..."
NAMED = [
    Introduced(public_key=FOUNDER.public, certificate=b"f", name="desk"),
    Introduced(public_key=LIAR.public, certificate=b"l", name="nobody of theirs"),
]


def statements(opened: Opened) -> list[Entry]:
    """The log of the founder, who lets the node of this test in."""
    own = opened.identity.key.public
    said = [
        (
            EntryType.GENESIS,
            GenesisFacts(node_key=FOUNDER.public, recovery_key=b"r" * 32, machine="desk", at=1),
        ),
        (EntryType.PERSON, PersonFacts(person="ann", name="Ann", role="owner", at=1)),
        (
            EntryType.SPEAKS_FOR,
            SpeaksForFacts(node=FOUNDER.node_id, person="ann", on=True, at=1),
        ),
        (
            EntryType.MEMBER,
            MemberFacts(node_key=own, certificate=b"o", machine="box", by="ann", at=1),
        ),
    ]
    made: list[Entry] = []
    for kind, facts in said:
        heads = [made[-1].hash] if made else []
        made.append(
            entry(
                *([head_of(made[-1])] if made else []),
                by=FOUNDER,
                kind=kind,
                facts=pack_facts(msgspec.structs.replace(facts, heads=heads)),
                fleet=FLEET,
            )
        )
    return made


def join(transaction: Transaction) -> None:
    transaction.enter(FLEET)
    introduced.keep(transaction, NAMED)
    membership_tables.apply(transaction.connection, FLEET)


async def named(kept: Kept) -> list[str]:
    def job(transaction: Transaction) -> list[str]:
        return [one.name for one in introduced.known(transaction.connection)]

    return await kept.writer.run("known", job)


async def take(kept: Kept, run: list[Entry]) -> str | None:
    received = await kept.writer.run("receive", lambda job: receive.keep(job, run))
    return received.kept.trouble


async def test_those_who_let_a_node_in_are_known_until_its_log_says_who_belongs(
    tmp_path: Path,
) -> None:
    async with writing(tmp_path / "home") as kept:
        assert await named(kept) == []
        await kept.writer.run("join", join)
        assert await named(kept) == ["desk", "nobody of theirs"]
        log = statements(kept.opened)
        assert await take(kept, log[:3]) is None
        assert await named(kept) == ["desk", "nobody of theirs"]
        assert await take(kept, log[3:]) is None
        # The founder's certificate is not in the log yet; the other one is nobody.
        assert await named(kept) == ["desk"]
        trouble = await take(kept, [entry(by=LIAR, fleet=FLEET)])
        assert "no member" in (trouble or "")


async def test_entries_of_those_who_let_a_node_in_are_taken_and_of_nobody_else(
    tmp_path: Path,
) -> None:
    async with writing(tmp_path / "home") as kept:
        await kept.writer.run("join", join)
        trouble = await take(kept, [entry(by=STRANGER, fleet=FLEET)])
        assert "no member" in (trouble or "")
        # Stored, for the log may name it later; it counts for nothing before.
        assert await take(kept, [entry(by=LIAR, fleet=FLEET)]) is None
        rows = await kept.writer.run("asks", lambda job: job.rows("SELECT 1 FROM ask"))
        assert rows == []


async def test_none_are_forgotten(tmp_path: Path) -> None:
    async with writing(tmp_path / "home") as kept:
        await kept.writer.run("join", join)
        await kept.writer.run("forget", lambda job: introduced.keep(job, []))
        assert await named(kept) == []
