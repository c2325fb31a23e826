"""Parses a shell text by the grammar of tree-sitter-bash, within bounds.

The grammar is imported when the first text is read: most nodes start without such a rule.
"""

import re
import threading
from typing import TYPE_CHECKING, Final

from node import limits

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MARKS: Final = re.compile(r"<<|[|()`&;{]|\$")
"""What opens or joins commands; too many of one kind make the grammar slow."""

CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Shells and grammars differ about these."""

PIECE: Final = 64 * 1024

_alone = threading.Lock()
_parsers: list["Parser"] = []


def parse(text: str) -> "Node | None":
    """The root of the tree; None for a text that is too long or takes too many steps.

    Whether the tree holds errors is for the caller to look at.
    """
    if len(text) > limits.SHELL_CHARACTERS or CONTROL.search(text):
        return None
    counts: dict[str, int] = {}
    for mark in MARKS.finditer(text):
        counts[mark[0]] = counts.get(mark[0], 0) + 1
        if counts[mark[0]] > limits.SHELL_MARKS:
            return None
    with _alone:
        return _parse(text.encode())


def _parse(data: bytes) -> "Node | None":
    if not _parsers:
        import tree_sitter_bash
        from tree_sitter import Language, Parser

        _parsers.append(Parser(Language(tree_sitter_bash.language())))
    parser, steps = _parsers[0], 0

    def read(offset: int, _: object) -> bytes:
        return data[offset : offset + PIECE]

    def stop(*_: object) -> bool:
        nonlocal steps
        steps += 1
        return steps > limits.SHELL_STEPS

    try:
        return parser.parse(read, progress_callback=stop).root_node
    except ValueError:
        parser.reset()
        return None
