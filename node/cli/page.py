"""The page's routes for one command: HTTP on loopback, never through a proxy."""

import contextlib
import http.client
import json
from typing import Any, Final
from urllib.parse import quote

from node.bridge.client import NodeAway, Refused
from web.guard import KEY_HEADER

REPLY_S: Final = 45.0
"""A vote may wait 30 s for its ruling."""

HOST: Final = "127.0.0.1"


class Page:
    """One connection at a time to the page's listener; the cookie lives in this object only."""

    def __init__(self, port: int, *, timeout: float = REPLY_S) -> None:
        self.port = port
        self._timeout = timeout
        self._cookie = ""
        self._key = ""
        """The other half of a page session's secret."""

    def get(self, *path: str) -> dict[str, Any]:
        """Read one object, e.g. `get("asks", id)` of `/api/asks/{id}`."""
        return self._carry("GET", path, None)

    def post(self, *path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Post one object; the reply object."""
        return self._carry("POST", path, body)

    def put(self, *path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Put one object; the reply object."""
        return self._carry("PUT", path, body)

    def delete(self, *path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Delete; the reply object."""
        return self._carry("DELETE", path, body or {})

    def hold(self) -> http.client.HTTPConnection:
        """Bind the terminal's session to a connection: the node ends it when this one ends.

        That is so however this process ends. Keep what is returned until then.
        """
        connection = http.client.HTTPConnection(HOST, self.port, timeout=self._timeout)
        with contextlib.suppress(OSError):  # whoever asks next is told that the node is away
            connection.request("GET", "/api/sessions/mine/line", headers={"Cookie": self._cookie})
        return connection

    def _carry(
        self, method: str, path: tuple[str, ...], body: dict[str, Any] | None
    ) -> dict[str, Any]:
        headers = {"X-Askmesh": "1", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if self._cookie:
            headers["Cookie"] = self._cookie
        if self._key:
            headers[KEY_HEADER] = self._key
        address = "/".join(("/api", *(quote(part, safe="", errors="replace") for part in path)))
        data = None if body is None else json.dumps(body).encode()
        connection = http.client.HTTPConnection(HOST, self.port, timeout=self._timeout)
        try:
            connection.request(method, address, body=data, headers=headers)
            reply = connection.getresponse()
            content = reply.read()
            self._keep_cookie(reply)
        except (OSError, http.client.HTTPException) as error:
            sentence = f"The page of the node does not answer on {HOST}:{self.port}."
            raise NodeAway(sentence) from error
        finally:
            connection.close()
        found = _object_of(reply.status, content)
        if path == ("session",):
            self._key = str(found.get("key") or "")
        return found

    def _keep_cookie(self, reply: http.client.HTTPResponse) -> None:
        for line in reply.headers.get_all("Set-Cookie") or []:
            pair = line.partition(";")[0].strip()
            if pair.startswith("askmesh_"):
                self._cookie = pair


class PageRefused(Refused):
    """The page answered that it will not do this; `error` is all it said about it."""

    def __init__(self, status: int, error: dict[str, Any]) -> None:
        super().__init__(
            str(error.get("code", "failed")),
            str(error.get("message", f"The page replied with status {status}.")),
            str(error.get("hint") or ""),
            status,
        )
        self.error = error


def has_person(port: int) -> bool:
    """Whether anyone has ever signed in on this fleet."""
    return bool(Page(port, timeout=10).get("hello").get("has_person"))


def _object_of(status: int, content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content) if content else {}
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise NodeAway("What replied is not the page of an askmesh node.", sent=True)
    if status >= 400:
        error = value.get("error")
        raise PageRefused(status, error if isinstance(error, dict) else {})
    return value
