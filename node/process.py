"""The node as a process: wires every part, serves until told to stop.

`Seams` are what a test launcher replaces: the clock's sources, the stop points, the
limits. No option and no environment variable reaches them.
"""

import asyncio
import contextlib
import logging
import os
import resource
import signal
import socket
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from node import limits
from node.agents.socket import AgentSocket
from node.backup.placing import tidy
from node.clock import SystemTimes, Times
from node.config import FACTS_FILE, SETTINGS_FILE, Settings, lock, prepare, settings, write
from node.desk import holding, recovering
from node.desk.agent_side import AgentSide
from node.desk.answers import Answers
from node.desk.context import Context, Limits
from node.desk.gate import GateDesk
from node.desk.reading import Reading
from node.desk.restored import make_up_alone
from node.desk.rules_store import RulesStore
from node.desk.sessions import SessionBook
from node.desk.sign_in import SignIns
from node.desk.signals import Change, Signals
from node.desk.sweeper import Sweeper
from node.fleet.desk import Fleet, NodeDesk
from node.fleet.network import Network
from node.fleet.pairing import Pairings
from node.fleet.sight import LinkSight, Ways
from node.founding import Opened, open_store
from node.gate.claude import handle
from node.store import exchange, hold
from node.store.blobs import Blobs
from node.store.connection import failure
from node.store.reader import Reader
from node.store.transaction import Transaction
from node.store.writer import Writer
from node.version import VERSION
from sync.decide.name import made_plain
from sync.errors import AskmeshError, StoreError, StoreFull, StoreHeld, StoreReadOnly
from sync.log.entry import Entry
from sync.net import settings as net
from web.app import make_app
from web.listener import PageListener

HELD_BY_ANOTHER = 5
"""Exit code that tells a starter to use the node that runs already."""
TOKEN_BYTES = 4096
BOOT_BYTES = 8
"""Names a run of the program to the other machines."""
SWITCH_S = 0.0002
"""The writer gives the interpreter up at every statement and must get it back soon; at the
default of 5 ms a busy event loop would hold up each of a dozen statements of a job."""

_log = logging.getLogger("askmesh")


