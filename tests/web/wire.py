"""HTTP byte by byte: what a browser would send, and what no browser would."""

import asyncio
import contextlib
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from tests.running import free_port
from tests.web.double import CODE, SECRET, STORE_ID, DeskDouble
from web.app import make_app
from web.errors import PortTaken
from web.events import Pace
from web.guard import cookie_name
from web.limits import ARRIVE_S
from web.listener import PageListener
from web.routes import Route

Headers = list[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Reply:
    status: int
    headers: Headers
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def json(self) -> dict[str, Any]:
        value = json.loads(self.body)
        assert isinstance(value, dict)
        return value

    @property
    def error(self) -> dict[str, Any]:
        error = self.json()["error"]
        assert {"code", "message", "hint"} <= set(error), error
        assert error["message"]
        return dict(error)


@dataclass(kw_only=True)
class Stream:
    """An open connection of which the head of the reply was read."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    reply: Reply

    async def event(self) -> tuple[str, dict[str, Any]]:
        """The next event: its name and its data, with `id` among it."""
        lines = (await read_chunk(self.reader)).decode().strip().split("\n")
        fields = dict(line.split(": ", 1) for line in lines)
        data = json.loads(fields["data"])
        return fields["event"], data | ({"id": fields["id"]} if "id" in fields else {})

    async def ended(self) -> bool:
        """Whether nothing more comes, in order."""
        return await read_chunk(self.reader) == b""


@dataclass(kw_only=True)
class Served:
    """The page's application on a port of loopback."""

    port: int
    desk: DeskDouble
    listener: PageListener
    used: list[asyncio.StreamWriter] = field(default_factory=list)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def cookie(self) -> str:
        return f"{cookie_name(STORE_ID, self.port)}={SECRET}"

    def headers(self, **changed: str | None) -> Headers:
        """What the page itself sends; `changed` by name with `_` for `-`, None leaves one out."""
        usual: dict[str, str | None] = {
            "Host": self.host,
            "Origin": f"http://{self.host}",
            "Sec-Fetch-Site": "same-origin",
            "Sec-Fetch-Mode": "cors",
            "Sec-Fetch-Dest": "empty",
            "Content-Type": "application/json",
            "X-Askmesh": "1",
            "Cookie": self.cookie,
        }
        usual |= {name.replace("_", "-"): value for name, value in changed.items()}
        return [(name, value) for name, value in usual.items() if value is not None]

    async def send(
        self, method: str, target: str, body: object = None, *, headers: Headers | None = None
    ) -> Reply:
        """Send one request and read its whole reply."""
        content = b"" if method in {"GET", "HEAD"} else body_bytes(body)
        lines = self.headers() if headers is None else list(headers)
        if content or method not in {"GET", "HEAD"}:
            lines.append(("Content-Length", str(len(content))))
        stream = await self.open(method, target, lines, content)
        length = stream.reply.header("Content-Length")
        if method != "HEAD" and stream.reply.status != 304:
            rest = await asyncio.wait_for(stream.reader.readexactly(int(length or 0)), 20)
        else:
            rest = b""
        stream.writer.close()
        return Reply(status=stream.reply.status, headers=stream.reply.headers, body=rest)

    async def call(self, route: Route, headers: Headers | None = None) -> Reply:
        """Call a route with what fits it."""
        return await self.send(route.method, address(route), BODIES[route.name], headers=headers)

    async def open(
        self, method: str, target: str, headers: Headers, content: bytes = b""
    ) -> Stream:
        """Send one request and read the head of the reply."""
        head = "".join(f"{name}: {value}\r\n" for name, value in headers)
        raw = f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode("latin-1")
        return await self.raw(raw + content)

    async def raw(self, data: bytes) -> Stream:
        """Send bytes and read the head of what comes back."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.used.append(writer)
        writer.write(data)
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
        first, *rest = head.decode("latin-1").strip().split("\r\n")
        pairs = [line.split(":", 1) for line in rest]
        reply = Reply(
            status=int(first.split(" ")[1]),
            headers=[(name, value.strip()) for name, value in pairs],
            body=b"",
        )
        return Stream(reader=reader, writer=writer, reply=reply)


def body_bytes(body: object) -> bytes:
    if isinstance(body, bytes):
        return body
    return json.dumps({} if body is None else body).encode()


async def read_chunk(reader: asyncio.StreamReader) -> bytes:
    """The next part of a chunked reply; empty at its end."""
    size = int(await asyncio.wait_for(reader.readuntil(b"\r\n"), 20), 16)
    data = await reader.readexactly(size + 2)
    return data[:-2]


def address(route: Route) -> str:
    """An address of a route that the double knows."""
    thing = "kkkk-1" if route.path.startswith("/api/asks") else "wish2"
    thing = "6b" * 32 if "operators" in route.path else thing
    thing = "ab" * 6 if route.name == "rules_version" else thing
    path = route.path.replace("{id}", thing).replace("{name}", "app.js")
    return path.replace("{node}", "testbox").replace("{person}", "Ann")


BODIES: dict[str, Any] = {
    "page": None,
    "page_part": None,
    "health": None,
    "hello": None,
    "sign_in": {"passphrase": "four words are enough"},
    "begin_sign_in": {},
    "collect_sign_in": {"digits": "123456"},
    "sign_ins": None,
    "approve_sign_in": {"digits": "123456"},
    "set_passphrase": {"passphrase": "another few words"},
    "sessions": None,
    "hold_session": None,
    "end_session": {},
    "end_other_sessions": {},
    "end_sessions_on": {},
    "state": None,
    "events": None,
    "ask": None,
    "redact": {"confirm": "kkkk-1"},
    "vote": {"decision": "answer", "seen": "0" * 64, "text": "This one."},
    "take_back": {},
    "vote_together": {"votes": [{"ask": "kkkk-1", "decision": "deny", "seen": "0" * 64}]},
    "needless": {"needless": True},
    "agent_report": None,
    "mark": {"read": True},
    "put_away_restored": {},
    "standing": None,
    "set_standing": {"person": "p2", "standing": "on_hold"},
    "standing_word": {
        "operator": b64encode(b"k" * 32).decode(),
        "word": b64encode(b"{}").decode(),
        "signature": b64encode(b"signed").decode(),
    },
    "add_operator": {"name": "billing", "key": b64encode(b"k" * 32).decode()},
    "remove_operator": {},
    "attention": None,
    "subscribe": {"agent": "claude", "on": False},
    "mute": {"until": None},
    "set_quiet": {"quiet": None},
    "messages": None,
    "talk": None,
    "write_message": {"project": "example.org/shop", "to": ["codex"], "body": "Use 8000."},
    "redact_message": {"confirm": "kkkk-m1"},
    "audit": None,
    "rules": None,
    "check_rules": {"source": "[[rule]]"},
    "rules_history": None,
    "rules_version": None,
    "propose_rule": {"action": "allow"},
    "apply_rules": {"name": "team", "source": "", "replaces": None},
    "fleet": None,
    "begin_pairing": {},
    "pairing": None,
    "stop_pairing": {},
    "pairing_offers": None,
    "join_consequences": None,
    "join": {"code": CODE, "address": "127.0.0.1:9"},
    "assign_machine": {"person": "Ann"},
    "rename_machine": {"name": "workshop"},
    "remove_machine": {},
    "add_address": {"address": "127.0.0.1:7717"},
    "drop_address": {"address": "127.0.0.1:7717"},
    "leave_consequences": None,
    "leave": {},
    "rejoin_consequences": None,
    "rejoin": {},
    "hold_consequences": None,
    "go_on": {},
    "privacy": None,
    "people": None,
    "invite": {"name": "Bob", "role": "member"},
    "withdraw_invitation": {},
    "set_role": {"role": "admin"},
    "remove_person": {},
    "release_machine": {"person": "Ann"},
    "consent": {"accept": True},
}
"""A body for each route that is carried out."""


@contextlib.asynccontextmanager
async def serving(*, pace: Pace | None = None, arrive_s: float = ARRIVE_S) -> AsyncIterator[Served]:
    """Serve a double."""
    desk = DeskDouble()
    port, listener = await listening(desk, pace or Pace(), arrive_s)
    served = Served(port=port, desk=desk, listener=listener)
    try:
        yield served
    finally:
        for writer in served.used:
            writer.transport.abort()
        await listener.close()


async def listening(desk: DeskDouble, pace: Pace, arrive_s: float) -> tuple[int, PageListener]:
    """A listener on a port that nobody else took in the meantime."""
    while True:
        port = free_port()
        application = make_app(desk, port=port, pace=pace)
        listener = PageListener(application, port, arrive_s=arrive_s)
        with contextlib.suppress(PortTaken):
            await listener.open()
            return port, listener


async def until(condition: Callable[[], object]) -> None:
    """Return once the condition holds; it depends on what another connection does."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 -- the end of a connection sets no event
            await asyncio.sleep(0.001)
