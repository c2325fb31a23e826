"""A tool call as it is shown and as it is compared when it comes back."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import rfc8785

from node.gate.diff import change
from node.gate.files import CallRefused, FileRead, read_file
from sync.limits import BLOB_BYTES, PROJECT_CHARACTERS, TITLE_CHARACTERS

__all__ = ["Call", "CallFile", "CallRefused", "make_call"]

EDITED: Final = {
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "Write": "file_path",
}
"""Tools that change a file, and the argument that names it."""

SHELL_TOOLS: Final = ("Bash",)
"""Tools whose one-line summary is their command."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallFile:
    """A file the call would change."""

    path: str
    sha256: str | None
    """None: there is no such file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call: what a person sees, and the digest by which it is known again."""

    tool: str
    arguments: Any
    cwd: str
    """Real path."""
    files: tuple[CallFile, ...]
    canonical: bytes
    """RFC 8785 text of tool, arguments, cwd and files; SHA-256 of it is the digest."""
    digest: bytes
    summary: str
    diff: str | None


def make_call(tool: str, arguments: Any, cwd: str) -> Call:  # noqa: ANN401 - any JSON value
    """Make the call from what the host gave, with the files as they are now.

    Reads files, so call it in a thread. Raises `CallRefused` when the call has no canonical
    form, is too large, or would change what is not a regular file.
    """
    if not tool or len(tool) > PROJECT_CHARACTERS:
        raise CallRefused("The call names no tool, or one with too long a name.")
    if not cwd.startswith("/") or "\0" in cwd:
        raise CallRefused("The call's working directory is not an absolute path.")
    cwd = os.path.realpath(cwd)
    read = _read_edited(tool, arguments, cwd)
    files = tuple(CallFile(path=file.path, sha256=file.sha256) for file in read)
    canonical = _canonical(tool, arguments, cwd, files)
    return Call(
        tool=tool,
        arguments=arguments,
        cwd=cwd,
        files=files,
        canonical=canonical,
        digest=hashlib.sha256(canonical).digest(),
        summary=summary(tool, arguments),
        diff="".join(change(tool, arguments, file) for file in read) or None,
    )


def _read_edited(tool: str, arguments: object, cwd: str) -> list[FileRead]:
    """The files this call would change."""
    name = arguments.get(EDITED.get(tool, "")) if isinstance(arguments, Mapping) else None
    return [read_file(name, cwd)] if isinstance(name, str) and name else []


def _canonical(tool: str, arguments: Any, cwd: str, files: tuple[CallFile, ...]) -> bytes:  # noqa: ANN401
    """The canonical text. Raises `CallRefused` where RFC 8785 has none."""
    whole = {
        "tool": tool,
        "arguments": arguments,
        "cwd": cwd,
        "files": [{"path": file.path, "sha256": file.sha256} for file in files],
    }
    try:
        text = rfc8785.dumps(whole)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise CallRefused(
            f"The call has no canonical form (RFC 8785): {why}.",
            hint="Whole numbers up to 2^53, finite numbers and valid Unicode have one.",
        ) from error
    if len(text) > BLOB_BYTES:
        raise CallRefused(f"The call has {len(text)} bytes; {BLOB_BYTES} is the most.")
    return text


def summary(tool: str, arguments: object) -> str:
    """The call in one line, beside its tool: the command, the path, or the arguments."""
    given = arguments if isinstance(arguments, Mapping) else {}
    command, path = given.get("command"), given.get(EDITED.get(tool, ""))
    if tool in SHELL_TOOLS and isinstance(command, str):
        text = command
    elif isinstance(path, str):
        text = path
    else:
        text = ", ".join(f"{key}: {_short(value)}" for key, value in given.items())
    return _one_line(text)


def _short(value: object) -> str:
    """A value in a few characters."""
    text = value if isinstance(value, str) else repr(value) if _small(value) else "…"
    return text if len(text) <= 60 else f"{text[:59]}…"


def _small(value: object) -> bool:
    """Whether writing the value out cannot take long."""
    return value is None or isinstance(value, bool | int | float)


def _one_line(text: str) -> str:
    """The text on one line; what is left out is counted, so that nothing hides behind it."""
    lines = [line.strip() for line in text[: 4 * TITLE_CHARACTERS].splitlines()]
    line = " ⏎ ".join(part for part in lines if part)
    more = len(text) - 4 * TITLE_CHARACTERS
    if len(line) <= TITLE_CHARACTERS and more <= 0:
        return line
    note = f"… (+{len(line) - (TITLE_CHARACTERS - 20) + max(more, 0)} characters)"
    return line[: TITLE_CHARACTERS - 20] + note
