"""Two pages on two real machines: paired, asked, answered, killed and removed through the pages.

Whenever nothing is under way, each page lists exactly what its own node tells, and the two
nodes tell the same.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.viewer import Viewer, sign_in_cookie
from tests.fleet.fleets import Machine, alive, fleet_of, machines_of

Look = Callable[..., Awaitable[Viewer]]
YES_NO = [{"label": "yes"}, {"label": "no"}]
CALL = {"tool": "deploy", "arguments": {"target": "staging"}}
AT_REST = {"waiting", "away", "kept", "handed", "machine_removed", "restricted"}
"""States of cards that stay as they are while nobody does anything."""
LISTED = """() => ({
    asks: [...document.querySelectorAll('ask-row')].map(row =>
        [row.dataset.ask, row.querySelector('.mark-word').textContent]).sort(),
    needs: document.querySelectorAll('[data-group="needs"] ask-row').length,
    tab: document.querySelector('#tab-count:not([hidden])')?.textContent ?? '0',
    title: /^\\((\\d+)\\) /.exec(document.title)?.[1] ?? '0',
})"""
TOLD = "async () => (await import('/static/wire.js')).wire.state()"


@pytest.fixture
def strangers(tmp_path: Path) -> Iterator[list[Machine]]:
    """Two machines that know nothing of each other; somebody has signed in on the first."""
    with machines_of(tmp_path, "desk", "laptop") as made:
        made[0].found()
        yield made


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Machine]]:
    """Two machines of one fleet."""
    with fleet_of(tmp_path_factory.mktemp("pages"), "desk", "laptop") as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def look(browser: Browser) -> AsyncIterator[Look]:
    """Open the page of a machine, each in a browser profile of its own."""
    faults: list[str] = []
    contexts = []

    async def open_one(machine: Machine, hash_: str = "") -> Viewer:
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        contexts.append(context)
        if machine.person.cookie:
            await context.add_cookies([sign_in_cookie(machine.person)])
        viewer = Viewer(await context.new_page(), machine.node)
        viewer.page.on("pageerror", lambda error: faults.append(str(error)))
        await viewer.page.goto(f"{viewer.url}{hash_}")
        if machine.person.cookie:
            await viewer.page.locator("#views:not([hidden])").wait_for()
        return viewer

    yield open_one
    for context in contexts:
        await context.close()
    assert faults == []


# --- what is shown and what is told ---------------------------------------------------------------


def words(ask: dict[str, Any]) -> str:
    """What the row of an ask has to say."""
    state = ask["card"]["state"]
    # A state on the way to another one is no word of a page at rest.
    return str(ask["card"]["word"]) if state in AT_REST else ""


def same_for_all(state: dict[str, Any]) -> dict[str, Any]:
    """What every node tells of its asks."""
    return {ask["id"]: (ask["card"]["state"], ask["final"], ask["seen"]) for ask in state["asks"]}


async def difference(viewers: tuple[Viewer, ...]) -> list[Any]:
    """Where pages and nodes say different things; [] when nowhere."""
    found: list[Any] = []
    told = [await viewer.page.evaluate(TOLD) for viewer in viewers]
    for viewer, state in zip(viewers, told, strict=True):
        listed = await viewer.page.evaluate(LISTED)
        needs = state["counts"]["needs_me"]
        expected = {
            "asks": sorted([ask["id"], words(ask)] for ask in state["asks"]),
            "needs": needs,
            "tab": str(needs),
            "title": str(needs),
        }
        if listed != expected:
            found.append((viewer.node.name, listed, expected))
    if any(same_for_all(state) != same_for_all(told[0]) for state in told):
        found.append([same_for_all(state) for state in told])
    return found


async def quiet(*viewers: Viewer, seconds: float = 10.0) -> None:
    """Wait until nothing is under way: all pages and all nodes say the same."""
    end = asyncio.get_running_loop().time() + seconds
    while found := await difference(viewers):
        assert asyncio.get_running_loop().time() < end, found
        await asyncio.sleep(0.05)


def card(page: Page, name: str) -> Locator:
    """The row of a machine."""
    return page.locator(".machine", has=page.get_by_role("heading", name=name, exact=True))


async def question(viewer: Viewer, title: str) -> str:
    """Let an agent of this machine ask; the short id."""
    return str((await viewer.flag(kind="question", title=title, options=YES_NO))["id"])


async def answer(viewer: Viewer, ask: str, choice: str = "yes") -> None:
    """Answer a question on this page."""
    await viewer.row(ask).locator("a").click()
    await viewer.ask.get_by_role("radio", name=choice, exact=True).check()
    await viewer.press("Send answer")


# --- the stories ----------------------------------------------------------------------------------


async def test_a_machine_is_let_in_and_put_out_through_the_pages(
    look: Look, strangers: list[Machine]
) -> None:
    desk, laptop = strangers
    here, there = await look(desk, "#machines"), await look(laptop)
    await let_in(here.page, there.page)
    await say_whose(here.page)
    await sign_in_by_digits(here.page, there.page)
    await there.page.goto(f"{there.url}#machines")
    for page, name in ((here.page, "laptop"), (there.page, "desk")):
        await page.goto(f"{page.url.partition('#')[0]}#machines")
        await expect(card(page, name)).to_contain_text("Connected")
        await expect(card(page, name)).to_contain_text("Ann")
        await expect(page.locator("#fleet-state")).to_have_text("2 machines")
    ask = await question(there, "From the laptop?")
    await here.page.goto(f"{here.url}#inbox")
    await there.page.goto(f"{there.url}#inbox")
    await here.row(ask).wait_for()
    await quiet(here, there)
    await put_out(here, there)
    await expect(here.row(ask).locator(".mark-word")).to_have_text("Machine removed")
    await expect(there.row(ask).locator(".mark-word")).to_have_text("Not from here")
    await quiet(here)
    await quiet(there)


async def let_in(desk: Page, laptop: Page) -> None:
    """Show a code at the desk, type it on the laptop, on which nobody has signed in."""
    await desk.get_by_role("button", name="Add a machine").click()
    code = desk.locator(".pairing-code")
    await expect(code).to_have_text(re.compile(r"^[0-9A-Z-]{10,}$"))
    shown = await desk.locator(".pairing-how code", has_text="--host").first.inner_text()
    await laptop.get_by_text("Join another fleet").click()
    await laptop.get_by_label("Code", exact=True).fill(await code.inner_text())
    await laptop.get_by_label("Its address").fill(shown.rpartition(" ")[2])
    await laptop.get_by_label("I have read what will happen").check()
    await laptop.get_by_role("button", name="Join that fleet").click()
    await laptop.get_by_role("heading", name="This machine has joined").wait_for()
    await expect(laptop.locator(".steps")).to_contain_text("On desk, an owner says whose")
    await expect(desk.locator(".pairing-status")).to_contain_text("laptop")
    await expect(code).to_be_hidden()
    await expect(card(desk, "laptop")).to_contain_text("Connected")
    await expect(card(desk, "laptop")).to_contain_text("Nobody yet")


async def say_whose(desk: Page) -> None:
    """Say at the desk that the laptop is Ann's."""
    await desk.get_by_role("button", name="Say whose machine it is").click()
    who = card(desk, "laptop").get_by_label("Name of the person")
    await expect(who).to_be_focused()
    await who.fill("Ann")
    await who.press("Enter")
    await expect(card(desk, "laptop")).to_contain_text("laptop speaks for Ann now.")


