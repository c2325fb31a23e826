"""Which agents were ever heard of in a project, and on which machines."""

import sqlite3

from node.desk.context import Context
from node.limits import SEAT_HEARD_MS
from node.store.transaction import Transaction
from sync.decide.message import Seat

_KNOWN = """
SELECT agent, node, max(at) FROM (
    SELECT agent, ?2 AS node, last_heard AS at FROM agent_session WHERE project = ?1
    UNION ALL SELECT agent, home, created FROM ask WHERE project = ?1 AND fleet = ?3
    UNION ALL SELECT agent, home, at FROM message WHERE project = ?1 AND agent != ''
        AND fleet = ?3
    UNION ALL SELECT agent, node, at FROM seat_seen WHERE project = ?1
) GROUP BY agent, node
"""


def known(context: Context, connection: sqlite3.Connection, project: str) -> dict[Seat, int]:
    """Return every agent of a project, with when it was last heard of.

    Those of machines that do not belong to the fleet any more are not among them: nothing
    would be carried there.
    """
    here = context.identity.name
    names = {
        node: str(name)
        for node, name in connection.execute("SELECT id, name FROM node WHERE removed IS NULL")
    }
    names.setdefault(here, context.machine)
    found: dict[Seat, int] = {}
    heard = [
        *connection.execute(_KNOWN, (project, here, context.identity.fleet)),
        *(
            (one.agent, one.node, one.last_heard)
            for one in context.fleet.sessions()
            if one.project == project
        ),
    ]
    for agent, node, at in heard:
        if node in names and agent:
            seat = Seat(agent=agent, machine=names[node], node=node)
            found[seat] = max(at, found.get(seat, 0))
    return found


def lately(seats: dict[Seat, int], now: int) -> list[Seat]:
    """Return those of them that `everyone` means."""
    return [seat for seat, at in seats.items() if at >= now - SEAT_HEARD_MS]


def remember(context: Context, transaction: Transaction) -> None:
    """Keep which agents presence tells of: presence itself is forgotten with the process."""
    for one in context.fleet.sessions():
        transaction.run(
            "INSERT INTO seat_seen VALUES (?, ?, ?, ?) ON CONFLICT (project, agent, node)"
            " DO UPDATE SET at = max(at, excluded.at)",
            one.project,
            one.agent,
            one.node,
            one.last_heard,
        )
