"""What the rules say about a call of an agent: the fleet's, and those of its repository.

Judging looks at the disk, so it never happens inside a transaction; who acts on it there
makes sure that nothing it rested on has changed (`check_still`).
"""

import asyncio
from dataclasses import dataclass
from typing import Any, NamedTuple

from node.desk.context import Context
from node.desk.requests import Asker
from node.desk.rules_store import RulesMoved, check_in_force
from node.desk.sessions import names_of
from node.gate.call import Call
from node.gate.law import Law, Ruled
from node.gate.repository import around
from node.gate.rules import Rules
from node.store.transaction import Transaction


class Held(NamedTuple):
    """What rules are held against."""

    tool: str
    arguments: Any
    cwd: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """What is said about a call, and on what that rests."""

    ruled: Ruled
    rules: Rules
    names: tuple[str, ...]


async def judge(context: Context, rules: Rules, who: Asker, call: Call) -> Judged:
    """Hold a call against the rules, under every name that its session has had."""
    names = await context.reader.run(lambda reading: names_of(reading, who.session, who.agent))
    ruled = await judge_as(context, rules, names, Held(call.tool, call.arguments, call.cwd))
    return Judged(ruled=ruled, rules=rules, names=names)


async def judge_as(
    context: Context,
    rules: Rules,
    names: tuple[str, ...],
    call: Held,
) -> Ruled:
    """Hold a call against the rules, and against its repository's as they are now."""

    def judged() -> Ruled:
        law = Law(account=rules, repository=around(call.cwd), now=context.clock.now())
        return law.judge(call.tool, call.arguments, call.cwd, agents=names)

    return await asyncio.to_thread(judged)


def check_still(transaction: Transaction, judged: Judged, who: Asker) -> None:
    """Raise `RulesMoved` when other rules are in force, or the session has other names."""
    check_in_force(transaction, judged.rules)
    if names_of(transaction.connection, who.session, who.agent) != judged.names:
        raise RulesMoved
