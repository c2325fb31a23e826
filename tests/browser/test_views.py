"""Agents, rules, deep links and filters."""

from playwright.async_api import expect

from tests.browser.conftest import OpenPage
from tests.running import RunningNode

GOOD = """\
[[rule]]
name = "push"
tool = "Bash"
arguments = { command = "git push*" }
action = "ask"
"""
BAD = GOOD + '\n[[rule]]\nname = "push"\ntool = "Bash"\nacton = "allow"\n'


async def test_rules_are_checked_and_put_into_force(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    viewer = await open_page("#rules")
    page = viewer.page
    await page.get_by_text("No rules are in force").wait_for()
    await page.get_by_text("Change the rules").click()
    await page.get_by_label("Name").fill("team")
    editor = page.get_by_label("Rules (TOML)")
    await editor.fill(BAD)
    await page.get_by_role("button", name="Put into force").click()
    problem = page.locator(".problems li").first
    await problem.get_by_role("button").click()
    selected = await editor.evaluate("e => e.value.slice(e.selectionStart, e.selectionEnd)")
    assert selected in BAD.splitlines()
    assert running_node.person().ok("GET", "/api/rules")["rules"] is None
    await page.reload()
    await expect(editor).to_have_value(BAD)
    await editor.fill(GOOD)
    await page.get_by_text("These rules can be put into force.").wait_for()
    await page.get_by_role("button", name="Put into force").click()
    await page.get_by_text("In force.", exact=True).wait_for()
    await expect(page.locator(".page .code").first).to_have_text(GOOD)
    assert running_node.person().ok("GET", "/api/rules")["rules"]["name"] == "team"


async def test_rules_that_changed_meanwhile_are_not_replaced_unseen(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    viewer = await open_page("#rules")
    page = viewer.page
    await page.get_by_text("Change the rules").click()
    await page.get_by_label("Rules (TOML)").fill(GOOD)
    running_node.rules(running_node.person(), GOOD.replace("ask", "deny"), name="other")
    await page.get_by_text("Other rules have come into force").wait_for()
    await expect(page.locator(".rules-changes")).to_contain_text('-action = "deny"')
    await page.get_by_role("button", name="Put into force").click()
    await expect(page.locator(".editor .failure")).to_be_visible()
    assert running_node.person().ok("GET", "/api/rules")["rules"]["name"] == "other"
    await expect(page.get_by_label("Rules (TOML)")).to_have_value(GOOD)
    # What it would change in them was on the screen: whoever means it goes on.
    await page.get_by_role("button", name="Replace them").click()
    await page.get_by_role("button", name="Put into force").click()
    await page.get_by_text("In force.", exact=True).wait_for()
    assert running_node.person().ok("GET", "/api/rules")["rules"]["source"] == GOOD


async def test_sessions_say_who_does_what_and_whether_a_gate_holds(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    viewer = await open_page("#agents")
    await viewer.agent("status", {"text": "Writing the changelog"})
    await viewer.flag(kind="question", title="Which?")
    session = viewer.page.locator(".session")
    await expect(session).to_contain_text("Writing the changelog")
    await expect(session).to_contain_text("app · main")
    await expect(session).to_contain_text("Gate not seen")
    await expect(session).to_contain_text("last heard")
    await session.get_by_role("button", name="1 open ask").click()
    project = viewer.page.get_by_label("Project", exact=True)
    await expect(project).to_have_value("example.org/team/app")


async def test_a_link_leads_to_one_ask(open_page: OpenPage) -> None:
    viewer = await open_page()
    await viewer.flag(kind="question", title="Older")
    asked = await viewer.flag(kind="question", title="Meant")
    linked = await open_page(f"#ask={asked['id']}")
    await expect(linked.ask.locator("h2")).to_have_text("Meant")
    await expect(linked.row(asked["id"]).locator("a")).to_have_attribute("aria-current", "true")
    lost = await open_page(f"#ask={asked['id'].partition('-')[0]}-999")
    await expect(lost.page.locator(".missing")).to_contain_text("cannot be shown")


async def test_one_project_at_a_time(open_page: OpenPage, running_node: RunningNode) -> None:
    viewer = await open_page()
    for project in ("example.org/team/app", "example.org/team/site"):
        running_node.agent(
            "flag",
            {"kind": "question", "title": f"In {project}"},
            session=project,
            project=project,
        )
    await expect(viewer.group("needs").locator("ask-row")).to_have_count(2)
    await viewer.page.get_by_label("Project", exact=True).select_option("site")
    await expect(viewer.group("needs").locator("ask-row")).to_have_count(1)
    await expect(viewer.page.get_by_text("1 that needs you is not shown")).to_be_visible()
    await expect(viewer.page.locator("#tab-count")).to_have_text("2")


async def test_an_arrival_is_announced_once(open_page: OpenPage) -> None:
    viewer = await open_page()
    await viewer.flag(kind="question", title="One")
    await expect(viewer.page.locator("#announcer")).to_have_text("claude: One")
    for number in range(4):
        await viewer.flag(kind="question", title=f"Burst {number}")
    await expect(viewer.page.locator("#announcer")).to_have_text("4 new asks.")


async def test_hidden_tabs_share_one_stream(open_page: OpenPage) -> None:
    viewers = [await open_page() for _ in range(8)]
    # Six connections to one address are all a browser opens: with one stream for each
    # tab, nothing could be read or answered any more.
    last = viewers[-1]
    asked = await last.flag(kind="question", title="Still alive?")
    await last.open(asked["id"])
    await last.press("Decline to answer")
    await last.says("Declined by you")
    for viewer in viewers:
        await expect(viewer.page.locator("#link-lost")).to_be_hidden()
