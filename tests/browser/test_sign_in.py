"""Becoming a signed-in person, on the page."""

import asyncio
import re

from playwright.async_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.viewer import Viewer
from tests.running import PASSPHRASE, RunningNode

WORDS = 12


async def first_form(open_page: OpenPage, node: RunningNode) -> Viewer:
    viewer = await open_page(f"#t={node.token}", signed_in=False)
    await viewer.page.get_by_role("heading", name="Welcome to askmesh").wait_for()
    return viewer


async def fill_first(viewer: Viewer, name: str, passphrase: str, again: str) -> None:
    page = viewer.page
    await page.get_by_label("Your name").fill(name)
    await page.get_by_label("Passphrase", exact=True).fill(passphrase)
    await page.get_by_label("The same again").fill(again)
    await page.get_by_role("button", name="Make this inbox mine").click()


async def to_the_inbox(viewer: Viewer) -> None:
    page = viewer.page
    await page.get_by_label("I have written them down").check()
    await page.get_by_role("button", name="Go to the inbox").click()
    await page.locator("#views:not([hidden])").wait_for()


async def test_first_run(open_page: OpenPage, running_node: RunningNode) -> None:
    viewer = await first_form(open_page, running_node)
    page = viewer.page
    assert page.url == viewer.url
    assert running_node.token not in await page.evaluate("JSON.stringify(history.state) + location")
    await fill_first(viewer, "Ada", PASSPHRASE, f"{PASSPHRASE}x")
    await page.get_by_text("The two passphrases are not the same.").wait_for()
    await fill_first(viewer, "Ada", "short", "short")
    await page.get_by_text("needs at least 8 characters").wait_for()
    await fill_first(viewer, "Ada", PASSPHRASE, PASSPHRASE)
    await expect(page.locator(".recovery li")).to_have_count(WORDS)
    await expect(page.locator("img.recovery-qr")).to_be_visible()
    await page.get_by_role("button", name="Go to the inbox").click()
    await page.get_by_text("Say first that you have written the words down.").wait_for()
    await to_the_inbox(viewer)
    await page.get_by_text("askmesh demo").wait_for()
    await page.get_by_text("askmesh agent install claude").first.wait_for()
    await page.reload()
    await page.locator("#views:not([hidden])").wait_for()
    await expect(page.locator(".recovery")).to_have_count(0)
    cookie = (await page.context.cookies())[0]
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert await page.evaluate("document.cookie") == ""
    again = await open_page(f"#t={running_node.token}", signed_in=False, place="two")
    await again.page.get_by_role("heading", name="Sign in").wait_for()


async def test_first_run_without_a_passphrase(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    viewer = await first_form(open_page, running_node)
    page = viewer.page
    await page.get_by_label("Your name").fill("Ada")
    await page.get_by_text("Skip the passphrase").click()
    await expect(page.get_by_text("only from a place that is still signed in")).to_be_visible()
    await page.get_by_role("button", name="Go on without a passphrase").click()
    await to_the_inbox(viewer)


async def test_nobody_yet_and_no_link(open_page: OpenPage) -> None:
    viewer = await open_page(signed_in=False)
    await viewer.page.get_by_role("heading", name="Nobody has signed in here yet").wait_for()


async def test_wrong_and_right_passphrase(open_page: OpenPage, running_node: RunningNode) -> None:
    # The first session is used once, so its words count as seen and are not shown again.
    await asyncio.to_thread(lambda: running_node.person().state())
    viewer = await open_page(signed_in=False)
    page = viewer.page
    await page.get_by_role("textbox", name="Passphrase").fill("not this one")
    await page.keyboard.press("Enter")
    await expect(page.locator(".failure:not([hidden])")).to_be_visible()
    await page.get_by_role("textbox", name="Passphrase").fill(PASSPHRASE)
    await page.keyboard.press("Enter")
    await page.locator("#views:not([hidden])").wait_for()


async def test_recovery_words_end_every_other_session(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    first = await first_form(open_page, running_node)
    await fill_first(first, "Ada", PASSPHRASE, PASSPHRASE)
    await first.page.locator(".recovery li").first.wait_for()
    words = " ".join(await first.page.locator(".recovery li").all_inner_texts())
    await to_the_inbox(first)
    second = await open_page(signed_in=False, place="two")
    await second.page.get_by_text("With the recovery words").click()
    await expect(second.page.get_by_text("This ends every other session")).to_be_visible()
    # Copied with their numbers and in capitals, as from paper.
    await second.page.get_by_label("Recovery words").fill(words.upper())
    await second.page.get_by_role("button", name="Use the recovery words").click()
    await second.page.locator("#views:not([hidden])").wait_for()
    await expect(second.page.locator(".notice")).to_contain_text("recovery words were used")
    await first.page.get_by_role("heading", name="Sign in").wait_for()


async def test_six_digits_across_two_places(open_page: OpenPage, running_node: RunningNode) -> None:
    signed = await open_page()
    new = await open_page(signed_in=False, place="two")
    await new.page.get_by_text("From a place where I am signed in").click()
    await new.page.get_by_role("button", name="Show six digits").click()
    shown = new.page.locator("output.digits")
    await expect(shown).to_have_text(re.compile(r"^\d{6}$"))
    digits = await shown.inner_text()
    await signed.page.get_by_role("link", name="Type its digits").click()
    wrong = f"{(int(digits) + 1) % 1_000_000:06d}"
    await signed.page.get_by_label("Six digits").fill(wrong)
    await signed.page.keyboard.press("Enter")
    await expect(signed.page.locator(".wish .failure")).to_be_visible()
    await signed.page.get_by_label("Six digits").fill(f"{digits[:3]} {digits[3:]}")
    await signed.page.keyboard.press("Enter")
    await new.page.locator("#views:not([hidden])").wait_for()
    await expect(signed.page.locator(".place")).to_have_count(2)


async def test_ending_sessions(open_page: OpenPage) -> None:
    here = await open_page()
    there = await open_page(place="two")
    await here.page.goto(f"{here.url}#places")
    await expect(here.page.locator(".place")).to_have_count(2)
    await here.page.get_by_role("button", name=re.compile("End the session")).click()
    await expect(here.page.locator(".place")).to_have_count(1)
    await there.page.get_by_role("heading", name="Sign in").wait_for()
    await here.page.get_by_role("button", name="Sign out here").click()
    await here.page.get_by_role("heading", name="Sign in").wait_for()
    await here.page.reload()
    await here.page.get_by_role("heading", name="Sign in").wait_for()


async def test_notices_are_back_after_signing_in_again(open_page: OpenPage) -> None:
    viewer = await open_page("#places")
    page, notices = viewer.page, viewer.page.locator("#notices")
    new = await open_page(signed_in=False, place="two")
    await new.page.get_by_text("From a place where I am signed in").click()
    await new.page.get_by_role("button", name="Show six digits").click()
    await expect(notices).to_contain_text("wants to sign in as you")
    await page.get_by_role("button", name="Sign out here").click()
    await expect(notices).to_be_empty()
    await page.locator("#entry").get_by_role("textbox", name="Passphrase").fill(PASSPHRASE)
    await page.keyboard.press("Enter")
    await page.locator("#views:not([hidden])").wait_for()
    await expect(notices).to_contain_text("wants to sign in as you")
