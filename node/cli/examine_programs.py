"""The examinations of the program itself: interpreter, own modules, what it depends on."""

import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from node.cli import examine_store
from node.cli.finding import Finding
from node.version import VERSION

PYTHON: Final = (3, 11)
OWN: Final = ("node", "sync", "web")
"""Packages under plain names, which others may use as well."""
NEEDED: Final = {
    "aiohttp": ((3, 14), (4,)),
    "apprise": ((2, 3), None),
    "click": ((8, 5), None),
    "cryptography": ((50,), None),
    "ifaddr": ((0, 2), None),
    "mcp": ((2, 3), (3,)),
    "mnemonic": ((0, 21), None),
    "msgspec": ((0, 23), None),
    "rfc8785": ((0, 1, 4), None),
    "rich": ((15,), None),
    "segno": ((1, 6, 6), None),
    "tree-sitter": ((0, 25, 2), (1,)),
    "tree-sitter-bash": ((0, 25, 1), (1,)),
    "zeroconf": ((0, 150), None),
}
"""From which version on, and below which: what `pyproject.toml` says."""
AGAIN: Final = "Run deploy/up again, or install askmesh anew in an environment of its own."

Version = tuple[int, ...]


def programs() -> Iterator[Finding]:
    """Everything about the program, before any data directory."""
    yield Finding(about="askmesh", what=f"Version {VERSION}.")
    yield from _python()
    yield from examine_store.sqlite()
    yield from modules()
    yield from dependencies()


def _python() -> Iterator[Finding]:
    said = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= PYTHON:
        yield Finding(about="python", what=f"{said} ({sys.executable}).")
    else:
        remedy = "Install Python 3.11 or later and run deploy/up again."
        yield Finding(about="python", level="fault", what=f"{said} is too old.", remedy=remedy)


def modules() -> Iterator[Finding]:
    """Whether anything stands before askmesh's own packages, or among them."""
    app = Path(__file__).resolve().parents[2]
    wrong = list(_shadows(app))
    for name, where in wrong:
        yield Finding(
            about="modules",
            level="fault",
            what=f"The package {name} is read from {where}, not from {app}.",
            remedy=f"Remove it from there, or start askmesh by its own command. {AGAIN}",
        )
    if not wrong:
        yield Finding(about="modules", what=f"askmesh's own, from {app}.")


def _shadows(app: Path) -> Iterator[tuple[str, str]]:
    for name in OWN:
        spec = find_spec(name)
        places = [] if spec is None else list(spec.submodule_search_locations or [])
        origin = "" if spec is None else spec.origin or ""
        if Path(origin).resolve().parent != app / name or len(places) != 1:
            yield name, origin or "nowhere"
    for name, module in sorted(sys.modules.items()):
        top = name.partition(".")[0]
        file = getattr(module, "__file__", None)
        if top in OWN and name != top and file and not Path(file).resolve().is_relative_to(app):
            yield name, file


def dependencies() -> Iterator[Finding]:
    """Whether everything that askmesh needs is there, in a version that fits."""
    found: list[str] = []
    for name, (least, below) in NEEDED.items():
        have = _installed(name)
        if have is None:
            what = f"{name} is missing."
        elif _version(have) < least or (below is not None and _version(have) >= below):
            most = f", below {_dotted(below)}" if below else ""
            what = f"{name} {have} does not fit: {_dotted(least)} or later{most} is needed."
        else:
            found.append(f"{name} {have}")
            continue
        yield Finding(about="modules", level="fault", what=what, remedy=AGAIN)
    if len(found) == len(NEEDED):
        yield Finding(about="modules", what=f"{', '.join(found)}.")


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _version(text: str) -> Version:
    """The leading numbers of a version."""
    numbers: list[int] = []
    for part in text.split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))
