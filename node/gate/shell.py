"""The simple commands of a shell text, wherever they stand in it.

Two readings. For `ask` and `deny`: every command anywhere inside, with what wrappers such
as `env`, `sudo` or `bash -c` run, and a flag when anything is unclear. For `allow`: the
text is `plain`, which is to say that it lies in a small language that every shell and the
grammar read alike; anything else is not allowed, whatever it means.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from node import limits
from node.gate.grammar import parse
from node.gate.wrappers import Words, base_name, inner

if TYPE_CHECKING:
    from tree_sitter import Node

_PIECE: Final = (
    r"(?:[A-Za-z0-9_./:=@%+,^~*?\[\]-]"
    r"|'[^'\x00-\x08\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff]*'"
    r"|\"[^\"$`\\!\x00-\x08\x0b-\x1f\x7f-\xa0\u2028\u2029\ufeff]*\")"
)
PLAIN: Final = re.compile(
    rf"(?:[ \t\n]|&&|\|\||\|&|[;&|]|(?<![^ \t])(?:2>&1|[12]?>>?[ ]?/dev/null)(?![^ \t\n;&|])"
    rf"|{_PIECE})*+"
)
"""Words, simple quotes, separators, and the two harmless redirections. No expansion, no
comment, no escape, no assignment before a command, no here-document."""

PLAIN_NODES: Final = frozenset(
    {"program", "list", "pipeline", "command", "command_name", "word", "number", "concatenation"}
    | {"string", "string_content", "raw_string", "redirected_statement", "file_redirect"}
    | {"file_descriptor"}
)

RESERVED: Final = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "do",
        "done",
        "case",
        "esac",
        "while",
        "until",
        "for",
        "select",
        "function",
        "in",
        "time",
        "coproc",
        "{",
        "}",
        "!",
        "[[",
        "]]",
        "[",
        "repeat",
        "foreach",
        "end",
        "always",
        "nocorrect",
        "noglob",
        "-",
    ]
)
"""Words that begin something else than a command, in one shell or another."""

ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=")
OPEN: Final = re.compile(r"[*?\[\]{}]")
"""What a shell may replace by other text when it stands outside of quotes."""

STARTERS: Final = frozenset(
    {"BASH_ENV", "ENV", "PROMPT_COMMAND", "PS0", "PS1", "PS4", "SHELLOPTS", "BASHOPTS", "PATH"}
    | {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "IFS", "ZDOTDIR"}
)
"""Variables by which a shell or a program runs something else than what is written."""

UNREAD: Final = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "process_substitution"}
    | {"arithmetic_expansion", "ansi_c_string", "translated_string", "brace_expression"}
)


@dataclass(kw_only=True)
class Shell:
    """What is known of one text."""

    readable: bool = True
    """False: there may be commands that are not in the list."""
    plain: bool = True
    direct: list[tuple[Words, bool]] = field(default_factory=list)
    """Commands of the text itself, and whether they run others."""
    commands: list[Words] = field(default_factory=list)
    """These, and those that they run."""
    suspected: list[Words] = field(default_factory=list)
    """Commands if somebody runs the text of a here-document or a string."""

    @cached_property
    def named(self) -> dict[str | None, list[Words]]:
        """The commands by the names of their programs; to be asked when all was read."""
        return _by_name(self.commands)

    @cached_property
    def suspects(self) -> dict[str | None, list[Words]]:
        """The suspected ones, likewise."""
        return _by_name(self.suspected)

    def unreadable(self) -> None:
        """Note that there may be more than was found."""
        self.readable = self.plain = False


def _by_name(commands: list[Words]) -> dict[str | None, list[Words]]:
    named: dict[str | None, list[Words]] = {}
    for words in commands:
        name = None if words[0] is None else base_name(words[0])
        named.setdefault(name, []).append(words)
    return named


def read_shell(text: str) -> Shell:
    """The commands of a text. The same text always reads the same."""
    shell = Shell(plain=PLAIN.fullmatch(text) is not None)
    _read(shell, text, 0)
    if not shell.direct or any(_is_odd(words) for words, _ in shell.direct):
        shell.plain = False
    return shell


def _is_odd(words: Words) -> bool:
    """Whether a command does not begin with the name of a program, as it is written."""
    name = words[0]
    return name is None or name in RESERVED or not name or ASSIGNMENT.match(name) is not None


def _read(shell: Shell, text: str, depth: int) -> None:
    """Read a text; one whose lines are continued also as the shell joins them."""
    _read_once(shell, text, depth)
    if "\\\n" in text:
        shell.plain = False
        _read_once(shell, text.replace("\\\n", ""), depth)


def _read_once(shell: Shell, text: str, depth: int) -> None:
    root = parse(text) if depth <= limits.SHELL_DEPTH else None
    if root is None:
        shell.unreadable()
        return
    if root.has_error:
        shell.unreadable()
    for node in _every(root):
        if node.type not in PLAIN_NODES and node.is_named:
            shell.plain = False
        if node.type in ("command", "declaration_command", "unset_command", "test_command"):
            _command(shell, node, depth)
        elif node.type == "variable_assignment":
            _assignment(shell, node)
        elif node.type in ("heredoc_body", "herestring_redirect"):
            _suspect(shell, node, depth)
        elif node.type == "function_definition":
            # What a name means from here on depends on what was run before.
            shell.plain = False
        if len(shell.commands) > limits.SHELL_COMMANDS:
            shell.unreadable()
            return


def _every(root: "Node") -> Iterator["Node"]:
    """Every node, by a cursor: hostile texts nest deeper than Python may call."""
    cursor = root.walk()
    while True:
        if cursor.node is not None:
            yield cursor.node
        if cursor.goto_first_child() or cursor.goto_next_sibling():
            continue
        while cursor.goto_parent():
            if cursor.goto_next_sibling():
                break
        else:
            return


def _command(shell: Shell, node: "Node", depth: int) -> None:
    """One simple command, and what it runs in its turn."""
    words: list[str | None] = []
    for child in node.children:
        if child.type in ("variable_assignment", "file_redirect", "comment"):
            if child.type == "file_redirect":
                words += _beyond(child)
        elif child.type not in ("herestring_redirect", "heredoc_redirect"):
            words.append(_word(child))
    parent = node.parent
    if parent is not None and parent.type == "redirected_statement":
        for redirect in parent.children_by_field_name("redirect"):
            words += _beyond(redirect)
    _add(shell, tuple(words), depth)


def _beyond(redirect: "Node") -> list[str | None]:
    """Words that the grammar counts to a redirection and a shell to the command."""
    if redirect.type == "heredoc_redirect":
        return [_word(each) for each in redirect.children_by_field_name("argument")]
    targets = redirect.children_by_field_name("destination")
    return [_word(each) for each in targets[1:]]


def _add(shell: Shell, words: Words, depth: int) -> None:
    """Note a command and everything that it would run itself."""
    waiting, noted = [words], {words}
    while waiting and len(shell.commands) <= limits.SHELL_COMMANDS:
        command = waiting.pop()
        if not command:
            continue
        found = inner(command)
        if not depth and command is words:
            shell.direct.append((command, found.runs))
        shell.commands.append(command)
        waiting += [each for each in found.commands if each not in noted]
        noted.update(found.commands)
        for text in found.texts:
            _read(shell, text, depth + 1)
        if found.unclear:
            shell.unreadable()


def _assignment(shell: Shell, node: "Node") -> None:
    """A variable by which a shell or a program runs something else makes all unclear."""
    name = node.child_by_field_name("name")
    text = name.text.decode() if name is not None and name.text is not None else ""
    if text in STARTERS:
        shell.unreadable()


def _suspect(shell: Shell, node: "Node", depth: int) -> None:
    """A text that is given to a program: whether it runs it, only that program knows."""
    text = (node.text or b"").decode().removeprefix("<<<")
    inside = Shell(plain=False)
    _read(inside, text, depth + 1)
    if inside.readable:
        shell.suspected += inside.commands + inside.suspected


def _word(node: "Node") -> str | None:
    """The text of a word as the program gets it; None when only the shell knows it."""
    text = (node.text or b"").decode()
    kind = node.type
    if kind in UNREAD or any(child.type in UNREAD for child in node.named_children):
        return None
    if kind in ("command_name", "concatenation"):
        return _joined(node)
    if kind == "raw_string":
        return text[1:-1]
    if kind == "string":
        return re.sub(r"\\([$`\"\\\n])", lambda found: found[1].strip("\n"), text[1:-1])
    if kind not in ("word", "number", "test_operator", "[", "]", "[[", "]]"):
        return text if not node.is_named else None
    bare = re.sub(r"\\.", "", text, flags=re.DOTALL)
    if OPEN.search(bare) and text != "[":
        return None
    return re.sub(r"\\(.)", lambda found: found[1].strip("\n"), text, flags=re.DOTALL)


def _joined(node: "Node") -> str | None:
    """A word of several pieces; what stands between them is part of it too."""
    texts = [_word(child) for child in node.children]
    if None in texts or sum(len(child.text or b"") for child in node.children) != len(
        node.text or b""
    ):
        return None
    return "".join(text for text in texts if text is not None)
