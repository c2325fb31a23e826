"""`doctor` and the program: what shadows its modules, what does not fit, where kits lead."""

import sys
import tomllib
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from node.agents.kits import claude
from node.cli import examine_programs
from node.cli.examine_agents import kits
from node.cli.examine_programs import NEEDED, dependencies, modules, programs
from tests.running import ROOT


def test_this_program_is_well() -> None:
    assert {one.level for one in programs()} <= {"ok", "note"}


def test_the_versions_looked_for_are_those_the_project_declares() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]

    def dotted(version: tuple[int, ...]) -> str:
        return ".".join(map(str, version))

    assert declared == [
        f"{name}>={dotted(least)}" + (f",<{dotted(below)}" if below else "")
        for name, (least, below) in NEEDED.items()
    ]


@pytest.mark.parametrize(
    ("have", "words"),
    [
        (None, "mcp is missing"),
        ("2.2.9", "2.3 or later, below 3 is needed"),
        ("3.0.1", "2.3 or later, below 3 is needed"),
        ("2.10.0b1", ""),
    ],
)
def test_a_dependency_that_does_not_fit_is_named(
    monkeypatch: pytest.MonkeyPatch, have: str | None, words: str
) -> None:
    real = examine_programs._installed
    monkeypatch.setattr(
        examine_programs, "_installed", lambda name: have if name == "mcp" else real(name)
    )
    (found,) = dependencies()
    assert found.level == ("fault" if words else "ok")
    assert words in found.what


def test_a_package_of_somebody_else_under_our_name_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert [one.level for one in modules()] == ["ok"]
    foreign = ModuleType("web.guard")
    foreign.__file__ = str(tmp_path / "web" / "guard.py")
    monkeypatch.setitem(sys.modules, "web.guard", foreign)
    (found,) = modules()
    assert (found.level, str(tmp_path) in found.what) == ("fault", True)
    monkeypatch.undo()
    spec = ModuleSpec("web", None, origin=str(tmp_path / "web" / "__init__.py"), is_package=True)
    monkeypatch.setattr(examine_programs, "find_spec", lambda name: spec if name == "web" else None)
    found_all = list(modules())
    assert [one.level for one in found_all] == ["fault"] * 3
    assert any(str(tmp_path) in one.what for one in found_all)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return tmp_path / "data"


def install(scope: claude.Scope, home: Path) -> claude.Place:
    where = claude.place(scope, str(home))
    claude.apply(claude.plan(where))
    return where


@pytest.mark.parametrize("scope", ["user", "project"])
def test_a_kit_is_found_whole_broken_or_leading_elsewhere(home: Path, scope: claude.Scope) -> None:
    (found,) = kits(str(home))
    assert (found.level, "agent install" in found.remedy) == ("note", True)
    where = install(scope, home)
    assert [one.level for one in kits(str(home))] == ["ok"]
    other = home.with_name("other")
    (found,) = kits(str(other))
    assert found.level == "fault"
    assert str(home) in found.what
    assert f"--home {other} agent install claude" in found.remedy
    where.script.unlink()
    (found,) = kits(str(home))
    assert found.level == "fault"
    assert "agent install claude" in found.remedy


def test_settings_nobody_can_read_are_a_fault(home: Path) -> None:
    settings = claude.place("user", str(home)).settings
    settings.parent.mkdir(parents=True)
    settings.write_text("{not json")
    assert {one.level for one in kits(str(home))} == {"fault"}
