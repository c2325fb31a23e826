"""What calls a person, set on the page: quieter, never hidden."""

from playwright.async_api import expect

from tests.browser.conftest import OpenPage


async def test_a_mute_quietens_every_open_page_and_hides_nothing(open_page: OpenPage) -> None:
    viewer, other = await open_page("#places"), await open_page()
    asked = await viewer.flag(kind="question", title="Still here?")
    await expect(other.page.locator("#tab-count")).to_have_text("1")
    panel = viewer.page.locator(".attention")
    await panel.get_by_role("button", name="Mute for 1 h").click()
    await expect(panel.get_by_role("status")).to_contain_text("Muted until ")
    await expect(other.page.locator("#notices")).to_contain_text("Muted until ")
    await expect(other.page.locator("#tab-count")).to_be_hidden()
    await expect(other.group("waiting").locator("ask-row")).to_have_count(1)
    hush = other.row(asked["id"]).locator(".row-hush")
    await expect(hush).to_contain_text("muted until ")
    await other.open(asked["id"])
    await other.says("You are muted")
    await panel.get_by_text("Say it for an agent").click()
    await panel.get_by_label("Agent", exact=True).fill("cl*")
    await panel.get_by_role("button", name="Do not call me for it").click()
    await expect(panel.locator(".subscriptions li")).to_contain_text("Does not call you")
    await panel.get_by_role("button", name="Unmute").click()
    await other.says("You are not subscribed")
    await expect(hush).to_have_text("does not call you")
    await panel.get_by_text("Set quiet hours", exact=True).first.click()
    await panel.get_by_label("Time zone").fill("UTC")
    await panel.get_by_role("button", name="Set quiet hours").click()
    await expect(panel).to_contain_text("22:00 to 07:00 from Mon")
    await panel.get_by_role("button", name="Have no quiet hours").click()
    await panel.get_by_role("button", name="Take back").click()
    await expect(other.page.locator("#tab-count")).to_have_text("1")
    await expect(hush).to_be_hidden()
    await viewer.page.set_viewport_size({"width": 360, "height": 700})
    wide = await viewer.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 360
    await other.press("Decline to answer")
    await other.says("Declined by you")
