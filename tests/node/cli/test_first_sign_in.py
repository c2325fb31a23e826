"""The first sign-in link goes to a person's screen or a named file, and nowhere else."""

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from node.cli import first_sign_in
from node.cli.stop import Stop

TOKEN = "t0ken" * 8
LINK = f"http://127.0.0.1:7718/#t={TOKEN}"


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


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
    until(lambda: not list(tmp_path.glob("*.html")))


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
