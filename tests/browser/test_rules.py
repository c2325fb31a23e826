"""Rules made of a decision, the versions there were, and two at once."""

import json
from typing import Any

import pytest
from playwright.async_api import Route, expect

from tests.browser.conftest import OpenPage
from tests.browser.viewer import Viewer
from tests.machine import node_packages
from tests.running import RunningNode

pytestmark = pytest.mark.npm

OVER = '[[rule]]\nname = "past"\ntool = "Read"\naction = "deny"\nuntil = 2020-01-01T00:00:00Z\n'
RULES = '[[rule]]\nname = "{}"\ntool = "Bash"\naction = "ask"\n'


async def test_always_like_this_and_back_again(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    person = running_node.person()
    running_node.rules(person, f"{OVER}{RULES.format('first')}", name="team")
    viewer = await open_page(bypass_csp=True)
    call = {"tool": "deploy", "arguments": {"target": "staging"}}
    ask = (await viewer.flag(kind="approval", title="Deploy?", call=call))["id"]
    page = viewer.page
    await page.goto(f"{page.url.partition('#')[0]}#ask={ask}")
    await page.get_by_text("Always like this").click()
    always = page.locator(".always")
    await always.get_by_role("button", name="Show the rule").click()
    # No gate holds what an agent asks on its own word.
    await expect(always.locator(".failure").first).to_contain_text("on the agent's word")
    await always.get_by_label("Such calls").select_option("deny")
    await always.get_by_role("button", name="Show the rule").click()
    await expect(always.locator(".diff-in").first).to_be_visible()
    await expect(always).to_contain_text('+equals.target = "staging"')
    await expect(always).to_contain_text("+until = ")
    assert person.ok("GET", "/api/rules")["rules"]["count"] == 2
    await always.get_by_role("button", name="Put into force").click()
    await always.get_by_text("The rule is in force.").wait_for()
    assert person.ok("GET", "/api/rules")["rules"]["count"] == 3
    await go_back(viewer, running_node)


async def is_accessible(viewer: Viewer) -> None:
    packages = node_packages()
    assert packages
    await viewer.page.evaluate((packages / "axe-core" / "axe.min.js").read_text())
    found = await viewer.page.evaluate("axe.run()")
    assert [(item["id"], item["nodes"][0]["html"]) for item in found["violations"]] == []


async def go_back(viewer: Viewer, node: RunningNode) -> None:
    page = viewer.page
    await page.goto(f"{page.url.partition('#')[0]}#rules")
    idle = page.get_by_role("list", name="Rules in force that have no effect now")
    await expect(idle).to_contain_text("Line 1: `past` held until 2020-01-01T00:00:00Z")
    await page.locator("summary", has_text="History").click()
    versions = page.locator(".rules-versions li")
    await expect(versions).to_have_count(2)
    await expect(versions.first).to_contain_text("by Ann on")
    await versions.nth(1).locator("summary").first.click()
    await versions.nth(1).get_by_role("button", name="Go back to this").click()
    await expect(page.locator(".rules-changes")).to_contain_text('-equals.target = "staging"')
    await page.get_by_role("button", name="Put into force").click()
    await page.get_by_text("In force.", exact=True).wait_for()
    source = node.person().ok("GET", "/api/rules")["rules"]["source"]
    assert source == f"{OVER}{RULES.format('first')}"
    await expect(versions).to_have_count(3)
    await is_accessible(viewer)


async def test_two_versions_at_once_are_both_shown_and_a_member_only_reads(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    running_node.rules(running_node.person(), RULES.format("first"), name="team")
    role = "owner"

    async def two(route: Route) -> None:
        reply = await route.fetch()
        state: dict[str, Any] = await reply.json()
        rules = state["rules"]
        one = {key: rules[key] for key in ("name", "version", "applied_at", "applied_by")}
        one |= {"id": "a" * 64, "machine": "desk", "source": RULES.format("first")}
        other = one | {"id": "b" * 64, "machine": "attic", "applied_by": "Bob\u202e"}
        rules["siblings"] = [one, other | {"source": RULES.format("second")}]
        state["me"]["role"] = role
        await route.fulfill(response=reply, body=json.dumps(state))

    viewer = await open_page(bypass_csp=True)
    page = viewer.page
    await page.route("**/api/state", two)
    await page.reload()
    await page.goto(f"{page.url.partition('#')[0]}#rules")
    conflict = page.locator(".rules-conflict")
    await expect(conflict).to_contain_text("2 versions were applied at the same time")
    await expect(conflict).to_contain_text('name = "second"')
    assert "\u202e" not in await conflict.inner_text()
    await is_accessible(viewer)
    await conflict.get_by_role("button", name="by Bob").click()
    await expect(page.get_by_label("Rules (TOML)")).to_have_value(RULES.format("second"))
    role = "member"
    await page.reload()
    await page.get_by_text("Only an owner or an admin changes the rules.").wait_for()
    await expect(page.get_by_label("Rules (TOML)")).to_be_hidden()
    await expect(conflict.get_by_role("button", name="Settle")).to_have_count(0)