async def sign_in_by_digits(desk: Page, laptop: Page) -> None:
    """Show digits on the laptop, type them at the desk."""
    await laptop.get_by_role("button", name="Go on to sign in here").click()
    await laptop.get_by_text("From a place where I am signed in").click()
    await laptop.get_by_role("button", name="Show six digits").click()
    shown = laptop.locator("output.digits")
    await expect(shown).to_have_text(re.compile(r"^\d{6}$"))
    await expect(desk.locator("#notices")).to_contain_text("on laptop wants to sign in as you")
    await desk.get_by_role("link", name="Type its digits").click()
    await expect(desk.locator(".wish")).to_contain_text("on laptop wants to sign in")
    await desk.get_by_label("Six digits").fill(await shown.inner_text())
    await desk.keyboard.press("Enter")
    await laptop.locator("#views:not([hidden])").wait_for()
    await expect(laptop.locator("#machine")).to_have_text("laptop")
    await expect(desk.locator(".wish")).to_have_count(0)


async def put_out(here: Viewer, there: Viewer) -> None:
    """Remove the laptop at the desk; its own page says who did."""
    await here.page.goto(f"{here.url}#machines")
    row = card(here.page, "laptop")
    await row.get_by_text("Remove this machine").click()
    await row.get_by_label("I mean it").check()
    await row.get_by_role("button", name="Remove it for good").click()
    await expect(row).to_contain_text("Removed")
    await expect(row).to_contain_text("by Ann")
    await expect(there.page.locator("#notices")).to_contain_text("by Ann")
    await expect(there.page.locator("#fleet-state")).to_have_text("removed from the fleet")
    await expect(here.page.locator("#fleet-state")).to_be_hidden()
    await here.page.goto(f"{here.url}#inbox")


