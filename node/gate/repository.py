"""A repository's own rules, in `.askmesh.toml`: text of whoever wrote to it, so it only tightens.

Every such file from the working directory up to the outermost repository around it counts:
a nearer one, or a repository made inside of another, could otherwise loosen what is above.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Final

from node import limits
from node.gate.rules import Problem, Rules, RulesRefused, parse

FILE: Final = ".askmesh.toml"
MARKS: Final = (".git", ".hg", ".jj", ".svn")
"""What lies in the top folder of a repository."""

OPENING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
PARSED: Final = 64
"""Texts whose rules are remembered: a call must not wait for what was read before."""

NO_EFFECT: Final = (
    "`allow` has no effect in a repository's file, which may only make the rules of the fleet"
    " stricter. Its calls meet the other rules of the file, and the fleet's."
)
NO_EFFECT_FIX: Final = (
    "Remove the rule. To allow these calls an owner or an admin changes the fleet's own rules."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RepositoryFile:
    """One such file: its rules, or why it has none that can be used."""

    place: str
    """Its path, from the top folder of the repository."""
    rules: Rules | None
    problem: str | None
    version: str
    """The beginning of its SHA-256."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Text:
    """What was read of one file."""

    data: bytes = b""
    problem: str | None = None


def around(cwd: str) -> tuple[RepositoryFile, ...]:
    """The files that stand over calls in this real folder, nearest first. Reads the disk.

    Never raises: what cannot be read is told as such, and then every call is asked about.
    """
    try:
        return tuple(_around(cwd))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return (_unread(FILE, f"could not be looked for ({why})"),)


def _around(cwd: str) -> Iterator[RepositoryFile]:
    folders = [cwd, *map(str, Path(cwd).parents)]
    if len(folders) > limits.REPOSITORY_FOLDERS:
        yield _unread(FILE, f"lies more than {limits.REPOSITORY_FOLDERS} folders up")
        return
    tops = [place for place, folder in enumerate(folders) if _is_top(folder)]
    root = folders[max(tops, default=0)]
    found = 0
    for folder in folders[: folders.index(root) + 1]:
        text = _text(folder, root)
        if text is None:
            continue
        found += 1
        place = os.path.relpath(os.path.join(folder, FILE), root)  # noqa: PTH118 -- text only
        if found > limits.REPOSITORY_FILES:
            yield _unread(FILE, f"is there more than {limits.REPOSITORY_FILES} times")
            return
        yield _read(_shown(place), text)


def _is_top(folder: str) -> bool:
    return any(_marked(os.path.join(folder, mark)) for mark in MARKS)  # noqa: PTH118 -- hot path


def _marked(path: str) -> bool:
    """Whether a mark is there and is not an empty folder, such as sandboxes leave behind."""
    if not _there(path):
        return False
    try:
        with os.scandir(path) as inside:
            return any(True for _ in inside)
    except OSError:  # a file, a link that leads nowhere, or closed to us: it counts
        return True


def _there(path: str) -> bool:
    """Whether there is such a name; a folder that may not be looked into raises `OSError`."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _text(folder: str, root: str) -> _Text | None:
    """The bytes of a folder's file, or why not; None: there is none."""
    path = os.path.join(folder, FILE)  # noqa: PTH118 -- hot path
    try:
        return _Text(data=_bytes(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno != errno.ELOOP:
            return _Text(problem=f"cannot be read ({error.strerror})")
    except ValueError as error:
        return _Text(problem=str(error))
    real = os.path.realpath(path)
    if not real.startswith(f"{root.rstrip('/')}/"):
        return _Text(problem="is a link that leads out of the repository")
    try:
        return _Text(data=_bytes(real))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return _Text(problem=f"is a link to what cannot be read ({why})")


def _bytes(path: str) -> bytes:
    """A regular file of bounded size, whole. Raises `OSError`, `ValueError`."""
    descriptor = os.open(path, OPENING)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("is not a regular file")
        data = file.read(limits.RULES_BYTES + 1)
    if len(data) > limits.RULES_BYTES:
        raise ValueError(f"has more than {limits.RULES_BYTES} bytes")
    return data


def _read(place: str, text: _Text) -> RepositoryFile:
    if text.problem is not None:
        return _unread(place, text.problem)
    version = hashlib.sha256(text.data).hexdigest()[:12]
    try:
        source = text.data.decode()
    except UnicodeDecodeError:
        return _unread(place, "is not UTF-8 text", version)
    rules = _tightening(source)
    if isinstance(rules, str):
        return _unread(place, rules, version)
    return RepositoryFile(place=place, rules=rules, problem=None, version=version)


@lru_cache(maxsize=PARSED)
def _tightening(source: str) -> Rules | str:
    """The rules of a text without those that allow; or what is wrong with it."""
    try:
        rules = parse(source, FILE, tightening=True)
    except RulesRefused as refused:
        first = refused.problems[0]
        return f"does not read (line {first.line}: {first.reason})"
    return without_allows(rules)


def without_allows(rules: Rules) -> Rules:
    """Return the rules that a repository's file can have: its `allow` is none."""
    return replace(rules, rules=tuple(rule for rule in rules.rules if rule.action != "allow"))


def of_rules(rules: Rules) -> RepositoryFile:
    """Return rules as if they were those of a repository, to explain them."""
    kept = without_allows(rules)
    return RepositoryFile(place=FILE, rules=kept, problem=None, version=rules.version)


def _unread(place: str, problem: str, version: str = "unread") -> RepositoryFile:
    return RepositoryFile(place=place, rules=None, problem=problem, version=version)


def _shown(place: str) -> str:
    """A path on one line and not too long: folders are named by whoever made them."""
    plain = "".join(mark if mark.isprintable() else "?" for mark in place)
    most = limits.REPOSITORY_PLACE_CHARACTERS
    return plain if len(plain) <= most else f"…{plain[1 - most :]}"


def without_effect(rules: Rules) -> list[Problem]:
    """What of a repository's file does nothing, with line, reason and fix."""
    return [
        Problem(line=rule.line, reason=f"`{rule.name}`: {NO_EFFECT}", fix=NO_EFFECT_FIX)
        for rule in rules.rules
        if rule.action == "allow"
    ]
