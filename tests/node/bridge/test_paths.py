"""Where the socket lies, and whose it may be."""

import os
from pathlib import Path

import pytest

from node.bridge import paths


@pytest.fixture
def deep(tmp_path: Path) -> str:
    """A data directory too long for a socket."""
    home = tmp_path / ("d" * 60) / ("e" * 60)
    home.mkdir(parents=True)
    return str(home)


@pytest.fixture
def short_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "short"
    root.mkdir()
    monkeypatch.setattr(paths, "SHORT_ROOT", str(root))
    return root


def test_the_socket_lies_in_the_data_directory() -> None:
    assert paths.socket_path("/home/ada/.askmesh") == "/home/ada/.askmesh/node.sock"


def test_the_folder_is_as_told_else_as_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.delenv("ASKMESH_HOME", raising=False)
    assert paths.data_home() == "/home/ada/.askmesh"
    monkeypatch.setenv("ASKMESH_HOME", "/srv/mesh")
    assert paths.data_home() == "/srv/mesh"
    assert paths.data_home("~/own") == "/home/ada/own"


def test_a_long_path_gets_a_short_private_folder(deep: str, short_root: Path) -> None:
    path = paths.make_socket_folder(deep)
    folder = Path(path).parent
    assert folder.parent == short_root
    assert folder.stat().st_mode & 0o777 == 0o700
    assert paths.make_socket_folder(deep) == path


def test_two_long_paths_do_not_share_a_folder(deep: str) -> None:
    assert paths.socket_path(deep) != paths.socket_path(deep + "2")


@pytest.mark.parametrize("variable", ["TMPDIR", "XDG_RUNTIME_DIR", "ASKMESH_SOCK", "HOME"])
def test_no_variable_moves_the_socket(
    deep: str, variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = paths.socket_path(deep)
    monkeypatch.setenv(variable, str(tmp_path))
    assert paths.socket_path(deep) == before


def test_a_folder_open_to_others_is_refused(deep: str, short_root: Path) -> None:
    folder = Path(paths.make_socket_folder(deep)).parent
    folder.chmod(0o755)
    with pytest.raises(paths.UnsafeFolder, match="not a private folder"):
        paths.check_socket_folder(deep)


def test_a_link_in_the_folders_place_is_refused(deep: str, short_root: Path) -> None:
    elsewhere = short_root / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    Path(paths.socket_path(deep)).parent.symlink_to(elsewhere)
    with pytest.raises(paths.UnsafeFolder):
        paths.make_socket_folder(deep)


@pytest.mark.root
def test_a_folder_of_another_user_is_refused(deep: str, short_root: Path) -> None:
    folder = Path(paths.make_socket_folder(deep)).parent
    os.chown(folder, 12345, -1)
    with pytest.raises(paths.UnsafeFolder):
        paths.check_socket_folder(deep)


def test_only_a_begun_fleet_counts_as_set_up(tmp_path: Path) -> None:
    assert not paths.is_initialised(str(tmp_path))
    (tmp_path / "node.key").touch()
    assert not paths.is_initialised(str(tmp_path))
    (tmp_path / "store.db").touch()
    assert paths.is_initialised(str(tmp_path))
