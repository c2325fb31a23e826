"""Pairing as persons do it: showing a code here, or using the code of another machine.

A code lives in this process only: it is gone with it. Whoever showed it is asked again for
the right to when the other machine has proved itself.
"""

import asyncio
import base64
import errno
import socket
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

import msgspec

from node.desk.context import Context
from node.fleet import addresses, admission, joining, people, welcome
from node.fleet.people import Guest
from node.store.transaction import Transaction
from node.store.writer import Job
from node.version import VERSION
from node.whole import whole
from sync.decide.name import made_plain
from sync.errors import Conflict, Invalid, PairingFailed
from sync.limits import PAIRING_S
from sync.log.names import SHORT, node_name
from sync.net import pair_dial
from sync.net.certificate import certificate_of
from sync.net.discovery import Offered
from sync.net.ledger import Address
from sync.net.pair_exchange import End, Ended
from sync.net.pair_listener import PairListener, Times
from sync.net.tls import Keyring
from sync.wire.pairing_code import RANDOM_BYTES, Code, new_code, read_code
from sync.wire.pairing_failures import NotLetIn, Why
from sync.wire.pairing_steps import Admission, Candidate, Me, Welcomed
from web.desk import Viewer
from web.views import Consequences, JoinedView, MachineView, Offer, PairingView

FIRST_SYNC_S = 3.0
"""After joining, how long to wait for the other machine to tell of the fleet."""


class Paths(Protocol):
    """What the links do for pairing (`sync.net.mesh.Mesh`)."""

    async def listen(self) -> int:
        """Take links, and return where. Raises `OSError`."""
        ...

    def pairing(self, sid: bytes | None, port: int = 0) -> None:
        """Announce that a code waits at this port."""
        ...

    async def offers(self, seconds: float = 2.0) -> list[Offered]:
        """Return the machines near by that show a code."""
        ...

    def addresses(self) -> list[str]:
        """Our own addresses that others can use."""
        ...


