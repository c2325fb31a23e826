"""Widths, themes, screen readers, and text that means harm."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.viewer import STILL, Viewer, until_true
from tests.machine import node_packages
from tests.running import RunningNode

HOSTILE = (
    "<script>window.harm = 1</script><img src=x onerror='window.harm = 2'> "
    "\u202egpj.exe \x1b[31mred \u2066hidden\u2069 zero\u200bwidth https://example.org/ "
    "javascript:window.harm=3"
)
LONG_WORD = "w" * 190
RULES = """\
[[rule]]
name = "push"
tool = "Bash"
arguments = { command = "git push*" }
action = "ask"
"""
EDIT = {
    "tool": "Bash",
    "arguments": {"command": f"echo {'x' * 400}", "list": [1, {"a": None}], "empty": ""},
}


async def fill(viewer: Viewer, node: RunningNode) -> list[str]:
    """One ask of each kind, a hostile one, a long one, and one that is closed."""
    options = [{"label": "L" * 120, "detail": LONG_WORD}, {"label": "short"}]
    asks = [
        await viewer.flag(kind="approval", title="Push", call=EDIT, detail=f"{LONG_WORD}\n" * 3),
        await viewer.flag(kind="question", title=LONG_WORD, options=options, fallback=LONG_WORD),
        await viewer.flag(kind="note", title="A note", detail=HOSTILE),
        await viewer.flag(kind="done", title="A result"),
        await viewer.flag(kind="question", title=HOSTILE[:200], session="hostile"),
        await viewer.flag(kind="question", title="To be withdrawn"),
    ]
    await viewer.agent("withdraw", {"ask_id": asks[-1]["id"], "reason": "found it out"})
    await viewer.agent("status", {"text": LONG_WORD})
    node.rules(node.person(), RULES)
    return [ask["id"] for ask in asks]


PLACES = ("", "#agents", "#rules", "#machines", "#places", "#privacy", "#audit")


@pytest.mark.parametrize("width", [360, 768])
async def test_no_width_scrolls_sideways(
    open_page: OpenPage, running_node: RunningNode, width: int
) -> None:
    viewer = await open_page(viewport={"width": width, "height": 700})
    asks = await fill(viewer, running_node)
    for hash_ in (*PLACES, *(f"#ask={ask}" for ask in asks)):
        await go(viewer, hash_)
        wide = await viewer.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, hash_
    if width == 360:
        await answers_when_narrow(viewer, asks[0])


async def answers_when_narrow(viewer: Viewer, ask: str) -> None:
    await viewer.page.get_by_role("link", name="Inbox").first.click()
    await viewer.row(ask).locator("a").click()
    await expect(viewer.page.locator(".list-pane")).to_be_hidden()
    deny = await viewer.button("Deny").bounding_box()
    assert deny
    assert deny["height"] >= 42
    await viewer.press("Deny")
    await viewer.says("Denied by you")
    await viewer.page.get_by_role("link", name="Back to the list").click()
    await expect(viewer.page.locator(".list-pane")).to_be_visible()
    assert (await viewer.focused()).startswith("A ")


async def go(viewer: Viewer, hash_: str) -> None:
    """Show a view and wait until it is there."""
    await viewer.page.evaluate("hash => { location.hash = hash || '#inbox'; }", hash_)
    if hash_.startswith("#ask="):
        await viewer.ask.get_by_text(hash_.removeprefix("#ask="), exact=True).wait_for()
        await viewer.ask.locator(".history").wait_for()
    elif hash_ == "#places":
        await viewer.page.locator(".place").first.wait_for()
    elif hash_ == "#machines":
        await viewer.page.locator(".machine").first.wait_for()
    elif hash_ == "#privacy":
        await viewer.page.locator(".way").first.wait_for()
    elif hash_ == "#audit":
        await viewer.page.locator("audit-line").first.wait_for()


@pytest.mark.npm
@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing(
    open_page: OpenPage, running_node: RunningNode, theme: str
) -> None:
    # The page's own policy keeps every foreign script out, this one too.
    viewer = await open_page(color_scheme=theme, bypass_csp=True)
    packages = node_packages()
    assert packages
    axe = (packages / "axe-core" / "axe.min.js").read_text()
    await viewer.page.evaluate(axe)
    asks = await fill(viewer, running_node)
    for width in (1280, 360):
        await viewer.page.set_viewport_size({"width": width, "height": 800})
        for hash_ in (*PLACES, *(f"#ask={ask}" for ask in asks)):
            await go(viewer, hash_)
            await still(viewer)
            assert await violations(viewer) == [], (hash_, width)
    await viewer.page.keyboard.press("?")
    await viewer.page.locator("dialog#help").wait_for()
    assert await violations(viewer) == []


async def still(viewer: Viewer) -> None:
    """Wait until no colour is on its way to another."""
    await until_true(viewer.page, STILL)


async def violations(viewer: Viewer) -> list[Any]:
    found = await viewer.page.evaluate("axe.run()")
    return [
        (item["id"], [node["html"][:200] for node in item["nodes"]]) for item in found["violations"]
    ]


@pytest.mark.npm
async def test_axe_finds_nothing_before_signing_in(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    packages = node_packages()
    assert packages
    axe = (packages / "axe-core" / "axe.min.js").read_text()
    viewer = await open_page(f"#t={running_node.token}", signed_in=False, bypass_csp=True)
    await viewer.page.get_by_role("heading", name="Welcome to askmesh").wait_for()
    await viewer.page.evaluate(axe)
    assert await violations(viewer) == []
    node_person = running_node.person()
    assert node_person.cookie
    await viewer.page.reload()
    await viewer.page.get_by_role("heading", name="Sign in").wait_for()
    await viewer.page.evaluate(axe)
    assert await violations(viewer) == []


async def test_hostile_text_is_only_text(open_page: OpenPage) -> None:
    viewer = await open_page()
    call = {"tool": "Bash", "arguments": {"command": HOSTILE, "x\u202ey": HOSTILE}}
    question = await viewer.flag(
        kind="question",
        title=HOSTILE[:200],
        detail=HOSTILE,
        options=[{"label": HOSTILE[:120], "detail": HOSTILE}],
        fallback=HOSTILE,
    )
    approval = await viewer.flag(kind="approval", title=HOSTILE[:200], detail=HOSTILE, call=call)
    await viewer.agent("status", {"text": HOSTILE[:200]})
    dialogs: list[str] = []
    viewer.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    for ask in (question, approval):
        await go(viewer, f"#ask={ask['id']}")
        await viewer.ask.locator(".detail-context .odd", has_text="U+202E").first.wait_for()
        text = await viewer.ask.inner_text()
        for mark in ("U+202E", "U+001B", "U+2066", "U+2069", "U+200B", "<script>window.harm"):
            assert mark in text
        for character in ("\u202e", "\x1b", "\u2066", "\u200b"):
            assert character not in await viewer.page.locator("#main").inner_text()
        assert await viewer.ask.locator("script, img, a:not(.back)").count() == 0
    await go(viewer, "#agents")
    await viewer.page.locator(".session .odd").first.wait_for()
    assert await viewer.page.evaluate("window.harm") is None
    assert dialogs == []


async def test_the_exact_call_can_be_read(open_page: OpenPage, running_node: RunningNode) -> None:
    viewer = await open_page()
    command = "printf 'one\\n'\nprintf 'two'"
    asked = await viewer.flag(
        kind="approval",
        title="Two lines",
        call={"tool": "Bash", "arguments": {"command": command, "background": False}},
    )
    await viewer.open(asked["id"])
    await expect(viewer.ask.locator(".call .code").first).to_have_text(command)
    await expect(viewer.ask.get_by_text("background")).to_be_visible()
    await viewer.ask.get_by_text("Canonical text").click()
    detail = running_node.person().ok("GET", f"/api/asks/{asked['id']}")
    await expect(viewer.ask.locator(".fold .code")).to_have_text(detail["call"]["canonical"])
    await expect(viewer.ask.locator(".fold .hash")).to_contain_text(detail["call"]["digest"])


async def test_no_request_leaves_the_node_and_nothing_breaks_the_policy(
    open_page: OpenPage, running_node: RunningNode
) -> None:
    viewer = await open_page()
    foreign: list[str] = []
    complaints: list[str] = []
    viewer.page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((viewer.url, "data:", "blob:"))
            else foreign.append(request.url)
        ),
    )
    viewer.page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type == "error" else None,
    )
    await viewer.page.reload()
    asks = await fill(viewer, running_node)
    for hash_ in (*PLACES, *(f"#ask={ask}" for ask in asks)):
        await go(viewer, hash_)
    assert foreign == []
    assert complaints == []
