"""The notice of a restored machine, put away by a person."""

import asyncio
import json

import pytest
from playwright.async_api import expect

from tests.browser.conftest import OpenPage
from tests.machine import node_packages
from tests.node.backup.copies import backed_up, put_back
from tests.running import RunningNode


@pytest.mark.npm
async def test_the_notice_is_put_away_on_every_page(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    def restored() -> str:
        running_node.person()
        approval = running_node.flag(kind="approval", title="May I push?")["id"]
        file = running_node.home.parent / "copy"
        backed_up(running_node.home, file)
        running_node.stop()
        put_back(running_node.home, file.read_bytes(), replace=True)
        running_node.start()
        return str(approval)

    approval = await asyncio.to_thread(restored)
    phone = {"viewport": {"width": 390, "height": 844}}
    narrow = await open_page(place="phone", **phone)
    wide = await open_page(f"#ask={approval}")
    for viewer in (narrow, wide):
        notice = viewer.page.locator(".notice", has_text="was restored from a copy of")
        await expect(notice).to_be_visible()
        assert await viewer.page.evaluate(
            "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )
    packages = node_packages()
    assert packages is not None
    await narrow.page.evaluate((packages / "axe-core" / "axe.min.js").read_text())
    found = await narrow.page.evaluate("axe.run()")
    assert [json.dumps(one)[:500] for one in found["violations"]] == []
    told = wide.page.get_by_text("was put back to an older copy since it was asked")
    await expect(told.first).to_be_visible()
    away = narrow.page.get_by_role("button", name="Put away")
    await away.focus()
    await narrow.page.keyboard.press("Enter")
    for viewer in (narrow, wide):
        await expect(viewer.page.locator(".notice")).to_have_count(0)
