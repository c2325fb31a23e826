"""A fleet, and a machine of its own that is to join it: real stores, carried by hand."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from node.fleet import joining, machines
from node.fleet.joining import Entered
from node.store.introduced import Introduced
from node.store.transaction import Transaction
from sync.log.entry import Entry, decode
from sync.log.kinds import EntryType
from sync.net.certificate import certificate_of
from tests.node.desk.fleets import Fleet, _member, fleet_of
from tests.node.desk.machines import TOKEN, Machine, viewer


class Two:
    """Ann's fleet, and a machine of its own that is to join it."""

    def __init__(self, fleet: Fleet, laptop: Machine) -> None:
        self.fleet = fleet
        self.laptop = laptop
        self.ben = ""
        """The person of the laptop, once someone signed in there."""

    @property
    def desk(self) -> Machine:
        return self.fleet["desk"]

    async def sign_in(self) -> str:
        """Ben signs in on the laptop; returns the secret of his page."""
        made = await self.laptop.sign_ins.first(
            TOKEN, name="Ben", passphrase="correct horse staple", where="test"
        )
        self.ben = made.viewer.person
        return made.secret

    async def join(self, entries: list[Entry] | None = None) -> Entered:
        """The laptop joins; nothing but the genesis was carried yet."""
        given = await self.founding() if entries is None else entries
        return await self.laptop.writer.run("join", partial(self.enter, entries=given))

    def enter(self, transaction: Transaction, entries: list[Entry]) -> Entered:
        key = self.desk.identity.key
        return joining.enter(
            transaction,
            fleet=self.desk.identity.fleet,
            entries=entries,
            sponsor=Introduced(public_key=key.public, certificate=certificate_of(key), name="desk"),
            let_in_by=self.fleet.ann,
        )

    async def founding(self) -> list[Entry]:
        rows = await read(
            self.desk,
            "SELECT header, signature, facts, text FROM entry WHERE type = ? ORDER BY n LIMIT 1",
            EntryType.GENESIS.value,
        )
        return [decode(*row) for row in rows]

    async def meet(self) -> None:
        """The desk lets the laptop in, and both hear of everything."""
        self.fleet.machines["laptop"] = self.laptop
        await self.fleet.state(_member(self.laptop, self.fleet.ann))
        await self.fleet.meet_all()

    async def leave(self, who: str) -> list[str]:
        """The laptop leaves, its viewer becoming the owner of it alone."""
        await self.laptop.writer.run("leave", partial(machines.leave, viewer=viewer(who)))
        return await self.laptop.writer.run(
            "found", partial(joining.found_anew, viewer=viewer(who))
        )


@asynccontextmanager
async def two_of(folder: Path) -> AsyncIterator[Two]:
    async with AsyncExitStack() as stack:
        fleet = await stack.enter_async_context(fleet_of(folder, "desk"))
        laptop = Machine(folder / "laptop", {})
        stack.push_async_callback(laptop.close)
        yield Two(fleet, laptop)


async def read(machine: Machine, sql: str, *values: object) -> list[Any]:
    return await machine.reader.run(lambda connection: connection.execute(sql, values).fetchall())


async def dump(machine: Machine) -> list[Any]:
    """Everything a store holds, but for what the clock and a start alone move."""

    def every(connection: sqlite3.Connection) -> list[Any]:
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not name.startswith("sqlite_")
        ]
        skip = " WHERE name NOT IN ('clock', 'birth')"
        return [
            sorted(connection.execute(f"SELECT * FROM {name}{skip if name == 'local' else ''}"),  # noqa: S608
                   key=repr)
            for name in names
        ]  # fmt: skip

    return await machine.reader.run(every)


async def waits_on(machine: Machine, ask: str) -> None:
    """Return once someone waits for a change of this ask."""
    async with asyncio.timeout(20):
        while ask not in machine.context.signals._waiting:  # noqa: ASYNC110 -- it tells nobody
            await asyncio.sleep(0.001)
