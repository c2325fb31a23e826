"""What every desk works with: the store, the clock, the signals and who we are."""

from collections.abc import Callable

import msgspec

from node.clock import Clock
from node.desk.sight import ALL_HERE, FleetSight
from node.desk.signals import Signals
from node.limits import KEEP_TEXTS_DAYS
from node.store.blobs import Blobs
from node.store.reader import Reader
from node.store.transaction import Identity
from node.store.writer import Writer
from sync.log.names import SHORT

__all__ = ["Context", "FleetSight", "Limits"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits a bench may lift; everyone else takes `node.limits`."""

    open_asks_per_session: int
    asks_per_second_session: int
    asks_per_second_node: int


class Context(msgspec.Struct, kw_only=True):
    """Shared by all desks of one node. Of all this only `machine` ever changes."""

    store_id: str
    machine: str
    """What this machine is called; the links' part follows what the statements say."""
    identity: Identity
    writer: Writer
    reader: Reader
    blobs: Blobs
    clock: Clock
    signals: Signals
    random: Callable[[int], bytes]
    limits: Limits
    started: int
    keep_texts_days: int = KEEP_TEXTS_DAYS
    """How long words are kept after an ask is over; 0: for ever."""
    fleet: FleetSight = ALL_HERE
    """What is known of the other machines right now."""

    def short(self, ask: str) -> str:
        """Return an ask's short id."""
        home, _, number = ask.rpartition("-")
        return f"{home[:SHORT]}-{number}"
