"""What a desk may know of the other machines: their state, their sessions, their rows.

The links know more; a desk is shown this much, so that it works without any link.
"""

import sqlite3
from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from sync.decide.card_state import HomeState
from web.views import ChildView, FleetMachine, FleetView, MachineView


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """How one machine stands, as far as this one knows."""

    state: HomeState
    at: int | None = None
    """When it was last known to be running, or removed; None: not known."""
    by: str | None = None
    """Name of the machine that saw it then; or of the person who removed it."""


class FarSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session of an agent on another machine, as that machine's presence tells it."""

    node: str
    """Full id of the machine it runs on."""
    id: str
    agent: str
    project: str
    branch: str | None = None
    started: int
    last_heard: int
    gate_last: int | None = None
    status: str = ""
    status_at: int | None = None
    children: Sequence[ChildView] = ()
    ended: bool = False
    heard: int
    """When this word of the machine was made, by our clock."""


class FleetSight(Protocol):
    """Read on any thread, inside one snapshot: implementations keep no cursor."""

    def seen(self, connection: sqlite3.Connection, node: str) -> Sight:
        """Return how a machine stands, by its full id.

        Removed machines and forked ones are told from the tables by `node.desk.far`;
        here it is enough to know `here`, `connected`, `away` and `never_seen`.
        """
        ...

    def sessions(self) -> Sequence[FarSession]:
        """Return the sessions on other machines, latest word first."""
        ...

    def view(self, connection: sqlite3.Connection, now: int) -> FleetView:
        """Return every machine as the page shows it."""
        ...


class AllHere:
    """No links at all: every machine that the tables know counts as being here."""

    def seen(self, connection: sqlite3.Connection, node: str) -> Sight:  # noqa: ARG002 -- all here
        """Here."""
        return Sight(state=HomeState.HERE)

    def sessions(self) -> Sequence[FarSession]:
        """None."""
        return ()

    def view(self, connection: sqlite3.Connection, now: int) -> FleetView:
        """The machines of the tables."""
        row = connection.execute("SELECT value FROM local WHERE name = 'fleet'").fetchone()
        return FleetView(
            fleet="" if row is None else bytes(row[0]).hex(),
            machines=[
                _machine(node, name, now, joined)
                for node, name, joined in connection.execute(
                    "SELECT id, name, joined FROM node WHERE removed IS NULL ORDER BY joined, id"
                )
            ],
            port=None,
            mdns="off",
            removed=None,
        )


def _machine(node: str, name: str, now: int, joined: int) -> FleetMachine:
    state: Literal["here"] = "here"
    return FleetMachine(
        machine=MachineView(id=node, short=node[:4], name=name),
        here=True,
        state=state,
        seen=now,
        seen_by=None,
        address=None,
        round_trip_ms=None,
        behind_us=0,
        behind_them=0,
        version=None,
        skew_ms=None,
        trouble=None,
        persons=[],
        given=[],
        joined=joined,
    )


ALL_HERE = AllHere()
