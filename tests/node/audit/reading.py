"""An audit of one machine of a fleet, as its page or its command reads it."""

import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from node.audit.pages import Audit
from node.audit.wanted import place, wanted
from node.verify.whole import current
from tests.node.desk.machines import Machine
from web.audit_views import AuditLine, AuditPage, AuditWanted


def page_of(
    connection: sqlite3.Connection,
    *,
    now: int,
    before: str | None = None,
    limit: int = 200,
    reasons: bool = True,
    **asked: Any,  # noqa: ANN401 -- the fields of what is wanted
) -> AuditPage:
    what = wanted(connection, msgspec.convert(asked, AuditWanted))
    audit = Audit(connection, what, now=now, reasons=reasons)
    return audit.page(None if before is None else place(before), limit)


async def some(machine: Machine, /, **asked: Any) -> AuditPage:  # noqa: ANN401
    """One page of it."""
    now = machine.context.clock.now()
    return await machine.reader.run(partial(page_of, now=now, **asked))


async def lines(machine: Machine, /, **asked: Any) -> list[AuditLine]:  # noqa: ANN401
    """All lines that are wanted, latest first; those of asks unless others are asked for."""
    asked.setdefault("only", "decisions")
    page = await some(machine, **asked)
    assert page.findings == []
    assert page.more is None
    return page.lines


async def line(machine: Machine, ask: str) -> AuditLine:
    """The line of one ask."""
    (found,) = [one for one in await lines(machine) if one.id == ask]
    return found


def unsound(home: Path) -> list[AuditLine]:
    """The lines of a data directory that do not hold; what cannot be told yet is none of them."""
    with current(home) as connection:
        page = page_of(connection, now=0)
    assert page.findings == []
    assert page.more is None
    return [one for one in page.lines if one.check == "fails"]
