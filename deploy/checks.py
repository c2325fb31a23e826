"""Run every check: linters, types, the page's types, and the tests; say what was left out.

Called by deploy/test with the Python of the test environment. As root it installs what
is missing from the distribution's packages; without root it says what it did without.
"""

import argparse
import dataclasses
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLIENTS = ROOT / "tests" / "clients"
PYTHON = [sys.executable, "-I"]
PARTS = ("architecture", "node", "sim", "sync", "web")
"""Folders of tests of parts; the others drive whole nodes, once the parts are seen to hold."""
WORKERS = 4
"""Files of parts at once. More than two cores have room for: what it gains over two was not
measured on an idle machine yet."""
FLEETS = 3
"""Files of the whole at once: each starts several nodes, which wait for each other, but for so
long only as a node under load may take. What it gains over two was not measured either."""
PROGRAMS = {
    # what is looked for: (the first of these on PATH, the packages that bring it)
    "a browser": (
        ("chromium", "chromium-browser", "google-chrome"),
        ("chromium", "fonts-liberation"),
    ),
    "Node.js": (("node",), ("nodejs",)),
    "npm": (("npm",), ("npm",)),
    "git": (("git",), ("git",)),
    "mount namespaces": (("unshare",), ("util-linux", "mount")),
    "network namespaces": (("bridge",), ("iproute2",)),
    "a file system to break": (("mkfs.ext4",), ("e2fsprogs",)),
    "a packet filter": (("nft",), ("nftables",)),
}


@dataclasses.dataclass(kw_only=True)
class Tally:
    """What came of the run so far."""

    counts: Counter[str] = dataclasses.field(default_factory=Counter)
    lines: list[str] = dataclasses.field(default_factory=list)
    skipped: list[str] = dataclasses.field(default_factory=list)

    def note(self, name: str, *, ok: bool, seconds: float) -> None:
        """Record that the part called `name` ended."""
        self.lines.append(f"{'ok    ' if ok else 'FAILED'}  {seconds:6.1f} s  {name}")

    def skip(self, what: str, why: str) -> None:
        """Record that `what` could not be run."""
        self.counts["skipped"] += 1
        self.skipped.append(f"{what}: {why}")


def main() -> int:
    """Run what the options ask for; 0 only if nothing failed (with --no-skips: nor skipped)."""
    options = read_options()
    os.chdir(ROOT)
    os.environ.pop("PYTHONPATH", None)  # the tests' own processes are not all isolated
    tally = Tally()
    if not options.quick:
        install_programs(tally)
        install_node_packages(tally)
    if options.bench:
        return run([*PYTHON, "-m", "pytest", "tests/bench", "-m", "bench", "-s", "--timeout=0"])
    if options.kills:
        return run([sys.executable, "-m", "tests.fleet.killing", f"--kills={options.kills}"])
    if not options.expression:
        check_sources(tally, quick=options.quick)
    run_tests(tally, options)
    return report(tally, no_skips=options.no_skips)


def read_options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="deploy/test", description="Run every check.")
    parser.add_argument("--quick", action="store_true", help="no browser, no Node packages")
    parser.add_argument("-k", dest="expression", metavar="EXPR", help="only tests that match")
    parser.add_argument("--bench", action="store_true", help="only measure, and print numbers")
    parser.add_argument("--kills", type=int, metavar="N", help="only kill real machines N times")
    parser.add_argument("--no-skips", action="store_true", help="what is skipped is a failure")
    options = parser.parse_args()
    if options.no_skips and options.quick:
        parser.error("--quick leaves things out, which --no-skips forbids")
    return options


def run(command: list[str]) -> int:
    """Run `command` with its output shown; its exit code."""
    print(f"\n$ {' '.join(command)}".replace(sys.executable, "python"), flush=True)
    return subprocess.run(command, check=False, stdin=subprocess.DEVNULL).returncode


def missing_programs() -> dict[str, tuple[str, ...]]:
    """What is not on PATH, with the packages that bring it."""
    return {
        what: packages
        for what, (names, packages) in PROGRAMS.items()
        if not any(map(shutil.which, names))
    }


def install_programs(tally: Tally) -> None:
    """Install the programs that are missing, where this can be done."""
    missing = missing_programs()
    if not missing:
        return
    packages = [package for group in missing.values() for package in group]
    why = f"not installed; as root, deploy/test installs it: {' '.join(packages)}"
    if os.geteuid() == 0 and shutil.which("apt-get"):
        install_packages(packages)
        why = "the distribution's packages did not bring it (see above)"
    for what in missing_programs():
        tally.skip(f"what needs {what}", why)


def install_packages(packages: list[str]) -> None:
    """Install the distribution's `packages`; a mirror may need a second try."""
    print(f"Installing {' '.join(packages)} from the distribution's packages …", flush=True)
    apt = ["apt-get", "-q", "-o", "Acquire::Retries=3", "-o", "Dpkg::Use-Pty=0"]
    install = [*apt, "install", "-y", "--no-install-recommends", *packages]
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    for pause_s in (0, 5, 20):
        time.sleep(pause_s)
        if run([*apt, "update"]) == 0 and run(install) == 0:
            return


