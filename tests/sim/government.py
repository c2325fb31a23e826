"""What the owner, and the outside system, say of persons and accounts while all goes wrong."""

import asyncio
import random
import sqlite3
from functools import partial

from node.process import Node
from sync.decide.word import PREFIX, Word, pack
from tests.node.desk.machines import viewer
from tests.sim.machine import Gone, Machine
from tests.sim.persons import Stranger
from tests.sim.template import OPERATOR
from tests.sim.world import World

ROLES = ("member", "member", "admin", "viewer")
LEVELS = ("grace", "on_hold", "on_hold", "suspended")
ENDS = 0.12
"""How often a person is removed, and not given another role."""
MIDWAY = 0.6
"""How often a person is changed while others are still asked for what they allowed,"""
MIDWAY_S = 25
"""if that happens within so many seconds."""
ANYHOW = 0.6
"""How often a person votes who may not any more, as far as the program there checks it."""
SETTLED = 0.8
"""How often what held an account is settled."""

COUNTS = (
    "SELECT 1 FROM vote JOIN ask ON ask.id = vote.ask"
    " WHERE person = ? AND ruling = 'counted' AND state = 'waiting'"
)
"""An allow of that person counts on what needs another one."""
ALLOWED = "SELECT 1 FROM ask WHERE state = 'closed' AND outcome = 'allowed'"
"""Something was allowed, and nobody has it yet."""


class Government:
    """Everything is stated on one machine: what that comes to needs no settling."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self.world = world
        self.chance = chance
        self.ann = viewer(world.template.people["ann"])
        self._serial = 0

    def _desk(self) -> Machine:
        """The owner's machine. What is stated in one of two histories is another matter."""
        desk = self.world.machines["desk"]
        if not desk.up or "copy" in self.world.fates:
            raise Gone
        self.world.governed = True
        return desk

    async def people(self) -> None:
        """The owner gives somebody another role, or removes them."""
        desk, name = self._desk(), self.chance.choice(("bob", "bob", "cyd"))
        person, role = self.world.template.people[name], self.chance.choice(ROLES)
        ends = self.chance.random() < ENDS
        await self._midway(desk, COUNTS, person)

        async def change(node: Node) -> None:
            if ends:
                await node.person_desk.remove_person(self.ann, person)
            else:
                await node.person_desk.set_role(self.ann, person, role)

        await desk.call(change)
        self.world.sometimes("person removed" if ends else f"made {role}")
        await self._anyhow(name)

    async def _midway(self, desk: Machine, what: str, *about: str) -> None:
        """Perhaps wait until what is to be changed matters to something that is open."""
        if self.chance.random() < MIDWAY:
            found = partial(_found, what=what, about=about)
            for _ in range(MIDWAY_S):
                if await desk.call(lambda node: node.reader.run(found)):
                    self.world.sometimes("changed midway")
                    return
                await asyncio.sleep(1)

    async def account(self) -> None:
        """An account is on hold for a while: of one person, or of all."""
        level, whole = self.chance.choice(LEVELS), self.chance.random() < 0.4
        name = self.chance.choice(("bob", "bob", "cyd"))
        await self._midway(self._desk(), ALLOWED)
        await self._say(name, level, whole=whole)
        self.world.sometimes("account of all held" if whole else "account held")
        await self._anyhow(name)
        await asyncio.sleep(self.chance.uniform(5, 60))
        if self.chance.random() < SETTLED:
            await self._say(name, "active", whole=whole)

    async def _anyhow(self, name: str) -> None:
        """Perhaps a changed program signs a vote of theirs all the same."""
        names = self.world.template.speaks[name]
        machines = [self.world.machines[one] for one in names if one in self.world.machines]
        machines = [one for one in machines if one.up and not one.retired]
        if machines and self.chance.random() < ANYHOW:
            await asyncio.sleep(self.chance.uniform(0, 5))
            machine = self.chance.choice(machines)
            await Stranger(self.world, machine, name).vote("vote that nobody checked")

    async def _say(self, name: str, level: str, *, whole: bool) -> None:
        desk, person = self._desk(), self.world.template.people[name]
        self._serial += 1
        serial = self._serial

        async def say(node: Node) -> None:
            if not whole:
                await node.person_desk.set_standing(self.ann, person, level, remedy=None, reason="")
                return
            fleet = node.context.identity.fleet.hex()
            word = pack(Word(fleet=fleet, standing=level, serial=serial, at=1))
            key, signature = OPERATOR.public_key().public_bytes_raw(), OPERATOR.sign(PREFIX + word)
            await node.person_desk.standing_word(key, word, signature)

        await desk.call(say)


def _found(connection: sqlite3.Connection, what: str, about: tuple[str, ...]) -> bool:
    return connection.execute(what, about).fetchone() is not None
