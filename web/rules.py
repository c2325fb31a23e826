"""Routes of the rules in force."""

from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from web.desk import Desk
from web.replies import VIEWER, Body, body, reply

Check = Callable[[str], list[dict[str, Any]]]
"""Every problem of a rules file as `{line, reason, fix}`."""


class SourceBody(Body, kw_only=True, frozen=True):
    """A rules file's text."""

    source: str


class RulesBody(SourceBody, kw_only=True, frozen=True):
    """A rules file to put into force instead of the version `replaces`."""

    name: str = "rules"
    replaces: str | None = None


class RulesRoutes:
    """Handlers; each is described in docs/http.md."""

    def __init__(self, desk: Desk, check: Check) -> None:
        self._desk = desk
        self._check = check

    async def show(self, request: web.Request) -> web.StreamResponse:
        """The rules in force."""
        rules = await self._desk.rules(request[VIEWER])
        return reply({"rules": None if rules is None else msgspec.to_builtins(rules)})

    async def check(self, request: web.Request) -> web.StreamResponse:
        """Check a file without putting it into force."""
        errors = self._check((await body(request, SourceBody)).source)
        return reply({"ok": not errors, "errors": errors})

    async def apply(self, request: web.Request) -> web.StreamResponse:
        """Put a file into force."""
        wanted = await body(request, RulesBody)
        rules = await self._desk.apply_rules(
            request[VIEWER], name=wanted.name, source=wanted.source, replaces=wanted.replaces
        )
        return reply({"rules": msgspec.to_builtins(rules)})
