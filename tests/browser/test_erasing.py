"""An owner has a text erased on the page: nothing of it stays on the screen."""

from playwright.async_api import expect

from tests.browser.conftest import OpenPage

CALL = {"tool": "Bash", "arguments": {"command": "login hunter2"}}


async def test_a_text_is_erased_after_its_id_was_typed(open_page: OpenPage) -> None:
    viewer = await open_page()
    asked = await viewer.flag(
        kind="approval", title="Use hunter2?", detail="It is hunter2.", call=CALL
    )
    await viewer.open(asked["id"])
    await expect(viewer.ask.get_by_text("It is hunter2.")).to_be_visible()
    await expect(viewer.page.locator("#announcer")).to_contain_text("hunter2")
    await viewer.ask.get_by_text("Erase the text").click()
    send = viewer.ask.get_by_role("button", name="Erase on all machines")
    typed = viewer.ask.get_by_label(f"Type {asked['id']} to erase it")
    await typed.fill("yes")
    await send.click()
    await expect(viewer.ask.locator(".erase [role=alert]")).to_contain_text("the id of this ask")
    await typed.fill(asked["id"])
    await viewer.ask.get_by_label("Reason").fill("a password")
    # By the keyboard, as in any form.
    await typed.press("Enter")
    await expect(viewer.ask.locator(".erased")).to_contain_text("The text was erased by Ann on ")
    await expect(viewer.ask.locator(".erased")).to_contain_text(": a password")
    await viewer.says("Withdrawn: its text was erased by Ann")
    await expect(viewer.page.get_by_text("hunter2")).to_have_count(0)
    await expect(viewer.ask.get_by_text("Erase the text")).to_be_hidden()


async def test_a_note_goes_from_the_screen_as_well(open_page: OpenPage) -> None:
    """Its card stands as it stood, and yet it is read again. On a phone's width."""
    viewer = await open_page(viewport={"width": 390, "height": 760})
    asked = await viewer.flag(kind="note", title="A note", detail="It is hunter2.")
    await viewer.open(asked["id"])
    await expect(viewer.ask.get_by_text("It is hunter2.")).to_be_visible()
    await viewer.ask.get_by_text("Erase the text").click()
    await viewer.ask.get_by_label(f"Type {asked['id']} to erase it").fill(asked["id"])
    button = viewer.ask.get_by_role("button", name="Erase on all machines")
    box = await button.bounding_box()
    assert box
    assert box["x"] + box["width"] <= 390
    await button.click()
    await expect(viewer.ask.locator(".erased")).to_contain_text("The text was erased by Ann on ")
    await expect(viewer.page.get_by_text("hunter2")).to_have_count(0)
