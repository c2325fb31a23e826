"""Sessions of agents: who was heard when, and whether a gate holds their calls."""

import sqlite3

from node import limits
from node.desk.requests import Asker
from node.store.transaction import Transaction

HEARD_EVERY_MS = 5_000
"""A session that calls often is written down this often at most: well within a lease."""


class SessionBook:
    """Remembers, on the event loop, what was written lately, to write less."""

    def __init__(self) -> None:
        self._written: dict[str, tuple[int, str, str | None]] = {}

    def due(self, who: Asker, now: int) -> bool:
        """Whether this session must be written down now; assumes that it then is."""
        at, project, branch = self._written.get(who.session, (0, "", None))
        if now - at < HEARD_EVERY_MS and project == who.project and branch == who.branch:
            return False
        self._written[who.session] = (now, who.project, who.branch)
        return True

    def forget(self, session: str) -> None:
        """The last writing failed: write again at the next call."""
        self._written.pop(session, None)


def hear(
    transaction: Transaction,
    who: Asker,
    *,
    gate: bool = False,
    status: str | None = None,
    ended: bool = False,
) -> None:
    """Write down that a session was heard now."""
    now = transaction.now
    transaction.run(
        "INSERT INTO agent_session"
        " (id, agent, project, branch, started, last_heard, gate_last, status, ended)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
        " agent = excluded.agent, project = excluded.project, branch = excluded.branch,"
        " last_heard = excluded.last_heard,"
        " gate_last = coalesce(excluded.gate_last, gate_last),"
        " status = CASE WHEN ? THEN excluded.status ELSE status END,"
        " ended = excluded.ended",
        who.session,
        who.agent,
        who.project,
        who.branch,
        now,
        now,
        now if gate else None,
        status or "",
        ended,
        status is not None,
    )
    transaction.run(
        "INSERT OR IGNORE INTO agent_name SELECT ?1, ?2"
        " WHERE (SELECT count(*) FROM agent_name WHERE session = ?1) < ?3",
        who.session,
        who.agent,
        limits.NAMES_OF_SESSION,
    )
    transaction.change("session", who.session)


def names_of(connection: sqlite3.Connection, session: str, now: str) -> tuple[str, ...]:
    """The name by which a session calls itself now, and those it was heard under before."""
    before = connection.execute(
        "SELECT agent FROM agent_name WHERE session = ? AND agent != ? ORDER BY agent",
        (session, now),
    )
    return (now, *(str(agent) for (agent,) in before))
