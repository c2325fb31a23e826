"""The audit on the page: what was decided, narrowed down, by keyboard, and what does not hold."""

import json
from typing import Any

import msgspec
from playwright.async_api import Route, expect

from tests.browser.conftest import OpenPage
from tests.browser.viewer import Viewer
from tests.running import RunningNode
from tests.web.audit_double import audit_line


async def decided(viewer: Viewer, node: RunningNode) -> tuple[str, str]:
    """An approval that was denied with words, and a question that waits."""
    call = {"tool": "Bash", "arguments": {"command": "git push"}}
    denied = (await viewer.flag(kind="approval", title="Push", call=call))["id"]
    node.person().vote(denied, "deny", because="<b>not</b> on a Friday")
    waits = (await viewer.flag(kind="question", title="Which?"))["id"]
    return str(denied), str(waits)


async def test_who_decided_what(open_page: OpenPage, running_node: RunningNode) -> None:
    viewer = await open_page()
    page = viewer.page
    denied, waits = await decided(viewer, running_node)
    await page.keyboard.press("g")
    await page.keyboard.press("u")
    lines = page.locator("audit-line")
    line = lines.filter(has_text=denied)
    await expect(line.locator(".audit-summary")).to_contain_text("Denied by ")
    await expect(line.locator(".badge")).to_have_text("As signed")
    await expect(line.locator(".audit-words")).to_have_text("<b>not</b> on a Friday")
    await expect(lines.filter(has_text=waits)).to_contain_text("Nobody has decided yet.")
    await expect(page.locator("#tab-audit")).to_have_attribute("aria-current", "page")
    await expect(page.get_by_role("status").filter(has_text=": all as signed.")).to_be_visible()
    await page.get_by_text("Narrow it down").focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("combobox", name="Outcome").select_option("denied")
    await page.get_by_role("textbox", name="Agent").fill("cl*")
    await page.keyboard.press("Enter")
    await expect(lines).to_have_count(1)
    await page.get_by_role("textbox", name="Person").fill("Nobody")
    await page.keyboard.press("Enter")
    await expect(page.locator("form:has(.audit-filters) > .failure")).to_contain_text(
        "nobody called 'Nobody'"
    )
    await page.get_by_role("textbox", name="Person").fill("")
    await page.locator("#field-audit-since").fill("2100-01-01")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Nothing fits.")).to_be_visible()
    await page.get_by_role("button", name="Clear").click()
    await lines.filter(has_text=denied).get_by_role("link", name=denied).click()
    await expect(viewer.ask.locator("h2")).to_have_text("Push")


async def test_what_does_not_hold_and_earlier_ones(open_page: OpenPage) -> None:
    viewer = await open_page()
    page = viewer.page
    asked: list[str] = []

    async def reply(route: Route) -> None:
        asked.append(route.request.url.partition("?")[2])
        first = len(asked) == 1
        bad = audit_line(
            id="0f" * 32, check="fails", findings=["the entry is not in the log"], at_utc=None
        )
        lines: list[Any] = [msgspec.to_builtins(bad if first else audit_line())]
        more = "5.kkkk-1" if first else None
        page_ = {"lines": lines, "more": more, "findings": ["it rests on"] if first else []}
        await route.fulfill(body=json.dumps(page_), content_type="application/json")

    await page.route("**/api/audit*", reply)
    await page.get_by_role("link", name="Audit").click()
    line = page.locator("audit-line")
    await expect(line.locator(".badge")).to_have_text("Not as signed")
    await expect(line.locator("ul.failure")).to_have_text("the entry is not in the log")
    await expect(page.get_by_role("status").filter(has_text="1 is not as signed")).to_be_visible()
    await expect(page.get_by_role("alert").filter(has_text="Run askmesh verify")).to_be_visible()
    await page.get_by_role("button", name="Earlier ones").click()
    await expect(line).to_have_count(2)
    await expect(page.get_by_role("button", name="Earlier ones")).to_be_hidden()
    await expect(page.get_by_role("alert").filter(has_text="Run askmesh verify")).to_be_visible()
    assert asked == ["", "before=5.kkkk-1"]
