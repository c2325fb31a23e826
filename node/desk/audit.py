"""The audit that a signed-in person reads."""

import sqlite3

from node.audit.pages import Audit
from node.audit.wanted import place, wanted
from node.desk import accounts
from node.desk.context import Context
from web.audit_views import AuditPage, AuditWanted
from web.desk import Viewer


async def audit(
    context: Context, viewer: Viewer, said: AuditWanted, *, before: str | None, limit: int
) -> AuditPage:
    """Return a page of it. Why accounts stand as they do is for those who may see to it."""
    behind = None if before is None else place(before)

    def read(connection: sqlite3.Connection) -> AuditPage:
        reasons = accounts.sees_remedy(connection, viewer.person)
        what = wanted(connection, said)
        return Audit(connection, what, now=context.clock.now(), reasons=reasons).page(behind, limit)

    return await context.reader.run(read)
