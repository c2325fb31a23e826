"""What a call would change in a file, as a unified diff made from the file as it was read."""

import json
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Final

from node import limits
from node.gate.files import FileRead
from sync.limits import BLOB_BYTES

LINES_COMPARED: Final = 100_000
"""Lines of one side times lines of the other: a quarter of a second at worst. Beyond it the
whole stretch is shown as taken out and put in."""

EDITS: Final = 200
"""Of one call; carrying out more on a large file takes seconds."""

CONTEXT: Final = 3
"""Unchanged lines around a change, as everywhere."""

Opcode = tuple[Any, int, int, int, int]


class Unclear(Exception):
    """The change cannot be derived; the text says why, and the change is shown as given."""


class Known(SequenceMatcher[str]):
    """Groups changes that were found elsewhere."""

    def __init__(self, changes: list[Opcode]) -> None:
        super().__init__(None, "", "")
        self.changes = changes

    def get_opcodes(self) -> list[Opcode]:
        """The changes as they were given."""
        return self.changes


def change(tool: str, arguments: Mapping[str, Any], file: FileRead) -> str:
    """The diff of one edit; lines that begin with a backslash are remarks."""
    if file.sha256 is not None and file.content is None:
        return _remark(f"The file has {file.size} bytes, too many for a diff.")
    before = _text(file.content or b"")
    if before is None:
        size = f"{file.size} bytes"
        return _remark(f"The file is binary ({size}); only its hash stands for what it holds.")
    name, new = file.path, file.sha256 is None
    try:
        if tool == "NotebookEdit":
            cell, old, after = _notebook(before, arguments)
            return _bounded(unified(old, after, f"{name} ({cell})", new=new))
        after = _after(tool, arguments, before, new=new)
    except Unclear as unclear:
        return _bounded(_remark(str(unclear)) + _as_given(arguments, name))
    if tool != "Write" and "\r\n" in before:
        before = before.replace("\r\n", "\n")
    return _bounded(unified(before, after, name, new=new))


def _remark(sentence: str) -> str:
    """A line that is neither taken out nor put in."""
    return f"\\ {sentence}\n"


def _text(content: bytes) -> str | None:
    """The file as text; None for what an editor would not show."""
    if b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _after(tool: str, arguments: Mapping[str, Any], before: str, *, new: bool) -> str:
    """The whole text after the edit, as the host would make it."""
    if tool == "Write":
        return _string(arguments, "content")
    edits = arguments.get("edits") if tool == "MultiEdit" else [arguments]
    if not isinstance(edits, list) or not 0 < len(edits) <= EDITS:
        raise Unclear(f"The call does not list 1 to {EDITS} edits.")
    text = before.replace("\r\n", "\n")
    for edit in edits:
        if not isinstance(edit, Mapping):
            raise Unclear("An edit is not an object.")
        text = _replaced(text, edit, new=new)
    return text


def _replaced(text: str, edit: Mapping[str, Any], *, new: bool) -> str:
    """The text after one replacement."""
    old, put = _string(edit, "old_string"), _string(edit, "new_string")
    if not old:
        if text:
            raise Unclear("The edit replaces nothing, in a file that is not empty.")
        return put
    if new and not text:
        raise Unclear("There is no such file.")
    found = text.count(old)
    if not found:
        raise Unclear("The text to replace is not in the file as it is now.")
    if found > 1 and edit.get("replace_all") is not True:
        raise Unclear(f"The text to replace is in the file {found} times.")
    if len(text) + found * (len(put) - len(old)) > BLOB_BYTES:
        raise Unclear("The file would become too large for a diff.")
    return text.replace(old, put)


def _string(arguments: Mapping[str, Any], key: str) -> str:
    """A text of the call."""
    value = arguments.get(key)
    if not isinstance(value, str):
        raise Unclear(f"The call has no text `{key}`.")
    return value


def _notebook(before: str, arguments: Mapping[str, Any]) -> tuple[str, str, str]:
    """The cell's name and its source before and after."""
    mode, wanted = arguments.get("edit_mode", "replace"), arguments.get("cell_id")
    after = "" if mode == "delete" else _string(arguments, "new_source")
    if mode == "insert":
        return f"new cell after {wanted or 'the beginning'}", "", after
    try:
        cells = json.loads(before)["cells"]
        for number, cell in enumerate(cells):
            if wanted in (cell.get("id"), f"cell-{number}"):
                source = cell["source"]
                old = source if isinstance(source, str) else "".join(source)
                return f"cell {wanted}", old, after
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise Unclear("The notebook is not of the form it must have.") from None
    raise Unclear("The notebook has no such cell.")


def _as_given(arguments: Mapping[str, Any], name: str) -> str:
    """The call's own texts, where they cannot be put into the file."""
    edits = arguments.get("edits")
    parts = edits[:EDITS] if isinstance(edits, list) else [arguments]
    shown = []
    for part in parts:
        if isinstance(part, Mapping):
            old = part.get("old_string")
            put = part.get("new_string", part.get("new_source"))
            if isinstance(old, str) or isinstance(put, str):
                shown.append(unified(str(old or ""), str(put or ""), name, new=False))
    return "".join(shown)


def unified(before: str, after: str, name: str, *, new: bool) -> str:
    """A unified diff of two texts, in bounded time."""
    if before == after:
        return _remark("Nothing would change.")
    old, put = _lines(before), _lines(after)
    parts = [f"--- {'/dev/null' if new else name}\n+++ {name}\n"]
    for group in Known(_changes(old, put)).get_grouped_opcodes(CONTEXT):
        parts += _hunk(group, old, put)
    return "".join(parts)


def _lines(text: str) -> list[str]:
    """The lines with their ends; only a line feed ends one."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, f"{last}\n\\ No newline at end of file\n"] if last else lines


def _changes(old: list[str], put: list[str]) -> list[Opcode]:
    """What stays and what changes; the equal beginning and end are not compared again."""
    most = min(len(old), len(put))
    head = next((i for i in range(most) if old[i] != put[i]), most)
    most -= head
    tail = next((i for i in range(most) if old[-1 - i] != put[-1 - i]), most)
    a, b = old[head : len(old) - tail], put[head : len(put) - tail]
    changes: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    if len(a) * len(b) > LINES_COMPARED or not a or not b:
        changes.append(("replace", head, head + len(a), head, head + len(b)))
    else:
        found = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
        changes += [(t, i + head, j + head, k + head, m + head) for t, i, j, k, m in found]
    if tail:
        changes.append(("equal", len(old) - tail, len(old), len(put) - tail, len(put)))
    return changes


def _hunk(group: list[Opcode], old: list[str], put: list[str]) -> Iterator[str]:
    """One stretch of changes with its context."""
    first, last = group[0], group[-1]
    yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
    for kind, i, j, k, m in group:
        if kind == "equal":
            yield from (f" {line}" for line in old[i:j])
        else:
            yield from (f"-{line}" for line in old[i:j])
            yield from (f"+{line}" for line in put[k:m])


def _range(begin: int, end: int) -> str:
    """A range of lines as unified diffs write it."""
    if end - begin == 1:
        return str(begin + 1)
    return f"{begin + 1 if end > begin else begin},{end - begin}"


def _bounded(diff: str) -> str:
    """The diff, with a remark instead of what is too much to show."""
    if len(diff) <= limits.DIFF_CHARACTERS:
        return diff
    shown = diff[: diff.rfind("\n", 0, limits.DIFF_CHARACTERS) + 1]
    more = diff.count("\n", len(shown))
    return shown + _remark(f"{more} more lines are not shown here; the exact call has them.")
