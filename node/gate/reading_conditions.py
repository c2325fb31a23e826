"""Reads the conditions of a rule, from `arguments` to `others`."""

import re
from collections.abc import Callable
from typing import Any, Final

import rfc8785

from node import limits
from node.gate.commands import Prefix
from node.gate.conditions import (
    PATH_KEYS,
    AtHost,
    Condition,
    Equal,
    NoOthers,
    Runs,
    Test,
    Text,
    Within,
)
from node.gate.given import ALL, CWD
from node.gate.hosts import HostPattern, one_spelling
from node.gate.match import Glob
from node.gate.noting import CONTROL, Notes
from node.gate.places import PathPattern
from node.gate.shell import RESERVED, read_shell

OF_ARGUMENTS: Final = ("arguments", "equals", "path", "host", "shell")
CONDITIONS: Final = (*OF_ARGUMENTS, "cwd", "others")

EXAMPLES: Final = {
    "arguments": 'arguments = { command = "git push*" }',
    "equals": "equals = { run_in_background = true }",
    "path": 'path = { file_path = "/home/me/project/**" }',
    "host": 'host = { url = ["example.com", "*.example.com"] }',
    "shell": 'shell = { command = ["git push", "git fetch"] }',
    "cwd": 'cwd = "/home/me/project/**"',
    "others": 'others = ["description"], or others = [] for none',
}

DEEP_WILDCARDS: Final = 4
"""`**` in one pattern; more say nothing that fewer do not."""


class Conditions:
    """Reads the conditions of one rule. `guarded`: as an `allow` rule means them."""

    def __init__(self, notes: Notes, table: dict[str, Any], *, guarded: bool) -> None:
        self.notes = notes
        self.table = table
        self.guarded = guarded

    def read(self) -> tuple[Condition, ...]:
        """All of them, in the order of the keys."""
        readers: dict[str, Callable[[str, object], Test | None]] = {
            "arguments": self._text,
            "equals": self._equal,
            "path": self._within,
            "host": self._at_host,
            "shell": self._runs,
        }
        conditions: list[Condition] = []
        for key in OF_ARGUMENTS:
            for path, value in self._leaves(key):
                test = readers[key](f"{key}.{path}", value)
                if test is not None:
                    conditions.append(Condition(path=tuple(path.split(".")), key=key, test=test))
        if "cwd" in self.table:
            folder = self._within("cwd", self.table["cwd"])
            if folder is not None:
                conditions.append(Condition(path=CWD, key="cwd", test=folder))
        if "others" in self.table:
            named = {condition.path for condition in conditions if condition.path != CWD}
            names = frozenset(named | self._others(self.table["others"]))
            conditions.append(Condition(path=ALL, key="others", test=NoOthers(names=names)))
        if len(conditions) > limits.RULE_ARGUMENTS:
            reason = f"There are {len(conditions)} conditions; {limits.RULE_ARGUMENTS} is the most."
            fix = "Leave out what the other patterns decide already."
            self.notes.at(conditions[0].key, reason, fix)
        return tuple(conditions)

    def _leaves(self, key: str) -> list[tuple[str, object]]:
        """The arguments that one key names; tables within tables are paths, as are dotted keys."""
        if key not in self.table:
            return []
        value = self.table[key]
        if not isinstance(value, dict) or not value:
            fix = f"Name arguments with what they must be: {EXAMPLES[key]}."
            self.notes.at(key, f"`{key}` must be a table that is not empty.", fix)
            return []
        leaves = flat(value)
        for path, _ in leaves:
            if len(path) > limits.GLOB_CHARACTERS:
                reason = f"The name of an argument has {len(path)} characters."
                self.notes.at(key, reason, f"{limits.GLOB_CHARACTERS} is the most.")
                return []
        return leaves

    def _others(self, value: object) -> set[tuple[str, ...]]:
        """The arguments that a call may have besides those which the rule names."""
        if value == []:
            return set()
        fix = f"Write {EXAMPLES['others']}."
        names = self.notes.lines(value, "others", limits.RULE_ARGUMENTS, fix)
        for name in names:
            if "" in name.split(".") or re.search(r"[*?]", name):
                reason = f"`others` names {name!r:.60}, which is the name of no argument."
                self.notes.at("others", reason, f"{fix} `a.b` is `b` inside `a`.")
        return {tuple(name.split(".")) for name in names}

    def _refuse(self, label: str, reason: str, fix: str) -> None:
        self.notes.at(label, reason, fix)

    def _text(self, label: str, value: object) -> Test | None:
        """A pattern of the argument's text."""
        if not isinstance(value, str):
            shown = str(value).lower() if isinstance(value, bool) else str(value)
            fix = f'Write the pattern as text: "{shown:.40}" stands for the JSON value.'
            self._refuse(label, f"`{label}` must be a text.", fix)
        elif not value:
            fix = "`*` stands for any text; leave the argument out when it does not matter."
            self._refuse(label, f"`{label}` is empty.", fix)
        elif len(value) > limits.GLOB_CHARACTERS:
            most = limits.GLOB_CHARACTERS
            reason = f"`{label}` has {len(value)} characters; {most} is the most."
            self._refuse(label, reason, "Let `*` stand for a part of it.")
        elif label.rpartition(".")[2] in PATH_KEYS and value.startswith("~"):
            fix = "Write the path in full, begin it with `*/`, or use the key `path`."
            self._refuse(label, f"`{label}` begins with `~`, which a pattern does not expand.", fix)
        else:
            return Text(glob=Glob(value, guarded=self.guarded))
        return None

    def _equal(self, label: str, value: object) -> Test | None:
        """A value: text, number or truth value, or a list of them."""
        try:
            json = rfc8785.dumps(value).decode()  # type: ignore[arg-type]
        except (ValueError, TypeError, RecursionError):
            fix = "Texts, whole numbers up to 2^53, finite numbers, true and false can be compared."
            self._refuse(label, f"`{label}` is {value!r:.60}, which no argument can equal.", fix)
            return None
        if len(json) > limits.GLOB_CHARACTERS:
            reason = f"`{label}` has {len(json)} characters; {limits.GLOB_CHARACTERS} is the most."
            self._refuse(label, reason, "Compare a part of it by a pattern in `arguments`.")
            return None
        return Equal(json=json, text=value if isinstance(value, str) else json)

    def _each(self, label: str, value: object) -> list[str]:
        """One text or several; none with a problem noted."""
        example = f"Write {EXAMPLES[label.partition('.')[0]]}."
        values: list[Any] = value if isinstance(value, list) else [value]
        if not values:
            self._refuse(label, f"`{label}` names nothing, so it could never match.", example)
        if len(values) > limits.RULE_ALTERNATIVES:
            most = limits.RULE_ALTERNATIVES
            reason = f"`{label}` has {len(values)} entries; {most} is the most."
            self._refuse(label, reason, "Join them by patterns, or write another rule.")
            return []
        for each in values:
            if not isinstance(each, str) or not each.strip():
                self._refuse(label, f"`{label}` must be a text, or a list of texts.", example)
            elif len(each) > limits.GLOB_CHARACTERS or CONTROL.search(each):
                reason = f"`{label}` holds a control character, or is longer than 1,000 characters."
                self._refuse(label, reason, example)
            else:
                continue
            return []
        return values

    def _within(self, label: str, value: object) -> Test | None:
        texts = self._each(label, value)
        for text in texts:
            problem = _path_problem(text)
            if problem is not None:
                self._refuse(label, f"`{text:.60}` {problem[0]}", problem[1])
                return None
        patterns = tuple(PathPattern(text=text) for text in texts)
        return Within(patterns=patterns, guarded=self.guarded) if patterns else None

    def _at_host(self, label: str, value: object) -> Test | None:
        patterns: list[HostPattern] = []
        for text in self._each(label, value):
            star = "*." if text.startswith("*.") else ""
            host = one_spelling(text.removeprefix("*."))
            if host is None or (star and host[-1].isdigit()):
                fix = (
                    "Write the host alone, as in a URL between `//` and the next `/`, without"
                    ' port: "example.com", or "*.example.com" for every host below it.'
                )
                self._refuse(label, f"`{text:.60}` is no host, so it could never match.", fix)
                return None
            patterns.append(HostPattern(text=star + host))
        return AtHost(patterns=tuple(patterns), guarded=self.guarded) if patterns else None

    def _runs(self, label: str, value: object) -> Test | None:
        prefixes: list[Prefix] = []
        for text in self._each(label, value):
            words = _command_words(text)
            if words is None:
                fix = (
                    "Write the first words of one command, without `*`, variables or operators:"
                    ' "git push" stands for every command that begins so.'
                )
                reason = f"`{text:.60}` is not the beginning of one command, so nothing matches it."
                self._refuse(label, reason, fix)
                return None
            prefixes.append(Prefix(words=words))
        return Runs(prefixes=tuple(prefixes), guarded=self.guarded) if prefixes else None


