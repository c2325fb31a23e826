"""Entries of another machine: what is taken, what is refused, and that nothing raises."""

from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from node.store import exchange, membership_tables, receive
from node.store.connection import open_reader
from node.store.forks import frozen_at
from node.store.receive import Received
from node.store.transaction import Transaction
from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry
from sync.log.facts import (
    AskFacts,
    AskText,
    GenesisFacts,
    MemberFacts,
    NoText,
    Part,
    VoteFacts,
    pack_facts,
    pack_text,
)
from sync.log.fork import Evidence, Frozen, decode, evidence, side
from sync.log.kinds import EntryType
from sync.log.names import ask_name, node_name
from sync.log.vector import Vector, Wanted
from tests.node.store.stores import Kept, let_in, looked, writing
from tests.sync.log.entries import SALT, entry, head_of, key

OTHER, STRANGER = key(21), key(22)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Kept]:
    """A store in which `OTHER` is a node of the fleet."""
    async with writing(tmp_path / "home") as kept:
        await kept.writer.run("member", lambda transaction: let_in(transaction, OTHER))
        kept.changes.clear()
        yield kept


async def take(here: Kept, run: list[Entry]) -> Received:
    return await here.writer.run("receive", lambda transaction: receive.keep(transaction, run))


def said(here: Kept, count: int, *, after: Head = EMPTY, **more: object) -> list[Entry]:
    """Asks of the other node in this fleet."""
    made: list[Entry] = []
    for number in range(count):
        facts = AskFacts(
            number=after.seq + number + 1,
            kind="question",
            agent="claude",
            session="s",
            project="p",
            created=1,
        )
        made.append(_entry(here, made, after, msgspec.structs.replace(facts, **more)))
    return made


def _entry(
    here: Kept,
    before: list[Entry],
    after: Head,
    facts: Part,
    *,
    kind: EntryType = EntryType.ASK,
) -> Entry:
    text = AskText(title="What?") if kind is EntryType.ASK else NoText()
    return entry(
        head_of(before[-1]) if before else after,
        by=OTHER,
        kind=kind,
        facts=pack_facts(facts),
        text=pack_text(SALT, text),
        fleet=here.opened.identity.fleet,
    )


def asks(here: Kept) -> list[tuple[object, ...]]:
    return looked(here.home, "SELECT number FROM ask ORDER BY number")


async def test_a_run_is_stored_told_and_given_on_byte_for_byte(here: Kept) -> None:
    run = said(here, 5)
    received = await take(here, run)
    place = (OTHER.node_id, 0)
    assert received.kept.trouble is None
    assert received.kept.heads == {place: head_of(run[-1])}
    assert asks(here) == [(1,), (2,), (3,), (4,), (5,)]
    assert {ref for _, topic, ref in here.changes if topic == "ask"} == {
        ask_name(OTHER.node_id, number) for number in range(1, 6)
    }
    fleet = here.opened.identity.fleet
    wanted = Wanted(author=OTHER.node_id, log=0, first=2, last=4)

    def read(transaction: Transaction) -> tuple[list[Entry], list[Entry], Head]:
        connection = transaction.connection
        some = exchange.entries(connection, fleet, wanted, entries=2, size=1 << 20)
        small = exchange.entries(connection, fleet, wanted, entries=9, size=1)
        return some, small, exchange.vector(connection)[place]

    some, small, head = await here.writer.run("read", read)
    assert some == run[1:3]
    assert small == run[1:2]
    assert head == head_of(run[-1])


async def test_what_is_held_already_is_left_out(here: Kept) -> None:
    run = said(here, 4)
    await take(here, run[:3])
    again = await take(here, run)
    assert again.kept.trouble is None
    assert again.kept.heads == {(OTHER.node_id, 0): head_of(run[-1])}
    assert (await take(here, run)).kept.heads == {}
    assert len(asks(here)) == 4


async def test_a_gap_is_not_stored(here: Kept) -> None:
    run = said(here, 5)
    received = await take(here, [*run[:2], *run[3:]])
    assert "3 was due" in (received.kept.trouble or "")
    assert asks(here) == [(1,), (2,)]


