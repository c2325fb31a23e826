"""What no file may hold, and that the locks hold nothing but names, versions and hashes."""

import json
import re

import pytest

from tests.architecture.sources import files, read

# In parts, so that this file does not hold them either.
REGISTRIES = re.compile(
    r"\b(pypi\.o" + r"rg|pythonhosted\.o" + r"rg|registry\.npmjs|npmjs\.c" + r"om"
    r"|deb\.debian\.o" + r"rg|crates\.i" + r"o|proxy\.golang)"
)
BUILD_MACHINE = re.compile(
    r"(?<![\w.])(/wor" + r"k/(main|shared|\.library)|/tmp/ve" + r"nv\b|/root/\.py" + r"env|/tmp/h"
    r"/)"
)
LOCK_LINE = re.compile(
    r"^([a-z0-9][a-z0-9.-]*==[0-9][0-9a-z.+!]*( ; [a-z_]+ [=<>!]+ '[\w.]+'"
    r"( (and|or) [a-z_]+ [=<>!]+ '[\w.]+')*)? \\"
    r"|    --hash=sha256:[0-9a-f]{64}( \\)?)$"
)
BINARY = (".png", ".jpg", ".gif", ".ico", ".woff2")
LOCKS = ("deploy/requirements/run.lock", "deploy/requirements/test.lock")


@pytest.mark.parametrize("pattern", [REGISTRIES, BUILD_MACHINE], ids=["registry", "machine"])
def test_no_file_names_a_registry_or_the_machine_it_was_made_on(pattern: re.Pattern[str]) -> None:
    names = [name for name in files() if not name.endswith(BINARY)]
    assert len(names) > 50
    hits = [
        f"{name}: {hit.group()}" for name in names for hit in [pattern.search(read(name))] if hit
    ]
    assert hits == []


def test_the_patterns_see_what_they_are_for() -> None:
    assert REGISTRIES.search("https://pypi.o" + "rg/simple")
    assert BUILD_MACHINE.search("cd /wor" + "k/main")


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_names_versions_and_hashes_only(lock: str) -> None:
    lines = read(lock).splitlines()
    assert [line for line in lines if not LOCK_LINE.match(line)] == []
    packages = sum("==" in line for line in lines)
    assert packages > 40
    assert sum("--hash" in line for line in lines) >= packages


@pytest.mark.parametrize(
    "line", ["--option x", "a @ file:x", "a>=1 \\", "a==1", "    --hash=md5:0"]
)
def test_a_lock_line_that_says_more_or_less_is_seen(line: str) -> None:
    assert not LOCK_LINE.match(line)


def test_what_is_tested_is_what_runs() -> None:
    pinned = [
        {line.split(" ")[0] for line in read(lock).splitlines() if "==" in line} for lock in LOCKS
    ]
    assert pinned[0] <= pinned[1]


def test_the_node_packages_are_pinned_without_addresses() -> None:
    declared = json.loads(read("tests/clients/package.json"))["dependencies"]
    locked = json.loads(read("tests/clients/package-lock.json"))["packages"]
    for name, version in declared.items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), name
        assert locked[f"node_modules/{name}"]["version"] == version
    packages = [package for path, package in locked.items() if path]
    assert all("integrity" in package and "resolved" not in package for package in packages)
