"""Everything by keyboard, and no single key that answers."""

from playwright.async_api import expect

from tests.browser.conftest import OpenPage

BASH = {"tool": "Bash", "arguments": {"command": "make release"}}


async def test_a_day_by_keyboard(open_page: OpenPage) -> None:
    viewer = await open_page()
    keys = viewer.page.keyboard
    approval = await viewer.flag(kind="approval", title="Release", call=BASH)
    question = await viewer.flag(
        kind="question", title="Which?", options=[{"label": "one"}, {"label": "two"}]
    )
    await expect(viewer.group("needs").locator("ask-row")).to_have_count(2)
    # Wide pages open the first by themselves; j goes on from there.
    await keys.press("j")
    await keys.press("k")
    await keys.press("Enter")
    await viewer.ask.get_by_text(approval["id"], exact=True).wait_for()
    await viewer.focus_comes_to("H2 Release")
    await keys.press("d")
    assert await viewer.focused() == "BUTTON Deny"
    await keys.press("r")
    await keys.type("jkadr?/1 is text here")
    assert await viewer.ask.locator("input.because").input_value() == "jkadr?/1 is text here"
    await keys.press("Escape")
    await viewer.ready("Allow")
    await keys.press("a")
    assert await viewer.focused() == "BUTTON Allow"
    assert (await viewer.answer(approval["id"], 0))["state"] == "waiting"
    await keys.press("Enter")
    await viewer.says("Allowed by you")
    await viewer.focus_comes_to("H2 Release")
    await keys.press("k")
    await keys.press("Enter")
    await viewer.ask.get_by_text(question["id"], exact=True).wait_for()
    await keys.press("2")
    assert (await viewer.answer(question["id"], 0))["state"] == "waiting"
    await keys.press("r")
    await keys.type("and quickly")
    await keys.press("Control+Enter")
    await viewer.says("Answered “two” by you")
    assert (await viewer.answer(question["id"]))["text"] == "and quickly"


async def test_no_single_key_answers(open_page: OpenPage) -> None:
    viewer = await open_page()
    asked = await viewer.flag(kind="approval", title="Release", call=BASH)
    await viewer.open(asked["id"])
    await viewer.ready("Allow")
    for key in "abcdefghijklmnopqrstuvwxyz0123456789":
        await viewer.page.locator("body").press(key)
        if not viewer.page.url.endswith(f"#ask={asked['id']}"):
            await viewer.page.goto(f"{viewer.url}#ask={asked['id']}")
    assert (await viewer.answer(asked["id"], 0))["state"] == "waiting"


async def test_search_help_and_views(open_page: OpenPage) -> None:
    viewer = await open_page()
    page, keys = viewer.page, viewer.page.keyboard
    await viewer.flag(kind="question", title="About apples")
    await viewer.flag(kind="question", title="About pears")
    await expect(viewer.group("needs").locator("ask-row")).to_have_count(2)
    await keys.press("/")
    await keys.type("pear")
    await expect(viewer.group("needs").locator("ask-row")).to_have_count(1)
    await keys.press("Escape")
    await keys.press("?")
    dialog = page.locator("dialog#help")
    await expect(dialog).to_be_visible()
    for key in ("j / k", "Enter", "Esc", "/", "1 … 9", "r", "d", "a", "?"):
        await expect(dialog.get_by_text(key, exact=True)).to_be_visible()
    await keys.press("Escape")
    await expect(dialog).to_be_hidden()
    for key, heading in (("a", "Agents"), ("r", "Rules"), ("p", "Places")):
        await keys.press("g")
        await keys.press(key)
        await page.get_by_role("heading", level=1, name=heading).wait_for()
    await keys.press("?")
    await page.get_by_label("Single keys are on").uncheck()
    await page.get_by_role("button", name="Close").click()
    await keys.press("g")
    await keys.press("i")
    await expect(page.get_by_role("heading", level=1, name="Places")).to_be_visible()


async def test_the_first_tab_skips_to_the_content(open_page: OpenPage) -> None:
    viewer = await open_page()
    await viewer.page.keyboard.press("Tab")
    assert await viewer.focused() == "A Skip to the content"
    await viewer.page.keyboard.press("Enter")
    assert (await viewer.focused()).startswith("MAIN")
