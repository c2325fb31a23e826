"""Each error is a sentence for its reader; those that cross a surface have a code."""

import ast

from node.agents import tools_ask, tools_board, tools_follow, tools_message, tools_self
from tests.architecture.sources import PROGRAM, python_files, read

Found = dict[str, tuple[str, ast.ClassDef]]
TOOLS = {
    tool.name
    for group in (tools_ask, tools_board, tools_follow, tools_message, tools_self)
    for tool in group.TOOLS
}
"""What agents call through MCP, and nobody at a terminal or a page has."""
ROOTS = {"Exception", "BaseException", "RuntimeError", "ValueError", "OSError"}


def classes() -> Found:
    """Every class of the program by name, with where it stands."""
    return {
        item.name: (f"{name}:{item.lineno}", item)
        for name in python_files(*PROGRAM)
        for item in ast.walk(ast.parse(read(name)))
        if isinstance(item, ast.ClassDef)
    }


def below(base: str, found: Found) -> set[str]:
    """The names of the classes in `found` that derive from `base`."""
    known = {base}
    while True:
        new = {
            name
            for name, (_, item) in found.items()
            if any(ast.unparse(parent).rsplit(".", 1)[-1] in known for parent in item.bases)
        }
        if new <= known:
            return known - {base}
        known |= new


def own_code(item: ast.ClassDef) -> str | None:
    """The code that the class itself gives."""
    for line in item.body:
        if not isinstance(line, ast.Assign | ast.AnnAssign):
            continue
        target: ast.expr = line.target if isinstance(line, ast.AnnAssign) else line.targets[0]
        named = isinstance(target, ast.Name) and target.id == "code"
        if named and isinstance(line.value, ast.Constant):
            return str(line.value.value)
    return None


def test_every_error_says_what_happened() -> None:
    found = classes()
    errors = set().union(*(below(root, found) for root in ROOTS))
    assert len(errors) > 15
    mute = [
        found[name][0]
        for name in errors
        if not (ast.get_docstring(found[name][1]) or "").partition("\n")[0].endswith(".")
    ]
    assert mute == []


def test_every_error_that_crosses_a_surface_has_its_own_code() -> None:
    found = classes()
    coded = {name: own_code(found[name][1]) for name in below("AskmeshError", found)}
    assert len(coded) > 15
    assert [found[name][0] for name, code in coded.items() if code is None] == []
    codes = [code for code in coded.values() if code]
    assert {code for code in codes if codes.count(code) > 1} == set()


def sentences(name: str) -> list[tuple[int, str]]:
    """Every text of a module that is no docstring, with its line."""
    tree = ast.parse(read(name))
    bodies = [item.body for item in ast.walk(tree) if hasattr(item, "body")]
    notes = {
        id(line.value)
        for body in bodies
        if isinstance(body, list)
        for line in body
        if isinstance(line, ast.Expr)
    }
    return [
        (item.lineno, item.value)
        for item in ast.walk(tree)
        if isinstance(item, ast.Constant) and isinstance(item.value, str) and id(item) not in notes
    ]


def test_what_only_agents_have_is_named_to_agents_alone() -> None:
    assert {"flag", "await_answer", "board_row"} <= TOOLS
    told = [*(f"`{name}`" for name in TOOLS), " take_over", " with flag"]
    shared = [
        name
        for name in python_files("node", "sync", "web")
        if not name.startswith(("node/agents/", "node/bridge/"))
    ]
    found = [
        f"{name}:{line} {text!r}"
        for name in shared
        for line, text in sentences(name)
        if any(word in text for word in told)
    ]
    assert found == []


def test_an_error_names_a_tool_that_there_is() -> None:
    named = {
        keyword.value.value
        for name in python_files("node", "sync", "web")
        for call in ast.walk(ast.parse(read(name)))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == "tool"
        and isinstance(keyword.value, ast.Constant)
        and "hint" in {other.arg for other in call.keywords}
    }
    assert {"flag", "claim", "await_answer"} <= named <= TOOLS
