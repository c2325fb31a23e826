"""How long a module and a function may be, and what nothing may be called."""

import ast
import re

import pytest

from tests.architecture.sources import PROGRAM, files, python_files, read

MODULE_LINES = 400
FUNCTION_LINES = 40
SHAPELESS = re.compile(r"(^|/)_?(utils?|helpers?|managers?|common|misc)(/|\.|$)")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def too_long(name: str, source: str) -> list[str]:
    """The functions in `source` over the limit, without decorators and docstring."""
    return [
        f"{name}:{item.lineno}: {item.name} has {lines(item)} lines"
        for item in ast.walk(ast.parse(source))
        if isinstance(item, Function) and lines(item) > FUNCTION_LINES
    ]


def lines(function: Function) -> int:
    """The lines of `function` that are code: its docstring is not."""
    total = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return total
    docstring = function.body[0]
    return total - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)


def test_no_module_is_too_long() -> None:
    long = {
        name: count
        for name in files()
        if name.endswith((".py", ".js", ".mjs"))
        and (count := len(read(name).splitlines())) > MODULE_LINES
    }
    assert long == {}


def test_no_function_is_too_long() -> None:
    names = python_files(*PROGRAM, "deploy", "tests")
    assert [line for name in names for line in too_long(name, read(name))] == []


@pytest.mark.parametrize("start", ["def f():\n", "async def f():\n", "class A:\n def f(self):\n"])
def test_a_long_function_is_seen(start: str) -> None:
    body = "  x = 1\n"
    fits = FUNCTION_LINES - 1
    assert too_long("x.py", start + body * fits) == []
    assert too_long("x.py", start + body * (fits + 1))
    assert too_long("x.py", start + '  """Contract.\n\n  More.\n  """\n' + body * fits) == []


def test_nothing_has_a_shapeless_name() -> None:
    assert [name for name in files() if SHAPELESS.search(name)] == []


@pytest.mark.parametrize("name", ["node/utils/x.py", "web/helpers.py", "sync/_common.py"])
def test_a_shapeless_name_is_seen(name: str) -> None:
    assert SHAPELESS.search(name)
