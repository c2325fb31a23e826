"""Take the pictures of the documentation: `python -m tests.browser.pictures [one] [two]`.

Real nodes, one alone and two of one fleet, with made-up agents; the same page that the tests
look at.
"""

import asyncio
import contextlib
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, Page, async_playwright

from node.bridge.client import NodeAway, call, post
from tests.browser.viewer import STILL, sign_in_cookie, until_true
from tests.fleet.fleets import Machine, fleet_of
from tests.machine import ROOT, browser
from tests.running import PASSPHRASE, Person, RunningNode, node_in, until

PICTURES = ROOT / "docs" / "screenshots"
MINUTE_MS = 60_000
RULES = """\
# The first rule that matches decides.
[[rule]]
name = "tests"
tool = "Bash"
arguments = { command = "pytest*" }
action = "allow"

[[rule]]
name = "pushes"
tool = "Bash"
arguments = { command = "git push*" }
action = "ask"
deadline = "4h"
reason = "Pushes leave this machine."

[[rule]]
name = "edits"
tool = "Edit"
action = "ask"
"""
BEFORE = """\
def total(items, code):
    subtotal = sum(item.price * item.count for item in items)
    if code in ACTIVE:
        return subtotal * ACTIVE[code]
    return subtotal


def round_up(amount):
    return -(-amount // 1)
"""
OLD = "    if code in ACTIVE:\n        return subtotal * ACTIVE[code]\n    return subtotal\n"
NEW = """\
    rate = ACTIVE.get(code)
    if rate is None:
        return subtotal
    if not 0 < rate <= 1:
        raise BadRate(code, rate)
    return subtotal * rate
"""


