"""What the page needs of the node for an audit. Persons only, like `Desk`."""

from typing import TYPE_CHECKING, Protocol

from web.audit_views import AuditPage, AuditWanted

if TYPE_CHECKING:
    from web.desk import Viewer


class AuditDesk(Protocol):
    """Nothing here changes anything."""

    async def audit(
        self, viewer: "Viewer", wanted: AuditWanted, *, before: str | None, limit: int
    ) -> AuditPage:
        """Return who decided what, the latest first, each line checked against the log.

        `before`: the `more` of an earlier page. Raises `NotFound` for a person or a machine
        that nobody knows, `Invalid`.
        """
        ...
