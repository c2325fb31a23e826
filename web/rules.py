"""Routes of the gate's rules."""

import re
from typing import Final

from aiohttp import web

from sync.errors import NotFound
from web.asks import ask_id
from web.desk import NodeDesk
from web.replies import VIEWER, Handler, body, carried_through, reply
from web.rules_messages import NewRules, Proposed, RulesInForce, RulesSource, Wanted

_VERSION: Final = re.compile(r"[0-9a-f]{4,64}")


class RulesRoutes:
    """Reading, checking, proposing and applying rules."""

    def __init__(self, desk: NodeDesk) -> None:
        self._desk = desk

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of their routes."""
        return {
            "rules": self.show,
            "check_rules": self.check,
            "apply_rules": self.apply,
            "rules_history": self.history,
            "rules_version": self.version,
            "propose_rule": self.propose,
        }

    async def show(self, request: web.Request) -> web.StreamResponse:
        """Reply the rules in force."""
        return reply(RulesInForce(rules=await self._desk.rules(request[VIEWER])))

    async def check(self, request: web.Request) -> web.StreamResponse:
        """Check a file without putting it into force."""
        source = (await body(request, RulesSource)).source
        return reply(await self._desk.check_rules(request[VIEWER], source))

    async def apply(self, request: web.Request) -> web.StreamResponse:
        """Put a file into force."""
        wanted = await body(request, NewRules)
        applied = self._desk.apply_rules(
            request[VIEWER], name=wanted.name, source=wanted.source, replaces=wanted.replaces
        )
        return reply(RulesInForce(rules=await carried_through(applied)))

    async def history(self, request: web.Request) -> web.StreamResponse:
        """Reply the versions there were."""
        return reply(await self._desk.rules_history(request[VIEWER]))

    async def version(self, request: web.Request) -> web.StreamResponse:
        """Reply one version with its text."""
        version = request.match_info["id"]
        if _VERSION.fullmatch(version) is None:
            raise NotFound(
                f"{version!r:.80} is no version of the rules.",
                hint="A version is named by 4 or more of its hexadecimal characters.",
            )
        return reply(await self._desk.rules_version(request[VIEWER], version))

    async def propose(self, request: web.Request) -> web.StreamResponse:
        """Reply a rule made of a decision."""
        wanted = await body(request, Wanted)
        proposal = await self._desk.propose_rule(request[VIEWER], ask_id(request), wanted)
        return reply(Proposed(proposal=proposal))