async def test_nobody_unknown_and_no_other_fleet_is_stored(here: Kept) -> None:
    fleet = here.opened.identity.fleet
    stranger = await take(here, [entry(by=STRANGER, fleet=fleet)])
    assert "no member" in (stranger.kept.trouble or "")
    other = await take(here, [entry(by=OTHER, fleet=b"x" * 16)])
    assert other.kept.trouble is not None
    assert asks(here) == []


def letting_in(kind: EntryType, heads: list[bytes], by: str) -> bytes:
    """The facts of a statement that names the stranger's key."""
    own = STRANGER.public
    facts: Part = (
        GenesisFacts(heads=heads, node_key=own, recovery_key=own, machine="evil", at=1)
        if kind is EntryType.GENESIS
        else MemberFacts(heads=heads, node_key=own, certificate=b"c", machine="evil", by=by, at=1)
    )
    return pack_facts(facts)


async def heads_of(here: Kept) -> list[bytes]:
    """What a statement made now names."""
    return await here.writer.run("heads", lambda job: membership_tables.heads(job.connection))


@pytest.mark.parametrize("kind", [EntryType.GENESIS, EntryType.MEMBER])
async def test_a_stranger_cannot_bring_itself_in(here: Kept, kind: EntryType) -> None:
    """A statement that nobody with the right made brings no key, and no log is taken for it."""
    by, fleet = STRANGER, here.opened.identity.fleet
    heads = await heads_of(here)
    claim = entry(by=by, kind=kind, facts=letting_in(kind, heads, "ann"), fleet=fleet)
    more = entry(head_of(claim), by=by, fleet=fleet)
    before = looked(here.home, "SELECT count(*) FROM entry")
    received = await take(here, [claim, more])
    assert "no member" in (received.kept.trouble or "")
    assert looked(here.home, "SELECT count(*) FROM entry") == before
    # Nor when a member says it, for a person whom nobody named: that is kept, and lets none in.
    said = entry(by=OTHER, kind=kind, facts=letting_in(kind, heads, "eve"), fleet=fleet)
    received = await take(here, [said, claim, more])
    assert "no member" in (received.kept.trouble or "")
    assert set(received.kept.heads) == {(OTHER.node_id, 0)}
    assert (node_name(by.node_id),) not in looked(here.home, "SELECT id FROM node")
    assert asks(here) == []


async def test_one_batch_may_let_an_author_in_and_bring_its_log(here: Kept) -> None:
    """The right one counts at once, in whatever order a batch has them."""
    fleet = here.opened.identity.fleet
    facts = letting_in(EntryType.MEMBER, await heads_of(here), "ann")
    said = entry(by=OTHER, kind=EntryType.MEMBER, facts=facts, fleet=fleet)
    first = AskFacts(number=1, kind="question", agent="a", session="s", project="p", created=1)
    asked = entry(
        by=STRANGER,
        facts=pack_facts(first),
        text=pack_text(SALT, AskText(title="What?")),
        fleet=fleet,
    )
    received = await take(here, [asked, said])
    assert received.kept.trouble is None
    assert set(received.kept.heads) == {(OTHER.node_id, 0), (STRANGER.node_id, 0)}
    assert asks(here) == [(1,)]


@pytest.mark.parametrize("spoiled", [0, 2, 4])
async def test_a_signature_that_is_wrong_stops_there(here: Kept, spoiled: int) -> None:
    run = said(here, 5)
    bad = msgspec.structs.replace(run[spoiled], signature=bytes(64))
    received = await take(here, [*run[:spoiled], bad, *run[spoiled + 1 :]])
    assert received.kept.trouble is not None
    assert len(asks(here)) == spoiled
    assert looked(here.home, "SELECT * FROM fork") == []


