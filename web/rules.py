"""Routes of the gate's rules."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from web.desk import Desk
from web.messages import NewRules, RuleProblem, RulesChecked, RulesInForce, RulesSource
from web.replies import VIEWER, Handler, body, carried_through, reply

Check = Callable[[str], list[dict[str, Any]]]
"""Return every problem of a rules file as `{line, reason, fix}`."""


class RulesRoutes:
    """Reading, checking and applying rules."""

    def __init__(self, desk: Desk, check: Check) -> None:
        self._desk = desk
        self._check = check

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of their routes."""
        return {"rules": self.show, "check_rules": self.check, "apply_rules": self.apply}

    async def show(self, request: web.Request) -> web.StreamResponse:
        """Reply the rules in force."""
        return reply(RulesInForce(rules=await self._desk.rules(request[VIEWER])))

    async def check(self, request: web.Request) -> web.StreamResponse:
        """Check a file without putting it into force."""
        source = (await body(request, RulesSource)).source
        found = await asyncio.to_thread(self._check, source)
        problems = msgspec.convert(found, list[RuleProblem])
        return reply(RulesChecked(ok=not problems, errors=problems))

    async def apply(self, request: web.Request) -> web.StreamResponse:
        """Put a file into force."""
        wanted = await body(request, NewRules)
        applied = self._desk.apply_rules(
            request[VIEWER], name=wanted.name, source=wanted.source, replaces=wanted.replaces
        )
        return reply(RulesInForce(rules=await carried_through(applied)))
