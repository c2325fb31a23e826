"""What need not have been asked: one tap of a person, counted for each agent."""

import sqlite3

from node.desk import persons
from node.desk.context import Context
from node.desk.rows import find
from node.desk.views import Looking
from node.store.transaction import Transaction
from sync.decide.people import Act, may
from sync.errors import NotAllowed
from sync.log.facts import MarkFacts
from sync.log.kinds import EntryType
from web.desk import Viewer
from web.together_views import AgentCount
from web.views import AskView

COUNTS = (
    "SELECT agent, contract, count(*), total(EXISTS (SELECT 1 FROM needless"
    "  JOIN speaks_for ON speaks_for.node = needless.node"
    "   AND speaks_for.person = needless.person"
    "  WHERE needless.ask = ask.id AND needless))"
    " FROM ask WHERE id NOT IN (SELECT old FROM ask_alias)"
    " GROUP BY agent, contract ORDER BY agent, contract"
)
"""A mark counts where its machine speaks, or once spoke, for the person: no other could be
that person's word. What was raised again in another fleet is counted once."""


async def mark(context: Context, viewer: Viewer, ask_id: str, *, needless: bool) -> AskView:
    """Say that something need not have been asked, or take that back."""

    def job(transaction: Transaction) -> AskView:
        connection = transaction.connection
        row = find(connection, ask_id)
        if not may(persons.everyone(connection).get(viewer.person), Act.ANSWER):
            raise NotAllowed("You may see this, but not mark it.")
        read = connection.execute(
            "SELECT read FROM mark WHERE ask = ? AND person = ?", (row.id, viewer.person)
        ).fetchone()
        transaction.append(
            EntryType.MARK,
            MarkFacts(
                ask=row.id,
                person=viewer.person,
                read=bool(read and read[0]),
                needless=needless,
                at=transaction.now,
            ),
        )
        transaction.change("ask", row.id)
        return Looking(context, connection, viewer.person).ask(row)

    return await context.writer.run("needless", job)


def report(connection: sqlite3.Connection) -> list[AgentCount]:
    """Return how much each agent asked under each contract, and how much of it needlessly."""
    return [
        AgentCount(agent=agent, contract=contract, asked=asked, needless=int(needless))
        for agent, contract, asked, needless in connection.execute(COUNTS)
    ]
