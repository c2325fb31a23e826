"""What the rules say about a call of an agent: the fleet's, and those of its repository."""

import asyncio
import sqlite3

from node.desk.context import Context
from node.desk.requests import Asker
from node.desk.rules_store import RulesStore
from node.desk.sessions import names_of
from node.gate.call import Call
from node.gate.law import Law, Ruled
from node.gate.repository import around
from node.gate.rules import Rules


async def law_over(rules: Rules, cwd: str) -> Law:
    """The rules over calls in a folder: those in force, and its repository's as they are now."""
    return Law(account=rules, repository=await asyncio.to_thread(around, cwd))


def ruled(connection: sqlite3.Connection, law: Law, who: Asker, call: Call) -> Ruled:
    """What is to happen with a call, under every name that its session has had."""
    agents = names_of(connection, who.session, who.agent)
    return law.judge(call.tool, call.arguments, call.cwd, agents=agents)


async def judge(context: Context, store: RulesStore, who: Asker, call: Call) -> Ruled:
    """What is to happen with a call now."""
    law = await law_over(await store.in_force(), call.cwd)
    return await context.reader.run(lambda connection: ruled(connection, law, who, call))
