"""What the figures of two machines need: a floor, a page that listens, a store that is full."""

import http.client
import json
import os
import queue
import socket
import sqlite3
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.clock import SystemTimes
from node.desk.context import Limits
from node.desk.raising import NewAsk, record
from node.desk.requests import Asker
from node.founding import open_store
from node.store.connection import open_reader
from node.store.transaction import Transaction
from sync.decide.ask import Kind
from sync.log.entry import NodeKey
from sync.net.certificate import certificate_of
from sync.net.tls import Keyring
from tests.bench.figures import commit_floor, timed
from tests.fleet.fleets import Machine

LIFTED = {
    "open_asks_per_session": 10**7,
    "asks_per_second_session": 10**6,
    "asks_per_second_node": 10**6,
}
LOOK_S = 0.0003
QUESTIONS_EVERY = 10
"""Of the entries of a full store every tenth is a question, the others are notes."""


def floor_ms(folder: Path) -> tuple[float, str]:
    """Two durable commits, a TLS round trip, a signature and its check; medians, and in words."""
    commit = commit_floor(folder)
    trip = round_trip_floor()
    sign, check = signature_floor()
    total = 2 * commit + trip + sign + check
    words = (
        f"{total:.2f} ms: 2 x {commit:.2f} a durable commit, {trip:.2f} a TLS round trip,"
        f" {sign + check:.2f} a signature and its check"
    )
    return total, words


def signature_floor() -> tuple[float, float]:
    """The median milliseconds of signing a header, and of checking that."""
    key = Ed25519PrivateKey.generate()
    header = os.urandom(200)
    signature = key.sign(header)
    public = key.public_key()
    signed, _ = timed(lambda: key.sign(header), 500)
    checked, _ = timed(lambda: public.verify(signature, header), 500)
    return statistics.median(signed), statistics.median(checked)


def round_trip_floor() -> float:
    """The median milliseconds of 600 bytes there and 100 back over the TLS of links."""
    one, other = (NodeKey(Ed25519PrivateKey.generate()) for _ in range(2))
    certificate = certificate_of(other)
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        plain, _ = listening.accept()
        with Keyring(one).server([certificate]).wrap_socket(plain, server_side=True) as taken:
            while taken.recv(600):
                taken.sendall(bytes(100))

    threading.Thread(target=serve, daemon=True).start()
    context = Keyring(other).client(certificate_of(one))
    plain = socket.create_connection(listening.getsockname())
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with listening, context.wrap_socket(plain, server_hostname=None) as link:

        def trip() -> None:
            link.sendall(bytes(600))
            assert len(link.recv(100)) == 100

        timed(trip, 50)
        samples, _ = timed(trip, 500)
    return statistics.median(samples)


@contextmanager
def looking(machine: Machine) -> Iterator[Callable[[str, str], float]]:
    """A reader of a store: waits until a query with one id finds something, and says when."""
    with closing(open_reader(machine.home)) as store:

        def seen(sql: str, ask: str) -> float:
            end = time.perf_counter() + 20
            while store.execute(sql, (ask,)).fetchone() is None:
                assert time.perf_counter() < end, (sql, ask)
                time.sleep(LOOK_S)
            return time.perf_counter()

        yield seen


class Listening:
    """A page's stream of events; each with the moment at which it came."""

    def __init__(self, machine: Machine) -> None:
        person = machine.person
        since = person.state()["n"]
        self._connection = http.client.HTTPConnection("127.0.0.1", person.port, timeout=60)
        headers = {"X-Askmesh": "1", "Cookie": person.cookie or ""}
        self._connection.request("GET", f"/api/events?since={since}", headers=headers)
        self._stream = self._connection.getresponse()
        assert self._stream.status == 200
        self._came: queue.SimpleQueue[tuple[float, dict[str, Any]]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for line in self._stream:
                if line.startswith(b"data: "):
                    self._came.put((time.perf_counter(), json.loads(line[6:])))
        except (OSError, ValueError, AttributeError):
            return

    def ask(self, ask: str) -> float:
        """When an event about an ask came."""
        while True:
            at, event = self._came.get(timeout=20)
            if event.get("topic") == "ask" and event.get("ref") == ask:
                return at

    def close(self) -> None:
        """End it."""
        if self._connection.sock is not None:
            self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._stream.close()
        self._connection.close()


def fill(home: Path, number: int) -> None:
    """Record asks and notes as the node does, in few transactions; the node is not running."""
    opened = open_store(home, create=False, machine="box", times=SystemTimes(), random=os.urandom)
    with closing(opened.connection) as store:
        made = 0
        while made < number:
            store.execute("BEGIN IMMEDIATE")
            transaction = Transaction(
                store,
                identity=opened.identity,
                now=opened.clock.now(),
                wall=opened.clock.times.wall_ms(),
                random=os.urandom,
            )
            for _ in range(min(1_000, number - made)):
                made += 1
                _record(transaction, made)
            store.execute("COMMIT")


def _record(transaction: Transaction, n: int) -> None:
    who = Asker(agent="claude", session=f"s-{n % 50}", project="example.org/team/app", cwd="/")
    kind = Kind.QUESTION if n % QUESTIONS_EVERY == 0 else Kind.NOTE
    deadline = 86_400_000 if kind is Kind.QUESTION else None
    ask = NewAsk(kind=kind, title=f"Row {n} of many", deadline_ms=deadline)
    record(transaction, who, ask, Limits(**LIFTED))


def held(home: Path) -> int:
    """How many entries a store holds (its decisions and chatter together)."""
    with closing(sqlite3.connect(f"file:{home}/store.db?mode=ro", uri=True)) as store:
        (count,) = store.execute("SELECT sum(seq) FROM head").fetchone()
    return int(count or 0)
