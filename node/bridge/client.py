"""HTTP over the node's Unix socket: for hook, bridge and command line.

Written by hand because `http.client` alone takes as long to import as a hook may take
to run. It speaks to our own node only, so it knows just the forms that node uses.
"""

import json
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from node.bridge.paths import UnsafeFolder, check_socket_folder, owner_of, socket_path

CONNECT_S: Final = 5.0
"""A node that does not even accept for this long is stuck."""

REPLY_BYTES: Final = 64 * 1024 * 1024
"""A listing of ten thousand asks fits; a runaway reply does not fill the memory."""

HEAD_BYTES: Final = 16 * 1024
RETRY_S: Final = 0.05


class NodeAway(Exception):
    """The node could not be reached."""

    def __init__(self, sentence: str, *, hint: str = "", sent: bool = False) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint
        self.sent = sent
        """True: the request had gone out, so whether it was carried out is not known."""


class Refused(Exception):
    """The node answered that it will not do this."""

    def __init__(self, code: str, message: str, hint: str, status: int) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.status = status


def connect(home: str) -> socket.socket:
    """A connection to the node of this data directory. Raises `NodeAway`."""
    try:
        check_socket_folder(home)
    except UnsafeFolder as error:
        raise NodeAway(str(error)) from error
    path = socket_path(home)
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(CONNECT_S)
    try:
        link.connect(path)
        if peer_uid(link) not in (owner_of(home), None):
            raise NodeAway(f"The socket {path} belongs to another user's program.")
    except NodeAway:
        link.close()
        raise
    except OSError as error:
        link.close()
        raise NodeAway(away(home, path, error)) from error
    return link


def away(home: str, path: str, error: OSError) -> str:
    """The sentence for a connection that could not be made."""
    if isinstance(error, PermissionError):
        return f"This user may not use the node of {home} ({path}: permission denied)."
    if isinstance(error, TimeoutError | BlockingIOError):
        return f"The node of {home} does not take connections; it may be stuck."
    return f"The node of {home} is not running."


def peer_uid(link: socket.socket) -> int | None:
    """The user behind a connected Unix socket; None where the system does not say."""
    if not sys.platform.startswith("linux"):
        return None
    size = struct.calcsize("3i")
    return int(struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))[1])


def call(  # noqa: PLR0917 - the last two are usually named
    home: str,
    route: str,
    who: dict[str, Any] | None,
    arguments: dict[str, Any],
    request_id: str | None = None,
    timeout: float | None = None,
    *,
    patience: float = 0.0,
) -> dict[str, Any]:
    """Carry out one agent route, e.g. `call(home, "flag", who, {...})`; the reply object.

    `timeout` bounds the silence while waiting for the reply (None: no bound).
    `patience` is for how long a node that went away is tried again, under the same
    request id, which makes the second try safe. Raises `NodeAway` and `Refused`.
    """
    request = request_id or new_request_id()
    body = {"who": who, "request": request, "arguments": arguments}
    return post(home, f"/agent/{route}", body, timeout=timeout, patience=patience)


def as_bytes(body: dict[str, Any]) -> bytes:
    """The body as it is sent. Raises `Refused` for what JSON has no way to write."""
    try:
        return json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Refused(
            "invalid",
            "This cannot be sent: it holds a number without end, bytes that are not UTF-8,"
            " or more levels than fit. Nothing was recorded.",
            "Give finite numbers, and text in UTF-8.",
            400,
        ) from error


def new_request_id() -> str:
    """A random id of one request; the node returns the first reply to its retries."""
    return os.urandom(16).hex()


def post(
    home: str,
    path: str,
    body: dict[str, Any],
    *,
    timeout: float | None = None,
    patience: float = 0.0,
) -> dict[str, Any]:
    """Post an object and return the reply object, trying again as `call` says."""
    until = time.monotonic() + patience
    data = as_bytes(body)
    while True:
        try:
            return once(home, "POST", path, data, timeout)
        except NodeAway:
            if time.monotonic() >= until:
                raise
        time.sleep(RETRY_S)


def get(home: str, path: str, *, timeout: float | None = 10.0) -> dict[str, Any]:
    """Read one object, e.g. `get(home, "/agent/node")`. Raises `NodeAway` and `Refused`."""
    return once(home, "GET", path, b"", timeout)