class Agent:
    """One made-up session of an agent."""

    def __init__(self, node: RunningNode, name: str, project: str, branch: str, cwd: Path) -> None:
        self.node = node
        self.cwd = cwd
        self.who = {
            "agent": name,
            "session": f"{name}-{branch}",
            "project": f"github.com/acme/{project}",
            "cwd": str(cwd),
            "branch": branch,
            "client": name,
        }

    def send(self, route: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        """Carry out an agent route."""
        return call(str(self.node.home), route, self.who, arguments, None, 60.0)

    def held(self, tool: str, given: dict[str, Any]) -> None:
        """Let a hook hold a call until the node ends."""
        event = {
            "session_id": self.who["session"],
            "cwd": str(self.cwd),
            "hook_event_name": "PreToolUse",
            "tool_name": tool,
            "tool_input": given,
            "tool_use_id": f"use-{tool}",
        }

        body = {
            "who": self.who,
            "invocation": f"{tool}-invocation".ljust(32, "-"),
            "stage": "PreToolUse",
            "event": event,
        }

        def hold() -> None:
            with contextlib.suppress(NodeAway):
                post(str(self.node.home), "/agent/hook/claude", body)

        threading.Thread(target=hold, daemon=True).start()


def fill(node: RunningNode, folder: Path) -> Person:
    """Let agents ask, a person answer, and time pass."""
    person = node.person()
    node.rules(person, RULES, name="team")
    shop = folder / "shop-api"
    (shop / "pricing").mkdir(parents=True)
    (shop / "pricing" / "discount.py").write_text(BEFORE)
    release = Agent(node, "claude", "shop-api", "release/2.4", shop)
    locking = Agent(node, "claude", "shop-api", "feat/locking", shop)
    till = Agent(node, "codex", "till-app", "coupons", folder)
    earlier(node, person, till, locking)
    question(locking)
    till.send("flag", kind="question", title="What should the till say when a coupon has run out?")
    node.advance(4 * MINUTE_MS)
    release.send("status", text="Release 2.4: changelog written, waiting to push")
    release.held(
        "Edit",
        {"file_path": str(shop / "pricing" / "discount.py"), "old_string": OLD, "new_string": NEW},
    )
    node.advance(2 * MINUTE_MS)
    release.held(
        "Bash",
        {
            "command": "git push origin release/2.4 && ./deploy/notify --channel releases",
            "description": "Push the release branch",
        },
    )
    until(lambda: person.state()["counts"]["needs_me"] == 4, "both calls are held")
    node.advance(MINUTE_MS)
    return person


def earlier(node: RunningNode, person: Person, till: Agent, locking: Agent) -> None:
    """What happened before the pictures are taken."""
    old = till.send("flag", kind="question", title="Keep Python 3.10?", options=yes_or_no())
    person.vote(old["id"], "answer", choice="2", text="Drop it with 3.0.")
    answer = till.send("await", ask_id=old["id"], wait_s=1)
    till.send(
        "resolve",
        ask_id=old["id"],
        token=answer["token"],
        outcome="Dropped 3.10 from the matrix",
        ok=True,
    )
    node.advance(40 * MINUTE_MS)
    call_ = {"tool": "Bash", "arguments": {"command": "terraform apply staging.plan"}}
    infra = Agent(node, "codex", "infra", "main", Path("/"))
    apply_ = infra.send("flag", kind="approval", title="Apply the staging plan", call=call_)
    person.vote(apply_["id"], "allow", because="Only the staging bucket.")
    infra.send("status", text="Applying the staging plan")
    infra.send(
        "flag",
        kind="note",
        title="Kept /v1/cart as a redirect for one release",
        detail="Clients older than 2.1 still call it. Remove it with 2.6.",
    )
    till.send("flag", kind="done", title="Released till-app 1.9", detail="Tag v1.9.0, 14 commits.")
    node.advance(5 * MINUTE_MS)
    locking.send("status", text="Integration tests for row locking")


def yes_or_no() -> list[dict[str, str]]:
    return [{"label": "Yes"}, {"label": "No"}]


def question(agent: Agent) -> None:
    agent.send(
        "flag",
        kind="question",
        title="Which database should the integration tests use?",
        detail=(
            "The locking tests need a real PostgreSQL. CI starts one in a container, which takes"
            " 40 s; most people have none on their machine.\n\nI would use the container"
            " everywhere: the same version for all, nothing to set up."
        ),
        options=[
            {"label": "Container everywhere", "detail": "One version; half a minute slower"},
            {"label": "Local server if there is one", "detail": "Quick, but versions differ"},
            {"label": "SQLite for most, container for locking", "detail": "Two paths to keep"},
        ],
        fallback="use the container everywhere",
        deadline_s=6 * 3600,
    )


async def take(page: Page, name: str) -> None:
    """Take one picture once nothing moves any more."""
    await until_true(page, STILL)
    await page.screenshot(path=PICTURES / f"{name}.png")


async def open_ask(page: Page, title: str) -> None:
    """Open an ask by its title."""
    await page.locator("ask-row a", has_text=title).click()
    await page.locator("ask-detail:not([hidden]) .history").wait_for()


async def signed_in(
    chromium: Browser,
    node: RunningNode,
    person: Person,
    *,
    size: tuple[int, int],
    theme: Any,  # noqa: ANN401
) -> Page:
    """A page of the filled node."""
    context = await chromium.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=theme, locale="en-GB"
    )
    await context.add_cookies([sign_in_cookie(person)])
    page = await context.new_page()
    await page.goto(f"http://127.0.0.1:{node.web_port}/")
    await page.locator("ask-row").first.wait_for()
    return page


async def first_run(chromium: Browser, node: RunningNode) -> None:
    """Pictures of the first sign-in."""
    page = await chromium.new_page(viewport={"width": 1000, "height": 760})
    await page.goto(f"http://127.0.0.1:{node.web_port}/#t={node.token}")
    await page.get_by_label("Your name").fill("Ann")
    await take(page, "first-run")
    await page.get_by_label("Passphrase", exact=True).fill(PASSPHRASE)
    await page.get_by_label("The same again").fill(PASSPHRASE)
    await page.keyboard.press("Enter")
    await page.get_by_label("I have written them down").check()
    await page.get_by_role("button", name="Go to the inbox").click()
    await page.get_by_text("askmesh demo").wait_for()
    await take(page, "empty")
    await page.close()


