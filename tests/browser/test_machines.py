"""Machines on the page: rows, what persons do with them, and what each outcome says.

The replies about machines are a stand-in at the page's outer edge (`StandIn`); page, node,
session and stream are real. What real nodes reply is held by `tests/fleet` and `tests/web`.
"""

import re
from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.browser.conftest import OpenPage
from tests.browser.fleet_stand_in import (
    ADDRESS,
    ATTIC,
    CODE,
    QR,
    STUDIO,
    StandIn,
    machine,
    many,
    pairing,
)
from tests.browser.viewer import Viewer

HOSTILE = "<img src=x onerror='window.harm=1'>\u202egpj"


async def machines(open_page: OpenPage, stand_in: StandIn, **options: Any) -> Viewer:  # noqa: ANN401
    """The view of machines, as the stand-in tells of them."""
    viewer = await open_page("#machines", **options)
    await stand_in.stand_before(viewer.page)
    await viewer.page.locator(".machine").first.wait_for()
    return viewer


def fleet(viewer: Viewer, attic: str = "attic") -> list[dict[str, Any]]:
    return many(viewer.node.person().state()["now"], attic)


async def full(open_page: OpenPage, role: str = "owner", **options: Any) -> tuple[Viewer, StandIn]:  # noqa: ANN401
    """A fleet with one machine of each kind."""
    stand_in = StandIn(role=role)
    viewer = await machines(open_page, stand_in, **options)
    stand_in.fleet["machines"] = fleet(viewer)
    await viewer.page.reload()
    await expect(viewer.page.locator(".machine")).to_have_count(5)
    return viewer, stand_in


def card(page: Page, name: str) -> Locator:
    """The row of a machine."""
    return page.locator(".machine", has=page.get_by_role("heading", name=name, exact=True))


async def test_every_machine_is_a_row(open_page: OpenPage) -> None:
    viewer, _ = await full(open_page)
    page = viewer.page
    attic = card(page, "attic")
    await expect(attic).to_contain_text("Away")
    await expect(attic).to_contain_text("Last seen 3 h ago by studio")
    await expect(attic).to_contain_text("No route to 10.0.0.9")
    await expect(attic).to_contain_text("12 entries still to go to it")
    await expect(attic).to_contain_text("Nobody yet")
    studio = card(page, "studio")
    await expect(studio).to_contain_text("Connected")
    for words in ("18 ms", "1 entry still to come", "1 min ahead of", "0.2.0", "Ada"):
        await expect(studio).to_contain_text(words)
    await expect(card(page, "twin")).to_contain_text("Must join again")
    await expect(card(page, "old")).to_contain_text("Removed 2 d ago by Bea")
    await expect(page.locator("#fleet-state")).to_have_text("4 machines, 1 away, 1 must join again")
    await expect(page.locator("#notices")).to_contain_text("history of twin split in two")
    await page.get_by_role("link", name="Inbox").first.click()
    await page.keyboard.press("g")
    await page.keyboard.press("m")
    await expect(page.locator("#tab-machines")).to_have_attribute("aria-current", "page")


async def test_only_what_would_not_be_refused_is_offered(open_page: OpenPage) -> None:
    viewer, stand_in = await full(open_page, role="member")
    page = viewer.page
    # Whoever may answer on a machine may rename it.
    await expect(page.locator("#main summary:visible")).to_have_text(["Rename this machine"])
    await expect(page.get_by_role("button", name="Add a machine")).to_be_hidden()
    stand_in.role = "admin"
    await page.reload()
    await expect(page.get_by_role("button", name="Add a machine")).to_be_visible()
    await expect(card(page, "studio").locator("summary:visible")).to_have_count(2)
    await expect(card(page, "old").locator("summary:visible")).to_have_count(0)
    await expect(card(page, "laptop").locator("summary:visible")).to_have_count(1)
    await expect(page.get_by_text("Leave this fleet")).to_be_hidden()


