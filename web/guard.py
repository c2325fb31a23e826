"""Which requests may pass at all: pure decisions over method, path and headers.

Loopback is no protection by itself: any web page can make a browser send requests there,
and any name can be made to resolve there (notes: DNS rebinding, 0.0.0.0).
"""

from collections.abc import Mapping
from enum import Enum
from urllib.parse import urlsplit

import msgspec

SAFE = frozenset({"GET", "HEAD"})
HEADER = "X-Askmesh"
"""A header no form and no plain link can set."""

PAGE_HEADERS: dict[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
"""On every reply."""


class Class(Enum):
    """Who a route is for."""

    PUBLIC = "public"
    PERSON = "person"


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request does not pass."""

    status: int
    code: str
    message: str
    hint: str = ""


def hosts(port: int) -> frozenset[str]:
    """Return the only values of `Host` that name this listener."""
    return frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))


def decide(
    method: str, path: str, headers: Mapping[str, str], *, port: int
) -> Refusal | None:
    """Decide on a request before its session is looked at; None lets it pass.

    `headers` must find names in any case.
    """
    host = headers.get("Host", "").lower()
    if host not in hosts(port):
        return Refusal(
            status=421,
            code="wrong_host",
            message="This address is not the page's own.",
            hint=f"Open http://127.0.0.1:{port}/",
        )
    if headers.get("Content-Encoding", "identity") != "identity":
        return _foreign("Compressed requests are not taken.", status=415)
    api = path.startswith("/api/")
    return _origin(host, headers, api=api) or (
        _change(headers) if method not in SAFE else None
    )


def _origin(host: str, headers: Mapping[str, str], *, api: bool) -> Refusal | None:
    origin = headers.get("Origin")
    if origin is not None:
        parts = urlsplit(origin) if origin != "null" else None
        if parts is None or parts.scheme != "http" or parts.netloc.lower() != host:
            return _foreign("This request comes from another web site.")
    site = headers.get("Sec-Fetch-Site")
    # Anyone may link to the page itself; what it then reads comes from the page alone.
    if api and site not in (None, "same-origin", "none"):
        return _foreign("This request comes from another web site.")
    if not api and site == "cross-site" and headers.get("Sec-Fetch-Mode") not in (
        None,
        "navigate",
    ):
        return _foreign("Other web sites may link to this page, not use its parts.")
    return None


def _change(headers: Mapping[str, str]) -> Refusal | None:
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        return _foreign("A change must be sent as application/json.", status=415)
    if headers.get(HEADER) != "1":
        return _foreign(f"A change must carry the header {HEADER}: 1.")
    return None


def _foreign(message: str, *, status: int = 403) -> Refusal:
    return Refusal(
        status=status, code="foreign", message=message, hint="Use the page itself."
    )
