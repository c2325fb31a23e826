"""On which line of a rules file a rule and its keys stand; the TOML reader does not say."""

import re
from dataclasses import dataclass, field
from typing import Final

TOKEN: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*', re.DOTALL
)
"""What may hold text that looks like a table or a key."""

HEADER: Final = re.compile(r"""\s*(\[\[?)([^\]]*)\]""")
KEY: Final = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*\S+?)?)\s*=""")
SYNTAX_LINE: Final = re.compile(r"\(at line (\d+), column (\d+)\)")


@dataclass(kw_only=True)
class Table:
    """Where a `[[rule]]` begins, and each of its keys."""

    line: int
    keys: dict[str, int] = field(default_factory=dict)

    def of(self, key: str) -> int:
        """The line of a key; that of the table when the key is not written there."""
        return self.keys.get(key, self.line)


@dataclass(kw_only=True)
class Lines:
    """The tables of a file, in order; `top` stands for what is outside of any rule."""

    top: Table
    rules: list[Table]


def read(source: str) -> Lines:
    """Find the lines of a source that the TOML reader has accepted."""
    lines = Lines(top=Table(line=1), rules=[])
    table, prefix = lines.top, ""
    for number, line in enumerate(TOKEN.sub(_blank, source).split("\n"), 1):
        header, key = HEADER.match(line), KEY.match(line)
        if header:
            table, prefix = _enter(lines, header, number)
        elif key:
            name = bare(key[1])
            table.keys.setdefault(prefix or bare(name.split(".")[0].strip()), number)
            table.keys.setdefault(f"{prefix}.{name}" if prefix else name, number)
    return lines


def _enter(lines: Lines, header: re.Match[str], number: int) -> tuple[Table, str]:
    """The table that a header opens, and the key of the rule under which it stands."""
    path = [bare(part.strip()) for part in header[2].split(".")]
    if path == ["rule"] and header[1] == "[[":
        lines.rules.append(Table(line=number))
        return lines.rules[-1], ""
    if path[0] == "rule" and lines.rules:
        lines.rules[-1].keys.setdefault(path[1] if len(path) > 1 else "rule", number)
        return lines.rules[-1], path[1] if len(path) > 1 else "rule"
    lines.top.keys.setdefault(path[0], number)
    return lines.top, path[0]


def bare(key: str) -> str:
    """A key without its quotes."""
    return key[1:-1] if len(key) > 1 and key[0] == key[-1] and key[0] in "\"'" else key


def _blank(token: re.Match[str]) -> str:
    """Comments and the text of many-line strings, out of sight; the lines keep their numbers."""
    text = token[0]
    if text.startswith("#"):
        return ""
    return re.sub(r"[^\n]", ".", text) if "\n" in text else text


def of_syntax_error(sentence: str, source: str) -> int:
    """The line that the TOML reader's own sentence names, else the last one."""
    found = SYNTAX_LINE.search(sentence)
    return int(found[1]) if found else source.count("\n") + 1
