"""Answering on the page, with an agent on the other end."""

import asyncio
import re

from playwright.async_api import Route, expect

from tests.browser.conftest import OpenPage

BASH = {"tool": "Bash", "arguments": {"command": "make release", "timeout": 60}}
LONG = {"tool": "Bash", "arguments": {"command": "\n".join(f"echo {n}" for n in range(900))}}


async def test_a_question_by_its_options(open_page: OpenPage) -> None:
    viewer = await open_page()
    options = [{"label": "Blue"}, {"label": "Green", "detail": "as the logo"}]
    asked = await viewer.flag(kind="question", title="Which colour?", options=options)
    await viewer.open(asked["id"])
    assert viewer.page.url.endswith(f"#ask={asked['id']}")
    waiting = asyncio.create_task(viewer.answer(asked["id"]))
    await viewer.ask.get_by_label("Green").check()
    await viewer.ask.get_by_label("Because (optional)").fill("it is the brand")
    await viewer.press("Send answer")
    answer = await waiting
    assert (answer["state"], answer["choice"], answer["because"]) == (
        "answered",
        "Green",
        "it is the brand",
    )
    await viewer.says("Answered “Green” by you")
    await expect(viewer.group("closed").locator("ask-row")).to_have_count(1)
    await viewer.agent(
        "resolve",
        {"ask_id": asked["id"], "token": answer["token"], "outcome": "painted", "ok": True},
    )
    await viewer.says("Done: painted")


async def test_a_question_in_own_words(open_page: OpenPage) -> None:
    viewer = await open_page()
    asked = await viewer.flag(kind="question", title="Which port?", options=[{"label": "80"}])
    await viewer.open(asked["id"])
    assert await viewer.button("Send answer").get_attribute("aria-disabled") == "true"
    await viewer.ask.get_by_label("None of these").check()
    assert await viewer.button("Send answer").get_attribute("aria-disabled") == "true"
    await viewer.ask.get_by_label("Add your own words").fill("8080, please")
    await viewer.press("Send answer")
    answer = await viewer.answer(asked["id"])
    assert (answer["choice"], answer["text"]) == (None, "8080, please")


async def test_a_question_is_declined(open_page: OpenPage) -> None:
    viewer = await open_page()
    asked = await viewer.flag(kind="question", title="Rewrite it in another language?")
    await viewer.open(asked["id"])
    await viewer.ask.get_by_label("Because (optional)").fill("not mine to say")
    await viewer.press("Decline to answer")
    await viewer.says("Declined by you")
    answer = await viewer.answer(asked["id"])
    assert (answer["state"], answer["because"]) == ("declined", "not mine to say")


async def test_an_approval_is_denied_and_another_allowed(open_page: OpenPage) -> None:
    viewer = await open_page()
    one = await viewer.flag(kind="approval", title="Release", call=BASH)
    two = await viewer.flag(kind="approval", title="Release again", call=BASH)
    await viewer.open(one["id"])
    await expect(viewer.ask.get_by_text("make release")).to_be_visible()
    await expect(viewer.ask.get_by_text("On the agent's word")).to_be_visible()
    await viewer.ask.get_by_label("Because (optional)").fill("not on a Friday")
    await viewer.press("Deny")
    await viewer.says("Denied by you")
    denied = await viewer.answer(one["id"])
    assert (denied["state"], denied["because"]) == ("denied", "not on a Friday")
    await viewer.open(two["id"])
    await viewer.press("Allow")
    await viewer.says("Allowed by you")
    assert (await viewer.answer(two["id"]))["state"] == "allowed"
    await viewer.says("claude has it")
    await expect(viewer.button("Take back")).to_be_hidden()


async def test_deny_stands_first_and_far_from_allow(open_page: OpenPage) -> None:
    viewer = await open_page()
    asked = await viewer.flag(kind="approval", title="Release", call=BASH)
    await viewer.open(asked["id"])
    await viewer.ready("Allow")
    deny = await viewer.button("Deny").bounding_box()
    allow = await viewer.button("Allow").bounding_box()
    assert deny
    assert allow
    assert allow["x"] - (deny["x"] + deny["width"]) > 200
    order = await viewer.ask.evaluate(
        "ask => [...ask.querySelectorAll('button')].filter(b => b.checkVisibility())"
        ".map(b => b.textContent)"
    )
    assert order.index("Deny") < order.index("Allow")


async def test_taking_back(open_page: OpenPage) -> None:
    viewer = await open_page()
    asked = await viewer.flag(kind="approval", title="Release", call=BASH)
    await viewer.open(asked["id"])
    await viewer.press("Allow")
    await viewer.says("has not picked it up yet")
    # The second click of a double click does nothing; a wanted one, a moment later, does.
    await viewer.page.wait_for_timeout(700)
    await viewer.press("Take back")
    await viewer.says("taken back")
    answer = await viewer.answer(asked["id"])
    assert answer["state"] == "void"


async def test_allow_waits_until_all_was_seen(open_page: OpenPage) -> None:
    viewer = await open_page()
    asked = await viewer.flag(kind="approval", title="A long one", call=LONG)
    await viewer.open(asked["id"])
    await viewer.ask.get_by_text("You have not seen all of this.").wait_for()
    await viewer.ask.get_by_role("button", name=re.compile("Show more of command")).wait_for()
    await viewer.button("Allow").click(force=True)
    assert (await viewer.answer(asked["id"], 0))["state"] == "waiting"
    await viewer.ask.get_by_role("button", name="Show the rest").click()
    await viewer.page.keyboard.press("Enter")
    await viewer.ask.get_by_role("button", name="Show the rest").click()
    await viewer.press("Allow")
    await viewer.says("Allowed by you")