def watch(home: str, since: int | None = None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The node's events as they come, `(name, data)`; ends when the node ends them."""
    path = "/agent/watch" if since is None else f"/agent/watch?since={since}"
    link = connect(home)
    with link, link.makefile("rb") as reply:
        try:
            send(link, "GET", path, b"")
            status, headers = read_head(reply)
            if status != 200:
                raise refusal(status, read_body(reply, headers))
            link.settimeout(None)
            yield from events(chunks(reply))
        except (OSError, ValueError) as error:
            raise NodeAway("The node went away while it was watched.") from error


def once(home: str, method: str, path: str, data: bytes, timeout: float | None) -> dict[str, Any]:
    """One request on its own connection."""
    link = connect(home)
    with link, link.makefile("rb") as reply:
        sent = False
        try:
            link.settimeout(timeout)
            send(link, method, path, data)
            sent = True
            status, headers = read_head(reply)
            body = read_body(reply, headers)
        except (OSError, ValueError) as error:
            raise NodeAway("The node went away before it replied.", sent=sent) from error
    if status != 200:
        raise refusal(status, body)
    return as_object(body)


def send(link: socket.socket, method: str, path: str, data: bytes) -> None:
    """Send one request; the node closes the connection after its reply."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: askmesh\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    link.sendall(head.encode() + data)


def read_head(reply: BinaryIO) -> tuple[int, dict[str, str]]:
    """Status and headers. Raises `ValueError` for anything but an HTTP/1.1 reply."""
    first = reply.readline(HEAD_BYTES)
    version, _, rest = first.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not first.endswith(b"\n"):
        raise ValueError("no reply")
    headers: dict[str, str] = {}
    size = len(first)
    while (line := reply.readline(HEAD_BYTES)) not in (b"\r\n", b"\n"):
        size += len(line)
        if not line.endswith(b"\n") or size > HEAD_BYTES:
            raise ValueError("the reply's head is cut short or too long")
        name, _, value = line.partition(b":")
        headers[name.strip().lower().decode("latin-1")] = value.strip().decode("latin-1")
    return int(rest[:3]), headers


def read_body(reply: BinaryIO, headers: dict[str, str]) -> bytes:
    """The whole body. Raises `ValueError` when it is cut short or too long."""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        parts, size = [], 0
        for part in chunks(reply):
            size += len(part)
            if size > REPLY_BYTES:
                raise ValueError("the reply is too long")
            parts.append(part)
        return b"".join(parts)
    length = int(headers.get("content-length", "0"))
    if not 0 <= length <= REPLY_BYTES:
        raise ValueError("the reply is too long")
    body = reply.read(length)
    if len(body) != length:
        raise ValueError("the reply is cut short")
    return body


def chunks(reply: BinaryIO) -> Iterator[bytes]:
    """The chunks of a chunked body, as they come."""
    while True:
        size = int(reply.readline(HEAD_BYTES).split(b";")[0], 16)
        if not 0 <= size <= REPLY_BYTES:
            raise ValueError("a chunk is too long")
        data = reply.read(size)
        if len(data) != size or reply.readline(HEAD_BYTES) != b"\r\n":
            raise ValueError("a chunk is cut short")
        if size == 0:
            return
        yield data


def events(parts: Iterator[bytes]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Server-sent events out of pieces of text that are cut anywhere."""
    rest, name, data = b"", "message", ""
    for part in parts:
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            field, _, value = line.decode().rstrip("\r").partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                data += value
            elif not field and data:
                yield name, as_object(data.encode())
                name, data = "message", ""


def refusal(status: int, body: bytes) -> Refused:
    """The error object of a reply, whatever it may look like."""
    try:
        error = as_object(body)["error"]
        return Refused(error["code"], error["message"], error.get("hint") or "", status)
    except (KeyError, TypeError, NodeAway):
        return Refused("failed", f"The node replied with status {status}.", "", status)


def as_object(body: bytes) -> dict[str, Any]:
    """A JSON object, or `NodeAway`: whatever replied is not our node."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NodeAway("What replied is not an askmesh node.", sent=True) from error
    if not isinstance(value, dict):
        raise NodeAway("What replied is not an askmesh node.", sent=True)
    return value
