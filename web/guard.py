"""Which requests may pass at all: pure decisions over method, target and headers.

Loopback protects nothing by itself: any web page can make a browser send requests to it,
and any name can be made to resolve to it. What is decided here needs no session; which
routes need one stands in `web.routes`.
"""

import re
from collections.abc import Sequence
from typing import Final

from sync.errors import CallerError, Invalid
from web.errors import Foreign, NotJson, WrongHost

Headers = Sequence[tuple[str, str]]
"""As they came, so that a header sent twice is seen twice."""

CHANGE_HEADER: Final = "X-Askmesh"
"""A header that no form and no link can set; another site's script would have to ask first."""

SAFE: Final = frozenset({"GET", "HEAD"})

KEY_HEADER: Final = "X-Askmesh-Key"
"""The half of a page's session that only the page's own origin can read."""

COOKIE_CHARACTERS: Final = 22
"""Of a page session's 43: 132 bits in the cookie, 126 in the key."""

CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'"
)

REPLY_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Server": "askmesh",
}
"""On every reply."""

_JSON = re.compile(r'application/json(\s*;\s*charset="?utf-8"?)?\s*', re.IGNORECASE)
_SECRET = re.compile(r"[A-Za-z0-9_-]{16,128}")
_STORE_ID = re.compile(r"[A-Za-z0-9]+")


def hosts(port: int) -> frozenset[str]:
    """Return the only values of `Host` that name this listener."""
    return frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))


def decide(
    method: str, target: str, headers: Headers, *, port: int, page: bool
) -> CallerError | None:
    """Decide on a request before its session is looked at; None lets it pass.

    `target` is what stands in the request line. `page` says that the route serves the page
    or a part of it: only there may other sites send a person, and only as a whole window.
    """
    host = _one(headers, "Host")
    if host is None or host.lower() not in hosts(port) or not target.startswith("/"):
        return WrongHost(hint=f"Open http://127.0.0.1:{port}/ instead.")
    return (
        _origin(host.lower(), headers)
        or _site(method, headers, page=page)
        or _body(method, headers)
        or (None if method in SAFE else _change(headers))
    )


def _origin(host: str, headers: Headers) -> CallerError | None:
    """Whose page sent this, where the browser says so: `null` is a sandbox or a file."""
    origins = _all(headers, "Origin")
    if origins and [origin.lower() for origin in origins] != [f"http://{host}"]:
        return Foreign(hint="Use the page itself.")
    return None


def _site(method: str, headers: Headers, *, page: bool) -> CallerError | None:
    """Where the request began, as browsers have said since 2020 (Safari since 2023)."""
    sites = _all(headers, "Sec-Fetch-Site")
    if not sites or sites in (["same-origin"], ["none"]):
        return None
    window = (
        method == "GET"
        and _one(headers, "Sec-Fetch-Mode") == "navigate"
        and _one(headers, "Sec-Fetch-Dest") == "document"
    )
    if page and window and len(sites) == 1:
        return None
    return Foreign(hint="Other sites may link to the page, not use what it is made of.")


def _body(method: str, headers: Headers) -> CallerError | None:
    if any(value.strip().lower() != "identity" for value in _all(headers, "Content-Encoding")):
        return NotJson("The body must not be compressed.")
    if method not in SAFE:
        return None
    lengths = [value.strip() for value in _all(headers, "Content-Length")]
    if _all(headers, "Transfer-Encoding") or any(length != "0" for length in lengths):
        return Invalid(f"{method} takes no body.")
    return None


def _change(headers: Headers) -> CallerError | None:
    kind = _one(headers, "Content-Type")
    if kind is None or not _JSON.fullmatch(kind):
        return NotJson()
    if _one(headers, CHANGE_HEADER) != "1":
        return Foreign(f"A change must carry the header {CHANGE_HEADER}: 1.")
    return None


def cookie_name(store_id: str, port: int) -> str:
    """Name the session's cookie: browsers share cookies over all ports of a host."""
    if not _STORE_ID.fullmatch(store_id):
        raise ValueError("a store's id must fit into the name of a cookie")
    return f"askmesh_{store_id[:8]}_{port}"


def halves(secret: str) -> tuple[str, str]:
    """Return what of a page's secret goes into the cookie, and what into the page's keeping.

    Browsers send a cookie to every port of a host, so to whatever else runs on this machine
    and is opened under the page's name; what a page keeps is given to its own port alone.
    """
    return secret[:COOKIE_CHARACTERS], secret[COOKIE_CHARACTERS:]


def session_secret(headers: Headers, name: str, key: str | None = None) -> str | None:
    """Return the session's secret, cookie and key; None unless there is exactly one cookie.

    A terminal's is whole in its cookie, and never in a browser. `key` is from the address of
    the one route that a browser calls without headers of ours.

    A page on another port can set a second cookie of this name; which of the two is the
    person's cannot be told.
    """
    pairs = [
        pair.strip().partition("=")[::2]
        for header in _all(headers, "Cookie")
        for pair in header.split(";")
    ]
    secrets = [value for key, value in pairs if key == name]
    keys = _all(headers, KEY_HEADER) or ([] if key is None else [key])
    whole = "".join([*secrets, *keys])
    if len(secrets) != 1 or len(keys) > 1 or not _SECRET.fullmatch(whole):
        return None
    return whole


def _all(headers: Headers, name: str) -> list[str]:
    wanted = name.lower()
    return [value for key, value in headers if key.lower() == wanted]


def _one(headers: Headers, name: str) -> str | None:
    """Return the value of a header; None when it is missing, or there are several."""
    values = _all(headers, name)
    return values[0] if len(values) == 1 else None
