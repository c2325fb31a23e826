"""Blobs: whole and the right one, or not there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from node.store.blobs import FOLDER, Blobs
from sync.errors import AskmeshError, NotFound, StoreReadOnly, TooLarge
from sync.limits import BLOB_BYTES
from sync.log.entry import sha256
from tests.node.store.stores import mode
from tests.running import ROOT

SALT = b"s" * 16


@pytest.fixture
def blobs(tmp_path: Path) -> Blobs:
    return Blobs(tmp_path)


def stored(home: Path) -> list[Path]:
    return list((home / FOLDER).iterdir())


@pytest.mark.parametrize("size", [0, 1, BLOB_BYTES])
def test_round_trip(blobs: Blobs, tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    name = blobs.put(content, SALT)
    assert name == sha256(SALT + content)
    assert blobs.has(name)
    assert blobs.get(name) == content
    assert blobs.put(content, SALT) == name
    assert stored(tmp_path) == [tmp_path / FOLDER / name.hex()]


def test_equal_content_under_another_salt_is_another_blob(blobs: Blobs) -> None:
    assert blobs.put(b"same", SALT) != blobs.put(b"same", b"t" * 16)


def test_too_large_is_refused_before_anything_is_written(blobs: Blobs, tmp_path: Path) -> None:
    with pytest.raises(TooLarge, match=str(BLOB_BYTES)):
        blobs.put(b"x" * (BLOB_BYTES + 1), SALT)
    assert stored(tmp_path) == []


@pytest.mark.parametrize("change", ["flip", "cut", "grow", "empty", "gone", "folder"])
def test_a_damaged_blob_is_not_there(blobs: Blobs, tmp_path: Path, change: str) -> None:
    name = blobs.put(b"rm -r build", SALT)
    path = tmp_path / FOLDER / name.hex()
    data = path.read_bytes()
    path.unlink()
    if change == "folder":
        path.mkdir()
    elif change != "gone":
        path.write_bytes(
            {
                "flip": data[:-1] + bytes([data[-1] ^ 1]),
                "cut": data[:-1],
                "grow": data + b"\n",
                "empty": b"",
            }[change]
        )
    with pytest.raises(NotFound, match="not here, or is damaged"):
        blobs.get(name)


def test_every_flipped_bit_is_noticed(blobs: Blobs, tmp_path: Path) -> None:
    name = blobs.put(b"rm", SALT)
    path = tmp_path / FOLDER / name.hex()
    data = path.read_bytes()
    for bit in range(len(data) * 8):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(NotFound):
            blobs.get(name)


def test_an_unknown_name_is_not_there(blobs: Blobs) -> None:
    assert not blobs.has(bytes(32))
    with pytest.raises(NotFound):
        blobs.get(bytes(32))


def test_only_this_user_may_look(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        name = Blobs(tmp_path).put(b"secret", SALT)
    finally:
        os.umask(before)
    assert mode(tmp_path / FOLDER) == 0o700
    assert mode(tmp_path / FOLDER / name.hex()) == 0o600


KILLED = """
import os, signal, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from node.store import blobs
steps = iter(range(10))
def at(name, true):
    def step(*given, **more):
        if next(steps) == {point}:
            os.kill(os.getpid(), signal.SIGKILL)
        return true(*given, **more)
    return step
blobs.os.fsync = at("fsync", os.fsync)
blobs.os.fdopen = at("fdopen", os.fdopen)
blobs.Path.replace = at("replace", Path.replace)
blobs.Blobs(Path({home!r})).put(b"content", b"s" * 16)
"""


@pytest.mark.parametrize("point", range(4))
def test_killed_half_way_it_is_whole_or_not_there(tmp_path: Path, point: int) -> None:
    script = KILLED.format(root=str(ROOT), home=str(tmp_path), point=point)
    ended = subprocess.run([sys.executable, "-I", "-c", script], check=False, cwd="/")
    assert ended.returncode == -9
    name = sha256(SALT + b"content")
    for path in stored(tmp_path):
        assert path.name.startswith(".new-") or path.name == name.hex()
    blobs = Blobs(tmp_path)
    if blobs.has(name):
        assert blobs.get(name) == b"content"
    assert blobs.put(b"content", SALT) == name
    assert blobs.get(name) == b"content"


def test_what_no_ask_names_is_removed_and_nothing_else(blobs: Blobs, tmp_path: Path) -> None:
    kept, left = blobs.put(b"named by an ask", SALT), blobs.put(b"by none", SALT)
    (tmp_path / FOLDER / ".new-half").write_bytes(b"half")
    (tmp_path / FOLDER / "notes of someone").mkdir()
    assert blobs.sweep({kept}.__contains__) == 2
    assert blobs.get(kept) == b"named by an ask"
    assert not blobs.has(left)
    assert {path.name for path in stored(tmp_path)} == {kept.hex(), "notes of someone"}


def test_a_folder_that_cannot_be_written_is_told_in_words(blobs: Blobs, tmp_path: Path) -> None:
    (tmp_path / FOLDER).rmdir()
    (tmp_path / FOLDER).write_text("a file in its place")
    with pytest.raises(AskmeshError) as told:
        blobs.put(b"x", SALT)
    assert "nothing was recorded" in told.value.sentence
    assert not isinstance(told.value, StoreReadOnly)
