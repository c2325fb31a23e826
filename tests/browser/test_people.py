"""People on the page: inviting, signing in by an invitation, whose machine it is, accounts."""

import asyncio

from playwright.async_api import expect

from tests.browser.conftest import OpenPage
from tests.running import PASSPHRASE, RunningNode

BOBS = "another four good words"


async def test_who_is_invited_signs_in_and_is_chosen_by_name_later(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    ann = await asyncio.to_thread(running_node.person)
    made = ann.ok("POST", "/api/invitations", {"name": "Bob", "role": "member", "where": "here"})
    bob = await open_page(f"#i={made['code']}", signed_in=False)
    page = bob.page
    await page.get_by_role("heading", name="You are invited").wait_for()
    assert page.url == bob.url
    await expect(page.get_by_label("Code of the invitation")).to_have_value(made["code"])
    await page.get_by_label("The same again").fill(BOBS)
    await page.get_by_label("Passphrase", exact=True).first.fill(f"{BOBS}x")
    await page.get_by_role("button", name="Sign in for the first time").click()
    await page.get_by_text("The two passphrases are not the same.").wait_for()
    await page.get_by_label("Passphrase", exact=True).first.fill(BOBS)
    await page.get_by_role("button", name="Sign in for the first time").click()
    await page.locator("#views:not([hidden])").wait_for()
    await page.goto(f"{bob.url}#places")
    await page.get_by_text("You are Bob, member.").wait_for()
    await page.get_by_role("button", name="Sign out here").click()
    await page.get_by_role("heading", name="Sign in", exact=True).wait_for()
    form = page.locator("#entry form").first
    await form.get_by_label("Passphrase").fill(PASSPHRASE)
    await form.get_by_role("button", name="Sign in").click()
    await form.get_by_text("Choose who you are.").wait_for()
    await form.get_by_label("Who you are").select_option("Bob")
    await form.get_by_role("button", name="Sign in").click()
    await form.get_by_text("That is not right.").wait_for()
    await form.get_by_label("Passphrase").fill(BOBS)
    await form.get_by_role("button", name="Sign in").click()
    await page.get_by_text("You are Bob, member.").wait_for()