class Pairings:
    """One node's pairing, in both roles; one code at a time."""

    def __init__(
        self,
        context: Context,
        paths: Callable[[], Paths],
        *,
        bind: str | None,
        members_changed: Callable[[], None],
        entered: Callable[[], Awaitable[None]],
        times: Times | None = None,
    ) -> None:
        self._context = context
        self._paths = paths
        self._bind = bind
        self._members_changed = members_changed
        self._entered = entered
        self._times = times
        self._listener: PairListener | None = None
        self._view: PairingView | None = None
        self._deciding = False
        """Whether the machine that typed the code has proved itself."""
        self._minting = asyncio.Lock()
        self._joining = asyncio.Lock()
        self._running: set[asyncio.Task[JoinedView]] = set()

    # --- showing a code ---------------------------------------------------------------------

    async def begin(self, viewer: Viewer, *, coming: Guest | None = None) -> PairingView:
        """Mint a code and wait for the other machine; a code that still waits is withdrawn.

        `coming`: who becomes a person with it, and whose machine it will be. Raises
        `NotAllowed`, and `Conflict` when no port can be had.
        """
        async with self._minting:
            if self._deciding and self._listener is not None:
                raise Conflict("A machine is being let in right now.", hint="Try again shortly.")
            await self._context.writer.run(
                "pairing", lambda job: admission.check_may_show(job, viewer)
            )
            await self.stop()
            return await self._show(viewer, coming)

    async def _show(self, viewer: Viewer, coming: Guest | None) -> PairingView:
        code = new_code(self._context.random(RANDOM_BYTES))
        name = self._context.random(8).hex()

        async def admit(candidate: Candidate) -> Admission:
            return await self._admit(viewer, fleet, candidate, coming)

        fleet = self._context.identity.fleet
        try:
            me = self._me(await self._paths().listen())
            listener = PairListener(
                Keyring(self._context.identity.key),
                me,
                code,
                admit=admit,
                ended=lambda ended: self._ended(name, ended),
                random=self._context.random,
                bind=self._bind,
                times=self._times,
            )
            port = await listener.open()
        except OSError as error:
            self._paths().pairing(None)
            raise no_port(error, self._bind) from None
        self._listener, self._deciding = listener, False
        self._paths().pairing(listener.sid, port)
        self._view = self._waiting(name, port)
        return msgspec.structs.replace(self._view, code=code.shown())

    def _waiting(self, name: str, port: int) -> PairingView:
        life = self._times.code_s if self._times else PAIRING_S
        return PairingView(
            id=name,
            code=None,
            expires=self._context.clock.now() + int(life * 1000),
            state="waiting",
            sentence="Type the code on the other machine within ten minutes. It is good for one"
            " try, right or wrong.",
            addresses=[addresses.written(host, port) for host in self._paths().addresses()],
        )

    def now(self) -> PairingView | None:
        """How the last code stands, without the code; None: there was none."""
        return self._view

    def waiting(self) -> bool:
        """Whether a code waits for another machine."""
        return self._listener is not None

    async def stop(self) -> None:
        """Withdraw the code, if one waits."""
        listener, self._listener = self._listener, None
        if listener is not None:
            await listener.close()

    def _me(self, port: int | None, *, alone: bool = True) -> Me:
        key = self._context.identity.key
        return Me(
            key=key,
            certificate=certificate_of(key),
            machine=made_plain(self._context.machine),
            version=VERSION,
            port=port,
            alone=alone,
        )

    async def _admit(
        self, viewer: Viewer, fleet: bytes, candidate: Candidate, coming: Guest | None
    ) -> Admission:
        """Let a machine in that has proved to know the code. Raises what it is refused with."""

        def job(transaction: Transaction) -> welcome.Told:
            person = admission.check_still(transaction, viewer, fleet)
            known = transaction.row(
                "SELECT removed FROM node WHERE id = ?", node_name(candidate.node)
            )
            if known is not None and known[0] is not None:
                raise NotLetIn(Why.REMOVED, machine=candidate.machine)
            # Named already: it was let in before, and broke off before it had stored that.
            if known is None:
                admission.state_member(transaction, candidate, by=person.id)
                if coming is not None:
                    people.bring_in(transaction, coming, self._new_id(), node_name(candidate.node))
            admission.remember(transaction, candidate.node, candidate.host, candidate.port)
            return welcome.told(transaction.connection, fleet)

        self._deciding = True
        port = await self._paths().listen()
        told = await whole(self._admitted(job))
        return Admission(
            fleet=fleet,
            founder=told.founder,
            statements=told.statements,
            forks=told.forks,
            port=port,
        )

    def _new_id(self) -> str:
        return base64.b32encode(self._context.random(10)).decode().rstrip("=").lower()

    async def _admitted(self, job: Job[welcome.Told]) -> welcome.Told:
        told = await self._context.writer.run("admit", job)
        self._members_changed()
        return told

    def _ended(self, name: str, ended: Ended) -> None:
        """A code is over, whichever way."""
        if self._view is None or self._view.id != name:
            return
        candidate = ended.candidate
        states = {End.PAIRED: "paired", End.FAILED: "failed", End.EXPIRED: "expired"}
        self._view = msgspec.structs.replace(
            self._view,
            state=states.get(ended.end, "stopped"),
            sentence=f"{ended.sentence} {ended.hint}".strip(),
            machine=None if candidate is None else _machine(candidate.node, candidate.machine),
        )
        self._listener = None
        self._paths().pairing(None)

    # --- using a code -------------------------------------------------------------------------

    async def check_may_join(self, viewer: Viewer | None) -> None:
        """Raises `NotAllowed` for who may not join with this machine.

        An owner or admin of its own fleet may; anyone at all, while nobody ever signed in.
        """
        await self._context.reader.run(
            lambda connection: admission.check_may_join(connection, viewer)
        )

    async def offers(self) -> list[Offer]:
        """Machines near by that show a code right now."""
        return [
            Offer(machine=one.name, address=addresses.written(first.host, first.port))
            for one in await self._paths().offers()
            for first in one.addresses[:1]
        ]

    async def consequences(self) -> Consequences:
        """What joining would do."""
        here = self._context.identity.name
        return await self._context.reader.run(
            lambda connection: joining.join_consequences(connection, here)
        )

    async def join(self, viewer: Viewer | None, *, code: str, address: str | None) -> JoinedView:
        """Join the fleet of the machine that shows `code`.

        Raises `NotAllowed`, `Conflict`, `Invalid` before the code is spent, and
        `PairingFailed` for all that goes wrong on the way.
        """
        # Whoever asked may hang up: what has begun ends by itself.
        joins = asyncio.create_task(self._use(viewer, code, address))
        self._running.add(joins)
        joins.add_done_callback(self._running.discard)
        return await asyncio.shield(joins)

    async def _use(self, viewer: Viewer | None, code: str, address: str | None) -> JoinedView:
        await self.check_may_join(viewer)
        typed = read_code(code)
        where = await self._where(address)
        here = self._context.identity.name
        await self._context.reader.run(lambda one: joining.check_alone(one, here))
        if self._joining.locked():
            raise Conflict("This machine is joining a fleet already.", hint="Wait a moment.")
        async with self._joining:
            await self.stop()
            return await self._join(viewer, typed, where)

    async def _join(
        self, viewer: Viewer | None, code: Code, where: Sequence[Address]
    ) -> JoinedView:
        raised: list[int] = []
        paths = self._paths()
        try:
            port: int | None = await paths.listen()
        except OSError:
            port = None

        async def joined(welcomed: Welcomed) -> None:
            entered = await self._context.writer.run(
                "join", lambda transaction: admission.enter(transaction, viewer, welcomed)
            )
            raised.append(entered.raised)

        try:
            welcomed = await pair_dial.dial(
                self._me(port),
                where,
                code,
                joined=joined,
                random=self._context.random,
                times=self._times,
            )
        finally:
            if raised:
                # Stored: whatever became of the last message, this node is in that fleet.
                await self._entered()
            else:
                paths.pairing(None)
        return await self._joined_view(welcomed, raised[0])

    async def _where(self, address: str | None) -> list[Address]:
        """Where the other machine waits. Raises `Invalid`, `PairingFailed`."""
        if address is not None and address.strip():
            host, port = addresses.parse(address)
            return [Address(host=host, port=port, source="given")]
        found = await self._paths().offers()
        if not found:
            raise PairingFailed(
                "No machine near by shows a code (it was looked for by mDNS).",
                hint="Give the address that stands below the code there: --host HOST:PORT.",
            )
        if len(found) > 1:
            names = ", ".join(
                f"{one.name} ({addresses.written(one.addresses[0].host, one.addresses[0].port)})"
                for one in found
                if one.addresses
            )
            raise Invalid(
                f"Several machines near by show a code: {names}.",
                hint="Say which one is meant by its address: --host HOST:PORT.",
            )
        return list(found[0].addresses)

    async def _joined_view(self, welcomed: Welcomed, raised: int) -> JoinedView:
        """Say what this machine belongs to now, if it hears of it soon."""
        context = self._context
        here = context.identity.name
        loop = asyncio.get_running_loop()
        end = loop.time() + FIRST_SYNC_S
        known: list[str] = []
        while loop.time() < end and here not in known:
            known = await context.reader.run(_members)
            if here not in known:
                await asyncio.sleep(0.05)
        return JoinedView(
            machine=_machine(welcomed.node, welcomed.machine),
            machines=max(2, len(known)),
            raised_again=raised,
            sentence=(
                f"This machine belongs to the fleet of {welcomed.machine} now. Until an owner has"
                " said whose machine it is, nobody can sign in or answer here."
            ),
        )


def _members(connection: sqlite3.Connection) -> list[str]:
    return [node for (node,) in connection.execute("SELECT id FROM node WHERE removed IS NULL")]


def _machine(node: bytes, name: str) -> MachineView:
    text = node_name(node)
    return MachineView(id=text, short=text[:SHORT], name=name)


def no_port(error: OSError, bind: str | None) -> Conflict:
    """Return why no port could be opened for the other machine, and what helps."""
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return Conflict(
            f"{bind or 'It'} is no address of this machine now, so the other one could not reach"
            " it; no code was made.",
            hint="Connect that network, or: askmesh down, then askmesh up --bind with an address.",
        )
    if error.errno in {errno.EADDRINUSE, errno.EACCES}:
        return Conflict(
            "No port is free for the other machine to come to, so no code was made.",
            hint="End what takes that many ports, then try again.",
        )
    return Conflict(
        f"No port can be opened for the other machine ({error.strerror or error}); no code was"
        " made.",
        hint="The node's log says more.",
    )