async def test_add_a_machine_and_say_whose_it_is(open_page: OpenPage) -> None:
    viewer, stand_in = await full(open_page)
    page = viewer.page
    expires = viewer.node.person().state()["now"] + 600_000
    begun = pairing(code=CODE, qr=QR, expires=expires)
    stand_in.says("POST /api/pairing", begun)
    await page.get_by_role("button", name="Add a machine").press("Enter")
    await expect(page.locator(".pairing-code")).to_have_text(CODE)
    picture = page.get_by_role("img", name="The code as a QR picture")
    await expect(picture).to_be_visible()
    drawn = await picture.locator("path").get_attribute("d")
    assert drawn
    assert drawn.count("M") == "".join(QR).count("1")
    await expect(page.get_by_text(f"askmesh node pair {CODE}", exact=True)).to_be_visible()
    await expect(page.get_by_text(f"node pair {CODE} --host {ADDRESS}")).to_be_visible()
    await expect(page.get_by_role("timer")).to_have_text("9 min left")
    await expect(page.locator(".pairing-code")).to_be_focused()
    joined = machine(ATTIC, "attic")
    stand_in.says(
        "GET /api/pairing", pairing("paired", sentence="attic has joined.", machine=joined)
    )
    await expect(page.locator(".pairing-status")).to_have_text("attic has joined.")
    assert await page.locator(".pairing-status").get_attribute("role") == "status"
    await expect(page.locator(".pairing-code")).to_be_hidden()
    await page.get_by_role("button", name="Say whose machine it is").click()
    who = card(page, "attic").get_by_label("Name of the person")
    await expect(who).to_be_focused()
    await who.fill("Ada")
    await who.press("Enter")
    await expect(card(page, "attic")).to_contain_text("attic speaks for Ada now.")
    assert stand_in.sent("PUT") == [(f"PUT /api/machines/{ATTIC}/person", {"person": "Ada"})]


async def test_a_code_that_came_to_nothing_says_so(open_page: OpenPage) -> None:
    viewer, stand_in = await full(open_page)
    page = viewer.page
    expires = viewer.node.person().state()["now"] + 600_000
    stand_in.says("POST /api/pairing", pairing(code=CODE, qr=QR, expires=expires))
    await page.get_by_role("button", name="Add a machine").click()
    await page.get_by_role("button", name="Withdraw the code").click()
    await expect(page.locator(".pairing-status")).to_contain_text("was withdrawn")
    assert [line for line, _ in stand_in.sent("DELETE")] == ["DELETE /api/pairing"]
    await page.get_by_role("button", name="Make a new code").click()
    stand_in.says("GET /api/pairing", pairing("failed", sentence="A wrong code was typed."))
    await expect(page.locator(".pairing-status")).to_have_text("A wrong code was typed.")
    refused = {"error": {"code": "conflict", "message": "One waits already.", "hint": ""}}
    stand_in.says("POST /api/pairing", refused, 409)
    await page.get_by_role("button", name="Make a new code").click()
    await expect(page.get_by_role("alert").filter(has_text="One waits")).to_be_visible()


async def test_a_code_made_elsewhere_can_be_withdrawn_and_not_seen(open_page: OpenPage) -> None:
    viewer, stand_in = await full(open_page)
    expires = viewer.node.person().state()["now"] + 600_000
    stand_in.says("GET /api/pairing", pairing(expires=expires))
    await viewer.page.reload()
    await viewer.page.get_by_text("shown where it was made, and nowhere else").wait_for()
    await expect(viewer.page.locator(".pairing-code")).to_be_hidden()
    await viewer.page.get_by_role("button", name="Withdraw the code").click()
    await expect(viewer.page.locator(".pairing-status")).to_contain_text("was withdrawn")


async def test_remove_says_what_happens_first(open_page: OpenPage) -> None:
    viewer, stand_in = await full(open_page)
    page = viewer.page
    studio = card(page, "studio")
    await studio.get_by_text("Remove this machine").press("Enter")
    await expect(studio).to_contain_text("This cannot be undone")
    await studio.get_by_role("button", name="Remove it for good").click()
    await expect(studio.get_by_role("alert")).to_have_text("Say first that this is meant.")
    assert stand_in.sent("DELETE") == []
    await studio.get_by_label("I mean it").check()
    gone = [dict(one) for one in stand_in.fleet["machines"]]
    gone[2] |= {"state": "removed", "removed": gone[2]["seen"], "removed_by": "Ada"}
    stand_in.fleet["machines"] = gone
    await studio.get_by_role("button", name="Remove it for good").press("Enter")
    await expect(studio).to_contain_text("by Ada")
    await expect(studio.locator("summary:visible")).to_have_count(0)
    assert stand_in.sent("DELETE") == [(f"DELETE /api/machines/{STUDIO}", {})]
    assert await viewer.focused() == "H2 studio"


async def test_addresses_are_given_and_dropped(open_page: OpenPage) -> None:
    viewer, stand_in = await full(open_page)
    attic = card(viewer.page, "attic")
    await attic.get_by_text("Addresses", exact=True).click()
    field = attic.get_by_label("Another address")
    await field.fill("100.64.0.7:7717")
    await field.press("Enter")
    await expect(field).to_have_value("")
    await attic.get_by_role("button", name="Drop the address 10.0.0.9:7717").click()
    await expect(attic.locator("summary", has_text="Addresses")).to_be_focused()
    path = f"/api/machines/{ATTIC}/addresses"
    assert stand_in.sent("POST") == [(f"POST {path}", {"address": "100.64.0.7:7717"})]
    assert stand_in.sent("DELETE") == [(f"DELETE {path}", {"address": "10.0.0.9:7717"})]


