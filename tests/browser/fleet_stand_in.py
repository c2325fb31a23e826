"""A stand-in for a fleet at the page's outer edge: replies to what the page fetches.

The page, its node and its stream are real; only the replies about machines are laid here,
because one node alone has no machine that is away, forked or removed.
"""

import json
from typing import Any
from urllib.parse import unquote, urlsplit

from playwright.async_api import Page, Route

from node.fleet.sight import SPLIT

Reply = tuple[int, Any]

HERE = "h" * 52
STUDIO = "s" * 52
ATTIC = "a" * 52
OLD = "o" * 52
TWIN = "t" * 52
CODE = "K7QF-9M2D-XW4T-X"
ADDRESS = "192.168.1.20:40211"
QR = ["1110111", "1010101", "1110111", "0001000", "1110101", "1010010", "1110111"]


def machine(node: str, name: str) -> dict[str, str]:
    return {"id": node, "short": node[:4], "name": name}


def row(node: str, name: str, state: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """One machine as the node tells of it."""
    return {
        "machine": machine(node, name),
        "here": state == "here",
        "state": state,
        "seen": None,
        "seen_by": None,
        "address": None,
        "round_trip_ms": None,
        "behind_us": 0,
        "behind_them": 0,
        "version": "0.2.0",
        "skew_ms": None,
        "trouble": None,
        "persons": ["Ada"],
        "given": [],
        "joined": 1,
        "removed": None,
        "removed_by": None,
        "forked": None,
    } | more


def many(now: int, attic: str = "attic") -> list[dict[str, Any]]:
    """One machine of each kind."""
    return [
        row(HERE, "laptop", "here"),
        row(
            ATTIC,
            attic,
            "away",
            seen=now - 3 * 3_600_000,
            seen_by="studio",
            address="10.0.0.9:7717",
            behind_them=12,
            trouble="No route to 10.0.0.9: it is switched off, or on another network.",
            persons=[],
            given=["10.0.0.9:7717"],
        ),
        row(
            STUDIO,
            "studio",
            "connected",
            seen=now,
            address="192.168.1.30:7717",
            round_trip_ms=18.0,
            behind_us=1,
            skew_ms=61_000,
        ),
        row(TWIN, "twin", "must_rejoin", seen=now - 60_000, forked=SPLIT.format(name="twin")),
        row(OLD, "old", "removed", removed=now - 86_400_000 * 2, removed_by="Bea", persons=[]),
    ]


class StandIn:
    """What is told of machines, and what the page asked for."""

    def __init__(self, machines: list[dict[str, Any]] | None = None, role: str = "owner") -> None:
        self.fleet: dict[str, Any] = {
            "fleet": "f" * 64,
            "machines": machines or [row(HERE, "laptop", "here")],
            "port": 7717,
            "mdns": "on",
            "removed": None,
            "hold": None,
        }
        self.role = role
        self.asks: dict[str, dict[str, Any]] = {}
        """What is told otherwise of an ask, by its short id."""
        self.replies: dict[str, Reply] = {}
        self.calls: list[tuple[str, Any]] = []
        self.begun: dict[str, Any] | None = None
        """The code that waits."""

    def says(self, line: str, body: Any, status: int = 200) -> None:  # noqa: ANN401
        """Reply so to e.g. `GET /api/pairing`."""
        self.replies[line] = (status, body)

    async def stand_before(self, page: Page) -> None:
        """Reply to the page from its next load on, and load it."""
        await page.route("**/api/state", self._state)
        for path in (
            "fleet",
            "pairing",
            "pairing/offers",
            "joining",
            "leaving",
            "privacy",
            "rejoining",
            "hold",
        ):
            await page.route(f"**/api/{path}", self._reply)
        await page.route("**/api/machines/**", self._reply)
        await page.reload()

    def sent(self, method: str) -> list[tuple[str, Any]]:
        """What was sent by this method, in order."""
        return [(line, body) for line, body in self.calls if line.startswith(f"{method} ")]

    async def _state(self, route: Route) -> None:
        reply = await route.fetch()
        if not reply.ok:
            await route.fulfill(response=reply)
            return
        state = await reply.json()
        state["fleet"] = self.fleet
        state["me"]["role"] = self.role
        for ask in state["asks"]:
            told = self.asks.get(ask["short"], {})
            ask["card"] |= told.get("card", {})
            ask["machine"] = told.get("machine", ask["machine"])
        await route.fulfill(response=reply, json=state)

    async def _reply(self, route: Route) -> None:
        request = route.request
        line = f"{request.method} {unquote(urlsplit(request.url).path)}"
        self.calls.append((line, json.loads(request.post_data or "null")))
        status, body = self.replies.get(line, (200, self.fleet))
        if line == "POST /api/pairing" and status == 200:
            self.begun = body["pairing"] | {"code": None, "qr": None}
        elif line == "GET /api/pairing" and line not in self.replies:
            body = {"pairing": self.begun}
        await route.fulfill(status=status, json=body)


def pairing(state: str = "waiting", **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """How a code stands."""
    view = {
        "id": "p-1",
        "code": None,
        "qr": None,
        "expires": 0,
        "state": state,
        "sentence": "Waiting for the other machine.",
        "addresses": [ADDRESS],
        "machine": None,
    }
    return {"pairing": view | more}
