"""People on the page: inviting, signing in by an invitation, consents, accounts, removing."""

import json
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Locator, Route, expect

from tests.browser.conftest import OpenPage
from tests.browser.viewer import Viewer
from tests.machine import node_packages
from tests.running import PASSPHRASE

BOBS = "another four good words"
STUDIO = {"id": "s" * 52, "short": "ssss", "name": "studio"}


async def checked(viewer: Viewer) -> None:
    """Nothing axe knows of is wrong, and nothing is wider than a phone."""
    packages = node_packages()
    assert packages is not None
    page = viewer.page
    await page.evaluate((packages / "axe-core" / "axe.min.js").read_text())
    found = await page.evaluate("axe.run()")
    assert [json.dumps(one)[:600] for one in found["violations"]] == []
    assert await page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )


def person(viewer: Viewer, name: str) -> Locator:
    """The part of the view that is about them."""
    return viewer.page.locator(".person").filter(
        has=viewer.page.get_by_role("heading", name=name, exact=True)
    )


@pytest.mark.npm
async def test_a_person_is_invited_changed_and_removed(open_page: OpenPage) -> None:
    ann = await open_page("#people", viewport={"width": 390, "height": 844})
    me = person(ann, "Ann")
    await expect(me).to_contain_text("The only owner who has a machine")
    for act in ("Change the role", "Remove this person", "How the account stands"):
        await expect(me.get_by_text(act, exact=True).first).to_be_hidden()
    link = await invited(ann)
    bob = await open_page(link.removeprefix(ann.url), signed_in=False, place="two")
    await comes(bob)
    await ann.page.get_by_text("Bob has signed in.").wait_for()
    await bob.page.goto(f"{bob.url}#people")
    await expect(bob.page.get_by_text("this is for you to look at; ask Ann")).to_be_visible()
    await expect(bob.page.locator(".person .fold:visible, .page form:visible")).to_have_count(1)
    await role_and_account(ann, bob)
    await chosen_by_name(bob)
    await consents(bob)
    await removed(ann, bob)


async def invited(ann: Viewer) -> str:
    """Bob is invited, thought better of, and invited again; the link."""
    page = ann.page
    await page.get_by_label("Whom to invite").fill("Bob")
    await page.get_by_label("Their role").select_option("member")
    await page.get_by_role("button", name="Invite", exact=True).click()
    code = page.locator(".invited-here output")
    await expect(code).to_be_focused()
    listed = page.get_by_role("button", name="Withdraw the invitation of Bob")
    await expect(listed).to_be_visible()
    await checked(ann)
    await page.get_by_role("button", name="Withdraw the invitation", exact=True).click()
    await expect(listed).to_have_count(0)
    await expect(code).to_be_hidden()
    await page.get_by_label("Whom to invite").fill("Bob")
    await page.get_by_role("button", name="Invite", exact=True).click()
    return await page.locator(".invited-here .command code").inner_text()


async def comes(bob: Viewer) -> None:
    """Bob opens the link, of which nothing stays in the address, and chooses a passphrase."""
    page = bob.page
    await page.get_by_role("heading", name="You are invited").wait_for()
    assert page.url == bob.url
    await checked(bob)
    first = page.get_by_label("Passphrase", exact=True).first
    send = page.get_by_role("button", name="Sign in for the first time")
    await page.get_by_label("The same again").fill(BOBS)
    await first.fill(f"{BOBS}x")
    await send.click()
    await page.get_by_text("The two passphrases are not the same.").wait_for()
    await first.fill(BOBS)
    await send.click()
    await page.locator("#views:not([hidden])").wait_for()


async def chosen_by_name(bob: Viewer) -> None:
    """Of two who sign in here, each says who they are."""
    page = bob.page
    await page.goto(f"{bob.url}#places")
    await page.get_by_role("button", name="Sign out here").click()
    await page.get_by_role("heading", name="Sign in", exact=True).wait_for()
    form = page.locator("#entry form").first
    send = form.get_by_role("button", name="Sign in")
    await form.get_by_label("Passphrase").fill(PASSPHRASE)
    await send.click()
    await form.get_by_text("Choose who you are.").wait_for()
    await form.get_by_label("Who you are").select_option("Bob")
    await send.click()
    await form.get_by_text("That is not right.").wait_for()
    await form.get_by_label("Passphrase").fill(BOBS)
    await send.click()
    await page.get_by_text("You are Bob, admin.").wait_for()


