"""The page's files: their size, what they may not do, and that their types hold."""

import json
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import msgspec
import pytest

from sync.decide.visible import visible
from tests.machine import ROOT, node_packages
from web import (
    account_views,
    audit_views,
    call_views,
    card_views,
    people_views,
    rules_views,
    views,
)

STATIC = ROOT / "web" / "static"
MODULES = sorted(STATIC.glob("*.js"))
MODULE_LINES = 300
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.style\b"
    r"|setAttribute\(\"style|https?://(?!www\.w3\.org/2000/svg\")|srcdoc|DOMParser"
)


def test_every_module_is_short_and_checked() -> None:
    assert len(MODULES) > 20
    long = {
        path.name: n for path in MODULES if (n := len(path.read_text().splitlines())) > MODULE_LINES
    }
    assert long == {}
    unchecked = [path.name for path in MODULES if not path.read_text().startswith("// @ts-check")]
    assert unchecked == []


def test_no_module_makes_markup_or_styles_or_reaches_out() -> None:
    hits = [f"{path.name}: {hit.group()}" for path in MODULES for hit in [seen(path)] if hit]
    assert hits == []


def seen(path: Path) -> re.Match[str] | None:
    return FORBIDDEN.search(path.read_text())


@pytest.mark.parametrize(
    "line",
    [
        "a.innerHTML = x",
        "b.style.color = y",
        "fetch('https://x')",
        'fetch("http://www.w3.org/2000/svg/x")',
        "eval(z)",
    ],
)
def test_what_is_forbidden_is_seen(line: str) -> None:
    assert FORBIDDEN.search(line)


def test_the_page_has_nothing_inline_and_names_only_files_that_exist() -> None:
    page = (STATIC / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", page)
    names = re.findall(r'(?:href|src)="/static/([^"]+)"', page)
    sheet = (STATIC / "style.css").read_text()
    names += re.findall(r'url\("([^"]+)"\)', sheet)
    names += [
        name for path in MODULES for name in re.findall(r'from "\./([^"]+)"', path.read_text())
    ]
    assert len(set(names)) > 25
    assert [name for name in names if not (STATIC / name).is_file()] == []
    assert "@import" not in sheet


def properties(name: str) -> set[str]:
    """The properties of a typedef in `types.js` and its like."""
    source = "".join(path.read_text() for path in sorted(STATIC.glob("*types.js")))
    long = re.search(rf"@typedef \{{object\}} {name}\n(.*?)(?=@typedef|\*/)", source, re.DOTALL)
    if long:
        return set(re.findall(r"@property \{.*\} \[?(\w+)", long.group(1)))
    plain = re.sub(r"\n \* *", " ", source)
    short = re.search(rf"@typedef \{{\{{([^}}]*)\}} ?\}} {name}\b", plain)
    assert short, name
    return set(re.findall(r"(\w+):", short.group(1)))


AUDIT = [
    view
    for name, view in vars(audit_views).items()
    if name.startswith("Audit") and name != "AuditView"
]


@pytest.mark.parametrize(
    "view",
    [
        view
        for view in (
            *vars(views).values(),
            *vars(people_views).values(),
            *vars(account_views).values(),
            *AUDIT,
            *vars(rules_views).values(),
            call_views.FileView,
            card_views.Told,
        )
        if view is not account_views.WordTaken  # operators' alone
        if isinstance(view, type) and issubclass(view, msgspec.Struct) and view is not views.View
    ],
    ids=lambda view: view.__name__,
)
def test_the_types_of_the_page_are_those_of_the_node(view: type[msgspec.Struct]) -> None:
    assert properties(view.__name__) == set(view.__struct_fields__)


@pytest.mark.npm
def test_the_types_hold() -> None:
    folder = node_packages()
    assert folder
    compiler = folder / "typescript" / "bin" / "tsc"
    done = subprocess.run(
        ["node", compiler, "-p", ROOT / "tests" / "browser" / "tsconfig.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout + done.stderr == ""
    assert done.returncode == 0


SHOWN = """
const { visibleText } = await import(process.argv[1]);
const given = JSON.parse(process.argv[2]);
const odd = [];
for (let point = 0; point <= 0x10ffff; point += 1) {
  const text = `a${String.fromCodePoint(point)}b`;
  if (visibleText(text) !== text) odd.push(point);
}
console.log(JSON.stringify([odd, given.map(visibleText)]));
"""
TEXTS = [
    "e\u0301\u0301\u0301\u0301\u0301\u0301x",
    "\u2764\ufe0f",
    "r\ufe0fm",
    "\U0001f469\u200d\U0001f4bb",
]


@pytest.mark.npm
def test_page_and_terminal_agree_on_what_acts_or_hides() -> None:
    done = subprocess.run(
        ["node", "--input-type=module", "-e", SHOWN, str(STATIC / "visible.js"), json.dumps(TEXTS)],
        capture_output=True,
        text=True,
        check=True,
    )
    odd, texts = json.loads(done.stdout)
    page = {point for point in odd if point not in (0x09, 0x0A)}
    terminal = {
        point
        for point in range(sys.maxunicode + 1)
        if visible(f"a{chr(point)}b") != f"a{chr(point)}b"
    }
    # The two may know different versions of Unicode.
    unknown = {point for point in page ^ terminal if unicodedata.category(chr(point)) != "Cn"}
    assert unknown == set()
    assert texts == [visible(text) for text in TEXTS]