class Seams(msgspec.Struct, frozen=True, kw_only=True):
    """What the outside world is to a node."""

    times: Times
    random: Callable[[int], bytes] = os.urandom
    stop_point: Callable[[str], None] = lambda _name: None
    limits: Limits = Limits(
        open_asks_per_session=limits.OPEN_ASKS_PER_SESSION,
        asks_per_second_session=limits.ASKS_PER_SECOND_SESSION,
        asks_per_second_node=limits.ASKS_PER_SECOND_NODE,
    )


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What `askmesh _node` was started with."""

    home: str
    port: int | None = None
    web_port: int | None = None
    bind: str | None = None
    no_mdns: bool = False
    name: str | None = None
    keep_texts: int | None = None
    create: bool = False
    sign_in_fd: int | None = None

    def told(self) -> dict[str, Any]:
        """The settings among them, without those that were not given."""
        given: dict[str, Any] = {
            "port": self.port,
            "web_port": self.web_port,
            "bind": self.bind,
            "name": self.name,
            "keep_texts": self.keep_texts,
            "mdns": False if self.no_mdns else None,
        }
        return {name: value for name, value in given.items() if value is not None}


def main(options: Mapping[str, Any]) -> int:
    """Run a node until it is told to stop; return the exit code."""
    return run(msgspec.convert(dict(options), Options), Seams(times=SystemTimes()))


def run(options: Options, seams: Seams) -> int:
    """Run a node with these seams."""
    options = msgspec.structs.replace(options, home=str(Path(options.home).absolute()))
    logging.basicConfig(
        level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s"
    )
    os.umask(0o077)
    sys.setswitchinterval(SWITCH_S)
    with contextlib.suppress(ValueError, OSError):
        # A core file would hold keys and secrets.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        asyncio.run(serve(options, seams))
    except StoreHeld as error:
        return _failed(error, HELD_BY_ANOTHER)
    except AskmeshError as error:
        return _failed(error, 1)
    return 0


def _failed(error: AskmeshError, code: int) -> int:
    hint = f" {error.hint}" if error.hint else ""
    sys.stderr.write(f"askmesh: {error.sentence}{hint}\n")
    return code


async def serve(options: Options, seams: Seams) -> None:
    """Hold the directory, open the store, serve both listeners until a signal."""
    home = Path(options.home)
    token = _first_token(options.sign_in_fd)
    prepare(home, create=options.create)
    descriptor = lock(home, {"pid": os.getpid()})
    try:
        tidy(home)
        chosen = settings(home, options.told())
        host = socket.gethostname().partition(".")[0]
        opened = open_store(
            home,
            create=options.create,
            machine=made_plain(chosen.name or host, "this machine"),
            times=seams.times,
            random=seams.random,
        )
        write(home / SETTINGS_FILE, msgspec.to_builtins(chosen))
        await Node(home, chosen, opened, seams, token).serve()
    except OSError as error:
        raise _cannot_run(home, error) from error
    finally:
        os.close(descriptor)


def _cannot_run(home: Path, error: OSError) -> StoreError:
    match failure(error):
        case StoreFull():
            return StoreFull(
                f"The node cannot start: the disk of {home} is full.",
                hint="Free some space, then start it again. What was acknowledged before is safe.",
            )
        case StoreReadOnly():
            return StoreReadOnly(
                f"The node cannot start: {home} cannot be written.",
                hint="Make its disk and folder writable, then start it again.",
            )
    return StoreError(f"The node cannot run: {error.strerror or error}.")


def _first_token(descriptor: int | None) -> str | None:
    """Read the first-run token from the pipe of the `up` that made it."""
    if descriptor is None:
        return None
    with os.fdopen(descriptor, "rb") as pipe:
        return pipe.read(TOKEN_BYTES).decode("ascii").strip() or None


class Node:
    """One running node."""

    def __init__(
        self, home: Path, chosen: Settings, opened: Opened, seams: Seams, token: str | None
    ) -> None:
        self.home = home
        self.settings = chosen
        self._open(opened, seams)
        self._furnish(token)

    def _open(self, opened: Opened, seams: Seams) -> None:
        """Make what every desk works with."""
        self.signals = Signals()
        self.links: Network | None = None
        self.writer = Writer(
            opened.connection,
            identity=opened.identity,
            clock=opened.clock,
            random=seams.random,
            published=self._published,
            stored=self._stored,
            stop_point=seams.stop_point,
        )
        ways = Ways(
            web_port=self.settings.web_port,
            mdns_wanted=self.settings.mdns,
            keep_texts_days=self.settings.keep_texts,
        )
        self.sight = LinkSight(ways)
        self.reader = Reader(self.home)
        self.context = Context(
            store_id=opened.store_id,
            machine=opened.machine,
            identity=opened.identity,
            writer=self.writer,
            reader=self.reader,
            blobs=Blobs(self.home),
            clock=opened.clock,
            signals=self.signals,
            random=seams.random,
            limits=seams.limits,
            started=opened.clock.now(),
            keep_texts_days=self.settings.keep_texts,
            fleet=self.sight,
        )

    def _connect(self, answers: Answers) -> Network:
        """Set up the links; they begin with `serve`."""
        chosen = self.settings
        return Network(
            self.context,
            answers,
            self.sight,
            net.Settings(
                version=VERSION,
                machine=self.context.machine,
                boot=self.context.random(BOOT_BYTES).hex(),
                bind=chosen.bind,
                port=chosen.port,
                mdns=chosen.mdns,
            ),
        )

    def _pairings(self, network: Network) -> Pairings:
        """Set up pairing; the privacy page says whether a code is shown."""
        pairings = Pairings(
            self.context,
            lambda: network.mesh,
            bind=self.settings.bind,
            members_changed=network.members_changed,
            entered=network.renew,
        )
        self.sight.pairing = pairings.waiting
        return pairings

    def _published(self, changes: Sequence[Change]) -> None:
        self.signals.publish(changes)
        if self.links is not None:
            self.links.noticed({topic for _, topic, _ in changes})

    def _stored(self, entries: Sequence[Entry]) -> None:
        if self.links is not None:
            self.links.stored(entries)

    def _furnish(self, token: str | None) -> None:
        """Set up the desks and the socket in front of them."""
        self.answers = Answers(self.context)
        self.links = self.network = network = self._connect(self.answers)
        self.sign_ins = SignIns(self.context, token, self._recovered, post=network)
        network.serve(self.sign_ins.letter, self.sign_ins.linked)
        rules = RulesStore(self.context)
        reading = Reading(self.context, rules)
        self.pairings = self._pairings(network)
        self.person_desk = NodeDesk(
            self.context,
            reading=reading,
            answers=self.answers,
            sign_ins=self.sign_ins,
            rules=rules,
            pairings=self.pairings,
            fleet=Fleet(
                members_changed=network.members_changed,
                entered=network.renew,
                unacknowledged=network.unacknowledged,
                privacy=self.sight.privacy,
                home=self.home,
            ),
        )
        self.agents = agents = AgentSide(
            self.context, SessionBook(), reading, self._facts, privacy=self.sight.privacy
        )
        self.gate = gate = GateDesk(self.context, rules)
        self.socket = AgentSocket(str(self.home), agents, partial(handle, gate), version=VERSION)

    async def settle(self) -> None:
        """Make up for what the last run left, before anything new can come."""
        await self.writer.run("restored", make_up_alone)
        await self.writer.run("recovered", recovering.hear)
        await self.answers.rule_open()
        await self.reader.run(self._sweep_blobs)

    async def serve(self) -> None:
        """Serve until SIGTERM or SIGINT, then stop in order."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, stop.set)
        port = self.settings.web_port
        page = PageListener(make_app(self.person_desk, port=port), port)
        sweeper: asyncio.Task[None] | None = None
        try:
            await self.settle()
            linked = await self._learn_first(stop)
            await page.open()
            await self.socket.open()
            sweeper = loop.create_task(Sweeper(self.context, self.answers).run())
            if not linked:
                await self.network.start()
            write(self.home / FACTS_FILE, self._facts())
            _log.info("serving %s", self._facts()["url"])
            await stop.wait()
            _log.info("stopping")
        finally:
            (self.home / FACTS_FILE).unlink(missing_ok=True)
            if sweeper is not None:
                sweeper.cancel()
            await self.socket.close()
            await page.close()
            await self.pairings.stop()
            await self.network.stop()
            await self.writer.close()
            self.reader.close()

    async def _learn_first(self, stop: asyncio.Event) -> bool:
        """Link before anybody can ask, where a backup was restored; return whether it did.

        What an agent asks before this node knows its own last entry would split its history.
        """
        held = await self.reader.run(hold.kept)
        if held is None or held.sign is not hold.Sign.RESTORED:
            return False
        await self.network.start()
        with self.signals.any() as changed, contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limits.LEARN_S):
                while not stop.is_set() and await self.reader.run(hold.kept) is not None:
                    await changed.wait()
                    changed.clear()
        return True

    def _facts(self) -> dict[str, Any]:
        port = self.settings.web_port
        return {
            "pid": os.getpid(),
            "version": VERSION,
            "home": str(self.home),
            "port": self.settings.port,
            "web_port": port,
            "url": f"http://127.0.0.1:{port}/",
            "started": self.context.started,
            "keep_texts_days": self.settings.keep_texts,
        }

    def _sweep_blobs(self, connection: sqlite3.Connection) -> None:
        self.context.blobs.sweep(exchange.wanted_blobs(connection).__contains__)

    def _recovered(self, transaction: Transaction) -> None:
        """The recovery words were used here: whoever has them may say go as well."""
        if hold.kept(transaction.connection) is not None:
            holding.release(transaction)
