"""The table of the audit's routes."""

from typing import Final

from web.audit_views import AuditPage
from web.route import Route

AUDIT: Final = (
    Route(
        name="audit",
        method="GET",
        path="/api/audit",
        summary="Who decided what, the latest first, each line checked against the log.",
        query=(
            "since", "until", "agent", "person", "rule", "machine", "outcome", "only", "before",
            "limit",
        ),
        gives=(AuditPage,),
    ),
)  # fmt: skip
