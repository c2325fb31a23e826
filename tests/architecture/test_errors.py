"""Each error is a sentence for its reader; those that cross a surface have a code."""

import ast

from tests.architecture.sources import PROGRAM, python_files, read

Found = dict[str, tuple[str, ast.ClassDef]]
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
