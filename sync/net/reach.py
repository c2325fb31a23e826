"""Dialling one member: its addresses raced, whoever answers held to the pinned certificate."""

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from sync.limits import ATTEMPT_S, CONNECT_S, GOODBYE_S, RACE_STAGGER_S
from sync.log.entry import sha256
from sync.net.faults import AttemptFailed, Failure, Fault, failure, fault_of
from sync.net.ledger import Address, Member
from sync.net.listener import MESSAGE_BYTES, PATH, written
from sync.net.tls import Keyring, peer_pin

RESOLVING: Final = 4
"""Names resolved at once: each holds a thread for as long as the system's resolver hangs."""
HOST: Final = "node.askmesh.invalid"
"""What the request is addressed to: no name of the network, the address is given beside it."""

_resolving = threading.BoundedSemaphore(RESOLVING)


class Message(Protocol):
    """One message of a WebSocket."""

    @property
    def type(self) -> aiohttp.WSMsgType:
        """What kind it is."""
        ...

    @property
    def data(self) -> Any:  # noqa: ANN401 -- as aiohttp has it
        """Bytes, text, a close code, an exception."""
        ...

    @property
    def extra(self) -> object:
        """The reason of a close."""
        ...


class Socket(Protocol):
    """A WebSocket, dialled or taken: what both of aiohttp's classes have."""

    async def receive(self) -> Message:
        """Return the next message."""
        ...

    async def send_bytes(self, data: bytes, compress: int | None = None) -> None:
        """Send a binary message."""
        ...

    async def close(self, *, code: int = ..., message: bytes = ...) -> bool:
        """Close with a code."""
        ...


class Dialled:
    """A WebSocket to a member, and what has to be closed with it."""

    def __init__(
        self,
        web_socket: "aiohttp.ClientWebSocketResponse[bool]",
        session: aiohttp.ClientSession,
        address: Address,
    ) -> None:
        self.socket = web_socket
        self.address = address
        self._session = session

    async def close(self) -> None:
        """Close everything; a peer that does not answer is waited for no longer than a moment."""
        with contextlib.suppress(OSError, RuntimeError):
            await self.socket.close()
        await self._session.close()


async def reach(
    keyring: Keyring,
    member: Member,
    addresses: Sequence[Address],
    *,
    stagger: float = RACE_STAGGER_S,
) -> tuple[Dialled | None, list[Failure]]:
    """Dial all addresses, each a moment after the one before; the first that links wins."""
    failures: list[Failure] = []

    async def attempt(address: Address) -> Dialled | None:
        try:
            async with asyncio.timeout(ATTEMPT_S):
                return await _dial(keyring, member, address)
        except (aiohttp.ClientError, OSError, TimeoutError, AttemptFailed, ValueError) as error:
            where = written(address.host, address.port)
            failures.append(failure(fault_of(error), where=where, name=member.name))
            return None

    won = await race([lambda one=one: attempt(one) for one in addresses], stagger)  # type: ignore[misc]
    if not addresses:
        failures.append(failure(Fault.NO_ADDRESS, name=member.name))
    return won, failures


async def race(
    attempts: Sequence[Callable[[], Awaitable[Dialled | None]]], stagger: float
) -> Dialled | None:
    """Start attempts one after the other; return the first result, and undo the rest."""
    waiting = list(attempts)
    running: set[asyncio.Future[Dialled | None]] = set()
    won: Dialled | None = None
    try:
        while won is None and (waiting or running):
            if waiting:
                running.add(asyncio.ensure_future(waiting.pop(0)()))
            done, running = await asyncio.wait(
                running,
                timeout=stagger if waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for result in [one.result() for one in done]:
                if won is None:
                    won = result
                elif result is not None:
                    await result.close()
    finally:
        await _undo(running)
    return won


async def _undo(running: set[asyncio.Future[Dialled | None]]) -> None:
    for one in running:
        one.cancel()
    for result in await asyncio.gather(*running, return_exceptions=True):
        if isinstance(result, Dialled):
            await result.close()


async def _dial(keyring: Keyring, member: Member, address: Address) -> Dialled:
    resolved = await resolve(address.host, address.port)
    context = keyring.client(member.certificate)
    session = session_to(resolved, context)
    try:
        web_socket = await session.ws_connect(
            f"wss://{HOST}:{address.port}{PATH}",
            timeout=aiohttp.ClientWSTimeout(ws_close=GOODBYE_S),
            compress=0,
            max_msg_size=MESSAGE_BYTES,
            decode_text=False,
        )
        if peer_pin(web_socket.get_extra_info("ssl_object")) != sha256(member.certificate):
            raise AttemptFailed(Fault.OTHER_MACHINE)
    except BaseException:
        await session.close()
        raise
    return Dialled(web_socket, session, address)


def session_to(
    resolved: ResolveResult, context: ssl.SSLContext, read_s: float = ATTEMPT_S
) -> aiohttp.ClientSession:
    """Return a session that connects to one place only, whatever its requests name."""
    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(_redirected)
    return aiohttp.ClientSession(
        # One connector for each link: a pool would mix the pins of different members.
        connector=aiohttp.TCPConnector(
            ssl=context,
            resolver=_Resolved(resolved),
            use_dns_cache=False,
            limit=1,
            force_close=True,
            happy_eyeballs_delay=None,
        ),
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=read_s),
        trust_env=False,
        auto_decompress=False,
        skip_auto_headers=("User-Agent",),
        trace_configs=[trace],
        read_bufsize=4096,
    )


async def _redirected(*_: object) -> None:
    raise AttemptFailed(Fault.NOT_ASKMESH)


class _Resolved(AbstractResolver):
    """Answers with the one address that is being tried."""

    def __init__(self, result: ResolveResult) -> None:
        self._result = result

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return it, whatever was asked."""
        del host, port, family
        return [self._result]

    async def close(self) -> None:
        """Nothing is held."""


async def resolve(host: str, port: int) -> ResolveResult:
    """Return where a literal address or a name leads. Raises `OSError`, `TimeoutError`."""
    found = _literal(host, port)
    if found is None:
        async with asyncio.timeout(CONNECT_S):
            found = await _looked_up(host, port)
    family, _, proto, _, address = found[0]
    text = str(address[0])
    if family == socket.AF_INET6 and len(address) == 4 and address[3] and "%" not in text:
        text = f"{text}%{address[3]}"
    return ResolveResult(
        hostname=host,
        host=text,
        port=port,
        family=family,
        proto=proto,
        flags=socket.AI_NUMERICHOST,
    )


_Found = list[tuple[int, int, int, str, tuple[object, ...]]]


def _literal(host: str, port: int) -> _Found | None:
    try:
        return [
            *socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        ]
    except socket.gaierror:
        return None


async def _looked_up(host: str, port: int) -> _Found:
    """Ask the system's resolver on a thread that nothing waits for at the end.

    It may hang for many seconds; the loop's own threads would hang with it.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[_Found] = loop.create_future()

    def settle(found: _Found | None, error: OSError | None) -> None:
        if answer.done():
            return
        if found is None:
            answer.set_exception(error or socket.gaierror(socket.EAI_NONAME, "no answer"))
        else:
            answer.set_result(found)

    def ask() -> None:
        found: _Found | None = None
        failed: OSError | None = None
        try:
            found = [*socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
        except (OSError, UnicodeError) as error:
            failed = error if isinstance(error, OSError) else None
        finally:
            _resolving.release()
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, found, failed)

    if not _resolving.acquire(blocking=False):
        raise TimeoutError
    threading.Thread(target=ask, name="resolve", daemon=True).start()
    return await answer
