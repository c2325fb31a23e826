"""`doctor --rebuild`: silent about a sound store, and it names what is not."""

# ruff: noqa: S608 -- names of our own tables and columns

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from node.store.projection import DERIVED
from node.store.rebuild import compare
from tests.node.store.lives import live, lived_in, rows
from tests.node.store.spoiling import changed, columns, edit, spoiling
from tests.running import RunningNode


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The directory of a node that lived through everything and was stopped in order."""
    with lived_in(tmp_path_factory.mktemp("lived")) as home:
        yield home


@pytest.fixture
def home(lived: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("store.db", "store.db-wal"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copy(lived / name, copy / name)
    return copy


def test_a_node_that_lived_through_everything_is_sound(lived: Path) -> None:
    assert compare(lived) == []
    empty = [table for table in DERIVED if rows(lived, table) == 0]
    assert empty == []
    with spoiling(lived) as store:
        states = {row[0] for row in store.execute("SELECT state FROM ask")}
        outcomes = {row[0] for row in store.execute("SELECT outcome FROM ask")}
        types = {row[0] for row in store.execute("SELECT type FROM entry")}
    assert states == {"waiting", "closed", "handed", "void", "resolved", "posted"}
    assert outcomes == {
        None, "allowed", "denied", "answered", "declined", "expired", "withdrawn"
    }  # fmt: skip
    assert types == {1, 2, 3, 4, 5, 6, 8, 9, 16, 17, 18, 19, 20, 21, 22, 64, 65, 66, 67, 68, 69}


def test_also_while_it_runs_and_after_a_kill(node: RunningNode) -> None:
    live(node.start())
    assert compare(node.home) == []
    node.kill()
    assert compare(node.home) == []
    node.start()
    node.flag(kind="note", title="After the kill")
    assert compare(node.home) == []


def test_any_cell_edited_by_hand_is_named(home: Path) -> None:
    unnamed = []
    with spoiling(home) as store:
        for table in DERIVED:
            for column in columns(home, table):
                put_back = edit(store, table, column)
                if not any(line.startswith(f"{table}: ") for line in compare(home)):
                    unnamed.append(f"{table}.{column}")
                put_back()
    assert unnamed == []
    assert compare(home) == []


@pytest.mark.parametrize("table", DERIVED)
def test_a_row_that_is_gone_or_too_many_is_named(home: Path, table: str) -> None:
    with spoiling(home) as store:
        store.execute(f"CREATE TEMP TABLE kept AS SELECT * FROM {table} LIMIT 1")
        key = columns(home, table)[0]
        store.execute(f"DELETE FROM {table} WHERE {key} = (SELECT {key} FROM kept)")
    assert any(line.startswith(f"{table}: only in the log") for line in compare(home))


def test_many_differences_are_counted_not_listed(home: Path) -> None:
    with spoiling(home) as store:
        store.execute("UPDATE ask SET project = 'elsewhere'")
    lines = [line for line in compare(home) if line.startswith("ask: ")]
    assert len(lines) == 6
    assert "more rows" in lines[-1]


@pytest.mark.parametrize(
    "column",
    ["author", "log", "seq", "type", "hash", "header", "signature", "facts", "text"],
)
def test_a_flipped_byte_in_any_entry_is_named(home: Path, column: str) -> None:
    with spoiling(home) as store:
        entries = store.execute(f"SELECT n, {column} FROM entry ORDER BY n").fetchall()
        chosen = entries if len(entries) < 30 else [*entries[:10], *entries[10::5], entries[-1]]
        for n, value in chosen:
            spoilt = changed(value)
            if isinstance(value, bytes):
                at = int.from_bytes(os.urandom(2), "big") % len(value)
                spoilt = value[:at] + bytes([value[at] ^ 1 << n % 8]) + value[at + 1 :]
            elif column in ("log", "seq"):
                # Two entries may not share a place, so this one moves out of the way.
                spoilt = value ^ 1 << 20
            store.execute(f"UPDATE entry SET {column} = ? WHERE n = ?", (spoilt, n))
            findings = compare(home)
            store.execute(f"UPDATE entry SET {column} = ? WHERE n = ?", (value, n))
            assert any(line.startswith(f"entry {n}: ") for line in findings), (n, findings)
    assert compare(home) == []


@pytest.mark.parametrize("which", ["first", "middle", "last"])
def test_an_entry_that_is_gone_is_noticed(home: Path, which: str) -> None:
    with spoiling(home) as store:
        numbers = [n for (n,) in store.execute("SELECT n FROM entry ORDER BY n")]
        n = {"first": numbers[0], "middle": numbers[len(numbers) // 2], "last": numbers[-1]}[which]
        store.execute("DELETE FROM entry WHERE n = ?", (n,))
    assert compare(home) != []


def test_two_entries_whose_order_was_changed_are_noticed(home: Path) -> None:
    with spoiling(home) as store:
        (last,) = store.execute("SELECT max(n) FROM entry WHERE log = 0").fetchone()
        store.execute("UPDATE entry SET n = -1 WHERE n = ?", (last,))
    assert any(line.startswith("entry -1: ") for line in compare(home))


def test_an_erased_text_shows_and_the_chain_still_verifies(home: Path) -> None:
    with spoiling(home) as store:
        (n,) = store.execute("SELECT min(n) FROM entry WHERE type = 16").fetchone()
        store.execute("UPDATE entry SET text = NULL WHERE n = ?", (n,))
    findings = compare(home)
    assert findings
    assert all(line.startswith("about: ") for line in findings)


def test_looking_changes_nothing(home: Path) -> None:
    before = {path.name: path.read_bytes() for path in home.iterdir()}
    compare(home)
    after = {path.name: path.read_bytes() for path in home.iterdir()}
    assert after["store.db"] == before["store.db"]