def install_node_packages(tally: Tally) -> None:
    """Install the locked Node packages, unless these very ones are here."""
    if not (shutil.which("node") and shutil.which("npm")):
        tally.skip("TypeScript's client, Claude Code, axe, types of the page", "no Node.js or npm")
        return
    wanted = hashlib.sha256((CLIENTS / "package-lock.json").read_bytes()).hexdigest()
    marker = CLIENTS / "node_modules" / ".askmesh-lock"
    if marker.exists() and marker.read_text() == wanted:
        return
    print("Installing the Node packages of tests/clients …", flush=True)
    # No script of a package runs, but for the one that puts Claude Code's binary in place.
    npm = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(CLIENTS)]
    claude = CLIENTS / "node_modules" / "@anthropic-ai" / "claude-code" / "install.cjs"
    if run([*npm, "--prefer-offline", "--loglevel=error"]) or run(["node", str(claude)]):
        tally.skip("what needs Node packages", "npm ci failed (see above)")
        return
    marker.write_text(wanted)


def check_sources(tally: Tally, *, quick: bool) -> None:
    """Lint, check the format and the types; each is one check."""
    checks = {
        "ruff check": [*PYTHON, "-m", "ruff", "check", "."],
        "ruff format": [*PYTHON, "-m", "ruff", "format", "--check", "."],
        "mypy --strict": [*PYTHON, "-m", "mypy", "--strict"],
        "mypy --strict deploy": [*PYTHON, "-m", "mypy", "--strict", *map(str, scripts())],
    }
    compiler = CLIENTS / "node_modules" / ".bin" / "tsc"
    if not quick and compiler.exists():
        checks["tsc --checkJs web/static"] = [str(compiler), "-p", "tests/browser"]
    for name, command in checks.items():
        began = time.monotonic()
        ok = run(command) == 0
        tally.note(name, ok=ok, seconds=time.monotonic() - began)
        tally.counts["passed" if ok else "failed"] += 1


def scripts() -> list[Path]:
    """The Python scripts beside this one."""
    return sorted((ROOT / "deploy").glob("*.py"))


def run_tests(tally: Tally, options: argparse.Namespace) -> None:
    """Run the tests: those of parts, then those of the whole; a file is never split."""
    folders = sorted(
        path.name
        for path in (ROOT / "tests").iterdir()
        if path.name != "bench" and any(path.rglob("test_*.py"))
    )
    parts = [f"tests/{name}" for name in folders if name in PARTS]
    whole = [f"tests/{name}" for name in folders if name not in PARTS]
    chosen = "not bench and not browser and not npm and not slow" if options.quick else "not bench"
    common = ["-m", chosen, "--durations=8", "--durations-min=2", "--dist=loadfile"]
    common += ["-k", options.expression] if options.expression else []
    if parts:
        pytest(tally, "tests of parts", [*parts, *common, "-n", str(WORKERS)])
    if whole:
        pytest(tally, "tests of the whole", [*whole, *common, "-n", str(FLEETS)])


def pytest(tally: Tally, name: str, arguments: list[str]) -> None:
    """Run pytest and add what it counted."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        code = run([*PYTHON, "-m", "pytest", *arguments, f"--junit-xml={results}"])
        before = tally.counts["failed"]
        if results.exists():
            count(tally, results)
    ok = code in {0, 5}  # 5: none was chosen, which -k makes likely in one of the two runs
    if not ok and tally.counts["failed"] == before:
        tally.counts["failed"] += 1
    tally.note(name, ok=ok, seconds=time.monotonic() - began)


def count(tally: Tally, results: Path) -> None:
    """Add the results in pytest's own report."""
    for case in ET.parse(results).iter("testcase"):  # noqa: S314 - we had it written
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            tally.counts["failed"] += 1
        elif skipped is not None:
            name = f"{case.get('classname', '')}.{case.get('name', '')}"
            tally.skip(name, skipped.get("message", ""))
        else:
            tally.counts["passed"] += 1


def report(tally: Tally, *, no_skips: bool) -> int:
    """Print what was run, what was left out and why, and the closing line; the exit code."""
    print("\n" + "\n".join(tally.lines))
    if tally.skipped:
        print("\nLeft out:")
        for line, times in Counter(tally.skipped).items():
            print(f"  {line}" + (f" ({times} times)" if times > 1 else ""))
    passed, failed, skipped = (tally.counts[name] for name in ("passed", "failed", "skipped"))
    if no_skips and skipped:
        print("\nNothing may be left out here (--no-skips), so this run has failed.")
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed or not passed or (no_skips and skipped) else 0


if __name__ == "__main__":
    sys.exit(main())
