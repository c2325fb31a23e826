"""Rules that two people applied at the same time: all are in force, and the strictest counts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from node.desk import persons
from node.desk.rules_store import RulesMoved, RulesStore, check_in_force
from node.gate.rules import EMPTY, parse
from node.store.reader import Reader
from node.store.transaction import Transaction
from node.store.writer import Job
from sync.errors import Conflict, NotAllowed
from sync.log.entry import sha256
from sync.log.facts import PersonFacts, RulesFacts, RulesText, SpeaksForFacts
from sync.log.kinds import EntryType
from tests.node.desk.desks import context_of
from tests.node.store.stores import Kept, writing
from web.desk import Viewer


def rule(name: str, tool: str, action: str) -> str:
    return f'[[rule]]\nname = "{name}"\ntool = "{tool}"\naction = "{action}"\nreason = "r"\n'


LOOSE = rule("a", "read", "allow") + rule("b", "push", "ask") + rule("c", "list", "allow")
STRICT = rule("d", "read", "ask") + rule("e", "push", "deny") + rule("f", "make", "ask")


def viewer(person: str) -> Viewer:
    return Viewer(session_id="s", person=person, name=person, role="owner", kind="page")


def _people(transaction: Transaction) -> None:
    node, now = transaction.identity.key.node_id, transaction.now
    for person, role, by in (
        ("ann", "owner", None),
        ("bob", "admin", "ann"),
        ("cid", "member", "ann"),
    ):
        facts = PersonFacts(person=person, name=person.title(), role=role, by=by, at=now)
        transaction.append(EntryType.PERSON, facts)
        transaction.append(
            EntryType.SPEAKS_FOR, SpeaksForFacts(node=node, person=person, on=True, by=by, at=now)
        )
    transaction.append(
        EntryType.PERSON, PersonFacts(person="dan", name="Dan", role="owner", by="ann", at=now)
    )


def sibling(source: str, by: str) -> Job[None]:
    """A job that applies rules as someone does who knows of no others."""

    def job(transaction: Transaction) -> None:
        transaction.append(
            EntryType.RULES,
            RulesFacts(
                name=f"{by}'s", version="v", source_hash=sha256(source.encode()), by=by, at=1
            ),
            RulesText(source=source),
        )

    return job


@asynccontextmanager
async def desk(home: Path, *sources: tuple[str, str]) -> AsyncIterator[tuple[RulesStore, Kept]]:
    async with writing(home) as kept:
        await kept.writer.run("people", _people)
        for source, by in sources:
            await kept.writer.run("apply", sibling(source, by))
        reader = Reader(kept.home)
        try:
            yield RulesStore(context_of(kept, reader)), kept
        finally:
            reader.close()


async def test_of_siblings_the_strictest_action_counts(tmp_path: Path) -> None:
    async with desk(tmp_path, (LOOSE, "ann"), (STRICT, "ann")) as (store, _):
        rules = await store.in_force()
        found = {tool: rules.match(tool, {}) for tool in ("read", "push", "list", "make", "other")}
        actions = {tool: None if one is None else one.action for tool, one in found.items()}
        # Where one of them leaves a call to the host, the other's `allow` is not the last word.
        assert actions == {
            "read": "ask",
            "push": "deny",
            "list": None,
            "make": "ask",
            "other": None,
        }
        view = await store.view()
        assert view is not None
        assert view.count == 6
        assert LOOSE in view.source
        assert STRICT in view.source


async def test_applying_settles_it(tmp_path: Path) -> None:
    async with desk(tmp_path, (LOOSE, "ann"), (STRICT, "bob")) as (store, kept):
        before = await store.view()
        assert before is not None
        with pytest.raises(Conflict):
            await store.apply(viewer("ann"), name="x", source=LOOSE, replaces=parse(LOOSE).version)
        with pytest.raises(NotAllowed, match="by an owner"):
            await store.apply(viewer("bob"), name="x", source=LOOSE, replaces=before.version)
        assert await store.view() == before
        after = await store.apply(viewer("ann"), name="x", source=LOOSE, replaces=before.version)
        assert (after.version, after.count) == (parse(LOOSE).version, 3)
        assert await store.view() == after
        assert (await store.in_force()).match("push", {}).action == "ask"  # type: ignore[union-attr]
        connection = kept.opened.connection
        assert connection.execute("SELECT count(*) FROM rules WHERE in_force").fetchone() == (1,)


async def test_a_second_version_moves_who_decided_by_the_first(tmp_path: Path) -> None:
    async with desk(tmp_path, (LOOSE, "ann")) as (store, kept):
        rules = await store.in_force()
        await kept.writer.run("check", lambda transaction: check_in_force(transaction, rules))
        # The same words as before: what counts is which versions stand.
        await kept.writer.run("apply", sibling(LOOSE, "bob"))
        with pytest.raises(RulesMoved):
            await kept.writer.run("check", lambda transaction: check_in_force(transaction, rules))
        again = await store.in_force()
        await kept.writer.run("check", lambda transaction: check_in_force(transaction, again))


async def test_rules_of_a_newer_askmesh_refuse_every_call(tmp_path: Path) -> None:
    newer = '[[rule]]\nname = "n"\ntool = "*"\naction = "ask twice"\n'
    async with desk(tmp_path, (newer, "ann")) as (store, kept):
        rules = await store.in_force()
        match = rules.match("read", {})
        assert match is not None
        assert match.action == "deny"
        assert "Update askmesh" in (match.reason or "")
        await kept.writer.run("check", lambda transaction: check_in_force(transaction, rules))


async def test_without_rules_the_host_decides(tmp_path: Path) -> None:
    async with desk(tmp_path) as (store, _):
        assert await store.in_force() == EMPTY
        assert await store.view() is None


async def test_who_may_settle_it_is_told_of_it(tmp_path: Path) -> None:
    async with desk(tmp_path, (LOOSE, "ann"), (STRICT, "bob")) as (_, kept):
        connection = kept.opened.connection
        people = persons.everyone(connection)
        assert persons.conflicts(connection, people["cid"]) == []
        assert persons.conflicts(connection, None) == []
        for who in ("ann", "bob"):
            (told,) = persons.conflicts(connection, people[who])
            assert "2 rules files" in told
        await kept.writer.run("split", _split)
        told = " ".join(persons.conflicts(connection, people["ann"]))
        assert "Two changes were made to Cid" in told


def _split(transaction: Transaction) -> None:
    facts = PersonFacts(person="cid", name="Cid", role="viewer", by="ann", at=1)
    transaction.append(EntryType.PERSON, facts)


async def test_only_who_has_a_machine_is_within_reach(tmp_path: Path) -> None:
    async with desk(tmp_path) as (_, kept):
        assert persons.reachable(kept.opened.connection, None) == (3, None)
        assert persons.reachable(kept.opened.connection, "owner") == (1, None)
        assert "dan" in persons.everyone(kept.opened.connection)