async def test_a_note_is_dismissed_and_brought_back(open_page: OpenPage) -> None:
    viewer = await open_page()
    note = await viewer.flag(kind="note", title="Kept the old name", detail="for one release")
    await viewer.flag(kind="done", title="Released 2.4")
    await expect(viewer.group("notes").locator("ask-row")).to_have_count(2)
    await viewer.open(note["id"])
    await viewer.press("Dismiss")
    await expect(viewer.group("notes").locator("ask-row")).to_have_count(1)
    await expect(viewer.group("closed").locator("ask-row")).to_have_count(1)
    await viewer.ask.get_by_role("button", name="Mark as unread").click()
    await expect(viewer.group("notes").locator("ask-row")).to_have_count(2)


async def test_two_tabs_answer_at_once(open_page: OpenPage) -> None:
    viewer = await open_page()
    asked = await viewer.flag(kind="approval", title="Release", call=BASH)
    other = await open_page(f"#ask={asked['id']}")
    await other.ready("Deny")
    await other.ask.get_by_label("Because (optional)").fill("I was slower")
    held = asyncio.Event()

    async def hold(route: Route) -> None:
        await held.wait()
        await route.continue_()

    await other.page.route("**/votes", hold)
    await other.press("Deny")
    await expect(other.ask.get_by_role("button", name="Sending…")).to_be_visible()
    await viewer.page.bring_to_front()
    await viewer.open(asked["id"])
    await viewer.press("Allow")
    await viewer.says("Allowed by you")
    await expect(viewer.failure).to_be_hidden()
    held.set()
    await expect(other.failure).to_contain_text("Not counted: Allowed by you on ")
    await expect(other.ask.locator(".unsent")).to_contain_text("I was slower")
    await other.says("Allowed by you")


async def test_nothing_shows_done_before_the_reply(open_page: OpenPage) -> None:
    viewer = await open_page()
    asked = await viewer.flag(kind="question", title="Which port?")
    await viewer.open(asked["id"])
    await viewer.ask.get_by_label("Your answer").nth(1).fill("80")

    async def refuse(route: Route) -> None:
        await route.abort("connectionfailed")

    await viewer.page.route("**/votes", refuse)
    await viewer.press("Send answer")
    await expect(viewer.failure).to_contain_text("No reply came")
    await viewer.says("claude waits for your answer")
    assert await viewer.ask.locator("textarea").input_value() == "80"
    await viewer.page.unroute("**/votes")
    await viewer.press("Send answer")
    await viewer.says("Answered by you")
    await expect(viewer.ask.locator("textarea")).to_have_value("")


async def test_several_are_answered_together(open_page: OpenPage) -> None:
    viewer = await open_page()
    asks = [
        (await viewer.flag(kind="approval", title=f"Release {n}", call=BASH))["id"]
        for n in range(2)
    ]
    question = (await viewer.flag(kind="question", title="Which branch?"))["id"]
    for ask in (*asks, question):
        await viewer.page.get_by_label(f"Choose {ask}", exact=True).check()
    dialog = viewer.page.locator("dialog.together-dialog")
    together = viewer.page.get_by_role("button", name="Answer together…")
    await together.click()
    await expect(dialog.get_by_text("Questions and approvals are answered apart")).to_be_visible()
    await expect(dialog.get_by_role("button", name="Allow all")).to_be_hidden()
    await dialog.get_by_role("button", name="Cancel").click()
    await viewer.page.get_by_label(f"Choose {question}", exact=True).uncheck()
    await together.click()
    for ask in asks:
        await expect(dialog.get_by_text(ask)).to_be_visible()
    await expect(dialog.get_by_text("make release").first).to_be_visible()
    await dialog.locator('button:not([aria-disabled="true"]):text-is("Allow all")').click()
    await expect(dialog.get_by_text("All 2 are recorded.")).to_be_visible()
    await expect(dialog.get_by_text("Recorded. Allowed by you")).to_have_count(2)
    await dialog.get_by_role("button", name="Close").click()
    for ask in asks:
        assert (await viewer.answer(ask))["state"] == "allowed"


async def test_sent_back_as_unclear_and_marked_as_needless(open_page: OpenPage) -> None:
    viewer = await open_page()
    asked = await viewer.flag(kind="question", title="That one?")
    await viewer.open(asked["id"])
    await viewer.ask.get_by_role("button", name="Needn't have asked").click()
    await expect(viewer.ask.get_by_role("button", name="Counted as needless")).to_be_visible()
    unclear = viewer.ask.get_by_role("button", name="Unclear, ask again")
    await unclear.click()
    await expect(viewer.ask.get_by_text("Write what is unclear")).to_be_visible()
    await viewer.ask.get_by_label("Because (optional)").fill("Which one?")
    await unclear.click()
    await viewer.says("Sent back as unclear")
    answer = await viewer.answer(asked["id"])
    assert (answer["state"], answer["unclear"], answer["because"]) == (
        "declined",
        True,
        "Which one?",
    )
    await viewer.page.goto(f"{viewer.url}#agents")
    await expect(viewer.page.locator(".asked tbody tr")).not_to_have_count(0)
