"""Joining the machine that shows a code: found by its address, believed by the code alone."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, Never

import aiohttp
import msgspec

from sync.errors import PairingFailed
from sync.limits import FRAME_BYTES, GOODBYE_S, PAIR_QUEUE_S
from sync.net.certificate import fits
from sync.net.faults import AttemptFailed, Fault, failure, fault_of
from sync.net.ledger import Address
from sync.net.listener import written
from sync.net.pair_key import stretch
from sync.net.pair_listener import Times
from sync.net.pair_talk import PATH, Talk, TalkEnded
from sync.net.reach import HOST, resolve, session_to
from sync.net.tls import peer_certificate
from sync.wire.pairing import Joiner
from sync.wire.pairing_code import Code
from sync.wire.pairing_failures import Why, at_joiner
from sync.wire.pairing_steps import Failure, Me, Step, Welcomed
from sync.wire.pairing_words import NONCE_BYTES

_NOT_THERE: Final = {
    Fault.REFUSED: Why.NOBODY,
    Fault.NOT_ASKMESH: Why.UNREADABLE,
    Fault.NOT_KNOWN: Why.BUSY,
    Fault.BROKEN: Why.BUSY,
    Fault.BUSY: Why.BUSY,
}
"""What a fault of the connection means here; others are told as they are."""

Joined = Callable[[Welcomed], Awaitable[None]]
"""Stores, durably, that this machine belongs to another fleet now; may raise."""


async def dial(
    me: Me,
    addresses: Sequence[Address],
    code: Code,
    *,
    joined: Joined,
    random: Callable[[int], bytes],
    times: Times | None = None,
    queue_s: float = PAIR_QUEUE_S,
) -> Welcomed:
    """Join the machine that shows `code` at one of `addresses`, tried in this order.

    `joined` is called when both sides have proved everything; what it raises is raised, and
    the other side is told. `queue_s`: how long to wait for a machine that takes its time to
    answer at all, as it serves one after the other. Raises `PairingFailed` for all that goes
    wrong on the way.
    """
    times = times or Times()
    if not addresses:
        raise at_joiner(Why.NOBODY)
    problems: list[tuple[int, PairingFailed]] = []
    for address in addresses:
        where = written(address.host, address.port)
        try:
            async with _connected(address, queue_s) as web_socket:
                talking = _Talking(me, code, address, joined=joined, random=random)
                return await talking.run(web_socket, times, queue_s)
        except _NotConnected as error:
            problems.append((error.fault.value, _said(error, where)))
    # Several addresses failed: the fault that tells most is the one to show.
    raise max(problems, key=lambda one: one[0])[1]


class _NotConnected(Exception):
    """Nothing at this address took the connection; another address may."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.name)
        self.fault = fault


def _said(error: _NotConnected, where: str) -> PairingFailed:
    why = _NOT_THERE.get(error.fault, Why.UNREACHED)
    reason = failure(error.fault, where=where).sentence
    return at_joiner(why, where=where, reason=reason)


class _Talking:
    """Runs a `Joiner` over one connection."""

    def __init__(
        self,
        me: Me,
        code: Code,
        address: Address,
        *,
        joined: Joined,
        random: Callable[[int], bytes],
    ) -> None:
        self._me = me
        self._code = code
        self._joined = joined
        self._random = random
        self._address = address

    async def run(
        self, socket: "aiohttp.ClientWebSocketResponse[bool]", times: Times, queue_s: float
    ) -> Welcomed:
        """Pair. Raises `PairingFailed`, or what `joined` raises."""
        certificate = peer_certificate(socket.get_extra_info("ssl_object")) or b""
        joiner = Joiner(
            self._me,
            certificate=certificate,
            nonce=self._random(NONCE_BYTES),
            fits=fits,
        )
        talk = Talk(socket, times.message_s)
        begun = False
        try:
            while True:
                raw = await talk.hear(None if begun else queue_s)
                begun = True
                step = joiner.heard(raw)
                if step.welcomed is not None:
                    return await self._store(joiner, talk, step.welcomed)
                await self._follow(joiner, talk, step)
        except TalkEnded as error:
            if error.why is Why.CLOSED and not begun:
                self._fail(Failure(why=Why.BUSY))
            self._fail(Failure(why=error.why))

    async def _follow(self, joiner: Joiner, talk: Talk, step: Step) -> None:
        if step.failed is not None:
            if step.send is not None:
                with contextlib.suppress(TalkEnded):
                    await talk.say(step.send)
            self._fail(step.failed)
        if step.stretch is not None:
            await talk.say(joiner.answer(await stretch(self._code, step.stretch)))
        elif step.send is not None:
            await talk.say(step.send)

    async def _store(self, joiner: Joiner, talk: Talk, welcomed: Welcomed) -> Welcomed:
        welcomed = msgspec.structs.replace(welcomed, host=self._address.host)
        try:
            await self._joined(welcomed)
        except BaseException:
            with contextlib.suppress(TalkEnded):
                await talk.say(joiner.refuse(Why.NOT_STORED))
            raise
        # It is stored: that the other side does not hear of it changes nothing here.
        with contextlib.suppress(TalkEnded):
            await talk.say(joiner.joined())
        return welcomed

    def _fail(self, failed: Failure) -> Never:
        where = written(self._address.host, self._address.port)
        known = {"machine": failed.machine, "version": failed.version, "where": where}
        error = at_joiner(failed.why, **{name: word for name, word in known.items() if word})
        if failed.sentence:
            raise PairingFailed(
                f"{failed.machine or 'The other machine'} refused: {failed.sentence}",
                hint=error.hint,
            )
        raise error


@asynccontextmanager
async def _connected(
    address: Address, seconds: float
) -> AsyncIterator["aiohttp.ClientWebSocketResponse[bool]"]:
    """Connect, to whoever answers: no certificate is known yet. Raises `_NotConnected`."""
    session: aiohttp.ClientSession | None = None
    try:
        async with asyncio.timeout(seconds):
            resolved = await resolve(address.host, address.port)
            session = session_to(resolved, _open_context(), seconds)
            web_socket = await session.ws_connect(
                f"wss://{HOST}:{address.port}{PATH}",
                timeout=aiohttp.ClientWSTimeout(ws_close=GOODBYE_S),
                compress=0,
                max_msg_size=FRAME_BYTES + 1,
                decode_text=False,
            )
    except (aiohttp.ClientError, OSError, TimeoutError, AttemptFailed, ValueError) as error:
        if session is not None:
            await session.close()
        raise _NotConnected(fault_of(error)) from None
    except BaseException:
        if session is not None:
            await session.close()
        raise
    try:
        yield web_socket
    finally:
        with contextlib.suppress(OSError, RuntimeError):
            await web_socket.close()
        await session.close()


def _open_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
