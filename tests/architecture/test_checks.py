"""What `deploy/test` makes of results: a failure, a skip and no test at all are told apart."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.architecture.sources import ROOT

CASES = {
    "passed": '<testcase classname="a" name="ok"/>',
    "failed": '<testcase classname="a" name="bad"><failure message="no"/></testcase>',
    "error": '<testcase classname="a" name="sick"><error message="no"/></testcase>',
    "skipped": '<testcase classname="a" name="away"><skipped message="needs root"/></testcase>',
}


@pytest.fixture
def checks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("checks", ROOT / "deploy" / "checks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def exit_code(checks: ModuleType, folder: Path, *kinds: str, no_skips: bool) -> int:
    results = folder / "results.xml"
    cases = "".join(CASES[kind] for kind in kinds)
    results.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    tally = checks.Tally()
    checks.count(tally, results)
    code: int = checks.report(tally, no_skips=no_skips)
    return code


@pytest.mark.parametrize(
    ("kinds", "no_skips", "expected"),
    [
        (["passed"], True, 0),
        (["passed", "skipped"], False, 0),
        (["passed", "skipped"], True, 1),
        (["passed", "failed"], False, 1),
        (["passed", "error"], False, 1),
        (["skipped"], False, 1),
        ([], False, 1),
    ],
)
def test_the_exit_code_tells(
    checks: ModuleType, tmp_path: Path, kinds: list[str], no_skips: bool, expected: int
) -> None:
    assert exit_code(checks, tmp_path, *kinds, no_skips=no_skips) == expected


def test_what_was_left_out_is_listed_with_the_reason(
    checks: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exit_code(checks, tmp_path, "passed", "failed", "skipped", no_skips=False)
    said = capsys.readouterr().out
    assert "a.away: needs root" in said
    assert said.endswith("\n1 passed, 1 failed, 1 skipped\n")


def test_a_missing_program_is_a_skip_for_a_user_without_rights(
    checks: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "PROGRAMS", {"a browser": (("no-such-browser",), ("a-package",))})
    monkeypatch.setattr(checks.os, "geteuid", lambda: 1000)
    tally = checks.Tally()
    checks.install_programs(tally)
    assert tally.counts["skipped"] == 1
    assert "a browser" in tally.skipped[0]
    assert "a-package" in tally.skipped[0]


def test_ci_allows_no_skip() -> None:
    assert "deploy/test" in (ROOT / ".ci" / "run").read_text()
    assert "--no-skips" in (ROOT / ".ci" / "run").read_text()
