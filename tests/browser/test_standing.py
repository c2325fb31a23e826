"""An account on hold on the page: the notice, where it is settled, the card without a button."""

import asyncio
import json
from base64 import b64encode

import pytest
from playwright.async_api import expect

from sync.decide import word
from tests.browser.conftest import OpenPage
from tests.machine import node_packages
from tests.running import Person, RunningNode
from tests.sync.decide.accounts import private, public, raw_word

PAY = "https://pay.example/in?x=1"


def signed(raw: bytes) -> dict[str, str]:
    parts = {
        "operator": public("billing"),
        "word": raw,
        "signature": private("billing").sign(word.PREFIX + raw),
    }
    return {name: b64encode(value).decode() for name, value in parts.items()}


def tell(node: RunningNode, serial: int, level: str) -> None:
    """The billing system says it, knowing nobody here."""
    person = node.person()
    fleet = person.ok("GET", "/api/standing")["fleet"]
    raw = raw_word(serial, level, fleet=fleet, remedy=PAY, reason="Invoice 7 is open.")
    Person(node.web_port).ok("POST", "/api/standing/word", signed(raw))


def register(node: RunningNode) -> None:
    key = b64encode(public("billing")).decode()
    node.person().ok("POST", "/api/standing/operators", {"name": "billing", "key": key})


@pytest.mark.npm
async def test_on_hold_says_where_it_is_settled_and_has_no_button(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    page = await open_page(viewport={"width": 390, "height": 844})
    await asyncio.to_thread(register, running_node)
    ask = await page.flag(kind="approval", title="May I push?")
    await page.open(ask["id"])
    await page.ready("Allow")
    await asyncio.to_thread(tell, running_node, 1, "on_hold")
    notice = page.page.locator(".notice", has_text="This account is on hold")
    await expect(notice).to_contain_text("Invoice 7 is open.")
    link = notice.get_by_role("link", name="Settle it at pay.example")
    await expect(link).to_have_attribute("href", PAY)
    await expect(link).to_have_attribute("rel", "noopener noreferrer")
    await page.says("This account is on hold")
    for name in ("Allow", "Deny"):
        await expect(page.button(name)).to_have_count(0)
    assert await page.page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    packages = node_packages()
    assert packages is not None
    await page.page.evaluate((packages / "axe-core" / "axe.min.js").read_text())
    found = await page.page.evaluate("axe.run()")
    assert [json.dumps(one)[:500] for one in found["violations"]] == []
    await asyncio.to_thread(tell, running_node, 2, "suspended")
    await expect(page.page.locator(".notice", has_text="is suspended")).to_be_visible()
    await expect(page.page.locator(".notice a")).to_have_count(0)
    await expect(page.page.locator("body")).not_to_contain_text("Invoice")
    await asyncio.to_thread(tell, running_node, 3, "active")
    await expect(page.page.locator(".notice")).to_have_count(0)
    await page.ready("Allow")
