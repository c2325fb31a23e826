"""The persons' desk for machines: implements `web.desk.MachinesDesk`. Agents cannot reach it."""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Protocol

from node.desk.context import Context
from node.fleet import addresses, joins, machines
from node.fleet.joins import Joining
from node.fleet.pairing import Pairings
from node.store.transaction import Transaction
from sync.decide.people import Act
from sync.errors import NotAllowed
from web.desk import Viewer
from web.views import Consequences, FleetView, JoinedView, Offer, PairingView, PrivacyLine

FAREWELL_S = 3.0
"""How long a leaving machine goes on telling the others before it is gone."""
FAREWELL_STEP_S = 0.05


class Renewing(Protocol):
    """What acting on machines needs of `node.fleet.network.Network`."""

    def members_changed(self) -> None:
        """Members or addresses changed."""
        ...


class FleetDesk:
    """Puts the parts together; each method is described in `web.desk.MachinesDesk`."""

    def __init__(
        self,
        context: Context,
        pairings: Pairings,
        network: Renewing,
        joining: Joining,
        *,
        privacy: Callable[[sqlite3.Connection], list[PrivacyLine]],
    ) -> None:
        self._context = context
        self._pairings = pairings
        self._network = network
        self._joining = joining
        self._privacy = privacy

    async def fleet(self, viewer: Viewer) -> FleetView:  # noqa: ARG002 -- proves a session
        """Every machine, as this node sees it."""
        return await self._view()

    async def _view(self) -> FleetView:
        context = self._context
        return await context.reader.run(
            lambda connection: context.fleet.view(connection, context.clock.now())
        )

    # --- pairing ------------------------------------------------------------------------

    async def pairing_begin(self, viewer: Viewer) -> PairingView:
        """Mint a code."""
        return await self._pairings.begin(viewer)

    async def pairing(self, viewer: Viewer) -> PairingView | None:
        """How the last code stands, without the code."""
        await self._check_may(viewer)
        return self._pairings.now()

    async def pairing_stop(self, viewer: Viewer) -> None:
        """Withdraw the code."""
        await self._check_may(viewer)
        await self._pairings.stop()

    async def pairing_offers(self, viewer: Viewer | None) -> list[Offer]:
        """Machines near by that show a code."""
        await self._pairings.check_may_join(viewer)
        return await self._pairings.offers()

    async def join_consequences(self, viewer: Viewer | None) -> Consequences:
        """What joining would do."""
        return await self._pairings.consequences(viewer)

    async def join(self, viewer: Viewer | None, *, code: str, address: str | None) -> JoinedView:
        """Join another fleet."""
        return await self._pairings.join(viewer, code=code, address=address)

    # --- the machines ---------------------------------------------------------------------

    async def assign(self, viewer: Viewer, node: str, person: str) -> FleetView:
        """Say whose machine it is."""
        return await self._act(
            "assign", lambda transaction: machines.assign(transaction, viewer, node, person)
        )

    async def remove_machine(self, viewer: Viewer, node: str) -> FleetView:
        """Remove a machine."""
        return await self._act(
            "remove", lambda transaction: machines.remove(transaction, viewer, node)
        )

    async def add_address(self, viewer: Viewer, node: str, address: str) -> FleetView:
        """Give an address of a machine."""

        def job(transaction: Transaction) -> None:
            machines.acting(transaction, viewer, Act.MACHINES)
            machine = machines.find(transaction.connection, node)
            addresses.give(transaction, machine.id, address)

        return await self._act("address", job)

    async def drop_address(self, viewer: Viewer, node: str, address: str) -> FleetView:
        """Take an address back."""

        def job(transaction: Transaction) -> None:
            machines.acting(transaction, viewer, Act.MACHINES)
            machine = machines.find(transaction.connection, node)
            addresses.drop(transaction, machine.id, address)

        return await self._act("address", job)

    # --- leaving --------------------------------------------------------------------------

    async def leave_consequences(self, viewer: Viewer) -> Consequences:
        """What leaving would do."""
        here = self._context.identity.name
        return await self._context.reader.run(
            lambda connection: joins.leave_consequences(connection, viewer, here)
        )

    async def leave(self, viewer: Viewer) -> FleetView:
        """Leave: tell the others while there is time, then be a fleet of one."""
        found = await self.leave_consequences(viewer)
        if not found.allowed:
            raise NotAllowed(found.sentences[0], hint=" ".join(found.sentences[1:]))
        await self._pairings.stop()
        await self._context.writer.run(
            "leave", lambda transaction: machines.leave(transaction, viewer)
        )
        await self._told_all()
        await self._context.writer.run(
            "found", lambda transaction: self._joining.leave(transaction, viewer)
        )
        await self._pairings.moved()
        return await self._view()

    async def _told_all(self) -> None:
        """Wait until every linked machine has taken what was said here, or for a while."""
        loop = asyncio.get_running_loop()
        end = loop.time() + FAREWELL_S
        while loop.time() < end:
            told = (await self._view()).machines
            if not any(one.state == "connected" and one.behind_them for one in told):
                return
            await asyncio.sleep(FAREWELL_STEP_S)

    async def privacy(self, viewer: Viewer | None) -> list[PrivacyLine]:  # noqa: ARG002 -- for all
        """What leaves this machine."""
        return await self._context.reader.run(self._privacy)

    # --- parts ----------------------------------------------------------------------------

    async def _check_may(self, viewer: Viewer) -> None:
        def read(connection: sqlite3.Connection) -> None:
            machines.check_may(connection, viewer, Act.MACHINES)

        await self._context.reader.run(read)

    async def _act(self, name: str, job: Callable[[Transaction], object]) -> FleetView:
        await self._context.writer.run(name, job)
        self._network.members_changed()
        return await self._view()
