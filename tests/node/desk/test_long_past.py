"""No step of an ask's life, and no look at the inbox, reads all that ever was."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from node.desk.far import tell_cards
from node.fleet.network import HOMES
from node.store import exchange
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import viewer

LARGE = "entry|ask|vote|ruling|mark|about|unproven|reply|call|ask_key|ask_content|gate_call"
ANY_ROW = "FROM entry LIMIT 1"
CARRIED = "SELECT author, log, seq, header"
"""How the fleet of these tests carries entries by hand."""
SCAN = re.compile(
    rf"SCAN (?:{LARGE})\b(?! USING (?:COVERING )?INDEX (\w+))"
    # Nearly all entries are of one fleet.
    r"|SEARCH entry USING (?:COVERING )?INDEX \w+ \(fleet=\?\)$"
)
IN_PART = {
    "ask_posted": "the latest few notes",
    "ask_waiting": "what is open",
    "ask_open": "what is open",
    "ask_newest": "the latest few asks",
    "vote_open": "votes that wait for a ruling",
    "ask_blob": "the exact calls, of which there are few",
}
"""Indexes that may be read from one end, or from end to end."""
READ_THROUGH = re.compile(rf"SCAN (?:{LARGE})\b.* INDEX (\w+)")


class Heard:
    """Every statement that goes to a store, with the values it was first given."""

    def __init__(self) -> None:
        self.said: dict[str, Any] = {}

    def connect(self, *arguments: Any, **more: Any) -> sqlite3.Connection:  # noqa: ANN401
        said = self.said

        class Telling(sqlite3.Connection):
            def execute(self, sql: str, values: Any = ()) -> sqlite3.Cursor:  # noqa: ANN401
                said.setdefault(sql, values)
                return super().execute(sql, values)

        return CONNECT(*arguments, factory=Telling, **more)

    def scans(self, store: sqlite3.Connection) -> list[str]:
        """Statements that read a large table from end to end."""
        found = []
        for sql, values in self.said.items():
            if not sql.startswith(("SELECT", "UPDATE", "DELETE")):
                continue
            if sql.endswith(ANY_ROW) or sql.startswith(CARRIED):
                continue
            for *_, step in store.execute(f"EXPLAIN QUERY PLAN {sql}", values):
                index = READ_THROUGH.match(step)
                if SCAN.match(step) or (index and index[1] not in IN_PART):
                    found.append(f"{step}: {sql}")
        return found


CONNECT: Callable[..., sqlite3.Connection] = sqlite3.connect


async def live(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    for kind in ("question", "note", "done", "question"):
        ask = await desk.ask(kind)
        await fleet.meet("desk", "laptop")
        if kind == "question":
            await laptop.vote(fleet.ann, ask, "answer", text="yes")
            await fleet.meet("desk", "laptop")
            await desk.fetch(ask)
        for machine in (desk, laptop):
            await machine.sweeper.sweep()
            await machine.reading.state(viewer(fleet.ann))
            await machine.reading.ask(ask, fleet.ann)
            await machine.history(ask, fleet.ann)
    for closed in (True, False):
        for project in (None, "shop"):
            await desk.reading.listing(closed=closed, project=project)
    await desk.reading.node_status({}, lambda _connection: [])
    await laptop.writer.run("tell", lambda transaction: tell_cards(transaction, desk.id))
    await laptop.reader.run(exchange.vector)
    await laptop.reader.run(lambda store: store.execute(HOMES, (0, laptop.id)).fetchall())
    await desk.restart()


async def test_nothing_reads_a_long_past(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    async with fleet_of(tmp_path, "desk", "laptop") as fleet:
        monkeypatch.setattr(sqlite3, "connect", heard.connect)
        await fleet["desk"].restart()
        await fleet["laptop"].restart()
        heard.said.clear()
        await live(fleet)
        monkeypatch.undo()
        assert len(heard.said) > 50, "the store was listened to"
        with closing(CONNECT(tmp_path / "desk" / "store.db")) as store:
            assert heard.scans(store) == []
            store.execute("DROP INDEX ask_number")
            store.execute("DROP INDEX entry_stated")
        # A connection explains from memory what it has explained before.
        with closing(CONNECT(tmp_path / "desk" / "store.db")) as store:
            assert len(heard.scans(store)) > 1, "this would notice"
