"""A backup is put in place whole, marked, by its owner; or nothing at all changes."""

import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from node.backup import mark
from node.backup.private import COPY
from node.backup.sealed import BackupUnsound
from node.config import lock
from node.identity import NEXT_FILE, load_key, next_key, settle_key
from node.store.blobs import Blobs
from node.store.connection import STORE_FILE as STORE
from node.store.connection import open_reader, open_writer
from node.store.rebuild import compare
from sync.errors import AskmeshError, Conflict, NotAllowed, StoreError, StoreHeld
from tests.node.backup.copies import AT, LATER, backed_up, put_back, repacked, tree, unpacked
from tests.node.store.stores import found
from tests.running import ROOT

CONTENT = b"a long call"
ASK = (
    "INSERT INTO ask (id, home, number, fleet, kind, state, entry_hash, agent, session, project,"
    " created, enforced, needed, blob, call_size, options, revision)"
    " VALUES ('a-1', 'a', 1, x'00', 'approval', 'closed', x'00', '', '', '', 1, 0, 1, ?, 1, '', 0)"
)


def founded(home: Path) -> Path:
    """A node with somebody signed in, a stored reply, and asks with and without their content."""
    connection = found(home).connection
    connection.execute("INSERT INTO person_session VALUES ('s', x'00', 'p', 'page', '', 1, 1)")
    connection.execute("INSERT INTO reply (request, body, at) VALUES ('r', x'00', 1)")
    connection.execute(ASK, (Blobs(home).put(CONTENT, bytes(16)),))
    connection.close()
    (home / "settings.json").write_text('{"name": "box"}')
    return home


@pytest.fixture
def node(tmp_path: Path) -> Path:
    return founded(tmp_path / "node")


@pytest.fixture
def data(node: Path, tmp_path: Path) -> bytes:
    """The bytes of its backup."""
    backed_up(node, tmp_path / "file")
    return (tmp_path / "file").read_bytes()


def looked(home: Path, sql: str) -> list[Any]:
    with contextlib.closing(open_reader(home)) as store:
        return store.execute(sql).fetchall()


def values(home: Path) -> dict[str, bytes]:
    return dict(looked(home, "SELECT name, value FROM local"))


def test_it_is_put_in_place_for_this_user_alone_and_marked(
    node: Path, data: bytes, tmp_path: Path
) -> None:
    home = tmp_path / "deep" / "new"
    done = put_back(home, data)
    assert (done.by, done.aside) == ("Ann", None)
    assert {path.name for path in home.iterdir()} == {
        "blobs", "node.key", "node.lock", "settings.json", "store.db",
    }  # fmt: skip
    for path in (home, *home.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    for name in ("node.key", "settings.json"):
        assert (home / name).read_bytes() == (node / name).read_bytes()
    assert tree(home / "blobs") == tree(node / "blobs") != {}
    entries = "SELECT n, hash, header, signature, facts, text FROM entry"
    assert looked(home, entries) == looked(node, entries) != []
    before, after = values(node), values(home)
    told = mark.Mark(when=AT, at=LATER, by="Ann")
    for name in (mark.RESTORED, mark.RESTORED_FROM):
        assert msgspec.json.decode(after.pop(name), type=mark.Mark) == told
    assert after.pop("store_id") != before.pop("store_id")
    assert after == before
    assert looked(home, "SELECT id FROM person_session UNION SELECT request FROM reply") == []
    # The double's ask is in no log, so only the rest can be compared with it.
    connection = open_writer(home)
    connection.execute("DELETE FROM ask")
    connection.close()
    assert compare(home) == []


def test_what_is_there_is_moved_aside_only_by_saying_so(
    node: Path, data: bytes, tmp_path: Path
) -> None:
    home = founded(tmp_path / "home")
    hook, other = home / "hooks" / "claude", home / "notes.txt"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh")
    other.write_text("mine")
    before = tree(home)
    with pytest.raises(Conflict, match="A node lies in"):
        put_back(home, data)
    assert tree(home) == before
    done = put_back(home, data, replace=True)
    assert done.aside == home / f"before-restore-{LATER}"
    kept = {"hooks/claude": b"#!/bin/sh", "notes.txt": b"mine"}
    assert tree(done.aside) == {name: before[name] for name in before.keys() - kept.keys()}
    assert kept.items() <= tree(home).items()
    assert load_key(home).node_id == load_key(node).node_id
    assert stat.S_IMODE(done.aside.stat().st_mode) == 0o700
    # Once more, over the restored one and in the same moment.
    again = put_back(home, data, replace=True)
    assert again.aside == home / f"before-restore-{LATER}-2"
    assert (again.aside / "store.db").exists()
    assert (done.aside / "store.db").exists()


def test_a_node_that_runs_is_not_replaced(data: bytes, tmp_path: Path) -> None:
    home = founded(tmp_path / "home")
    held = lock(home, {"pid": 4711})
    before = tree(home)
    with pytest.raises(StoreHeld, match="4711"):
        put_back(home, data, replace=True)
    os.close(held)
    assert tree(home) == before


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), cut=st.booleans())
def test_whatever_is_altered_or_cut_off_changes_nothing(
    data: bytes, tmp_path: Path, place: float, bit: int, cut: bool
) -> None:
    at = int(place * len(data))
    altered = bytearray(data)
    altered[at] ^= 1 << bit
    home = tmp_path / "home"
    with pytest.raises(BackupUnsound):
        put_back(home, data[:at] if cut else bytes(altered))
    assert not home.exists()


