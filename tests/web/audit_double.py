"""The part of the double of the desk that tells who decided what."""

from web.audit_views import AuditLine, AuditPage, AuditWanted
from web.desk import Viewer


def audit_line(**changed: object) -> AuditLine:
    """A line that holds, of somebody who did something."""
    fields: dict[str, object] = {
        "id": "6b" * 32,
        "at": 1_700_000_000_000,
        "at_utc": "2023-11-14T22:13:20.000Z",
        "what": "rules",
        "summary": "Ann applied the rules team, version 1.",
        "by": "Ann",
        "by_id": "p1",
        "machine": "testbox",
        "machine_id": "k" * 52,
        "session": None,
        "check": "holds",
        "findings": [],
    }
    return AuditLine(**fields | changed)  # type: ignore[arg-type]


class AuditDouble:
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        self.audited: list[tuple[AuditWanted, str | None, int]] = []

    async def audit(
        self, viewer: Viewer, wanted: AuditWanted, *, before: str | None, limit: int
    ) -> AuditPage:
        self.audited.append((wanted, before, limit))
        return AuditPage(lines=[audit_line()], more=None, findings=[])
