"""The first sign-in link goes to a person's screen or a named file, and nowhere else."""

import os
import stat
import sys
from pathlib import Path

import pytest

from node.cli import first_sign_in, up
from node.cli.running import Facts
from node.cli.stop import Stop
from tests.node.cli.screen import Screen
from tests.running import ROOT, until

TOKEN = "t0ken" * 8
LINK = f"http://127.0.0.1:7718/#t={TOKEN}"


def program(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


def test_there_is_no_browser_without_a_desktop(tmp_path: Path) -> None:
    program(tmp_path, "xdg-open", "exit 0")
    path = str(tmp_path)
    assert first_sign_in.opener({}, path=path) is None
    assert first_sign_in.opener({"BROWSER": "evil"}, path=path) is None
    assert first_sign_in.opener({"DISPLAY": ":0"}, path=path) == f"{tmp_path}/xdg-open"
    assert first_sign_in.opener({"WAYLAND_DISPLAY": "w"}, path=path) == f"{tmp_path}/xdg-open"
    assert first_sign_in.opener({"DISPLAY": ":0"}, path=str(tmp_path / "none")) is None


def test_the_opener_is_not_looked_for_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "xdg-open", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert first_sign_in.opener({"DISPLAY": ":0"}) != f"{tmp_path}/xdg-open"


def test_the_link_stands_in_a_private_file_and_not_in_an_argument(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    opener = program(
        tmp_path,
        "xdg-open",
        f'echo "$@" >{seen}; env >>{seen}; f=${{1#file://}}; stat -c %a "$f" >>{seen}; '
        f'cat "$f" >{seen}.page',
    )
    environment = {"DISPLAY": ":0", "BROWSER": "evil", "ASKMESH_HOME": "x", "ASKMESH_TOKEN": "y"}
    assert first_sign_in.show_in_browser(str(tmp_path), LINK, opener, environment, kept_s=1)
    said = seen.read_text()
    assert TOKEN not in said
    assert "BROWSER" not in said
    assert "ASKMESH_" not in said
    assert "DISPLAY=:0" in said
    assert "\n600\n" in said
    assert f"url={LINK}" in Path(f"{seen}.page").read_text()
    until(lambda: not list(tmp_path.glob("*.html")), "the page is removed")


def test_left_over_pages_are_removed(tmp_path: Path) -> None:
    (tmp_path / "sign-in-old.html").touch()
    (tmp_path / "other.html").touch()
    first_sign_in.remove_left_over(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["other.html"]


def test_a_browser_that_does_not_open_leaves_no_link_behind(tmp_path: Path) -> None:
    opener = program(tmp_path, "xdg-open", "exit 3")
    assert not first_sign_in.show_in_browser(str(tmp_path), LINK, opener, {"DISPLAY": ":0"})
    assert not first_sign_in.show_in_browser(str(tmp_path), LINK, str(tmp_path / "none"), {})
    assert list(tmp_path.glob("*.html")) == []


def test_the_named_file_is_new_and_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        file = first_sign_in.LinkFile(str(tmp_path / "link"))
    finally:
        os.umask(before)
    file.write(LINK)
    assert (tmp_path / "link").read_text() == f"{LINK}\n"
    assert stat.S_IMODE((tmp_path / "link").stat().st_mode) == 0o600


def test_a_file_that_exists_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    (tmp_path / "way").symlink_to(tmp_path / "elsewhere")
    for name in ("there", "way"):
        with pytest.raises(Stop, match="exists already"):
            first_sign_in.LinkFile(str(tmp_path / name))
    assert (tmp_path / "there").read_text() == "mine"
    assert not (tmp_path / "elsewhere").exists()


def test_a_discarded_file_is_gone(tmp_path: Path) -> None:
    first_sign_in.LinkFile(str(tmp_path / "link")).discard()
    assert list(tmp_path.iterdir()) == []


def offered(condition: str) -> Screen:
    """A command that opened a browser, and offers the link on its terminal meanwhile."""
    text = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from node.cli.first_sign_in import wait_for_opening\n"
        f"print(wait_for_opening('/dev/tty', until=lambda: {condition}))"
    )
    return Screen([sys.executable, "-I", "-c", text], environment=os.environ)


def test_enter_asks_for_the_link_when_the_browser_shows_nothing() -> None:
    with offered("False") as screen:
        screen.expect("press Enter here for the link")
        screen.type("")
        assert screen.end() == (0, "True\n")


def test_the_offer_ends_when_somebody_has_signed_in(tmp_path: Path) -> None:
    with offered(f"__import__('os').path.exists({str(tmp_path / 'signed-in')!r})") as screen:
        screen.expect("press Enter here for the link")
        (tmp_path / "signed-in").touch()
        assert screen.end() == (0, "False\n")


class Shown:
    """Where `up` would show the link, on a made-up machine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, desktop: bool, terminal: bool) -> None:
        self.browser: list[str] = []
        self.terminal: list[str] = []
        self.opens = True
        self.enter = False
        self.signed_in = False
        monkeypatch.setattr(up, "has_person", lambda _port: self.signed_in)
        fakes = {
            "opener": lambda _environment: "xdg-open" if desktop else None,
            "terminal_path": lambda: "/dev/tty" if terminal else None,
            "show_in_browser": self._browser,
            "show_on_terminal": lambda link, _terminal: self.terminal.append(link),
            "wait_for_opening": lambda _terminal, until: self.enter,
        }
        for name, fake in fakes.items():
            monkeypatch.setattr(first_sign_in, name, fake)

    def _browser(self, _home: str, link: str, *_: object) -> bool:
        self.browser.append(link)
        return self.opens

    def show(self, file: "first_sign_in.LinkFile | None" = None) -> None:
        running = Facts(pid=2, version="1", web_port=7718, port=7717, url="http://127.0.0.1:7718/")
        up._show_link("/nonexistent", running, TOKEN, file)


def test_a_desktop_gets_the_link_and_the_terminal_only_on_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = Shown(monkeypatch, desktop=True, terminal=True)
    shown.show()
    assert (shown.browser, shown.terminal) == ([LINK], [])
    shown.enter = True
    shown.show()
    assert shown.terminal == [LINK]


def test_a_browser_that_does_not_open_leaves_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown(monkeypatch, desktop=True, terminal=True)
    shown.opens = False
    shown.show()
    assert shown.terminal == [LINK]


def test_nothing_is_printed_but_words(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for desktop, terminal in ((False, False), (True, False), (False, True), (True, True)):
        Shown(monkeypatch, desktop=desktop, terminal=terminal).show()
    nowhere = Shown(monkeypatch, desktop=True, terminal=False)
    nowhere.opens = False
    nowhere.show()
    out, err = capfd.readouterr()
    assert TOKEN not in out + err
    assert err.count("could not be shown") == 2


def test_once_somebody_signed_in_there_is_no_link(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shown = Shown(monkeypatch, desktop=True, terminal=True)
    shown.signed_in = True
    shown.show(first_sign_in.LinkFile(str(tmp_path / "link")))
    assert (shown.browser, shown.terminal) == ([], [])
    assert list(tmp_path.iterdir()) == []
