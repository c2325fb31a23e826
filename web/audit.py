"""The route of the audit."""

from typing import Final

import msgspec
from aiohttp import web

from sync.decide.visible import quoted
from sync.errors import Invalid
from sync.misfit import misfit
from web.audit_desk import AuditDesk
from web.audit_views import AuditWanted
from web.limits import AUDIT_LINES, AUDIT_LINES_MOST, AUDIT_WORD_CHARACTERS
from web.replies import ROUTE, VIEWER, Handler, reply

_NUMBERS: Final = frozenset({"since", "until", "limit"})


class AuditRoutes:
    """What a person reads of what was decided."""

    def __init__(self, desk: AuditDesk) -> None:
        self._desk = desk

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of their routes."""
        return {"audit": self.audit}

    async def audit(self, request: web.Request) -> web.StreamResponse:
        """Reply a page of lines."""
        said = _asked(request)
        limit = said.pop("limit", AUDIT_LINES)
        before = said.pop("before", None)
        if not isinstance(limit, int) or not 0 < limit <= AUDIT_LINES_MOST:
            raise Invalid(f"limit is a number from 1 to {AUDIT_LINES_MOST}.")
        try:
            wanted = msgspec.convert(said, AuditWanted)
        except msgspec.ValidationError as error:
            raise misfit(error, AuditWanted) from None
        page = await self._desk.audit(
            request[VIEWER], wanted, before=None if before is None else str(before), limit=limit
        )
        return reply(page)


def _asked(request: web.Request) -> dict[str, str | int]:
    """What the address asks for. Raises `Invalid`."""
    said: dict[str, str | int] = {}
    for name, value in request.query.items():
        if name not in request[ROUTE].query or name in said:
            raise Invalid(f"{quoted(name)} is not asked for here, or twice.")
        if len(value) > AUDIT_WORD_CHARACTERS:
            raise Invalid(f"{name} is longer than {AUDIT_WORD_CHARACTERS} characters.")
        if not value:
            continue  # a form sends what was left empty
        if name in _NUMBERS:
            if not (value.isascii() and value.isdigit()):
                raise Invalid(f"{name} is a whole number.")
            said[name] = int(value)
        else:
            said[name] = value
    return said