def without(name: str) -> Callable[[dict[str, bytes]], object]:
    return lambda files: files.pop(name)


def first_file(**values: object) -> Callable[[dict[str, Any]], object]:
    return lambda told: told["files"][0].update(values)


def of_another_key(files: dict[str, bytes]) -> None:
    files["node.key"] = bytes(32)


def blob_of_another_name(files: dict[str, bytes]) -> None:
    files["blobs/" + "0" * 64] = b"not of that name"


STRANGE: dict[str, tuple[Callable[[dict[str, bytes]], object], Callable[[dict[str, Any]], object]]]
STRANGE = {
    "no key": (without("node.key"), dict),
    "no store": (without("store.db"), dict),
    "another key": (of_another_key, dict),
    "a key that is none": (lambda files: files.update({"node.key": b"x"}), dict),
    "a store that is none": (lambda files: files.update({"store.db": b"x" * 4096}), dict),
    "an empty store": (lambda files: files.update({"store.db": b""}), dict),
    "a way out": (lambda files: files.update({"../out": b"x"}), dict),
    "a way out of the blobs": (lambda files: files.update({"blobs/../out": b"x"}), dict),
    "a file of its own": (lambda files: files.update({"hooks": b"x"}), dict),
    "an absolute name": (lambda files: files.update({"/tmp/out": b"x"}), dict),
    "another blob": (blob_of_another_name, dict),
    "another hash": (dict, first_file(sha256="0" * 64)),
    "a size below nothing": (dict, first_file(size=-1)),
    "a size beyond all": (dict, first_file(size=2**62)),
    "one name twice": (dict, lambda told: told["files"].append(told["files"][0])),
    "another machine": (dict, lambda told: told.update(node="a" * 52)),
    "no list": (dict, dict.clear),
}


@pytest.mark.parametrize("how", STRANGE)
def test_a_backup_that_no_askmesh_made_is_refused(data: bytes, tmp_path: Path, how: str) -> None:
    change, listed = STRANGE[how]
    made = repacked(data, change, listed)
    before = set(tmp_path.iterdir())
    home = tmp_path / "home"
    with pytest.raises(AskmeshError):
        put_back(home, made)
    assert set(tmp_path.iterdir()) == before


def of_a_newer_program(files: dict[str, bytes]) -> None:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as store:
        store.deserialize(files["store.db"])
        store.execute("INSERT INTO migration VALUES ('9999-later', 1)")
        files["store.db"] = store.serialize()


def test_a_store_of_a_newer_program_is_refused(node: Path, data: bytes, tmp_path: Path) -> None:
    with pytest.raises(BackupUnsound, match="9999-later"):
        put_back(tmp_path / "home", repacked(data, of_a_newer_program))
    assert not (tmp_path / "home").exists()
    connection = open_writer(node)
    connection.execute("INSERT INTO migration VALUES ('9999-later', 1)")
    connection.close()
    with pytest.raises(StoreError, match="another version"):
        backed_up(node, tmp_path / "newer")
    assert not (tmp_path / "newer").exists()


def test_who_is_no_owner_changes_nothing(data: bytes, tmp_path: Path) -> None:
    def nobody(*_: object) -> str:
        raise NotAllowed

    home = founded(tmp_path / "home")
    before = tree(home)
    with pytest.raises(NotAllowed):
        put_back(home, data, replace=True, owner=nobody)
    assert tree(home) == before


def test_a_wrong_passphrase_is_asked_for_again(node: Path, tmp_path: Path) -> None:
    backed_up(node, tmp_path / "locked", "four words are enough")
    typed = iter(["four words", "", "four words are enough"])
    home = tmp_path / "home"
    put_back(home, (tmp_path / "locked").read_bytes(), passphrase=lambda: next(typed))
    assert load_key(home).node_id == load_key(node).node_id


