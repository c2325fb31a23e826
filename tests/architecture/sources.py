"""The project's own files, for the tests that read them."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ("askmesh", "node", "sync", "web")


@cache
def files() -> tuple[str, ...]:
    """Every file of the project, as git sees it: tracked, or new and not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    names = (name.decode() for name in listed.split(b"\0") if name)
    return tuple(sorted(name for name in names if (ROOT / name).is_file()))


def python_files(*folders: str) -> list[str]:
    """The Python files under `folders`."""
    return [name for name in files() if name.endswith(".py") and name.split("/", 1)[0] in folders]


def read(name: str) -> str:
    """The text of one of `files`."""
    return (ROOT / name).read_text(encoding="utf-8")


def imports(source: str) -> Iterator[tuple[int, str]]:
    """Each import of `source`: its line, and the module in full (`.` for a relative one)."""
    for item in ast.walk(ast.parse(source)):
        if isinstance(item, ast.Import):
            for alias in item.names:
                yield item.lineno, alias.name
        elif isinstance(item, ast.ImportFrom):
            for alias in item.names:
                yield item.lineno, f"{'.' * item.level}{item.module or ''}.{alias.name}"