async def test_two_signed_entries_at_one_place_are_evidence_for_ever(here: Kept) -> None:
    run = said(here, 3)
    await take(here, run[:2])
    (second,) = said(here, 1, after=head_of(run[0]), agent="another")
    received = await take(here, [second])
    assert received.kept.trouble is not None
    assert looked(here.home, "SELECT seq, header FROM fork") == [(2, second.raw)]

    def ends(transaction: Transaction) -> int | None:
        return frozen_at(transaction.connection, here.opened.identity.fleet, OTHER.node_id, 0)

    assert await here.writer.run("frozen", ends) == 2
    after = await take(here, run)
    assert "forked" in (after.kept.trouble or "")
    assert len(asks(here)) == 2


@pytest.mark.parametrize(
    "facts",
    [
        b"",
        b"\xff\x00",
        b"[]",
        b'{"number":"1"}',
        b'{"number":99999999999999999999999}',
        (
            b'{"number":9223372036854775808,"kind":"question","agent":"","session":"","project":"",'
            b'"created":1}'
        ),
        b'{"number":1,"kind":"question","agent":"","session":"","project":"","created":1e99}',
        b"[" * 10_000,
    ],
)
@pytest.mark.parametrize("kind", [EntryType.ASK, EntryType.VOTE, EntryType.FINAL, EntryType.NOTE])
async def test_facts_that_make_no_sense_are_kept_and_not_applied(
    here: Kept, facts: bytes, kind: EntryType
) -> None:
    fleet = here.opened.identity.fleet
    bad = entry(by=OTHER, kind=kind, facts=facts, fleet=fleet)
    received = await take(here, [bad])
    assert received.kept.trouble is None
    assert asks(here) == []
    count = looked(here.home, "SELECT count(*) FROM entry WHERE type >= 16")
    assert count == [(1,)]
    after = entry(head_of(bad), by=OTHER, kind=kind, facts=facts, fleet=fleet)
    assert (await take(here, [after])).kept.trouble is None


async def test_a_repeated_number_changes_nothing(here: Kept) -> None:
    run = said(here, 1)
    (again,) = said(here, 1, after=head_of(run[0]), number=1, agent="another")
    received = await take(here, [*run, again])
    assert received.kept.trouble is None
    assert looked(here.home, "SELECT agent FROM ask") == [("claude",)]


async def test_a_fault_in_the_middle_of_a_run_takes_nothing_else_with_it(here: Kept) -> None:
    run = said(here, 3)
    (again,) = said(here, 1, after=head_of(run[-1]), number=2, agent="another")
    rest = said(here, 2, after=head_of(again))
    received = await take(here, [*run, again, *rest])
    assert received.kept.heads == {(OTHER.node_id, 0): head_of(rest[-1])}
    assert asks(here) == [(1,), (2,), (3,), (5,), (6,)]
    assert looked(here.home, "SELECT DISTINCT agent FROM ask") == [("claude",)]
    told = [change for change in here.changes if change[1] == "ask"]
    assert len(told) == len({ref for _, _, ref in told}) == 5
    kept = looked(here.home, "SELECT n, topic, ref FROM event")
    assert set(here.changes) <= set(kept)
    assert sorted(n for n, _, _ in told) == list(range(told[0][0], told[0][0] + 5))


async def test_votes_are_named_only_where_the_ask_is_ours(here: Kept) -> None:
    ours = ask_name(here.opened.identity.key.node_id, 7)
    theirs = ask_name(OTHER.node_id, 1)
    votes: list[Entry] = []
    for ask in (ours, theirs):
        facts = VoteFacts(ask=ask, person="ann", decision="allow", seen=b"x", at=1)
        votes.append(_entry(here, votes, EMPTY, facts, kind=EntryType.VOTE))
    received = await take(here, votes)
    assert received.voted == [ours]
    assert not received.members_moved


