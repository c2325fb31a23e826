"""Machines on the page in each width and theme, with the stand-in of `test_machines.py`."""

import pytest
from playwright.async_api import expect

from tests.browser.conftest import OpenPage
from tests.browser.fleet_stand_in import CODE, QR, StandIn, many, pairing
from tests.browser.test_looks import still, violations
from tests.browser.viewer import Viewer
from tests.machine import node_packages

LONG = "w" * 64
MEANS = {"allowed": True, "sentences": [f"Its log is kept read-only. {LONG}"]}


async def crowded(open_page: OpenPage, **options: object) -> Viewer:
    """Every kind of machine, a code that waits, and every part unfolded."""
    stand_in = StandIn()
    viewer = await open_page("#machines", **options)
    now = viewer.node.person().state()["now"]
    stand_in.fleet |= {"machines": many(now, LONG), "mdns": f"No socket: {LONG}"}
    stand_in.says("GET /api/joining", MEANS)
    stand_in.says("GET /api/leaving", MEANS)
    offers = [{"machine": LONG, "address": "10.0.0.1:1"}, {"machine": "b", "address": "b:2"}]
    stand_in.says("GET /api/pairing/offers", {"offers": offers})
    stand_in.says("POST /api/pairing", pairing(code=CODE, qr=QR, expires=now + 600_000))
    line = {"what": LONG, "to": LONG, "on": True, "how": LONG}
    stand_in.says("GET /api/privacy", {"lines": [line, line | {"on": False}]})
    await stand_in.stand_before(viewer.page)
    await expect(viewer.page.locator(".machine")).to_have_count(5)
    for summary in await viewer.page.locator("#main summary:visible").all():
        await summary.press("Enter")
    await viewer.page.get_by_text("2 machines near by show a code.").wait_for()
    await expect(viewer.page.locator(".consequences:visible")).to_have_count(5)
    await viewer.page.get_by_role("button", name="Add a machine").click()
    await expect(viewer.page.locator(".pairing-code")).to_have_text(CODE)
    return viewer


async def test_no_width_scrolls_sideways(open_page: OpenPage) -> None:
    viewer = await crowded(open_page)
    for width in (360, 768, 1440):
        await viewer.page.set_viewport_size({"width": width, "height": 800})
        for hash_ in ("#machines", "#privacy"):
            await viewer.page.evaluate("hash => { location.hash = hash; }", hash_)
            await viewer.page.locator(".machine, .way").filter(visible=True).first.wait_for()
            wide = await viewer.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, hash_


@pytest.mark.npm
@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing(open_page: OpenPage, theme: str) -> None:
    # The page's own policy keeps every foreign script out, this one too.
    viewer = await crowded(open_page, color_scheme=theme, bypass_csp=True)
    packages = node_packages()
    assert packages
    await viewer.page.evaluate((packages / "axe-core" / "axe.min.js").read_text())
    for width in (360, 768, 1440):
        await viewer.page.set_viewport_size({"width": width, "height": 800})
        for hash_ in ("#machines", "#privacy"):
            await viewer.page.evaluate("hash => { location.hash = hash; }", hash_)
            await viewer.page.locator(".machine, .way").filter(visible=True).first.wait_for()
            await still(viewer)
            assert await violations(viewer) == [], (hash_, width)