async def test_each_page_shows_and_answers_what_is_asked_on_the_other_machine(
    look: Look, fleet: list[Machine]
) -> None:
    alive(*fleet)
    pages = [await look(machine) for machine in fleet]
    for home, other in (pages, pages[::-1]):
        asked = await question(home, f"Asked on {home.node.name}?")
        held = await home.flag(kind="approval", title=f"Go on {home.node.name}?", call=CALL)
        await other.row(asked).wait_for()
        await expect(other.row(asked)).to_contain_text(f"on {home.node.name}")
        await expect(other.row(held["id"]).locator(".mark-word")).to_have_text("Needs you")
        await quiet(*pages)
        await answer(other, asked, "no")
        await other.open(held["id"])
        await other.press("Allow")
        told = [await home.answer(ask) for ask in (asked, held["id"])]
        assert (told[0]["state"], told[0]["choice"], told[1]["state"]) == (
            "answered",
            "no",
            "allowed",
        )
        await quiet(*pages)
        await home.open(asked)
        await home.says(f"on {other.node.name}")
    for viewer in pages:
        await viewer.page.reload()
        await viewer.page.locator("#views:not([hidden])").wait_for()
    await quiet(*pages)


async def test_an_answer_is_kept_while_its_machine_is_away(
    look: Look, fleet: list[Machine]
) -> None:
    alive(*fleet)
    desk, laptop = fleet
    here, there = await look(desk), await look(laptop)
    ask = await question(here, "Kept?")
    await there.row(ask).wait_for()
    await quiet(here, there)
    desk.node.kill()
    await here.page.locator("#link-lost").wait_for()
    await expect(there.row(ask).locator(".mark-word")).to_have_text("Machine away")
    await expect(there.page.locator("#fleet-state")).to_have_text("2 machines, 1 away")
    await quiet(there)
    await answer(there, ask)
    await there.says("kept until desk is back")
    await expect(there.row(ask).locator(".mark-word")).to_have_text("Kept until it is back")
    await expect(there.button("Take back")).to_be_enabled()
    await quiet(there)
    await asyncio.to_thread(desk.node.start)
    told = await here.answer(ask)
    assert (told["state"], told["choice"]) == ("answered", "yes")
    await there.says("claude has it.")
    await expect(there.page.locator("#fleet-state")).to_have_text("2 machines")
    await expect(here.page.locator("#link-lost")).to_be_hidden()
    await quiet(here, there)
