"""The persons' desk with all it does on machines: implements `web.desk.NodeDesk`."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

from node.desk import holding
from node.desk.answers import Answers
from node.desk.context import Context
from node.desk.reading import Reading
from node.desk.rules_store import RulesStore
from node.desk.sign_in import SignIns
from node.fleet import addresses, joining, machines, people, rejoining, removal
from node.fleet.invitations import Invitations
from node.fleet.pairing import Pairings
from node.fleet.people_desk import PeopleDesk
from node.identity import next_key, settle_key
from node.store.transaction import Transaction
from node.whole import whole
from sync.decide.people import Act
from sync.errors import AskmeshError, Conflict, NotAllowed
from web.desk import Viewer
from web.views import (
    Consequences,
    FleetView,
    JoinedView,
    LeftView,
    Offer,
    PairingView,
    PrivacyLine,
)

FAREWELL_S = 3.0
"""How long a leaving machine goes on telling the others before it is gone."""


class Fleet:
    """What the machines' part needs of the links."""

    def __init__(
        self,
        *,
        members_changed: Callable[[], None],
        entered: Callable[[], Awaitable[None]],
        unacknowledged: Callable[[], bool],
        privacy: Callable[[sqlite3.Connection], list[PrivacyLine]],
        home: Path,
    ) -> None:
        self.home = home
        self.members_changed = members_changed
        self.entered = entered
        self.unacknowledged = unacknowledged
        self.privacy = privacy


