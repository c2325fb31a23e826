"""Desks on a store in this process: no sockets, and a clock that a test moves."""

from node.desk.context import Context, Limits
from node.desk.signals import Signals
from node.store.blobs import Blobs
from node.store.reader import Reader
from node.store.writer import Writer
from tests.node.store.stores import Counted, Kept


def context_of(kept: Kept, reader: Reader, *, writer: Writer | None = None) -> Context:
    """What every desk works with, over this store."""
    opened = kept.opened
    return Context(
        store_id=opened.store_id,
        machine=opened.machine,
        identity=opened.identity,
        writer=writer or kept.writer,
        reader=reader,
        blobs=Blobs(kept.home),
        clock=opened.clock,
        signals=Signals(),
        random=Counted(),
        limits=Limits(
            open_asks_per_session=9, asks_per_second_session=1_000, asks_per_second_node=1_000
        ),
        started=opened.clock.now(),
    )
