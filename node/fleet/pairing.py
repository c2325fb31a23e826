"""Pairing as persons do it: showing a code here, and using one that another machine shows.

The code lives in this process alone, and ends with it. What both sides prove, and when,
is `sync.wire.pairing`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Literal, Protocol

import msgspec

from node.desk.context import Context
from node.fleet import addresses, joins, machines, removal, welcome
from node.fleet.joins import Entered, Joining, Plan
from node.store.transaction import Transaction
from node.version import VERSION
from sync.decide.people import Act
from sync.errors import Conflict, Invalid, NotAllowed, PairingFailed, StoreError
from sync.log.facts import MemberFacts
from sync.log.kinds import EntryType
from sync.log.names import SHORT, node_name
from sync.net.discovery import Offered
from sync.net.ledger import Address
from sync.net.pair_dial import dial
from sync.net.pair_exchange import End, Ended
from sync.net.pair_listener import PairListener, Times
from sync.net.tls import Keyring
from sync.wire.pairing_code import RANDOM_BYTES, new_code, read_code
from sync.wire.pairing_failures import NotLetIn, Why
from sync.wire.pairing_steps import Admission, Candidate, Me, Welcomed
from web.desk import Viewer
from web.views import Consequences, JoinedView, MachineView, Offer, PairingView

_log = logging.getLogger("askmesh.pairing")

State = Literal["waiting", "paired", "failed", "expired", "stopped"]
_STATES: dict[End, State] = {
    End.PAIRED: "paired",
    End.FAILED: "failed",
    End.EXPIRED: "expired",
    End.STOPPED: "stopped",
}


class Links(Protocol):
    """What pairing needs of `sync.net.mesh.Mesh`."""

    async def listen(self) -> int:
        """Open the listener of links."""
        ...

    def pairing(self, sid: bytes | None, port: int = 0) -> None:
        """Announce a code, or no more."""
        ...

    async def offers(self, seconds: float = 2.0) -> list[Offered]:
        """Who shows a code near by."""
        ...

    def addresses(self) -> list[str]:
        """Our own addresses."""
        ...


class Network(Protocol):
    """What pairing needs of `node.fleet.network.Network`."""

    @property
    def mesh(self) -> Links:
        """The links of now: another fleet has others."""
        ...

    def members_changed(self) -> None:
        """Members or addresses changed."""
        ...


class _Shown(msgspec.Struct, kw_only=True):
    """A code and what became of it."""

    view: PairingView
    by: Viewer
    fleet: bytes
    listener: PairListener | None = None
    deciding: bool = False
    """A machine has proved that it knows the code."""


class Pairings:
    """The codes of one node: one shown at a time, one used at a time."""

    def __init__(
        self,
        context: Context,
        network: Network,
        joining: Joining,
        *,
        entered: Callable[[], Awaitable[None]],
        bind: str | None = None,
        changed: Callable[[], None] = lambda: None,
        times: Times | None = None,
    ) -> None:
        """Pair nothing yet.

        `entered` is called once this node belongs to another fleet, `changed` whenever
        `waiting` is another; `bind` is the only address to listen on.
        """
        self._context = context
        self._network = network
        self._joining = joining
        self._entered = entered
        self._bind = bind
        self._changed = changed
        self._times = times or Times()
        self._shown: _Shown | None = None
        self._minting = asyncio.Lock()
        self._joins = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    # --- showing a code ----------------------------------------------------------------------

    async def begin(self, viewer: Viewer) -> PairingView:
        """Mint a code and listen; a code shown before is withdrawn.

        Raises `NotAllowed`, `TooLarge`, `Conflict` while a machine is being let in.
        """
        async with self._minting:
            await self._context.writer.run("pair", partial(_check_may_show, viewer=viewer))
            if self._shown is not None and self._shown.deciding and self.waiting:
                raise Conflict("A machine is being let in right now.", hint="Try again shortly.")
            await self._withdraw()
            return await self._show(viewer)

    async def _show(self, viewer: Viewer) -> PairingView:
        context, mesh = self._context, self._network.mesh
        code = new_code(context.random(RANDOM_BYTES))
        key = context.identity.key
        keyring = Keyring(key)
        try:
            port = await mesh.listen()
            me = Me(
                key=key,
                certificate=keyring.certificate,
                machine=context.machine,
                version=VERSION,
                port=port,
            )
            listener = PairListener(
                keyring,
                me,
                code,
                admit=lambda candidate: self._admit(made, candidate),
                ended=lambda ended: self._ended(made, ended),
                random=context.random,
                bind=self._bind,
                times=self._times,
            )
            pairing_port = await listener.open()
        except OSError as error:
            mesh.pairing(None)
            raise PairingFailed(
                f"No code can be shown: no port can be had ({error.strerror or error}).",
                hint="See what uses the port, or start askmesh with another one: --port.",
            ) from None
        hosts = [self._bind] if self._bind else mesh.addresses()
        view = PairingView(
            id=listener.sid.hex(),
            code=code.shown(),
            qr=None,
            expires=context.clock.now() + round(self._times.code_s * 1000),
            state="waiting",
            sentence="Waiting for the other machine.",
            addresses=[addresses.written(host, pairing_port) for host in hosts],
        )
        without = msgspec.structs.replace(view, code=None)
        made = _Shown(view=without, by=viewer, fleet=context.identity.fleet, listener=listener)
        self._shown = made
        mesh.pairing(listener.sid, pairing_port)
        self._changed()
        return view

    @property
    def waiting(self) -> bool:
        """Whether a code is being shown."""
        return self._shown is not None and self._shown.listener is not None

    def now(self) -> PairingView | None:
        """How the last code stands, without the code."""
        return None if self._shown is None else self._shown.view

    async def stop(self) -> None:
        """Withdraw the code; what is being decided is decided first."""
        async with self._minting:
            await self._withdraw()

    async def _withdraw(self) -> None:
        listener = None if self._shown is None else self._shown.listener
        if listener is not None:
            await listener.close()

    def _ended(self, made: _Shown, ended: Ended) -> None:
        """The time of a code is over; called on the loop."""
        made.listener = None
        candidate = ended.candidate
        machine = None
        if candidate is not None:
            name = node_name(candidate.node)
            machine = MachineView(id=name, short=name[:SHORT], name=candidate.machine)
        sentence = f"{ended.sentence} {ended.hint}".strip()
        made.view = msgspec.structs.replace(
            made.view, state=_STATES[ended.end], sentence=sentence, machine=machine
        )
        self._network.mesh.pairing(None)
        self._changed()
        telling = asyncio.create_task(self._tell())
        self._tasks.add(telling)
        telling.add_done_callback(self._tasks.discard)

    async def _admit(self, made: _Shown, candidate: Candidate) -> Admission:
        """Let a proved machine in, durably. Raises `NotLetIn`, `NotAllowed`, `TooLarge`."""
        made.deciding = True
        port = await self._network.mesh.listen()
        told = await self._context.writer.run(
            "admit", lambda transaction: _let_in(transaction, made, candidate)
        )
        self._network.members_changed()
        return Admission(
            fleet=made.fleet, founder=told.founder, statements=told.statements, port=port
        )

    # --- using a code -------------------------------------------------------------------------

    async def offers(self) -> list[Offer]:
        """Return the machines near by that show a code."""
        return [
            Offer(machine=one.name, address=_at(one))
            for one in await self._network.mesh.offers()
            if one.addresses
        ]

    async def check_may_join(self, viewer: Viewer | None) -> None:
        """An owner or admin; anyone while nobody ever signed in. Raises `NotAllowed`."""
        await self._context.reader.run(lambda connection: joins.check_may(connection, viewer))

    async def consequences(self, viewer: Viewer | None) -> Consequences:
        """What joining another fleet would do to this machine."""
        here = self._context.identity.name
        return await self._context.reader.run(
            lambda connection: joins.consequences(connection, viewer, here)
        )

    async def join(self, viewer: Viewer | None, *, code: str, address: str | None) -> JoinedView:
        """Join the fleet of the machine that shows `code`; `web.desk.MachinesDesk.join`."""
        # Whoever asked may hang up: what has begun ends by itself.
        joining = asyncio.create_task(self._join(viewer, code, address))
        self._tasks.add(joining)
        joining.add_done_callback(self._tasks.discard)
        return await asyncio.shield(joining)

    async def _join(self, viewer: Viewer | None, code: str, address: str | None) -> JoinedView:
        typed = read_code(code)
        context = self._context
        if self._joins.locked():
            raise Conflict("A code is being used here right now.", hint="Wait for its end.")
        async with self._joins:
            plan = await context.reader.run(
                lambda connection: joins.plan(connection, viewer, context.identity)
            )
            where = await self._where(address)
            if not plan.others:
                # A code of a fleet that is about to end would let nobody in.
                await self.stop()
            mesh = self._network.mesh
            me = Me(
                key=context.identity.key,
                certificate=Keyring(context.identity.key).certificate,
                machine=context.machine,
                version=VERSION,
                port=await _port(mesh),
                alone=not plan.others,
            )
            made: list[Entered] = []

            async def joined(welcomed: Welcomed) -> None:
                made.append(await self._enter(viewer, plan, welcomed))

            try:
                welcomed = await dial(
                    me,
                    where,
                    typed,
                    joined=joined,
                    random=context.random,
                    knows=plan.keys.__contains__,
                    times=self._times,
                )
            finally:
                mesh.pairing(None)
            await self.moved()
            return joins.view(welcomed, made[0])

    async def _where(self, address: str | None) -> Sequence[Address]:
        if address is not None:
            host, port = addresses.parse(address)
            return [Address(host=host, port=port, source="given")]
        found = [one for one in await self._network.mesh.offers() if one.addresses]
        if not found:
            raise PairingFailed(
                "No machine near by shows a code (none was found by mDNS).",
                hint="Give the address that the other machine shows beside its code.",
            )
        if len(found) > 1:
            names = ", ".join(f"{one.name} ({_at(one)})" for one in found)
            raise Invalid(
                f"Several machines show a code: {names}. The code was not used up.",
                hint="Give the address of the one that shows this code.",
            )
        return found[0].addresses

    async def _enter(self, viewer: Viewer | None, plan: Plan, welcomed: Welcomed) -> Entered:
        """Store that this node belongs to another fleet. Raises `PairingFailed`, `NotAllowed`."""

        def job(transaction: Transaction) -> Entered:
            return joins.enter(transaction, viewer, plan, welcomed, self._joining)

        return await self._context.writer.run("join", job)

    async def moved(self) -> None:
        """This node belongs to another fleet now: everything that serves it begins anew."""
        try:
            self._network.members_changed()
            await self._entered()
        except Exception:  # noqa: BLE001 -- whoever asked is told that it joined
            # It is stored: a restart does what was left out here.
            _log.exception("the new fleet was not taken up whole")

    # --- parts ----------------------------------------------------------------------------

    async def _tell(self) -> None:
        """Pages look again."""
        try:
            await self._context.writer.run(
                "paired",
                lambda transaction: transaction.change("fleet", transaction.identity.name),
            )
        except StoreError as error:
            _log.warning("the pages were not told of a code's end: %s", error.sentence)


def _check_may_show(transaction: Transaction, viewer: Viewer) -> None:
    machines.acting(transaction, viewer, Act.MACHINES)
    gone = removal.sentence(transaction.connection)
    if gone is not None:
        raise NotAllowed(gone)
    welcome.told(transaction.connection, transaction.identity.fleet)


def _let_in(transaction: Transaction, made: _Shown, candidate: Candidate) -> welcome.Told:
    """State that the machine is a member, and return what it is told."""
    person = machines.acting(transaction, made.by, Act.MACHINES)
    if transaction.identity.fleet != made.fleet or removal.removed_here(transaction.connection):
        raise NotAllowed("This machine left the fleet that the code was for.")
    if not transaction.row("SELECT 1 FROM person_session WHERE id = ?", made.by.session_id):
        raise NotAllowed("Who made the code has signed out meanwhile.", hint="Make a new one.")
    name = node_name(candidate.node)
    row = transaction.row("SELECT removed FROM node WHERE id = ?", name)
    if row is not None and row[0] is not None:
        raise NotLetIn(Why.REMOVED, machine=candidate.machine)
    if row is None:
        # Named already: it was let in before, and broke off before it had stored that.
        transaction.append(
            EntryType.MEMBER,
            MemberFacts(
                node_key=candidate.node_key,
                certificate=candidate.certificate,
                machine=candidate.machine,
                by=person.id,
                at=transaction.now,
            ),
        )
    if candidate.port is not None and candidate.host:
        at = Address(host=candidate.host, port=candidate.port, source="told")
        fresh = addresses.fresh(transaction.connection, name, [at])
        addresses.told(transaction, name, fresh)
    told = welcome.told(transaction.connection, transaction.identity.fleet)
    transaction.change("fleet", name)
    return told


def _at(offered: Offered) -> str:
    first = offered.addresses[0]
    return addresses.written(first.host, first.port)


async def _port(mesh: Links) -> int | None:
    """Where links are taken; without a port this machine can still dial."""
    try:
        return await mesh.listen()
    except OSError as error:
        _log.warning("no links can be taken: %s", error.strerror or error)
        return None
