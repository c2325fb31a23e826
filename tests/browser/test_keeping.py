"""What a person is in the middle of is never lost to an event."""

import asyncio

from playwright.async_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.viewer import until_true
from tests.running import RunningNode

FRUIT = ("apples", "plums", "pears")


async def test_drafts_focus_and_scroll_over_events_and_reload(open_page: OpenPage) -> None:
    viewer = await open_page()
    options = [{"label": f"Option {n}"} for n in range(12)]
    asked = await viewer.flag(
        kind="question", title="Which?", detail="line\n" * 80, options=options
    )
    await viewer.open(asked["id"])
    await viewer.ask.get_by_label("Option 7").check()
    field = viewer.ask.locator("textarea")
    await field.click()
    await viewer.page.keyboard.type("half a sen")
    scrolled = await viewer.ask.locator(".detail-body").evaluate("body => body.scrollTop")
    assert scrolled > 0
    for number in range(5):
        await viewer.flag(kind="question", title=f"Another {number}")
    await expect(viewer.group("needs").locator("ask-row")).to_have_count(6)
    await viewer.page.keyboard.type("tence")
    assert await viewer.focused() == "TEXTAREA half a sentence"
    body = viewer.ask.locator(".detail-body")
    assert await body.evaluate("body => body.scrollTop") == scrolled
    await viewer.page.reload()
    await expect(field).to_have_value("half a sentence")
    await expect(viewer.ask.get_by_label("Option 7")).to_be_checked()


async def test_a_row_is_the_same_element_for_ever(open_page: OpenPage) -> None:
    viewer = await open_page()
    asked = await viewer.flag(kind="question", title="Which?")
    row = viewer.row(asked["id"])
    await row.wait_for()
    await row.evaluate("row => { row.mine = 'kept'; row.querySelector('a').focus(); }")
    await asyncio.to_thread(
        viewer.node.agent, "withdraw", {"ask_id": asked["id"], "reason": "found out"}
    )
    await expect(viewer.group("closed").locator("ask-row")).to_have_count(1)
    assert await row.evaluate("row => row.mine") == "kept"
    assert await row.evaluate("row => row.contains(document.activeElement)")
    # What closed on screen stays there until the page is left.
    await viewer.flag(kind="question", title="Another")
    await expect(viewer.group("needs").locator("ask-row")).to_have_count(1)
    await expect(viewer.group("closed").locator("ask-row")).to_have_count(1)
    await viewer.page.reload()
    await viewer.page.locator("#views:not([hidden])").wait_for()
    await expect(viewer.group("closed")).to_be_hidden()
    await expect(viewer.group("earlier").locator("ask-row")).to_have_count(1)


async def test_a_click_is_not_lost_to_an_update(open_page: OpenPage) -> None:
    viewer = await open_page()
    first = await viewer.flag(kind="question", title="First")
    second = await viewer.flag(kind="question", title="Second")
    await viewer.open(second["id"])
    box = await viewer.row(first["id"]).bounding_box()
    assert box
    mouse = viewer.page.mouse
    await mouse.move(box["x"] + 60, box["y"] + box["height"] / 2)
    await mouse.down()
    # While the button is down its row leaves the group, and more arrive.
    await asyncio.to_thread(viewer.node.agent, "withdraw", {"ask_id": first["id"], "reason": "no"})
    for number in range(3):
        await viewer.flag(kind="note", title=f"Note {number}")
    await until_true(viewer.page, "document.title.startsWith('(1)')")
    await mouse.up()
    await viewer.ask.get_by_text(first["id"], exact=True).wait_for()
    await viewer.says("Withdrawn by claude")


async def test_words_for_an_ask_that_closed_are_kept(open_page: OpenPage) -> None:
    viewer = await open_page()
    asked = await viewer.flag(kind="question", title="Which?")
    await viewer.open(asked["id"])
    await viewer.ask.locator("textarea").fill("a long thought")
    await viewer.agent("withdraw", {"ask_id": asked["id"], "reason": "no longer needed"})
    await expect(viewer.ask.locator(".unsent")).to_contain_text("a long thought")
    await viewer.ask.get_by_role("button", name="Discard").click()
    await expect(viewer.ask.locator(".unsent")).to_be_hidden()


