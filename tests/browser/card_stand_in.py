"""All cards of the table on one page: its asks are laid where it fetches them.

The page, its node and its stream are real. No one node could be in all these states at once.
"""

from typing import Any

import msgspec
from playwright.async_api import Page, Route

from node.desk.card_view import card_view
from tests.sync.decide.card_table import NOW, ROWS, Row

HOUR_MS = 3_600_000


def short(row: Row) -> str:
    """By what the page addresses the ask of a row."""
    return f"card-{ROWS.index(row) + 1}"


def title(row: Row) -> str:
    """A title that no other one begins with."""
    return f"Ask {ROWS.index(row) + 1:03} {row.name}"


class CardStandIn:
    """Tells the page of one ask for each row; `template`: a real one."""

    def __init__(self) -> None:
        self.views: dict[str, dict[str, Any]] = {}

    async def stand_before(self, page: Page) -> None:
        """Reply to the page from its next load on, and load it."""
        await page.route("**/api/state", self._state)
        await page.route("**/api/asks/**", self._ask)
        await page.reload()

    async def _state(self, route: Route) -> None:
        reply = await route.fetch()
        state = await reply.json()
        template = state["asks"][0]
        self.views = {view["id"]: view for view in (ask_of(row, template) for row in ROWS)}
        state["asks"] = list(self.views.values())
        state["counts"]["needs_me"] = sum(view["card"]["needs_me"] for view in state["asks"])
        state["counts"]["open"] = sum(view["card"]["open"] for view in state["asks"])
        await route.fulfill(response=reply, json=state)

    async def _ask(self, route: Route) -> None:
        view = self.views[route.request.url.rsplit("/", 1)[1]]
        await route.fulfill(json={"ask": view, "call": None, "history": []})


def ask_of(row: Row, template: dict[str, Any]) -> dict[str, Any]:
    """The ask of a row as the node would tell it; its clock is that of the template."""
    facts, since = row.facts, template["created"]
    ahead = facts.deadline is not None and facts.deadline > NOW
    card = msgspec.to_builtins(card_view(facts, row.viewer, NOW))
    return template | {
        "id": f"{'c' * 52}-{ROWS.index(row) + 1}",
        "short": short(row),
        "number": ROWS.index(row) + 1,
        "kind": facts.kind.value,
        "title": title(row),
        "agent": facts.agent,
        "options": [],
        "deadline": since + HOUR_MS if ahead else None,
        "closed": None if card["open"] else since,
        "card": card | {"since": since},
        "read": facts.read,
        "final": None,
        "resolved": None,
    }
