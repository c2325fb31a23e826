"""Sessions of agents: who was heard when, and whether a gate holds their calls."""

import sqlite3
from collections.abc import Sequence

import msgspec

from node import limits
from node.desk.requests import Asker, Child
from node.store.transaction import Transaction
from sync.decide.ask import check_words
from sync.errors import TooMany
from sync.limits import CHILDREN, NAME_CHARACTERS, TITLE_CHARACTERS

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


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What a session says it and its sub-agents do; `children` None: as before."""

    text: str
    children: Sequence[Child] | None = None


def checked(text: str, children: Sequence[Child] | None) -> Said:
    """Return what a session says. Raises `Invalid` and `TooMany` that name the limit."""
    check_words("status", text, TITLE_CHARACTERS)
    if len(children or ()) > CHILDREN:
        raise TooMany(
            f"{len(children or ())} sub-agents were told; at most {CHILDREN} are shown.",
            hint="Tell of those a person would ask about.",
        )
    for child in children or ():
        check_words("sub-agent's name", child.name, NAME_CHARACTERS, needed=True)
        check_words("sub-agent's doing", child.doing, TITLE_CHARACTERS)
    return Said(text=text, children=children)


def told(children: str | None) -> list[Child]:
    """Return the sub-agents as they are kept."""
    return [] if children is None else msgspec.json.decode(children, type=list[Child])


def hear(
    transaction: Transaction,
    who: Asker,
    *,
    gate: bool = False,
    said: Said | None = None,
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
        said.text if said else "",
        ended,
        said is not None,
    )
    transaction.run(
        "INSERT OR IGNORE INTO agent_name SELECT ?1, ?2"
        " WHERE (SELECT count(*) FROM agent_name WHERE session = ?1) < ?3",
        who.session,
        who.agent,
        limits.NAMES_OF_SESSION,
    )
    if said is not None:
        _keep(transaction, who, said)
    transaction.change("session", who.session)


def _keep(transaction: Transaction, who: Asker, said: Said) -> None:
    transaction.run(
        "INSERT INTO agent_status VALUES (?1, ?2, coalesce(?3, '[]')) ON CONFLICT (session)"
        " DO UPDATE SET at = ?2, children = coalesce(?3, children)",
        who.session,
        transaction.now,
        None if said.children is None else msgspec.json.encode(said.children).decode(),
    )


def names_of(connection: sqlite3.Connection, session: str, now: str) -> tuple[str, ...]:
    """The name by which a session calls itself now, and those it was heard under before."""
    before = connection.execute(
        "SELECT agent FROM agent_name WHERE session = ? AND agent != ? ORDER BY agent",
        (session, now),
    )
    return (now, *(str(agent) for (agent,) in before))
