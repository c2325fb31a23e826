"""An audit, a page at a time, over one snapshot of the store."""

import sqlite3
from typing import Final

import msgspec

from node.audit.changes import Changes
from node.audit.decisions import Decisions
from node.audit.names import Names, utc
from node.audit.proof import SOUND_FLEET, Found, Proof
from node.audit.wanted import Key, Place, Wanted, keys, place_of
from node.desk.rows import by_id
from node.store import derive
from sync.errors import AskmeshError
from sync.log.names import node_name
from web.audit_views import AuditLine, AuditPage

UNREADABLE: Final = (AskmeshError, msgspec.MsgspecError, ValueError, TypeError, KeyError)
"""What damaged data raises that nothing better is known of: it is a finding, not an end."""


class Audit:
    """One reading: what is proven once holds for all its pages."""

    def __init__(
        self, connection: sqlite3.Connection, what: Wanted, *, now: int, reasons: bool = True
    ) -> None:
        """`reasons`: whether it is told why an account stands as it does."""
        self._connection = connection
        self._what = what
        self._proof = Proof(connection)
        names = Names(connection)
        self._fleet = derive.fleet_of(connection)
        node = connection.execute("SELECT value FROM local WHERE name = 'node'").fetchone()
        own = "" if node is None else node_name(node[0])
        self._decisions = Decisions(connection, names, self._proof, own=own, now=now)
        self._changes = Changes(connection, names, self._proof, reasons=reasons)

    def page(self, before: Place | None, limit: int) -> AuditPage:
        """Return the next lines behind `before`, each checked now."""
        found = keys(self._connection, self._what, before, limit + 1)
        shown = found[:limit]
        return AuditPage(
            lines=[self._line(key) for key in shown],
            more=place_of(shown[-1]) if len(found) > limit else None,
            findings=[] if self._proof.fleet(self._fleet) else [SOUND_FLEET],
        )

    def _line(self, key: Key) -> AuditLine:
        found = Found()
        try:
            if key.ask:
                row = by_id(self._connection, key.ref)
                line = None if row is None else self._decisions.line(row, found)
            else:
                line = self._changes.line(bytes.fromhex(key.ref), key.at, found)
        except UNREADABLE:
            line = None
        if line is None:
            found.fails.append("what is kept of it cannot be read")
            line = _blank(key)
        return msgspec.structs.replace(
            line,
            check="fails"
            if found.fails
            else "disputed"
            if found.disputed
            else "waits"
            if found.waits
            else "holds",
            findings=[*found.fails, *found.disputed, *found.waits],
        )


def _blank(key: Key) -> AuditLine:
    """The line of what cannot be read at all."""
    return AuditLine(
        id=key.ref,
        at=key.at,
        at_utc=utc(key.at),
        what="ask" if key.ask else "unknown",
        summary="This cannot be read.",
        by=None,
        by_id=None,
        machine="",
        machine_id="",
        session=None,
        check="fails",
        findings=[],
    )
