"""Who may import whom: node, then web, then sync; pure decisions; a bridge of stdlib only."""

import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT, imports, python_files, read

NOT_IMPORTED = {
    "sync": ("web", "node", "askmesh", "tests"),
    "web": ("node", "askmesh", "tests"),
    "node": ("askmesh", "tests"),
}
IMPURE = frozenset({
    "aiohttp", "asyncio", "http", "multiprocessing", "os", "pathlib", "random",
    "secrets", "select", "selectors", "socket", "sqlite3", "ssl", "subprocess", "threading",
    "time", "urllib", "uuid", "zeroconf",
})  # fmt: skip
"""Clocks, chance, threads and I/O: what decides gets their results as arguments."""


def breaches(name: str, source: str) -> list[str]:
    """What the file `name` imports and must not, as `line: module`."""
    return [
        f"{name}:{line}: {module}"
        for line, module in imports(source)
        if module.startswith(".") or not allowed(name, module)
    ]


def allowed(name: str, module: str) -> bool:
    """Whether the file `name` may import `module`."""
    top = module.split(".", 1)[0]
    if top in NOT_IMPORTED.get(name.split("/", 1)[0], ()):
        return False
    if name.startswith("sync/") and not name.startswith("sync/net/"):
        return top not in IMPURE
    if name.startswith("node/bridge/"):
        return top in sys.stdlib_module_names or module.startswith("node.bridge.")
    return True


def test_every_import_points_the_allowed_way() -> None:
    names = python_files("sync", "web", "node", "askmesh")
    assert len(names) > 30
    assert [breach for name in names for breach in breaches(name, read(name))] == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("sync/log/x.py", "from web.views import State"),
        ("sync/log/x.py", "import node.limits"),
        ("sync/decide/x.py", "def late():\n    import time"),
        ("sync/decide/x.py", "from os import urandom"),
        ("web/x.py", "from node import limits"),
        ("web/x.py", "if 0:\n    from node.desk import asks"),
        ("node/bridge/x.py", "import click"),
        ("node/bridge/x.py", "from sync.errors import Invalid"),
        ("node/bridge/x.py", "from node import limits"),
        ("node/cli/x.py", "from . import main"),
        ("node/cli/x.py", "from tests.machine import lacking"),
    ],
)
def test_a_forbidden_import_is_seen(name: str, source: str) -> None:
    assert breaches(name, source)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("sync/net/x.py", "import asyncio, socket, ssl, time"),
        ("web/x.py", "from sync.errors import Invalid"),
        ("node/x.py", "from web.desk import Desk"),
        ("node/bridge/x.py", "import socket\nfrom node.bridge.paths import socket_path"),
    ],
)
def test_what_is_meant_is_allowed(name: str, source: str) -> None:
    assert breaches(name, source) == []


def test_the_bridge_loads_without_any_installed_package() -> None:
    modules = [
        name.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        for name in python_files("node")
        if name.startswith("node/bridge/")
    ]
    assert {"node.bridge.mcp", "node.bridge.hook"} <= set(modules)
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n" + "\n".join(
        f"import {module}" for module in modules
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", program], check=True, timeout=60)


def test_the_packages_above_the_bridge_hold_nothing_to_load() -> None:
    assert list(imports(read("node/__init__.py"))) == []
    assert list(imports(read("node/bridge/__init__.py"))) == []
