"""Every card of the table on the page: what is seen, heard and offered is what the table says."""

import json
from typing import Any

import pytest
from playwright.async_api import Page

from sync.decide.ask import DECIDED
from tests.browser.card_stand_in import CardStandIn, short, title
from tests.browser.conftest import OpenPage
from tests.browser.viewer import STILL, until_true
from tests.machine import node_packages
from tests.sync.decide.card_table import ROWS, Row

LABELS = {
    "deny": "Deny",
    "allow": "Allow",
    "answer": "Send answer",
    "decline": "Decline to answer",
    "take_back": "Take back",
}
WALK = """async shorts => {
    const found = {};
    const text = (from, what) => from.querySelector(what)?.textContent ?? null;
    for (const short of shorts) {
        location.hash = `#ask=${short}`;
        const end = performance.now() + 5000;
        let detail = null;
        while (text(detail ?? document, 'code') !== short) {
            if (performance.now() > end) throw new Error(`${short} is not shown`);
            await new Promise(go => setTimeout(go, 0));
            detail = document.querySelector('ask-detail:not([hidden])');
        }
        const row = document.querySelector(`ask-row:has(a[href="#ask=${short}"])`);
        found[short] = [detail, row].map(one => ({
            sign: text(one, '.mark-sign'),
            word: text(one, '.mark-word'),
            spoken: text(one, '.mark-spoken'),
            tone: [...one.querySelector('.mark').classList].find(name => /^tone-/.test(name)),
        }));
        found[short].push(text(detail, '.sentence'));
        found[short].push([...detail.querySelectorAll('ask-answer button')]
            .filter(button => button.checkVisibility()).map(button => button.textContent));
        found[short].push(row.closest('[data-group]').dataset.group);
    }
    return found;
}"""
REVEAL = """shorts => document.querySelectorAll('ask-detail').forEach(detail => {
    if (shorts.includes(detail.querySelector('code').textContent)) detail.hidden = false;
})"""
MANY_AT_ONCE = "{ rules: { 'landmark-unique': { enabled: false } } }"
COLOURS = "{ runOnly: ['color-contrast'] }"
UNFOLD = "document.querySelectorAll('details.group').forEach(one => { one.open = true; })"
DRAWN = """signs => {
    const canvas = new OffscreenCanvas(24, 24);
    const pen = canvas.getContext('2d', { willReadFrequently: true });
    const family = getComputedStyle(document.querySelector('.badge')).fontFamily;
    pen.font = `600 18px ${family}`;
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    const pixels = sign => {
        pen.clearRect(0, 0, 24, 24);
        pen.fillText(sign, 12, 12);
        return pen.getImageData(0, 0, 24, 24).data.filter((_, at) => at % 4 === 3);
    };
    // A code point that never has a glyph draws what a missing one draws.
    const all = ['\\u{10FFFE}', ...signs].map(sign => [sign, pixels(sign)]);
    const alike = [];
    for (const [at, [one, left]] of all.entries()) {
        for (const [other, right] of all.slice(at + 1)) {
            let apart = 0, ink = 0;
            left.forEach((value, place) => {
                apart += Math.abs(value - right[place]);
                ink += Math.max(value, right[place]);
            });
            if (apart < ink * 0.3) alike.push(`${one}${other}`);
        }
    }
    return alike;
}"""


def buttons(row: Row) -> list[str]:
    """All buttons that the page may offer with a card."""
    if row.facts.kind not in DECIDED:
        return ["Mark as unread" if row.facts.read else "Dismiss"]
    back = ["Unclear, ask again"] if {"deny", "decline"} & set(row.actions) else []
    return sorted([*(LABELS[action] for action in row.actions), *back])


async def names(page: Page) -> list[str]:
    """What a screen reader calls each link, as the browser computes it."""
    session = await page.context.new_cdp_session(page)
    tree = await session.send("Accessibility.getFullAXTree")
    return [
        node["name"]["value"]
        for node in tree["nodes"]
        if node.get("role", {}).get("value") == "link" and node.get("name", {}).get("value")
    ]


async def violations(page: Page, how: str) -> list[str]:
    await until_true(page, STILL)
    found: dict[str, Any] = await page.evaluate(f"axe.run({how})")
    return [json.dumps(one)[:600] for one in found["violations"]]


@pytest.mark.npm
async def test_every_card_is_shown_heard_and_offered_as_the_table_says(open_page: OpenPage) -> None:
    viewer = await open_page(bypass_csp=True)
    page = viewer.page
    await viewer.flag(kind="approval", title="A real one")
    await viewer.page.locator("ask-row").wait_for()
    await CardStandIn().stand_before(page)
    await page.locator("ask-row").nth(len(ROWS) - 1).wait_for(state="attached")
    await page.evaluate(UNFOLD)
    # One of each tone last: the page keeps only so many open ones.
    toned = [short(row) for row in {row.tone: row for row in ROWS}.values()]
    found = await page.evaluate(WALK, [*(short(row) for row in ROWS), *toned])
    for row in ROWS:
        detail, listed, sentence, offered, group = found[short(row)]
        told = {
            "sign": row.sign,
            "word": row.word,
            "spoken": f"{row.word}: {row.spoken}",
            "tone": f"tone-{row.tone}",
        }
        assert (detail, listed) == (told, told), row.name
        assert sentence == row.sentence
        assert sorted(offered) == buttons(row), row.name
        assert (group == "needs") is (row.word == "Needs you" or row.state.value == "away")
    heard = await names(page)
    for row in ROWS:
        (name,) = [one for one in heard if title(row) in one]
        assert f"{row.word}: {row.spoken}" in name
        assert f"{row.sign} {row.word}" not in name, "a sign is read out"
    calling = sum(found[short(row)][4] == "needs" for row in ROWS)
    assert (await page.title()).startswith(f"({calling}) askmesh")
    assert await page.evaluate(DRAWN, sorted({row.sign for row in ROWS})) == []
    await axe_in_both_themes(page, toned)


async def axe_in_both_themes(page: Page, toned: list[str]) -> None:
    """All of it, with one ask of each tone open; then what the other theme changes."""
    packages = node_packages()
    assert packages
    await page.evaluate((packages / "axe-core" / "axe.min.js").read_text())
    await page.evaluate(REVEAL, toned)
    assert await violations(page, MANY_AT_ONCE) == []
    await page.emulate_media(color_scheme="dark")
    assert await violations(page, COLOURS) == []
