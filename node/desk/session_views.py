"""Sessions of agents as they are shown: our own, and what other machines tell of theirs."""

import sqlite3
from collections.abc import Callable

from node import limits
from node.desk.context import Context
from node.desk.sessions import told as told_children
from sync.decide.activity import activity
from web.views import ChildView, MachineView, SessionView

OWN = (
    "SELECT id, agent, project, branch, started, last_heard, gate_last, status, ended,"
    " (SELECT count(*) FROM ask WHERE ask.session = agent_session.id"
    "  AND state = 'waiting' AND home = ?), at, children"
    " FROM agent_session LEFT JOIN agent_status ON session = id"
    " WHERE ? IS NULL OR id = ? ORDER BY last_heard DESC LIMIT ?"
)


def session_views(
    context: Context,
    connection: sqlite3.Connection,
    machine: Callable[[str], MachineView],
    now: int,
    only: str | None,
) -> list[SessionView]:
    """Return the sessions heard of (`only`: those of this id), latest first."""
    found = [
        *_own(context, connection, machine, now, only),
        *_far(context, connection, machine, now, only),
    ]
    found.sort(key=lambda session: session.last_heard, reverse=True)
    return found[: limits.SESSIONS_SHOWN]


def _own(
    context: Context,
    connection: sqlite3.Connection,
    machine: Callable[[str], MachineView],
    now: int,
    only: str | None,
) -> list[SessionView]:
    here = context.identity.name
    return [
        SessionView(
            id=record[0],
            agent=record[1],
            project=record[2],
            project_name=project_name(record[2]),
            branch=record[3],
            machine=machine(here),
            started=record[4],
            last_heard=record[5],
            heard=now,
            gate="not_seen" if record[6] is None else "in_force",
            gate_last=record[6],
            status=record[7],
            ended=bool(record[8]),
            open_asks=record[9],
            status_at=record[10],
            children=[
                ChildView(name=one.name, doing=one.doing) for one in told_children(record[11])
            ],
            activity=activity(record[5], now, ended=bool(record[8])).value,
        )
        for record in connection.execute(OWN, (here, only, only, limits.SESSIONS_SHOWN))
    ]


def _far(
    context: Context,
    connection: sqlite3.Connection,
    machine: Callable[[str], MachineView],
    now: int,
    only: str | None,
) -> list[SessionView]:
    told = [item for item in context.fleet.sessions() if only is None or item.id == only]
    if not told:
        return []
    open_asks = {
        (home, session): count
        for home, session, count in connection.execute(
            "SELECT home, session, count(*) FROM ask WHERE state = 'waiting' AND home != ?"
            " GROUP BY home, session",
            (context.identity.name,),
        )
    }
    return [
        SessionView(
            id=session.id,
            agent=session.agent,
            project=session.project,
            project_name=project_name(session.project),
            branch=session.branch,
            machine=machine(session.node),
            started=session.started,
            last_heard=session.last_heard,
            heard=session.heard,
            gate="not_seen" if session.gate_last is None else "in_force",
            gate_last=session.gate_last,
            status=session.status,
            ended=session.ended,
            open_asks=open_asks.get((session.node, session.id), 0),
            status_at=session.status_at,
            children=list(session.children),
            activity=activity(session.last_heard, now, ended=session.ended).value,
        )
        for session in told
    ]


def project_name(project: str) -> str:
    """Return the last part of a project's id, for narrow places."""
    return project.rstrip("/").rpartition("/")[2] or project