@pytest.mark.parametrize("room", ["none", "for the key", "for the store"])
def test_a_full_disk_leaves_neither_a_backup_nor_half_a_node(
    node: Path, data: bytes, tmp_path: Path, room: str
) -> None:
    # The limit is one of files, which SQLite calls a failing disk where it copies the store.
    size, ends = {
        "none": (0, ["StoreError", "StoreFull"]),
        "for the key": (20_000, ["StoreError", "StoreFull"]),
        "for the store": (len(unpacked(tmp_path / "file")[1]["store.db"]), ["StoreFull", "done"]),
    }[room]
    (tmp_path / "data").write_bytes(data)
    home = founded(tmp_path / "home")
    before = tree(home)
    program = (
        "import resource, sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "from sync.errors import AskmeshError\n"
        "from tests.node.backup.copies import backed_up, put_back\n"
        "node, home, file, data = map(Path, sys.argv[3:])\n"
        "read = data.read_bytes()\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)\n"
        "for work in (lambda: backed_up(node, file), lambda: put_back(home, read, replace=True)):\n"
        "    try: work()\n"
        "    except AskmeshError as error: print(type(error).__name__, error.sentence)\n"
        "    else: print('done')\n"
    )
    paths = (node, home, tmp_path / "copy", tmp_path / "data")
    ended = subprocess.run(
        [sys.executable, "-I", "-c", program, str(ROOT), str(size), *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    told = ended.stdout.splitlines()
    assert [line.split()[0] for line in told] == ends, told
    assert not (tmp_path / "copy").exists()
    assert tree(home) == before or ends[-1] == "done"
    assert not [path for path in tmp_path.iterdir() if ".part-" in path.name]


def test_a_backup_names_what_is_lacking_and_refuses_a_damaged_store(
    node: Path, tmp_path: Path
) -> None:
    (blob,) = (node / "blobs").iterdir()
    blob.write_bytes(b"damaged")
    assert backed_up(node, tmp_path / "one").lacking == 1
    assert [name for name in unpacked(tmp_path / "one")[1] if "blobs" in name] == []
    with (node / "store.db").open("r+b") as file:
        file.seek(4096 * 3)
        file.write(b"\xff" * 4096)
    with pytest.raises(AskmeshError):
        backed_up(node, tmp_path / "two")
    assert not (tmp_path / "two").exists()
    assert not list(node.glob(".copy-*"))


def test_a_mark_is_made_with_the_sessions_ended_or_not_at_all(node: Path) -> None:
    connection = sqlite3.connect(node / "store.db", isolation_level=None)
    connection.execute("DROP TABLE reply")
    with pytest.raises(sqlite3.Error):
        mark.mark(connection, when=AT, at=LATER, by="Ann")
    connection.close()
    assert mark.RESTORED not in values(node)
    assert looked(node, "SELECT id FROM person_session") == [("s",)]


def _cut_off(home: Path) -> bytes:
    """A node that was killed while it took on a new key: the store counts the one beside."""
    following = next_key(home)
    with contextlib.closing(open_writer(home)) as store:
        store.execute("INSERT OR REPLACE INTO local VALUES ('node', ?)", (following.node_id,))
    return following.node_id


def test_no_backup_is_made_of_a_store_under_another_key(node: Path, tmp_path: Path) -> None:
    _cut_off(node)
    with pytest.raises(Conflict, match="new identity"):
        backed_up(node, tmp_path / "file")
    assert not (tmp_path / "file").exists()
    assert not list(node.glob(f"{COPY}*"))


def test_a_backup_whose_store_counts_another_key_is_refused(
    node: Path, data: bytes, tmp_path: Path
) -> None:
    _cut_off(node)
    with contextlib.closing(open_writer(node)) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other = repacked(data, lambda files: files.update({STORE: (node / STORE).read_bytes()}))
    with pytest.raises(BackupUnsound, match="belong together"):
        put_back(tmp_path / "new", other)
    assert not (tmp_path / "new").exists()


def test_the_key_that_the_old_store_counts_goes_aside_with_it(node: Path, data: bytes) -> None:
    counts = _cut_off(node)
    done = put_back(node, data, replace=True)
    assert done.aside is not None
    assert settle_key(done.aside, counts).node_id == counts
    assert not (node / NEXT_FILE).exists()


def test_what_is_dropped_of_a_copy_is_zeroed_on_any_build_of_sqlite() -> None:
    """Some builds leave what was deleted in free pages."""
    store = sqlite3.connect(":memory:", isolation_level=None)
    store.execute("PRAGMA secure_delete=OFF")
    for table in ("local (name PRIMARY KEY, value)", "person_session (id)", "reply (body)"):
        store.execute(f"CREATE TABLE {table}")
    store.executemany("INSERT INTO reply VALUES (?)", [(b"a secret word" * 900,)] * 9)
    mark.mark(store, when=AT, at=LATER, by="Ann")
    assert b"a secret word" not in store.serialize()