async def test_the_page_greys_when_the_node_dies_and_recovers(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    viewer = await open_page()
    asked = await viewer.flag(kind="question", title="Which?")
    await viewer.open(asked["id"])
    await viewer.ask.locator("textarea").fill("kept over the restart")
    await asyncio.to_thread(running_node.kill)
    lost = viewer.page.locator("#link-lost")
    await expect(lost).to_be_visible(timeout=5_000)
    await expect(lost).to_contain_text("Not connected since")
    await expect(viewer.page.locator("body.stale")).to_have_count(1)
    assert await viewer.button("Send answer").get_attribute("aria-disabled") == "true"
    assert "Not connected" in await viewer.page.title()
    await asyncio.to_thread(running_node.start)
    await expect(lost).to_be_hidden(timeout=10_000)
    await viewer.flag(kind="note", title="Back again")
    await expect(viewer.group("notes").locator("ask-row")).to_have_count(1)
    assert await viewer.ask.locator("textarea").input_value() == "kept over the restart"
    await viewer.press("Send answer")
    await viewer.says("Answered by you")


async def test_a_silent_node_greys_the_page(open_page: OpenPage, running_node: RunningNode) -> None:
    viewer = await open_page()
    await viewer.flag(kind="question", title="Which?")
    process = running_node.process
    assert process
    process.send_signal(19)  # SIGSTOP: connections stay open, nothing is said any more
    try:
        await expect(viewer.page.locator("#link-lost")).to_be_visible(timeout=6_500)
    finally:
        process.send_signal(18)
    await expect(viewer.page.locator("#link-lost")).to_be_hidden(timeout=10_000)


async def test_all_counts_agree(open_page: OpenPage) -> None:
    viewer = await open_page()
    asked = [await viewer.flag(kind="question", title=f"About {what}") for what in FRUIT]
    await viewer.flag(kind="note", title="Only a note")
    page = viewer.page

    async def counts_are(number: int) -> None:
        shown = str(number)
        await expect(viewer.group("needs").locator("ask-row")).to_have_count(number)
        await expect(viewer.group("needs").locator(".count")).to_have_text(shown)
        await expect(page.locator("#tab-count")).to_have_text(shown)
        prefix = f"({number}) " if number else ""
        await until_true(page, f"document.title.startsWith('{prefix}askmesh')")

    await counts_are(3)
    icon = await page.locator('link[rel="icon"]').get_attribute("href")
    assert icon
    assert icon.startswith("data:image/png")
    await viewer.agent("withdraw", {"ask_id": asked[0]["id"], "reason": "no"})
    await counts_are(2)
    assert await page.locator('link[rel="icon"]').get_attribute("href") != icon
    # A filter narrows the list, never the badge, and says so.
    await page.get_by_label("Search the inbox").fill("pears")
    await expect(viewer.group("needs").locator(".count")).to_have_text("1 of 2")
    await expect(page.locator("#tab-count")).to_have_text("2")
    await page.get_by_role("button", name="Show all").click()
    await counts_are(2)
    await viewer.open(asked[1]["id"])
    await viewer.press("Decline to answer")
    await counts_are(1)
    await viewer.open(asked[2]["id"])
    await viewer.press("Decline to answer")
    await expect(page.locator("#tab-count")).to_be_hidden()
    await expect(page.get_by_text("Nothing needs you.").first).to_be_visible()


async def test_a_deadline_passes_on_the_page(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    viewer = await open_page()
    asked = await viewer.flag(kind="question", title="Soon", deadline_s=60)
    await viewer.open(asked["id"])
    await expect(viewer.button("Decline to answer")).to_be_visible()
    await asyncio.to_thread(running_node.advance, 61_000)
    await viewer.says("deadline")
    await expect(viewer.button("Decline to answer")).to_be_hidden()
    await expect(viewer.page.locator("#tab-count")).to_be_hidden()
