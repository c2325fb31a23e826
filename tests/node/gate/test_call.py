"""Calls: the same call has one digest, another call has another, and files are never trusted."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from node import limits
from node.gate.call import Call, CallRefused, make_call
from sync.limits import BLOB_BYTES, TITLE_CHARACTERS


def bash(command: str, cwd: Path | str = "/") -> Call:
    return make_call("Bash", {"command": command}, str(cwd))


def edit(path: Path | str, old: str, new: str, cwd: Path | str = "/", **more: object) -> Call:
    arguments = {"file_path": str(path), "old_string": old, "new_string": new, **more}
    return make_call("Edit", arguments, str(cwd))


def write(path: Path | str, content: str, cwd: Path | str = "/") -> Call:
    return make_call("Write", {"file_path": str(path), "content": content}, str(cwd))


def diff_of(call: Call) -> str:
    assert call.diff is not None
    return call.diff


def test_the_canonical_text_is_what_is_hashed() -> None:
    call = make_call("Bash", {"z": 1.0, "command": "ls"}, "/")
    assert call.canonical == (
        b'{"arguments":{"command":"ls","z":1},"cwd":"/","files":[],"tool":"Bash"}'
    )
    assert call.digest == hashlib.sha256(call.canonical).digest()
    assert (call.files, call.diff) == ((), None)


def test_order_and_spelling_of_numbers_do_not_matter() -> None:
    one = make_call("T", {"a": 1, "b": 2.5}, "/")
    assert make_call("T", {"b": 2.5, "a": 1.0}, "/").digest == one.digest


def test_whatever_else_differs_is_another_call(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("a")
    calls = [
        bash("ls"),
        bash("ls "),
        bash("ls", tmp_path),
        make_call("Bash", {"command": "ls", "timeout": 1}, "/"),
        make_call("bash", {"command": "ls"}, "/"),
        make_call("Bash", {"command": ["ls"]}, "/"),
        write(file, "b"),
        edit(file, "a", "b"),
    ]
    assert len({call.digest for call in calls}) == len(calls)


def test_the_working_directory_is_the_real_one(tmp_path: Path) -> None:
    link = tmp_path / "link"
    (tmp_path / "real").mkdir()
    link.symlink_to("real")
    assert bash("ls", link).digest == bash("ls", tmp_path / "real").digest
    assert bash("ls", link).cwd == str(tmp_path / "real")


def test_a_changed_file_makes_another_call(tmp_path: Path) -> None:
    file = tmp_path / "f"
    missing = write(file, "new")
    file.write_text("one")
    one = write(file, "new")
    file.write_text("two")
    two = write(file, "new")
    assert len({missing.digest, one.digest, two.digest}) == 3
    assert missing.files[0].sha256 is None
    assert two.files[0].sha256 == hashlib.sha256(b"two").hexdigest()


def test_a_link_that_is_turned_makes_another_call(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("same")
    link = tmp_path / "link"
    link.symlink_to("a")
    before = write(link, "x")
    link.unlink()
    link.symlink_to("b")
    assert write(link, "x").digest != before.digest
    assert before.files[0].path == str(tmp_path / "a")


def test_an_edit_is_shown_in_its_place(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("".join(f"line {n}\n" for n in range(20)))
    call = edit("f", "line 5\n", "LINE\nmore\n", tmp_path)
    assert diff_of(call) == (
        f"--- {file}\n+++ {file}\n@@ -3,7 +3,8 @@\n line 2\n line 3\n line 4\n-line 5\n"
        "+LINE\n+more\n line 6\n line 7\n line 8\n"
    )


def test_several_edits_are_one_change(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("a\nb\n")
    edits = [
        {"old_string": "a", "new_string": "c"},
        {"old_string": "c\nb", "new_string": "c\nd"},
    ]
    call = make_call("MultiEdit", {"file_path": str(file), "edits": edits}, "/")
    assert diff_of(call).splitlines()[2:] == ["@@ -1,2 +1,2 @@", "-a", "-b", "+c", "+d"]


def test_a_new_file_is_shown_whole(tmp_path: Path) -> None:
    text = diff_of(write(tmp_path / "n", "a\nb"))
    assert text.startswith("--- /dev/null\n")
    assert text.endswith("@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n")
    assert "+x" in diff_of(edit(tmp_path / "m", "", "x\n"))


def test_a_cell_of_a_notebook_is_shown(tmp_path: Path) -> None:
    file = tmp_path / "n.ipynb"
    cells = [{"id": "abc", "source": ["x = 1\n", "y = 2"]}, {"source": "z"}]
    file.write_text(json.dumps({"cells": cells}))

    def notebook(**more: object) -> str:
        arguments = {"notebook_path": str(file), "new_source": "x = 1\ny = 3", **more}
        return diff_of(make_call("NotebookEdit", arguments, "/"))

    assert "-y = 2\n" in notebook(cell_id="abc")
    assert "+y = 3\n" in notebook(cell_id="abc")
    assert "-z\n" in notebook(cell_id="cell-1")
    assert "+x = 1\n" in notebook(cell_id="abc", edit_mode="insert")
    assert "\n+x" not in notebook(cell_id="abc", edit_mode="delete")
    assert "no such cell" in notebook(cell_id="nope")
    file.write_text('{"cells": 5}')
    assert "not of the form" in notebook(cell_id="abc")


def test_windows_line_ends_do_not_hide_the_place(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"a\r\nb\r\n")
    assert diff_of(edit(file, "a\nb\n", "a\nc\n")).splitlines()[3:] == [" a", "-b", "+c"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("zz", "y", "not in the file as it is now"),
        ("a", "y", "in the file 2 times"),
        ("", "y", "replaces nothing"),
        ("a\n", "a\n", "Nothing would change"),
    ],
)
def test_an_unclear_edit_says_so_and_is_shown_as_given(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    (tmp_path / "f").write_text("a\n" if old == "a\n" else "a\na\n")
    text = diff_of(edit("f", old, new, tmp_path))
    assert text.startswith("\\ ")
    assert words in text
    assert ("+y" in text) == (new == "y")


def test_every_occurrence_when_all_are_meant(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\na\n")
    assert diff_of(edit("f", "a", "b", tmp_path, replace_all=True)).count("\n+b") == 2


def test_the_text_of_a_file_cannot_pass_for_a_remark(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("\\ Nothing would change.\n")
    body = diff_of(write(tmp_path / "f", "x\n")).splitlines()[3:]
    assert body == ["-\\ Nothing would change.", "+x"]


def test_binary_and_large_files_are_named_by_their_hash(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"a\0b")
    (tmp_path / "latin").write_bytes(b"\xe9")
    (tmp_path / "large").write_bytes(b"a" * (limits.DIFF_FILE_BYTES + 1))
    for name, words in (("binary", "is binary"), ("latin", "is binary"), ("large", "too many")):
        call = write(tmp_path / name, "x")
        assert words in diff_of(call)
        assert "+x" not in diff_of(call)
        assert call.files[0].sha256 is not None


def test_a_long_diff_is_cut_and_counted(tmp_path: Path) -> None:
    text = diff_of(write(tmp_path / "n", "line\n" * 100_000))
    assert len(text) < limits.DIFF_CHARACTERS + 100
    shown = text.count("\n") - 1
    assert f"\\ {100_003 - shown} more lines are not shown here;" in text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x\n" * 400_000, "y\nx\n" * 200_000),
        ("".join(f"{n % 7}\n" for n in range(100_000)), "".join(f"{n % 5}\n" for n in range(9))),
    ],
)
def test_no_pair_of_texts_makes_a_diff_slow(tmp_path: Path, before: str, after: str) -> None:
    (tmp_path / "f").write_text(before)
    write(tmp_path / "f", after)  # a search for the shortest diff takes hours: the time-out ends it


def test_edits_cannot_blow_a_file_up(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a" * 1_000_000)
    call = edit("f", "a", "b" * 100_000, tmp_path, replace_all=True)
    assert "too large for a diff" in diff_of(call)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"x": float("nan")}, "nan"),
        ({"x": float("inf")}, "inf"),
        ({"x": 2**53}, "safe integer"),
        ({"x": -(2**60)}, "safe integer"),
        ({"x": "\ud800"}, "non-UTF-8"),
        ({"\ud800": "x"}, "canonical form"),
        ({"x": "a" * BLOB_BYTES}, "is the most"),
    ],
)
def test_what_has_no_canonical_form_is_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(CallRefused, match=words):
        make_call("T", arguments, "/")


def test_deep_nesting_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(CallRefused, match="too deeply"):
        make_call("T", {"x": deep}, "/")


@pytest.mark.parametrize(
    ("tool", "cwd"), [("", "/"), ("t" * 301, "/"), ("T", "relative"), ("T", "/a\0"), ("T", "")]
)
def test_a_call_needs_a_tool_and_a_place(tool: str, cwd: str) -> None:
    with pytest.raises(CallRefused):
        make_call(tool, {}, cwd)


def test_pipes_devices_and_folders_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to("fifo")
    for path in (tmp_path / "fifo", tmp_path / "link", "/dev/zero", "/dev/tty", tmp_path):
        with pytest.raises(CallRefused, match=r"not a regular file|No such device"):
            write(path, "x")


def test_a_huge_or_looping_file_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    (tmp_path / "loop").symlink_to("loop")
    for name, words in (("sparse", "too many"), ("loop", "cannot be read|not the path")):
        with pytest.raises(CallRefused, match=words):
            write(tmp_path / name, "x")


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 5000])
def test_a_name_that_is_no_path_is_refused(name: str) -> None:
    with pytest.raises(CallRefused):
        write(name, "x")


@pytest.mark.root
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("secret")
    (tmp_path / "f").chmod(0)
    os.seteuid(65534)
    try:
        with pytest.raises(CallRefused, match="cannot be read: Permission denied"):
            write(tmp_path / "f", "")
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("Bash", {"command": "git push\n  origin"}, "git push ⏎ origin"),
        ("Edit", {"file_path": "/a/b"}, "/a/b"),
        ("Write", {"file_path": "n"}, "n"),
        ("mcp__x__y", {"a": "b", "n": 3, "o": {"p": 1}}, "a: b, n: 3, o: …"),
        ("Task", {}, ""),
        ("Task", None, ""),
        ("Bash", {"command": 5}, "command: 5"),
    ],
)
def test_a_call_in_one_line(tool: str, arguments: object, line: str, tmp_path: Path) -> None:
    assert make_call(tool, arguments, str(tmp_path)).summary == line


def test_nothing_hides_behind_a_long_line() -> None:
    for command in ("echo " + "a" * 500, "x" * 100_000, "a\n" * 5_000):
        summary = bash(command).summary
        assert len(summary) <= TITLE_CHARACTERS + 10
        assert "characters)" in summary
        assert "\n" not in summary