async def consents(bob: Viewer) -> None:
    """An owner has said that a machine is Bob's; only the reply of the node is laid here."""
    page = bob.page
    said: list[tuple[str, object]] = []

    async def people(route: Route) -> None:
        reply = await route.fetch()
        view = await reply.json()
        (me,) = [one for one in view["people"] if one["you"]]
        asked = {"machine": STUDIO, "person": me["id"], "name": "Bob", "by": "Ann", "at": 1}
        me["machines"].append(STUDIO)
        view["consents"] = [] if said else [{**asked, "yours": True}]
        await route.fulfill(response=reply, json=view)

    async def consent(route: Route) -> None:
        said.append((route.request.url, route.request.post_data_json))
        await route.fulfill(json={})

    laid: dict[str, Callable[[Route], Awaitable[None]]] = {
        "**/api/people": people,
        f"**/api/machines/{STUDIO['id']}/consent": consent,
    }
    for path, handler in laid.items():
        await page.route(path, handler)
    await page.reload()
    await expect(page.locator(".elsewhere")).to_contain_text("signed in on studio as well")
    notice = page.locator(".notice", has_text="Ann says that studio is a machine of yours.")
    await notice.get_by_role("link").click()
    await page.get_by_role("button", name="It is mine: studio").wait_for()
    await checked(bob)
    await page.get_by_role("button", name="It is not mine: studio").click()
    await expect(page.get_by_role("button", name="It is mine: studio")).to_have_count(0)
    assert [body for _, body in said] == [{"accept": False}]
    for path in laid:
        await page.unroute(path)


async def role_and_account(ann: Viewer, bob: Viewer) -> None:
    """What becomes of Bob, and what his page says of it."""
    row = person(ann, "Bob")
    await row.get_by_text("Change the role", exact=True).first.click()
    await row.get_by_label("Role", exact=True).select_option("admin")
    await expect(row).to_contain_text("an admin may also apply rules")
    await row.get_by_role("button", name="Change the role").click()
    await expect(row.locator(".badge").last).to_have_text("admin")
    await expect(person(bob, "Bob").locator(".badge").last).to_have_text("admin")
    asked = await ann.flag(kind="approval", title="May I push?")
    await row.get_by_text("How the account stands", exact=True).first.click()
    level, say = row.get_by_label("From now on"), row.get_by_role("button", name="Say so")
    await row.get_by_label("Why").fill("Invoice 7 is open.")
    await row.get_by_label("Where it is settled").fill("https://pay.example/in")
    await say.click()
    await expect(row).to_contain_text("Grace, says Ann: Invoice 7 is open.")
    notice = bob.page.locator(".notice", has_text="needs attention. Everything works for now")
    await expect(notice.get_by_role("link", name="Settle it at pay.example")).to_be_visible()
    await bob.page.goto(f"{bob.url}#ask={asked['id']}")
    await bob.ready("Allow")
    await level.select_option("on_hold")
    await say.click()
    await bob.says("is on hold")
    await expect(bob.button("Allow")).to_have_count(0)
    await level.select_option("suspended")
    await expect(row.get_by_label("Why")).to_be_hidden()
    await say.click()
    await bob.says("is suspended")
    await expect(bob.page.locator(".notice a")).to_have_count(0)
    await checked(ann)
    await level.select_option("active")
    await say.click()
    await expect(bob.page.locator(".notice")).to_have_count(0)
    await bob.ready("Allow")


async def removed(ann: Viewer, bob: Viewer) -> None:
    """Only by the name, typed as it is."""
    row = person(ann, "Bob")
    await row.get_by_text("Remove this person", exact=True).first.click()
    typed = row.get_by_label("Their name, to say that this is meant")
    await typed.fill("bob")
    send = row.get_by_role("button", name="Remove this person")
    await send.click()
    await row.get_by_text("Type the name exactly").wait_for()
    await checked(ann)
    await typed.fill("Bob")
    await send.click()
    await bob.page.get_by_role("heading", name="Sign in", exact=True).wait_for()
    await expect(row).to_contain_text("removed")
    await expect(row.locator(".fold:visible")).to_have_count(0)
