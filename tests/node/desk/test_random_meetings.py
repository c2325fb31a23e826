"""Random answers, takings back, fetches, restarts and meetings of three machines converge."""

import random
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sync.errors import CallerError
from sync.log.entry import sha256
from sync.log.facts import FinalFacts, HandoverFacts, RulingFacts, read
from sync.log.kinds import EntryType
from tests.node.audit.reading import unsound
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine

NAMES = ("desk", "laptop", "phone")
STEPS = 60


async def step(fleet: Fleet, chance: random.Random, asks: list[str], people: list[str]) -> None:
    """One thing that can happen, to whoever it happens."""
    machine = fleet[chance.choice(NAMES)]
    person, ask = chance.choice(people), chance.choice(asks)
    home = next(item for item in fleet.machines.values() if item.id == ask.rpartition("-")[0])
    kind = chance.choice(("vote", "vote", "back", "fetch", "carry", "carry", "time", "restart"))
    if kind == "vote":
        decision = chance.choice(("allow", "deny", "answer", "decline"))
        await machine.vote(person, ask, decision, text="x" if decision == "answer" else None)
    elif kind == "back":
        await machine.take_back(person, ask)
    elif kind == "fetch":
        await home.fetch(ask)
    elif kind == "carry":
        source, target = chance.sample(NAMES, 2)
        only = chance.choice((None, None, source))
        await fleet.carry(source, target, only=only)
    elif kind == "time":
        fleet.advance(chance.choice((1_000, 30_000, 700_000)))
        for one in fleet.machines.values():
            await one.sweeper.sweep()
    else:
        await machine.restart()


@pytest.mark.parametrize("seed", range(8))
async def test_whatever_happens_every_answer_comes_to_one_ruling(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    async with fleet_of(tmp_path, *NAMES) as fleet:
        people = [fleet.ann, await fleet.person("bob", "member", "phone", "laptop")]
        asks = [await fleet[name].ask() for name in NAMES[:2]]
        asks += [await fleet[name].ask("approval", deadline_s=3_600) for name in NAMES]
        await fleet.meet_all()
        happened = 0
        for _ in range(STEPS):
            try:
                await step(fleet, chance, asks, people)
            except CallerError:
                continue
            happened += 1
        assert happened > STEPS / 3
        await fleet.meet_all()
        await fleet.meet_all()
        for ask in asks:
            await check(fleet, ask)
        assert [unsound(machine.home) for machine in fleet.machines.values()] == [[], [], []]


async def check(fleet: Fleet, ask: str) -> None:
    """What must hold of one ask once all have met."""
    rows = [await machine.row(ask) for machine in fleet.machines.values()]
    assert rows[0] == rows[1] == rows[2]
    seen = [await facts(machine, ask) for machine in fleet.machines.values()]
    assert seen[0] == seen[1] == seen[2]
    finals, handed, rulings, votes = seen[0]
    assert len(finals) <= 1
    if rows[0].kind == "approval":
        assert len(handed) <= 1
    assert Counter(ruling.vote for ruling in rulings) == Counter(votes)
    assert bool(finals) == (rows[0].state != "waiting")
    # Who reads only the final can check that a vote which was accepted made it.
    made = {sha256(vote.raw + vote.signature) for final in finals for vote in final.votes}
    accepted = {ruling.vote for ruling in rulings if ruling.ruling == "accepted"}
    assert accepted <= made
    cards = {(await machine.view(ask, fleet.ann)).card.state for machine in fleet.machines.values()}
    if rows[0].state in ("void", "resolved") or rows[0].outcome in ("expired", "withdrawn"):
        assert len(cards) == 1


async def facts(
    machine: Machine, ask: str
) -> tuple[list[FinalFacts], list[HandoverFacts], list[RulingFacts], list[bytes]]:
    def of(connection: sqlite3.Connection, kind: EntryType, shape: type[Any]) -> list[Any]:
        found = [
            read(shape, data)
            for (data,) in connection.execute("SELECT facts FROM entry WHERE type = ?", (kind,))
        ]
        return sorted((one for one in found if one.ask == ask), key=lambda one: (one.at, repr(one)))

    def looked(
        connection: sqlite3.Connection,
    ) -> tuple[list[FinalFacts], list[HandoverFacts], list[RulingFacts], list[bytes]]:
        votes = connection.execute("SELECT hash FROM vote WHERE ask = ? ORDER BY hash", (ask,))
        return (
            of(connection, EntryType.FINAL, FinalFacts),
            of(connection, EntryType.HANDOVER, HandoverFacts),
            of(connection, EntryType.RULING, RulingFacts),
            [bytes(vote) for (vote,) in votes],
        )

    return await machine.reader.run(looked)
