"""What tests do on a page, in the words of a person."""

import asyncio
from typing import Any, Literal

from playwright._impl._api_structures import SetCookieParam
from playwright.async_api import Locator, Page

from tests.running import Person, RunningNode

STILL = "document.getAnimations().every(one => one.playState !== 'running')"
"""No colour is on its way to another."""

Action = Literal["Allow", "Deny", "Send answer", "Decline to answer", "Take back", "Dismiss"]


def sign_in_cookie(person: Person) -> SetCookieParam:
    """The cookie of a person's session, for a browser."""
    assert person.cookie
    name, _, value = person.cookie.partition("=")
    return {
        "name": name,
        "value": value,
        "domain": "127.0.0.1",
        "path": "/",
        "httpOnly": True,
        "sameSite": "Strict",
    }


async def until_true(page: Page, expression: str, seconds: float = 10.0) -> None:
    """Wait until an expression is true; the page's policy forbids playwright's own way."""
    end = asyncio.get_running_loop().time() + seconds
    while not await page.evaluate(expression):
        assert asyncio.get_running_loop().time() < end, expression
        await asyncio.sleep(0.03)


class Viewer:
    """One open page."""

    def __init__(self, page: Page, node: RunningNode) -> None:
        self.page = page
        self.node = node
        self.url = f"http://127.0.0.1:{node.web_port}/"

    def row(self, short: str) -> Locator:
        """The ask's row in the list."""
        return self.page.locator(f'ask-row:has(a[href="#ask={short}"])')

    def group(self, name: str) -> Locator:
        """A group of the list, by its name in the code."""
        return self.page.locator(f'[data-group="{name}"]')

    @property
    def ask(self) -> Locator:
        """The ask that is open."""
        return self.page.locator("ask-detail:not([hidden])")

    @property
    def sentence(self) -> Locator:
        """How the open ask stands."""
        return self.ask.locator(".sentence")

    @property
    def failure(self) -> Locator:
        """Why the last try did not count."""
        return self.ask.locator("div.failure")

    def button(self, name: Action) -> Locator:
        """A button of the open ask."""
        return self.ask.get_by_role("button", name=name, exact=True)

    async def open(self, short: str) -> None:
        """Open an ask by its row."""
        await self.row(short).locator("a").click()
        await self.ask.get_by_text(short, exact=True).wait_for()

    async def ready(self, name: Action) -> None:
        """Wait until a button can be pressed."""
        await self.ask.locator(f'button:not([aria-disabled="true"]):text-is("{name}")').wait_for()

    async def press(self, name: Action) -> None:
        """Press a button of the open ask once it can be pressed."""
        await self.ready(name)
        await self.button(name).click()

    async def says(self, text: str) -> None:
        """Wait until the open ask's sentence contains these words."""
        await self.sentence.filter(has_text=text).wait_for()

    async def focused(self) -> str:
        """What has the focus: its tag and its words."""
        found: str = await self.page.evaluate(
            "() => { const e = document.activeElement;"
            " return `${e.tagName} ${(e.value || e.textContent || '').trim()}`; }"
        )
        return found

    async def focus_comes_to(self, words: str) -> None:
        """Wait until this has the focus: opening an ask moves it when its address is heard."""
        await self.page.wait_for_function(
            "words => { const e = document.activeElement;"
            " return `${e.tagName} ${(e.value || e.textContent || '').trim()}` === words; }",
            arg=words,
        )

    async def flag(self, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
        """Let an agent ask."""
        return await asyncio.to_thread(self.node.flag, **fields)

    async def agent(self, route: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401
        """Let an agent do something else."""
        return await asyncio.to_thread(self.node.agent, route, arguments, **more)

    async def answer(self, short: str, wait_s: float = 10.0) -> dict[str, Any]:
        """Let the agent fetch its answer."""
        return await self.agent("await", {"ask_id": short, "wait_s": wait_s})
