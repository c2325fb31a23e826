"""On which line of a rules file a rule and its keys stand; the TOML reader does not say."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

TOKEN: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL
)
"""What may hold text that looks like a table or a key."""

PART: Final = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\])*"|'[^']*')"""
NAME: Final = rf"{PART}(?:[ \t]*\.[ \t]*{PART})*"
HEADER: Final = re.compile(rf"[ \t]*(\[\[?)[ \t]*({NAME})[ \t]*\]")
KEY: Final = re.compile(rf"[ \t]*({NAME})[ \t]*=")
QUOTED: Final = re.compile(r"""\"(?:\\.|[^"\\])*"|'[^']*'""")
SYNTAX_LINE: Final = re.compile(r"\(at line (\d+), column (\d+)\)")


@dataclass(kw_only=True)
class Table:
    """Where a `[[rule]]` begins, and each of its keys."""

    line: int
    keys: dict[str, int] = field(default_factory=dict)

    def of(self, key: str) -> int:
        """The line of a key, else of the nearest one around it, else of the table."""
        while key:
            if key in self.keys:
                return self.keys[key]
            key = key.rpartition(".")[0]
        return self.line

    def found(self, path: Sequence[str], line: int) -> None:
        """Note where a key is written, and each table that is opened by naming it."""
        for length in range(1, len(path) + 1):
            self.keys.setdefault(".".join(path[:length]), line)


@dataclass(kw_only=True)
class Lines:
    """The tables of a file, in order; `top` stands for what is outside of any rule."""

    top: Table
    rules: list[Table]


def read(source: str) -> Lines:
    """Find the lines of a source that the TOML reader has accepted."""
    lines = Lines(top=Table(line=1), rules=[])
    table, depth = lines.top, 0
    prefix: list[str] = []
    for number, line in enumerate(TOKEN.sub(_blank, source).split("\n"), 1):
        # A line inside of a list may look like a header: `["git push"],`.
        header = HEADER.match(line) if depth == 0 else None
        if header:
            table, prefix = _enter(lines, header, number)
            continue
        key = KEY.match(line) if depth == 0 else None
        if key:
            table.found([*prefix, *path_of(key[1])], number)
        plain = QUOTED.sub("", line)
        depth += sum(map(plain.count, "[{")) - sum(map(plain.count, "]}"))
    return lines


def _enter(lines: Lines, header: re.Match[str], number: int) -> tuple[Table, list[str]]:
    """The table that a header opens, and the keys of the rule under which it stands."""
    path = path_of(header[2])
    if path == ["rule"] and header[1] == "[[":
        lines.rules.append(Table(line=number))
        return lines.rules[-1], []
    inside = path[0] == "rule" and bool(lines.rules)
    table, path = (lines.rules[-1], path[1:] or path) if inside else (lines.top, path)
    table.found(path, number)
    return table, path


def path_of(name: str) -> list[str]:
    """The keys of a dotted name, as the TOML reader has them."""
    return [bare(part) for part in re.findall(PART, name)]


def bare(key: str) -> str:
    """A key without its quotes, and with what its escapes stand for."""
    if key.startswith('"') and "\\" in key:
        return str(tomllib.loads(f"key = {key}")["key"])
    return key[1:-1] if key.startswith(('"', "'")) else key


def _blank(token: re.Match[str]) -> str:
    """Comments and the text of many-line strings, out of sight; the lines keep their numbers."""
    text = token[0]
    if text.startswith("#"):
        return ""
    return re.sub(r"[^\n]", ".", text) if text.startswith(('"""', "'''")) else text


def of_syntax_error(sentence: str, source: str) -> int:
    """The line that the TOML reader's own sentence names, else the last one."""
    # The last one: what stands before it may be a key of the file.
    found = SYNTAX_LINE.findall(sentence)
    return int(found[-1][0]) if found else source.count("\n") + 1