def _command_words(text: str) -> tuple[str, ...] | None:
    """The words of a single command; None when the text is anything else."""
    shell = read_shell(text)
    if len(shell.direct) != 1 or re.search(r"[;&|<>\n]", re.sub(r"'[^']*'|\"[^\"]*\"", "", text)):
        return None
    words = tuple(word for word in shell.direct[0][0] if word is not None)
    odd = not words or not words[0] or words[0] in RESERVED or "=" in text.split(maxsplit=1)[0]
    return None if odd or len(words) != len(shell.direct[0][0]) else words


def _path_problem(text: str) -> tuple[str, str] | None:
    """Why no resolved path could ever match, and what to write instead."""
    fix = 'Write it in full: "/home/me/project/**", "~/project/**", or "**/.env" for any folder.'
    if not (text.startswith(("/", "~/", "**/")) or text in ("~", "**")):
        return "is not a path from the root, and only those are compared.", fix
    parts = text.split("/")
    if "." in parts or ".." in parts:
        return "holds `.` or `..`, and a resolved path has none.", fix
    if "" in parts[1:-1]:
        return "holds `//`, and a resolved path has none.", fix
    if any("**" in part and part != "**" for part in parts):
        return "has `**` beside other characters.", "`**` is a part of its own: `/a/**/b`."
    if len(parts) > limits.PATH_PARTS or parts.count("**") > DEEP_WILDCARDS:
        most = f"{limits.PATH_PARTS} parts and {DEEP_WILDCARDS} times `**` are the most."
        return "is too long a pattern.", most
    return None


def flat(arguments: dict[str, Any]) -> list[tuple[str, object]]:
    """The leaves of nested tables, with their dotted paths."""
    leaves: list[tuple[str, object]] = []
    inside = [("", arguments)]
    while inside:
        prefix, table = inside.pop(0)
        for key, value in table.items():
            if isinstance(value, dict) and value:
                inside.append((f"{prefix}{key}.", value))
            else:
                leaves.append((f"{prefix}{key}", value))
    return leaves