MEANS = {"allowed": True, "sentences": ["Its log is kept read-only.", "Every session here ends."]}
OFFERS = {
    "offers": [
        {"machine": "studio", "address": ADDRESS},
        {"machine": HOSTILE, "address": "10.0.0.66:1"},
    ]
}


async def test_join_while_nobody_signed_in(open_page: OpenPage) -> None:
    stand_in = StandIn()
    viewer = await open_page(signed_in=False)
    await stand_in.stand_before(viewer.page)
    page = viewer.page
    stand_in.says("GET /api/joining", MEANS)
    stand_in.says("GET /api/pairing/offers", OFFERS)
    await page.get_by_text("Join another fleet").click()
    await expect(page.get_by_text("Its log is kept read-only.")).to_be_visible()
    await expect(page.get_by_text("2 machines near by show a code.")).to_be_visible()
    await expect(page.locator(".options")).to_contain_text("<img src=x")
    await page.get_by_label(re.compile("^studio")).check()
    await page.get_by_label("Code").fill(CODE)
    join = page.get_by_role("button", name="Join that fleet")
    await join.click()
    await expect(page.get_by_role("alert").filter(has_text="Read first")).to_be_visible()
    assert stand_in.sent("POST") == []
    await page.get_by_label("I have read what will happen").check()
    wrong = {
        "error": {"code": "pairing_failed", "message": "That code is used up.", "hint": "Ask."}
    }
    stand_in.says("POST /api/joining", wrong, 409)
    await join.click()
    await expect(page.get_by_text("That code is used up. Ask.")).to_be_visible()
    joined = {
        "machine": machine(STUDIO, "studio"),
        "machines": 2,
        "raised_again": 1,
        "sentence": "This machine is in the fleet of studio now.",
    }
    stand_in.says("POST /api/joining", joined)
    await join.click()
    await expect(page.get_by_text("in the fleet of studio now")).to_be_visible()
    await expect(page.locator(".steps")).to_contain_text("On studio, an owner says whose")
    assert await viewer.focused() == "H2 This machine has joined"
    sent = [body for _, body in stand_in.sent("POST")]
    assert sent == [{"code": CODE, "address": ADDRESS}] * 2
    assert await page.evaluate("window.harm") is None


async def test_joining_that_is_refused_says_the_way_out(open_page: OpenPage) -> None:
    viewer, stand_in = await full(open_page)
    stand_in.says(
        "GET /api/joining",
        {"allowed": False, "sentences": ["This fleet has members.", "Leave it first."]},
    )
    await viewer.page.get_by_text("Join another fleet").press("Enter")
    await expect(viewer.page.get_by_text("Leave it first.")).to_be_visible()
    await expect(viewer.page.get_by_role("button", name="Join that fleet")).to_be_hidden()


async def test_leaving_shows_the_new_words_once(open_page: OpenPage) -> None:
    viewer, stand_in = await full(open_page)
    page = viewer.page
    stand_in.says("GET /api/leaving", MEANS)
    stand_in.says(
        "POST /api/leaving", {"fleet": stand_in.fleet, "recovery_words": ["anchor", "brook"]}
    )
    await page.get_by_text("Leave this fleet").click()
    await expect(page.get_by_text("Its log is kept read-only.")).to_be_visible()
    leave = page.get_by_role("button", name="Leave the fleet")
    await leave.click()
    await expect(page.get_by_role("alert").filter(has_text="Read first")).to_be_visible()
    await page.locator(".leave").get_by_label("I have read what will happen").check()
    await leave.click()
    await expect(page.locator(".recovery li")).to_have_text(["anchor", "brook"])
    await page.get_by_label("I have written them down").check()
    await page.get_by_role("button", name="Go to the inbox").click()
    await page.locator("#views:not([hidden])").wait_for()
    await expect(page.locator(".recovery")).to_have_count(0)


async def test_a_removed_machine_says_by_whom_and_what_to_do(open_page: OpenPage) -> None:
    viewer, stand_in = await full(open_page)
    page = viewer.page
    stand_in.fleet["removed"] = "This machine was removed from the fleet by Bea on studio."
    await page.reload()
    await expect(page.locator("#notices")).to_contain_text("by Bea on studio")
    await expect(page.locator("#fleet-state")).to_have_text("removed from the fleet")
    await expect(page.get_by_role("button", name="Add a machine")).to_be_hidden()
    await expect(page.locator(".machine summary:visible")).to_have_count(0)
    await expect(page.get_by_text("Leave this fleet")).to_be_visible()


