"""`askmesh verify`: silent about a sound store, and whatever is altered by hand is found."""

# ruff: noqa: S608 -- names of our own tables and columns

import contextlib
import json
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from node.cli.main import askmesh
from node.identity import NEXT_FILE
from node.store.projection import DERIVED
from node.verify.report import SHOWN
from node.verify.whole import Verified, verify
from tests.node.store.lives import live, lived_in
from tests.node.store.spoiling import changed, columns, edit, spoiling
from tests.node.store.test_disks import own_namespace
from tests.running import ROOT, RunningNode


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The directory of a node that lived through everything and was stopped in order."""
    with lived_in(tmp_path_factory.mktemp("lived")) as home:
        yield home


@pytest.fixture
def home(lived: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    copy = tmp_path / "copy"
    shutil.copytree(lived, copy, ignore=shutil.ignore_patterns("*.sock"))
    return copy


def found(verified: Verified) -> dict[str, list[str]]:
    """The faults by kind."""
    return {
        kind.kind: [one.what for one in kind.findings if one.level == "fault"]
        for kind in verified.kinds
        if kind.faults
    }


def test_a_node_that_lived_through_everything_is_sound(lived: Path) -> None:
    verified = verify(lived)
    assert found(verified) == {}
    counts = {kind.kind: kind.count for kind in verified.kinds}
    assert list(counts) == [
        "file", "entries", "signatures", "finals", "forks", "tables", "calls", "own",
    ]  # fmt: skip
    assert counts["entries"] == counts["signatures"] > 50
    assert counts["finals"] > 5
    assert counts["calls"] > 0
    # One final of `lives` names statements that are not here.
    (waits,) = [one for kind in verified.kinds for one in kind.findings]
    assert (waits.level, "not here yet" in waits.what) == ("note", True)


def test_also_while_it_runs_and_after_a_kill(node: RunningNode) -> None:
    live(node.start())
    assert found(verify(node.home)) == {}
    node.kill()
    assert found(verify(node.home)) == {}


def test_looking_changes_nothing(home: Path) -> None:
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    verify(home)
    for path, data in before.items():
        assert path.read_bytes() == data, path


def entries(store: sqlite3.Connection, column: str) -> list[tuple[int, object]]:
    """Some entries of every type."""
    types = store.execute("SELECT DISTINCT type FROM entry").fetchall()
    return [
        row
        for (kind,) in types
        for row in store.execute(
            f"SELECT n, {column} FROM entry WHERE type = ? AND {column} IS NOT NULL"
            " ORDER BY n DESC LIMIT 1",
            (kind,),
        )
    ]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("fleet", "its columns are not what its header says"),
        ("author", "its columns are not what its header says"),
        ("log", "its columns are not what its header says"),
        ("seq", "its columns are not what its header says"),
        ("type", "its columns are not what its header says"),
        ("hash", "a hash that is not its own"),
        ("header", ""),
        ("signature", "a hash that is not its own"),
        ("facts", "its facts are not those that were signed"),
        ("text", "its text is not the one that was signed"),
    ],
)
def test_an_entry_altered_by_hand_is_found(home: Path, column: str, words: str) -> None:
    with spoiling(home) as store:
        chosen = entries(store, column)
        for n, value in chosen:
            store.execute(f"UPDATE entry SET {column} = ? WHERE n = ?", (changed(value), n))
            faults = found(verify(home))
            store.execute(f"UPDATE entry SET {column} = ? WHERE n = ?", (value, n))
            assert any(words in line for line in faults.get("entries", [])), (n, faults)
            if column == "signature":
                assert len(faults["signatures"]) == 1
    assert len(chosen) > 10
    assert found(verify(home)) == {}


def test_a_changed_header_under_its_own_hash_is_found(home: Path) -> None:
    """Who changes the hash with it, and all that follows in the table, cannot sign."""
    from sync.log.entry import sha256

    with spoiling(home) as store:
        n, header, signature = store.execute(
            "SELECT n, header, signature FROM entry WHERE log = 0 ORDER BY n DESC"
        ).fetchone()
        other = header[:97] + bytes([header[97] ^ 1]) + header[98:]
        store.execute(
            "UPDATE entry SET header = ?, hash = ? WHERE n = ?",
            (other, sha256(other + signature), n),
        )
    assert len(found(verify(home))["signatures"]) == 1


@pytest.mark.parametrize("which", ["first", "middle", "last"])
def test_an_entry_that_is_gone_is_found(home: Path, which: str) -> None:
    with spoiling(home) as store:
        numbers = [n for (n,) in store.execute("SELECT n FROM entry WHERE log = 0 ORDER BY n")]
        n = {"first": numbers[0], "middle": numbers[len(numbers) // 2], "last": numbers[-1]}[which]
        store.execute("DELETE FROM entry WHERE n = ?", (n,))
    faults = found(verify(home))
    assert faults
    if which != "last":
        assert any("missing" in line for line in faults["entries"])


def test_an_entry_out_of_its_order_is_found(home: Path) -> None:
    with spoiling(home) as store:
        (last,) = store.execute("SELECT max(n) FROM entry WHERE log = 0").fetchone()
        store.execute("UPDATE entry SET n = -1 WHERE n = ?", (last,))
    assert any("stands after" in line for line in found(verify(home))["entries"])


@pytest.mark.parametrize("table", DERIVED)
def test_a_derived_row_altered_or_gone_is_found(home: Path, table: str) -> None:
    with spoiling(home) as store:
        put_back = edit(store, table, columns(home, table)[-1])
        assert any(line.startswith(f"{table}: ") for line in found(verify(home))["tables"])
        put_back()
        assert found(verify(home)) == {}
        store.execute(f"DELETE FROM {table}")
    assert any(line.startswith(f"{table}: ") for line in found(verify(home))["tables"])


def spoil_blob(home: Path) -> None:
    path = next((home / "blobs").iterdir())
    path.write_bytes(path.read_bytes()[:-1] + b"?")


def grow_blob(home: Path) -> None:
    next((home / "blobs").iterdir()).write_bytes(bytes(5 * 1024 * 1024))


def sql(statement: str) -> Callable[[Path], None]:
    def alter(home: Path) -> None:
        with spoiling(home) as store:
            assert store.execute(statement).rowcount != 0

    return alter


def another_key(home: Path) -> None:
    (home / "node.key").write_bytes(bytes(31) + b"\1")


def test_a_new_identity_that_was_cut_off_is_no_damage(home: Path) -> None:
    """The store counts the key beside the one in use; the next start puts it in place."""
    (home / "node.key").rename(home / NEXT_FILE)
    (home / "node.key").write_bytes(bytes(31) + b"\1")
    (home / "node.key").chmod(0o600)
    (own,) = [kind for kind in verify(home).kinds if kind.kind == "own"]
    assert own.faults == 0
    assert [one.what for one in own.findings] == ["Taking on a new identity was cut off."]


@pytest.mark.parametrize(
    ("alter", "kind", "words"),
    [
        (spoil_blob, "calls", "does not hold what its name says"),
        (grow_blob, "calls", "does not hold what its name says"),
        (sql("UPDATE call SET digest = zeroblob(32)"), "calls", "digest kept of the call"),
        (another_key, "own", "another machine as its own"),
        (lambda home: (home / "node.key").chmod(0o644), "own", "Others can read"),
        (lambda home: (home / "node.key").unlink(), "own", "cannot be read"),
        (sql("UPDATE local SET value = zeroblob(16) WHERE name = 'fleet'"), "own", "beginning"),
        (sql("INSERT INTO held SELECT n, 1 FROM entry WHERE type = 17 LIMIT 1"), "own", "held"),
        (sql("INSERT INTO held VALUES (999999, 1)"), "own", "held back"),
        (sql("INSERT INTO ask_alias VALUES ('x-1', 'y-1')"), "own", "raised again"),
        (sql("DROP INDEX vote_ask"), "file", "index vote_ask is missing"),
        (sql("ALTER TABLE vote ADD COLUMN more TEXT"), "file", "not laid as"),
        (
            sql("CREATE TRIGGER planted AFTER INSERT ON vote BEGIN DELETE FROM vote; END"),
            "file",
            "trigger planted is not of askmesh",
        ),
    ],
)
def test_whatever_else_is_altered_is_found(
    home: Path, alter: Callable[[Path], None], kind: str, words: str
) -> None:
    alter(home)
    verified = verify(home)
    assert any(words in line for line in found(verified).get(kind, [])), found(verified)
    assert all(one.remedy for checked in verified.kinds for one in checked.findings)


def test_a_page_of_the_file_that_is_spoiled_is_found(home: Path) -> None:
    with spoiling(home) as store:
        (page,) = store.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_entry_1'"
        ).fetchone()
        (size,) = store.execute("PRAGMA page_size").fetchone()
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with (home / "store.db").open("r+b") as file:
        file.seek((page - 1) * size + size // 2)
        file.write(bytes(size // 2))
    assert any("SQLite finds" in line for line in found(verify(home)).get("file", []))


def test_a_text_that_was_erased_breaks_no_proof(home: Path) -> None:
    with spoiling(home) as store:
        store.execute("UPDATE entry SET text = NULL")
        for table in ("ask_text", "rules"):
            with contextlib.suppress(sqlite3.Error):
                store.execute(f"DELETE FROM {table}")
    verified = verify(home)
    assert set(found(verified)) <= {"tables"}
    assert "texts erased" in next(kind.what for kind in verified.kinds if kind.kind == "entries")


def test_many_faults_are_counted_not_listed(home: Path) -> None:
    with spoiling(home) as store:
        store.execute("UPDATE entry SET hash = randomblob(32)")
    entries = next(kind for kind in verify(home).kinds if kind.kind == "entries")
    assert sum(one.level == "fault" for one in entries.findings) == SHOWN
    assert entries.more > 0
    assert entries.faults == SHOWN + entries.more


@pytest.mark.root
def test_a_store_on_a_read_only_disk_can_be_checked(home: Path) -> None:
    with spoiling(home) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not (home / "store.db-wal").exists()
    start = (
        "import sys, subprocess;"
        "subprocess.run(['mount', '--bind', sys.argv[1], sys.argv[1]], check=True);"
        "subprocess.run(['mount', '-o', 'remount,ro,bind', sys.argv[1]], check=True);"
        "sys.exit(subprocess.run(sys.argv[2:]).returncode)"
    )
    command = (sys.executable, "-I", str(ROOT / "askmesh"), "--home", str(home), "verify")
    ended = own_namespace(sys.executable, "-c", start, str(home), *command)
    assert "All of it holds" in ended.stdout, ended.stderr
    assert ended.returncode == 0


def run(home: Path, *options: str) -> tuple[int, str]:
    result = CliRunner().invoke(askmesh, ["--home", str(home), "verify", *options])
    return result.exit_code, result.stdout


def test_the_command_says_it_in_lines_an_object_and_its_exit_code(home: Path) -> None:
    code, said = run(home)
    assert code == 0
    assert "All of it holds" in said
    code, said = run(home, "--json")
    told = json.loads(said)
    assert (code, told["ok"]) == (0, True)
    with spoiling(home) as store:
        store.execute("UPDATE vote SET decision = 'deny' WHERE decision = 'allow'")
    code, said = run(home)
    assert code == 1
    assert "FAULT  tables" in said
    assert "→ " in said
    code, said = run(home, "--json")
    told = json.loads(said)
    assert (code, told["ok"]) == (1, False)
    (tables,) = [kind for kind in told["kinds"] if not kind["ok"]]
    assert tables["kind"] == "tables"
    assert {tuple(one) for one in tables["findings"]} == {("what", "remedy", "level")}


def test_where_there_is_nothing_to_check_it_says_so(tmp_path: Path) -> None:
    result = CliRunner().invoke(askmesh, ["--home", str(tmp_path), "verify"])
    assert result.exit_code == 1
    assert "There is no store" in result.stderr
    (tmp_path / "store.db").write_bytes(b"no store at all, but long enough" * 200)
    result = CliRunner().invoke(askmesh, ["--home", str(tmp_path), "verify"])
    assert result.exit_code == 1
    assert "cannot be read" in result.stderr
    assert CliRunner().invoke(askmesh, ["verify", "--nothing"]).exit_code == 2
