"""A real browser on a real node. Playwright's own plug-in is not used (see pyproject)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.browser.viewer import Viewer, sign_in_cookie
from tests.machine import browser as browser_path
from tests.running import RunningNode

OpenPage = Callable[..., Awaitable[Viewer]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What asks for a browser carries its marker and shares one loop, as the browser does."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium of the distribution."""
    path = browser_path()
    assert path
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path=path,
            # Root has no user namespace to put a sandbox into; a test opens own pages only.
            args=["--no-sandbox", "--disable-dev-shm-usage"],
        )
        yield chromium
        await chromium.close()


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(browser: Browser, running_node: RunningNode) -> AsyncIterator[OpenPage]:
    """Open a page of the node; by default signed in, wide and light."""
    faults: list[str] = []
    contexts: dict[str, BrowserContext] = {}

    async def open_one(
        hash_: str = "",
        *,
        signed_in: bool = True,
        place: str = "one",
        **options: Any,  # noqa: ANN401
    ) -> Viewer:
        if place not in contexts:
            settings: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}} | options
            contexts[place] = await browser.new_context(**settings)
            if signed_in:
                person = await asyncio.to_thread(running_node.person)
                await contexts[place].add_cookies([sign_in_cookie(person)])
        page: Page = await contexts[place].new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        viewer = Viewer(page, running_node)
        await page.goto(f"{viewer.url}{hash_}")
        if signed_in:
            await page.locator("#views:not([hidden])").wait_for()
        return viewer

    yield open_one
    for context in contexts.values():
        with contextlib.suppress(Exception):
            await context.close()
    assert faults == []


@pytest.fixture
def pictures() -> Path:
    """Where the pictures of the documentation lie."""
    return Path(__file__).resolve().parents[2] / "docs" / "screenshots"