class NodeDesk(PeopleDesk):
    """Persons only; agents have no way to reach it."""

    def __init__(
        self,
        context: Context,
        *,
        reading: Reading,
        answers: Answers,
        sign_ins: SignIns,
        rules: RulesStore,
        pairings: Pairings,
        fleet: Fleet,
    ) -> None:
        super().__init__(context, reading=reading, answers=answers, sign_ins=sign_ins, rules=rules)
        self._pairings = pairings
        self._invitations = Invitations(context, sign_ins, sign_ins.tries)
        self._fleet = fleet
        self._leaving = asyncio.Lock()

    async def fleet(self, viewer: Viewer) -> FleetView:  # noqa: ARG002 -- proves a session
        """Every machine, as this node sees it."""
        return await self._view()

    # --- pairing ------------------------------------------------------------------------

    async def pairing_begin(self, viewer: Viewer) -> PairingView:
        """Mint a code."""
        return await self._pairings.begin(viewer)

    async def pairing(self, viewer: Viewer) -> PairingView | None:
        """How the last code stands, without the code."""
        await self._may(viewer)
        return self._pairings.now()

    async def pairing_stop(self, viewer: Viewer) -> None:
        """Withdraw the code."""
        await self._may(viewer)
        await self._pairings.stop()

    async def pairing_offers(self, viewer: Viewer | None) -> list[Offer]:
        """Machines near by that show a code."""
        await self._pairings.check_may_join(viewer)
        return await self._pairings.offers()

    async def join_consequences(self, viewer: Viewer | None) -> Consequences:
        """What joining would do."""
        await self._pairings.check_may_join(viewer)
        return await self._pairings.consequences()

    async def join(self, viewer: Viewer | None, *, code: str, address: str | None) -> JoinedView:
        """Join another fleet."""
        return await self._pairings.join(viewer, code=code, address=address)

    # --- the machines -------------------------------------------------------------------

    async def assign(self, viewer: Viewer, node: str, person: str) -> FleetView:
        """Say whose machine it is."""
        return await self._act("assign", lambda job: people.assign(job, viewer, node, person))

    async def rename_machine(self, viewer: Viewer, node: str, name: str) -> FleetView:
        """Say what this machine is called."""
        return await self._act("rename", lambda job: machines.rename(job, viewer, node, name))

    async def remove_machine(self, viewer: Viewer, node: str) -> FleetView:
        """Remove a machine."""
        return await self._act("remove", lambda job: machines.remove(job, viewer, node))

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

    async def leave_consequences(self, viewer: Viewer) -> Consequences:  # noqa: ARG002 -- a session
        """What leaving would do."""
        here = self._context.identity.name
        return await self._context.reader.run(
            lambda connection: joining.leave_consequences(connection, here)
        )

    async def leave(self, viewer: Viewer) -> LeftView:
        """Leave: tell the others while there is time, then be a fleet of one."""
        return await whole(self._leave_alone(viewer))

    async def _leave_alone(self, viewer: Viewer) -> LeftView:
        # Of two at once the second would void the words that the first was shown.
        async with self._leaving:
            return await self._leave(viewer)

    async def _leave(self, viewer: Viewer) -> LeftView:
        fleet = self._context.identity.fleet
        consequences = await self.leave_consequences(viewer)
        if not consequences.allowed:
            first, *more = consequences.sentences
            raise NotAllowed(first, hint=" ".join(more))
        await self._context.writer.run("leave", lambda job: _leave(job, viewer))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_S):
                await self._told_all()
        words = await self._context.writer.run("found", lambda job: _found(job, viewer, fleet))
        await self._fleet.entered()
        view = await self._view()
        self._sign_ins.words_told(viewer)
        return LeftView(fleet=view, recovery_words=words)

    # --- a used-up identity, and a copied directory ----------------------------------------

    async def abandoned(self) -> bool:
        """Whether nobody can sign in here any more."""
        here = self._context.identity.name
        return await self._context.reader.run(
            lambda connection: rejoining.abandoned(connection, here)
        )

    async def rejoin_consequences(self, viewer: Viewer | None) -> Consequences:
        """What a new identity would do."""
        here = self._context.identity.name
        return await self._context.reader.run(
            lambda connection: rejoining.consequences(connection, here, viewer)
        )

    async def rejoin(self, viewer: Viewer | None) -> LeftView:
        """Take on a new identity."""
        async with self._leaving:
            words = await self._rejoin(viewer)
            await self._fleet.entered()
        view = await self._view()
        if viewer is None:
            # Whoever this is, the words are for the first person who signs in.
            return LeftView(fleet=view, recovery_words=[])
        self._sign_ins.words_told(viewer)
        return LeftView(fleet=view, recovery_words=words)

    async def _rejoin(self, viewer: Viewer | None) -> list[str]:
        context, home = self._context, self._fleet.home
        here = context.identity.name
        await context.reader.run(lambda connection: rejoining.check(connection, here, viewer))
        key = await asyncio.to_thread(next_key, home)
        words = await context.writer.run("rejoin", lambda job: rejoining.rejoin(job, key, viewer))
        # Where this fails, the next start does it.
        with contextlib.suppress(OSError, AskmeshError):
            await asyncio.to_thread(settle_key, home, key.node_id)
        return words

    async def hold_consequences(self, viewer: Viewer) -> Consequences:
        """What saying go would do."""
        here = self._context.identity.name
        return await self._context.reader.run(
            lambda connection: holding.consequences(connection, here, viewer)
        )

    async def go_on(self, viewer: Viewer) -> FleetView:
        """Say go."""
        return await self._act("go", lambda job: holding.go(job, viewer))

    async def privacy(self, viewer: Viewer | None) -> list[PrivacyLine]:  # noqa: ARG002 -- for all
        """What leaves this machine."""
        return await self._context.reader.run(self._fleet.privacy)

    # --- parts ----------------------------------------------------------------------------

    async def _told_all(self) -> None:
        """Return once everyone who is linked has acknowledged what was stated here."""
        while self._fleet.unacknowledged():  # noqa: ASYNC110 -- links tell of no single acknowledgement
            await asyncio.sleep(0.05)

    async def _view(self) -> FleetView:
        now = self._context.clock.now()
        return await self._context.reader.run(
            lambda connection: self._context.fleet.view(connection, now)
        )

    async def _may(self, viewer: Viewer) -> None:
        await self._context.reader.run(
            lambda connection: machines.check_may(connection, viewer, Act.MACHINES)
        )

    async def _act(self, name: str, job: Callable[[Transaction], object]) -> FleetView:
        # A page that is closed right then must not leave links to whom it removed.
        return await whole(self._carried_out(name, job))

    async def _carried_out(self, name: str, job: Callable[[Transaction], object]) -> FleetView:
        await self._context.writer.run(name, job)
        self._fleet.members_changed()
        return await self._view()


def _leave(transaction: Transaction, viewer: Viewer) -> None:
    """State the leaving, which only an owner may; once it was removed, whoever is signed in."""
    if removal.over(transaction.connection, transaction.identity.name):
        removal.check_may_begin_anew(transaction.connection, viewer.person)
        return
    machines.check_may(transaction.connection, viewer, Act.PEOPLE)
    machines.leave(transaction, viewer)


def _found(transaction: Transaction, viewer: Viewer, left: bytes) -> list[str]:
    """Begin anew, unless this machine has joined another fleet while it said goodbye."""
    if transaction.identity.fleet != left:
        raise Conflict("This machine joined another fleet meanwhile, so it did not leave again.")
    return joining.found_anew(transaction, viewer)
