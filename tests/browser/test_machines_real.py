"""Machines on the page of one real node: what it replies by itself, without a stand-in."""

import re

from playwright.async_api import expect

from tests.browser.conftest import OpenPage


async def test_a_machine_alone(open_page: OpenPage) -> None:
    viewer = await open_page("#machines")
    page = viewer.page
    await expect(page.locator(".machine")).to_have_count(1)
    await expect(page.locator(".machine")).to_contain_text("This machine")
    await expect(page.get_by_text("This machine is alone.")).to_be_visible()
    await expect(page.locator("#fleet-state")).to_be_hidden()
    await page.keyboard.press("g")
    await page.keyboard.press("w")
    await expect(page.locator(".way").first).to_be_visible()
    await expect(page.locator("#views")).to_contain_text("It is served on loopback only.")


async def test_this_machine_is_renamed(open_page: OpenPage) -> None:
    viewer = await open_page("#machines")
    page = viewer.page
    before = await page.locator("#machine").inner_text()
    await page.get_by_text("Rename this machine").click()
    name = page.get_by_label("Its name")
    for typed, shown in (
        ("de\u202esk", "holds U+202E (RIGHT-TO-LEFT OVERRIDE)"),
        ("The workshop", "This machine is called The workshop now."),
        (before, f"This machine is called {before} now."),
    ):
        await name.fill(typed)
        await name.press("Enter")
        await expect(page.locator(".machine")).to_contain_text(shown)


async def test_a_real_code_is_shown_and_withdrawn(open_page: OpenPage) -> None:
    viewer = await open_page("#machines")
    page = viewer.page
    other = await open_page("#machines", place="two")
    await page.get_by_role("button", name="Add a machine").click()
    await expect(page.locator(".pairing-code")).to_have_text(re.compile(r"^[0-9A-Z-]{10,}$"))
    code = await page.locator(".pairing-code").inner_text()
    await expect(page.get_by_role("img", name="The code as a QR picture")).to_be_visible()
    await expect(page.get_by_text(f"askmesh node pair {code}", exact=True)).to_be_visible()
    await other.page.reload()
    await other.page.get_by_text("shown where it was made, and nowhere else").wait_for()
    assert code not in await other.page.locator("#main").inner_text()
    await other.page.get_by_role("button", name="Withdraw the code").click()
    await expect(page.locator(".pairing-code")).to_be_hidden()
    await expect(page.locator(".pairing-status")).to_contain_text("withdrawn")


async def test_joining_is_offered_while_nobody_signed_in(open_page: OpenPage) -> None:
    viewer = await open_page(signed_in=False)
    page = viewer.page
    await page.get_by_text("Join another fleet").click()
    await expect(page.locator(".join .consequences li").first).to_be_visible()
    await expect(page.get_by_label("Code", exact=True)).to_be_visible()
    await page.get_by_label("Code", exact=True).fill("ABCD-EFGH-JKMN-0")
    await page.get_by_label("Its address").fill("127.0.0.1:9")
    await page.get_by_label("I have read what will happen").check()
    await page.get_by_role("button", name="Join that fleet").click()
    await expect(page.locator(".join .failure")).not_to_be_empty()
    await expect(page.get_by_role("button", name="Join that fleet")).to_be_enabled()


async def test_digits_say_on_which_machine(open_page: OpenPage) -> None:
    viewer = await open_page("#places")
    other = await open_page(signed_in=False, place="two")
    await other.page.get_by_text("From a place where I am signed in").click()
    await other.page.get_by_role("button", name="Show six digits").click()
    machine = await viewer.page.locator("#machine").inner_text()
    await expect(other.page.get_by_text(f"signed in on {machine} or on another")).to_be_visible()
    await expect(viewer.page.locator(".wish")).to_contain_text(f"on {machine} wants to sign in")
    await expect(viewer.page.locator("#notices")).to_contain_text(
        "A new place wants to sign in as you."
    )