async def test_a_machine_on_hold_goes_on_by_a_persons_word(open_page: OpenPage) -> None:
    viewer, stand_in = await full(open_page)
    page = viewer.page
    stand_in.fleet["hold"] = "This machine's data was copied, so answers wait on hold."
    stand_in.says("GET /api/hold", MEANS)
    stand_in.says("POST /api/hold", stand_in.fleet | {"hold": None})
    await page.reload()
    await expect(page.locator("#notices")).to_contain_text("answers wait on hold")
    await page.get_by_text("This machine is on hold: say go").press("Enter")
    await expect(page.get_by_text("Its log is kept read-only.")).to_be_visible()
    await page.locator(".go").get_by_label("I have read what will happen").press("Space")
    go = page.locator(".go").get_by_role("button")
    await expect(go).to_have_text("Go on")
    await go.press("Enter")
    await expect(page.locator("#notices")).not_to_contain_text("on hold")
    await expect(page.locator(".go")).to_be_hidden()


async def test_a_machine_whose_history_split_takes_on_a_new_identity(open_page: OpenPage) -> None:
    viewer, stand_in = await full(open_page)
    page = viewer.page
    stand_in.fleet["machines"][0] |= {"state": "must_rejoin", "forked": "It split in two here."}
    stand_in.says("GET /api/rejoining", MEANS)
    words = {"fleet": stand_in.fleet, "recovery_words": ["anchor", "brook"]}
    stand_in.says("POST /api/rejoining", words)
    await page.reload()
    await expect(page.locator("#notices")).to_contain_text("It split in two here.")
    await page.get_by_text("Give this machine a new identity").press("Enter")
    await expect(page.get_by_text("Its log is kept read-only.")).to_be_visible()
    await page.locator(".rejoin").get_by_label("I have read what will happen").press("Space")
    await page.get_by_role("button", name="Take on a new identity").press("Enter")
    await expect(page.locator(".recovery li")).to_have_text(["anchor", "brook"])


async def test_what_leaves_this_machine(open_page: OpenPage) -> None:
    viewer, stand_in = await full(open_page)
    line = {"what": "Every ask.", "to": f"the machines {HOSTILE}", "on": True, "how": "Leave."}
    stand_in.says("GET /api/privacy", {"lines": [line, line | {"on": False}]})
    await viewer.page.get_by_role("link", name="What leaves this machine, and to whom").click()
    ways = viewer.page.locator(".way")
    await expect(ways).to_have_count(2)
    await expect(ways.first).to_contain_text("<img src=x")
    await expect(ways.first).to_contain_text("U+202E")
    await expect(viewer.page.locator("#tab-machines")).to_have_attribute("aria-current", "page")


async def test_hostile_names_are_only_text(open_page: OpenPage) -> None:
    viewer, stand_in = await full(open_page)
    stand_in.fleet["machines"] = fleet(viewer, HOSTILE)
    await viewer.page.reload()
    await expect(viewer.page.locator(".machine h2", has_text="<img src=x")).to_contain_text(
        "U+202E"
    )
    assert "\u202e" not in await viewer.page.locator("#main").inner_text()
    assert await viewer.page.locator("#main img").count() == 0
    assert await viewer.page.evaluate("window.harm") is None


async def test_an_answer_for_a_machine_that_is_away_is_kept(open_page: OpenPage) -> None:
    viewer, stand_in = await full(open_page)
    asked = await viewer.flag(kind="question", title="Which port?")
    card_ = {
        "state": "kept",
        "sentence": "Your answer is kept until attic is back; builder was not told yet.",
        "sign": "□",
        "word": "Kept until it is back",
        "tone": "wait",
        "spoken": "your answer, for the machine that asked",
        "actions": ["take_back"],
        "needs_me": False,
    }
    stand_in.asks[asked["id"]] = {"card": card_, "machine": machine(ATTIC, "attic")}
    await viewer.page.reload()
    await viewer.page.get_by_role("link", name="Inbox").first.click()
    row = viewer.row(asked["id"])
    await expect(row).to_contain_text("on attic")
    await expect(row).to_contain_text("Kept until it is back")
    await viewer.open(asked["id"])
    await expect(viewer.sentence).to_contain_text("kept until attic is back")
    await expect(viewer.button("Take back")).to_be_visible()
    await expect(viewer.button("Send answer")).to_be_hidden()
