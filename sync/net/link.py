"""One link: a session run over one WebSocket, whichever side dialled.

Frames go to the session as they come. What it wants of the store waits in two lines, one
for what is stored and one for what is read, so that a full disk here does not keep the
peer from reading. Frames go out through one writer; a peer that takes them too slowly is
given up, never waited for.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from aiohttp import WSMsgType

from sync.errors import AskmeshError, StoreError
from sync.limits import ATTEMPT_S, GOODBYE_S, LINK_WORK, STORE_RETRY_S, WRITE_BYTES
from sync.log.entry import Entry
from sync.net.contract import REASON_BYTES, Ended, Figures, Owner, Session, told_at_close
from sync.net.ledger import Address, Ledger, Member
from sync.net.line import Job, Line
from sync.net.reach import Message, Socket
from sync.wire.actions import (
    Action,
    Attest,
    Carried,
    Close,
    Convict,
    Farewell,
    FindBlobs,
    Heard,
    Keep,
    KeepBlob,
    Opened,
    Read,
    ReadBlob,
    Recount,
    Send,
    Testify,
)
from sync.wire.comparing import Sight

STOPPING: Final = 1001
BROKEN: Final = 1006
DUPLICATE: Final = 4080
TOO_SLOW: Final = 4081
UNREADABLE: Final = 4082
NOT_A_MEMBER: Final = 4083
NOT_NEEDED: Final = 4084
SILENT: Final = 4086
SPARED: Final = 4091
NOTHING_WRONG: Final = (DUPLICATE, SPARED)
"""Codes of a peer that closes a link because it has others."""

_log = logging.getLogger("askmesh.link")


class Link:
    """A session and its WebSocket."""

    run_of_peer = ""
    """Which run of the peer's program is at the other end, once it has said so."""

    def __init__(
        self,
        socket: Socket,
        session: Session,
        ledger: Ledger,
        owner: Owner,
        member: Member,
        *,
        dialler: bytes,
        where: str,
        local: str,
        address: Address | None = None,
    ) -> None:
        self.member = member
        self.dialler = dialler
        self.where = where
        """The other end, as `host:port`."""
        self.local = local
        """Our own address on this link."""
        self.address = address
        """Where we dialled it; None: it dialled us."""
        self.opened_at: float | None = None
        """Monotonic seconds; None: the peer has not said yet who it is."""
        self.trouble: str | None = None
        self._socket = socket
        self._session = session
        self._ledger = ledger
        self._owner = owner
        self._frames: deque[bytes] = deque()
        self._bytes = 0
        self._to_write = asyncio.Event()
        self._written = asyncio.Event()
        self._keeping = Line()
        self._serving = Line()
        self._room = asyncio.Event()
        self._room.set()
        self._muted = False
        self._begun_at = asyncio.get_running_loop().time()
        self._last_heard: int | None = None
        self._end: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()

    async def run(self) -> Ended:
        """Run to the end, whoever ends it; everything is closed on return."""
        tasks = [
            asyncio.create_task(part)
            for part in (
                self._read(),
                self._write(),
                self._work(self._keeping),
                self._work(self._serving),
            )
        ]
        try:
            if not self._muted:
                self._step(lambda: self._session.begin(self._now()))
            parts: list[asyncio.Future[Any]] = [self._end, *tasks]
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            self._log_faults(tasks)
            self._finish(BROKEN, "The link broke.")
            ended = self._end.result()
            await self._flush()
            await self._close(ended)
            return ended
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._session.closed()

    # --- from the mesh ------------------------------------------------------------------

    def push(self, entries: Sequence[Entry]) -> None:
        """Entries were committed that this peer may lack."""
        self._step(lambda: self._session.push(entries, self._now()))

    def presence(self, raw: bytes, signature: bytes) -> None:
        """Send signed presence."""
        self._step(lambda: self._session.presence(raw, signature))

    def letter(self, raw: bytes, signature: bytes) -> None:
        """Send a signed letter."""
        self._step(lambda: self._session.letter(raw, signature))

    def tick(self) -> None:
        """Let the session look at its timers."""
        silent = asyncio.get_running_loop().time() - self._begun_at > ATTEMPT_S
        if self.opened_at is None and silent:
            self._finish(SILENT, f"{self.where} answers but does not speak as askmesh does.")
        self._step(lambda: self._session.tick(self._now()))

    def goodbye(self) -> None:
        """End in order: the peer knows at once."""
        self._step(self._session.goodbye)
        self._finish(STOPPING, None)

    def drop(self, code: int, reason: str | None) -> None:
        """End it now."""
        self._finish(code, reason)

    def mute(self) -> None:
        """Take nothing more from the peer: it is no member."""
        self._muted = True
        self._room.clear()

    def dismiss(self, proof: Sequence[Entry]) -> None:
        """Tell the peer that it was removed, with what proves it, and end."""
        self._step(lambda: self._session.farewell(proof))
        self._finish(NOT_A_MEMBER, f"{self.member.name} is not a machine of this fleet any more.")

    def figures(self) -> Figures:
        """How it does."""
        session = self._session
        return Figures(
            round_trip_ms=session.round_trip_ms,
            behind_us=session.behind_us,
            behind_them=session.behind_them,
            version=session.version,
            skew_ms=session.skew_ms,
            trouble=self.trouble or session.trouble,
            last_heard=self._last_heard,
        )

    @property
    def knows_us(self) -> Sight:
        """How far the peer has the logs of this node."""
        return self._session.knows_us

    # --- the session's wishes -------------------------------------------------------------

    def _step(self, event: Callable[[], list[Action]]) -> None:
        """Give the session one event and carry out what it wants."""
        if self._end.done():
            return
        try:
            self._do(event())
        except AskmeshError as error:
            self._finish(UNREADABLE, error.sentence)
        except Exception:  # noqa: BLE001 -- logged whole, and only this link ends
            # Hostile bytes find the fault that no test has found: the link ends, not the node.
            _log.exception("a link's session failed")
            self._finish(UNREADABLE, "The link failed here (the log of this node says how).")

    def _do(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Send():
                    self._send(action.frame)
                case Read() | ReadBlob() | Testify():
                    self._queue(self._serving, self._job(action))
                case Heard():
                    self._owner.heard(self, action.raw, action.signature)
                case Carried():
                    self._owner.carried(self, action.raw, action.signature)
                case Opened():
                    if self.address is None and action.port:
                        # It dialled us, from a port that leads nowhere.
                        self.where = f"{self.where.rpartition(':')[0]}:{action.port}"
                    self.run_of_peer = action.run
                    self.opened_at = asyncio.get_running_loop().time()
                    self._owner.opened(self)
                case Close():
                    self._finish(action.code, action.reason)
                case _:
                    self._take(action)

    def _job(self, action: Action) -> Job:
        ledger, session = self._ledger, self._session

        async def run() -> list[Action]:
            match action:
                case Keep() | Convict() | Attest():
                    return await self._keep(action)
                case KeepBlob():
                    await ledger.keep_blob(action.name, action.data)
                case Recount():
                    vector, testimony = await ledger.vector(), await ledger.testimony()
                    return session.moved(vector, testimony, self._now())
                case FindBlobs():
                    return session.want_blobs(await ledger.missing_blobs(action.limit))
                case Farewell():
                    await ledger.removed(action.proof)
                case Read() | Testify():
                    return await self._look_up(action)
                case ReadBlob():
                    return session.have_blob(action.name, await ledger.blob(action.name))
            return []

        return run

    async def _keep(self, action: Keep | Convict | Attest) -> list[Action]:
        ledger, session = self._ledger, self._session
        if isinstance(action, Keep):
            kept = await ledger.keep(action.entries, self.member.node)
            return session.kept(kept, self._now())
        if isinstance(action, Convict):
            return session.froze(await ledger.convict(action.evidence), self._now())
        kept = await ledger.attest(action.statements)
        return session.attested(action.author, kept, self._now())

    async def _look_up(self, action: Read | Testify) -> list[Action]:
        ledger, session, size = self._ledger, self._session, action.size
        if isinstance(action, Testify):
            return session.have_testimony(
                await ledger.testify(action.hashes, size=size), self._now()
            )
        found = await ledger.read(action.wanted, entries=action.entries, size=size)
        return session.have_read(action.wanted, found, self._now())

    def _take(self, action: Action) -> None:
        """What comes in is kept in its order; what takes long of it may begin at once."""
        if isinstance(action, Keep):
            self._ledger.foresee(action.entries)
        self._queue(self._keeping, self._job(action))

    def _queue(self, line: Line, job: Job) -> None:
        line.jobs.append(job)
        line.filled.set()
        self._make_room()

    def _make_room(self) -> None:
        """Read on only while little waits here, and what was asked for is being taken."""
        waiting = len(self._keeping.jobs) + len(self._serving.jobs)
        if not self._muted and waiting < LINK_WORK and self._bytes < WRITE_BYTES // 2:
            self._room.set()
        else:
            self._room.clear()

    def _send(self, frame: bytes) -> None:
        if self._bytes + len(frame) > WRITE_BYTES:
            self._finish(TOO_SLOW, f"{self.member.name} takes too slowly what it is sent.")
            return
        self._frames.append(frame)
        self._bytes += len(frame)
        self._written.clear()
        self._to_write.set()

    def _finish(self, code: int, reason: str | None) -> None:
        if not self._end.done():
            self._end.set_result(Ended(code=code, reason=reason))

    # --- the tasks ------------------------------------------------------------------------

    async def _read(self) -> None:
        while not self._end.done():
            await self._room.wait()
            message = await self._socket.receive()
            if self._muted:
                continue
            if message.type is not WSMsgType.BINARY:
                self._closed_by_peer(message)
                return
            self._last_heard = self._ledger.now()
            frame = message.data
            self._step(lambda frame=frame: self._session.received(frame, self._now()))  # type: ignore[misc]
            self._make_room()

    def _closed_by_peer(self, message: Message) -> None:
        if message.type is WSMsgType.CLOSE:
            code = message.data if isinstance(message.data, int) else BROKEN
            self._finish(code, None if code in NOTHING_WRONG else told_at_close(message.extra))
        elif message.type in (WSMsgType.TEXT, WSMsgType.ERROR):
            self._finish(UNREADABLE, "It sent what no askmesh sends.")
        else:
            self._finish(BROKEN, "The link broke.")

    async def _write(self) -> None:
        while True:
            await self._to_write.wait()
            while self._frames:
                frame = self._frames.popleft()
                await self._socket.send_bytes(frame)
                self._bytes -= len(frame)
                self._make_room()
            self._to_write.clear()
            self._written.set()

    async def _work(self, line: Line) -> None:
        while True:
            await line.filled.wait()
            while line.jobs:
                actions = await self._insist(line.jobs[0])
                line.jobs.popleft()
                self._step(lambda actions=actions: actions)  # type: ignore[misc]
                self._make_room()
            line.filled.clear()

    async def _insist(self, job: Job) -> list[Action]:
        """Run a job; while the store fails, wait and try again: nothing is acknowledged."""
        while True:
            try:
                done = await job()
            except StoreError as error:
                self._trouble(error.sentence)
                await asyncio.sleep(STORE_RETRY_S)
            else:
                self._trouble(None)
                return done

    def _trouble(self, sentence: str | None) -> None:
        if sentence != self.trouble:
            self.trouble = sentence
            self._owner.troubled(self)

    # --- the end --------------------------------------------------------------------------

    async def _flush(self) -> None:
        """Let out what was said last (a goodbye, a farewell)."""
        if self._frames or self._bytes:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GOODBYE_S):
                    await self._written.wait()

    async def _close(self, ended: Ended) -> None:
        reason = (ended.reason or "").encode()[:REASON_BYTES].decode(errors="ignore")
        code = ended.code if ended.code != BROKEN else 1000
        with contextlib.suppress(OSError, TimeoutError, RuntimeError):
            async with asyncio.timeout(GOODBYE_S):
                await self._socket.close(code=code, message=reason.encode())

    def _log_faults(self, tasks: Iterable["asyncio.Task[None]"]) -> None:
        for task in tasks:
            error = task.exception() if task.done() and not task.cancelled() else None
            if error is not None and not isinstance(error, OSError | RuntimeError):
                _log.error("a link failed", exc_info=error)

    def _now(self) -> int:
        """Milliseconds of a clock that only runs forward."""
        return int(asyncio.get_running_loop().time() * 1000)