async def test_blobs_that_are_not_here_are_named_with_open_asks_first(here: Kept) -> None:
    names = [bytes([number]) * 32 for number in range(3)]
    made: list[Entry] = []
    for number, name in enumerate(names):
        made += said(
            here,
            1,
            after=head_of(made[-1]) if made else EMPTY,
            number=number + 1,
            blob=name,
            created=number,
        )
    await take(here, made)
    over: set[exchange.Named] = set()

    def missing(*blobs: bytes, limit: int = 9) -> list[bytes]:
        with closing(open_reader(here.home)) as store:
            return exchange.missing_blobs(store, set(blobs), over, limit)

    assert missing(limit=1) == [names[2]]
    assert missing() == [names[2], names[1], names[0]]
    assert missing(names[2]) == [names[1], names[0]]
    assert over == set(), "all of them belong here"
    await here.writer.run(
        "erase",
        lambda job: job.run("UPDATE entry SET text = NULL WHERE hash = ?", made[0].hash),
    )
    assert missing() == [names[2], names[1]]
    assert over == {(names[0], 1)}
    after = said(here, 1, after=head_of(made[-1]), number=9, blob=names[0], created=9)
    await take(here, after)
    assert missing() == [names[0], names[2], names[1]], "another ask names it"


async def convict(here: Kept, *proofs: Evidence) -> Received:
    return await here.writer.run(
        "convict", lambda transaction: receive.convict(transaction, proofs)
    )


async def vector_of(here: Kept) -> Vector:
    return await here.writer.run("read", lambda job: exchange.vector(job.connection))


async def test_evidence_from_others_freezes_a_log_of_which_nothing_is_here(here: Kept) -> None:
    run = said(here, 3)
    (second,) = said(here, 1, after=head_of(run[0]), agent="another")
    proof, place = evidence(side(run[1]), side(second)), (OTHER.node_id, 0)
    received = await convict(here, proof)
    assert received.kept.frozen == {place: Frozen(evidence=proof, end=EMPTY)}
    assert received.members_moved
    taken = await take(here, run)
    assert taken.kept.heads == {place: head_of(run[0])}, "what is before the fork is taken"
    assert "forked" in (taken.kept.trouble or "")
    assert asks(here) == [(1,)]
    assert (await convict(here, proof)).kept.frozen == {}


async def test_what_is_stored_from_a_fork_on_is_kept_and_told_to_nobody(here: Kept) -> None:
    run = said(here, 4)
    place = (OTHER.node_id, 0)
    await take(here, run)
    (late,) = said(here, 1, after=head_of(run[2]), agent="another")
    (early,) = said(here, 1, after=head_of(run[0]), agent="another")
    for other, end in ((late, run[2]), (early, run[0])):
        await take(here, [other])
        assert (await vector_of(here))[place] == head_of(end)
    assert looked(here.home, "SELECT seq FROM fork") == [(2,)], "the earlier one is enough"
    await take(here, [late])
    assert looked(here.home, "SELECT seq FROM fork") == [(2,)]
    assert len(asks(here)) == 4
    (first,) = said(here, 1, agent="another")
    await take(here, [first])
    assert place not in await vector_of(here)


async def test_a_break_in_the_chain_proves_a_fork_at_the_entry_it_does_not_continue(
    here: Kept,
) -> None:
    """Wherever the entry before the break is: stored, or of the same frame."""
    run = said(here, 3)
    other = said(here, 3, agent="another")
    received = await take(here, [*run[:2], other[2]])
    (frozen,) = received.kept.frozen.values()
    assert (frozen.seq, frozen.end) == (2, head_of(run[0]))
    frozen.evidence.verify(OTHER.public)
    assert decode(frozen.evidence.pack()) == frozen.evidence


@pytest.mark.parametrize("wrong", ["not signed", "a stranger's", "of another fleet"])
async def test_evidence_that_proves_nothing_is_passed_over(here: Kept, wrong: str) -> None:
    run, other = said(here, 2), said(here, 1, agent="another")
    good = side(other[0])
    bad = {
        "not signed": lambda: evidence(
            side(run[0]), msgspec.structs.replace(good, signature=bytes(64))
        ),
        "a stranger's": lambda: evidence(
            side(entry(by=STRANGER, fleet=here.opened.identity.fleet)),
            side(entry(by=STRANGER, fleet=here.opened.identity.fleet, hlc=1)),
        ),
        "of another fleet": lambda: evidence(side(entry(by=OTHER)), side(entry(by=OTHER, hlc=1))),
    }[wrong]()
    received = await convict(here, bad)
    assert received.kept.trouble is not None
    assert looked(here.home, "SELECT * FROM fork") == []
    assert received.kept.frozen == {}