async def filled(chromium: Browser, node: RunningNode, person: Person) -> None:
    """Pictures of an inbox in use."""
    wide = await signed_in(chromium, node, person, size=(1280, 800), theme="light")
    await open_ask(wide, "git push")
    await take(wide, "inbox-light")
    await open_ask(wide, "Which database")
    await wide.get_by_label("Container everywhere").check()
    await take(wide, "question")
    await wide.goto(f"{wide.url.partition('#')[0]}#rules")
    await take(wide, "rules")
    dark = await signed_in(chromium, node, person, size=(1280, 800), theme="dark")
    await open_ask(dark, "discount.py")
    await take(dark, "inbox-dark")
    await dark.goto(f"{dark.url.partition('#')[0]}#agents")
    await take(dark, "agents-dark")
    for theme in ("light", "dark"):
        phone = await signed_in(chromium, node, person, size=(360, 740), theme=theme)
        await take(phone, f"phone-list-{theme}")
        await open_ask(phone, "git push")
        await take(phone, f"phone-approval-{theme}")
    await dark.goto(f"{dark.url.partition('#')[0]}#inbox")
    node.kill()
    await dark.locator("#link-lost").wait_for()
    await take(dark, "not-connected-dark")


def ask_on_both(desk: Machine, laptop: Machine, folder: Path) -> None:
    """Let agents of both machines ask; both are shown on the laptop."""
    shop = folder / "shop-api"
    shop.mkdir()
    locking = Agent(desk.node, "claude", "shop-api", "feat/locking", shop)
    till = Agent(laptop.node, "codex", "till-app", "coupons", folder)
    locking.send("flag", kind="note", title="Kept /v1/cart as a redirect for one release")
    till.send("flag", kind="question", title="What should the till say when a coupon has run out?")
    question(locking)
    until(lambda: laptop.person.state()["counts"]["needs_me"] == 2, "both asks are shown")


async def machines(chromium: Browser, desk: Machine, laptop: Machine) -> None:
    """Pictures of two machines."""
    there = await signed_in(chromium, laptop.node, laptop.person, size=(1280, 800), theme="light")
    await open_ask(there, "Which database")
    await there.get_by_label("Container everywhere").check()
    await take(there, "two-machines")
    here = await signed_in(chromium, desk.node, desk.person, size=(1000, 780), theme="light")
    await here.get_by_role("link", name="Machines", exact=True).click()
    row = here.locator(".machine", has_text="laptop")
    await row.get_by_text("Connected").wait_for()
    await row.get_by_text("Nothing, both ways").wait_for()
    await take(here, "machines-light")
    await here.get_by_role("button", name="Add a machine").click()
    await here.get_by_role("img", name="The code as a QR picture").wait_for()
    await here.set_viewport_size({"width": 1000, "height": 1018})
    await take(here, "add-machine-light")


async def one_alone(chromium: Browser, folder: Path) -> None:
    """Pictures of one machine."""
    with node_in(folder) as node:
        await first_run(chromium, node.start())
        person = await asyncio.to_thread(fill, node, folder)
        await filled(chromium, node, person)


async def two_of_a_fleet(chromium: Browser, folder: Path) -> None:
    """Pictures of a fleet."""
    with fleet_of(folder, "desk", "laptop") as (desk, laptop):
        await asyncio.to_thread(ask_on_both, desk, laptop, folder)
        await machines(chromium, desk, laptop)


async def main(names: list[str]) -> None:
    """Take all pictures, or some of them."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    sets = {"one": one_alone, "two": two_of_a_fleet}
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path=browser(), args=["--no-sandbox"]
        )
        for name in names or sets:
            with tempfile.TemporaryDirectory(prefix="work-") as folder:
                await sets[name](chromium, Path(folder))
        await chromium.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
