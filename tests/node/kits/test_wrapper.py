"""The installed script: whatever happens to the hook, the host reads one explicit verdict."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from node.agents.kits.wrapper import wrapper
from tests.node.gate.hosts import (
    GATING,
    LAUNCHER,
    NodeDouble,
    decided,
    event,
    printing,
    run,
    said,
    verdict,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "it's a home"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def node(home: Path) -> Iterator[NodeDouble]:
    node = NodeDouble(home, lambda body: printing(verdict(body["stage"])))
    yield node
    node.close()


def install(
    home: Path, python: str = sys.executable, launcher: Path = LAUNCHER, limit_s: int = 600
) -> Path:
    script = home / "claude"
    script.write_text(wrapper(python, str(launcher), str(home), limit_s=limit_s))
    script.chmod(0o700)
    return script


def program(home: Path, text: str) -> str:
    """A stand-in for the interpreter."""
    path = home / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


def shells() -> list[list[str]]:
    known = [["/bin/sh"], ["dash"], ["bash", "--posix"], ["bash"], ["ksh"], ["busybox", "sh"]]
    return [[path, *words[1:]] for words in known if (path := shutil.which(words[0]))]


@pytest.mark.parametrize("shell", shells(), ids=str)
@pytest.mark.parametrize("stage", GATING)
def test_the_verdict_passes_through(
    home: Path, node: NodeDouble, shell: list[str], stage: str
) -> None:
    done = run([*shell, str(install(home)), stage], event(stage))
    assert (done.returncode, done.stderr) == (0, b"")
    assert decided(stage, done.stdout) == "allow"
    assert node.bodies.get(timeout=5)["event"] == json.loads(event(stage))


@pytest.mark.parametrize("stage", ["PreToolUse", "Stop", "PostToolUse"])
def test_silence_passes_through(home: Path, node: NodeDouble, stage: str) -> None:
    node.answer = lambda _: printing(None)
    done = run([str(install(home)), stage], event(stage))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_large_verdict_and_a_large_event_pass_through(home: Path, node: NodeDouble) -> None:
    large = verdict("PreToolUse") | {"padding": "x" * 500_000}
    node.answer = lambda _: printing(large)
    done = run(
        [str(install(home)), "PreToolUse"], event("PreToolUse", tool_input={"x": "y" * 4_000_000})
    )
    assert decided("PreToolUse", done.stdout) == "allow"


BROKEN = {
    "returns 0": "exit 0",
    "returns 1": "exit 1",
    "returns 2": "exit 2",
    "prints rubbish": "echo rubbish; exit 0",
    "prints an allow of its own": "echo '{\"hookSpecificOutput\": {}}'; exit 0",
    "is killed": "kill -KILL $$",
    "is not understood": "exec /nowhere",
    "floods": "head -c 1000000 /dev/zero; exit 1",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("stage", GATING)
def test_an_interpreter_that_does_not_run_the_hook_is_a_deny(
    home: Path, stage: str, text: str
) -> None:
    done = run([str(install(home, program(home, text))), stage], event(stage))
    assert done.returncode == 0
    assert decided(stage, done.stdout) == "deny"
    assert "did not run to its end" in said(done.stdout)


@pytest.mark.parametrize("stage", GATING)
def test_a_deleted_environment_is_a_deny(home: Path, tmp_path: Path, stage: str) -> None:
    environment = tmp_path / "environment"
    (environment / "bin").mkdir(parents=True)
    python = environment / "bin" / "python"
    python.symlink_to(os.path.realpath(sys.executable))
    launcher = environment / "askmesh" / "__main__.py"
    shutil.copytree(LAUNCHER.parent, launcher.parent)
    for name in ("node", "web", "sync"):
        (environment / name).symlink_to(LAUNCHER.parents[1] / name)
    script = install(home, str(python), launcher)
    node = NodeDouble(home, lambda body: printing(verdict(body["stage"])))
    assert decided(stage, run([str(script), stage], event(stage)).stdout) == "allow"
    (environment / "node").unlink()
    assert decided(stage, run([str(script), stage], event(stage)).stdout) == "deny"
    launcher.unlink()
    assert decided(stage, run([str(script), stage], event(stage)).stdout) == "deny"
    shutil.rmtree(environment)
    assert decided(stage, run([str(script), stage], event(stage)).stdout) == "deny"
    node.close()


def test_without_the_hook_other_events_pass_in_silence(home: Path) -> None:
    done = run([str(install(home, "/nowhere/python")), "Stop"], event("Stop"))
    assert (done.returncode, done.stdout) == (0, b"")


def test_nothing_comes_from_the_environment(home: Path, node: NodeDouble, tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    evil.mkdir()
    for name in ("env", "sleep", "kill", "python", "python3"):
        (evil / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (evil / name).chmod(0o700)
    (evil / "start").write_text(f"touch {tmp_path}/ran; exit 0\n")
    (evil / "sitecustomize.py").write_text("raise SystemExit(0)")
    node.answer = lambda _: printing(verdict("PreToolUse", "deny"))
    environment = {
        "PATH": str(evil),
        "ENV": str(evil / "start"),
        "IFS": "/ac",
        "PYTHONPATH": str(evil),
        "PYTHONHOME": str(evil),
        "PYTHONSTARTUP": str(evil / "start"),
        "ASKMESH_HOME": str(evil),
        "BASH_FUNC_printf%%": "() { :; }",
        "BASH_FUNC_wait%%": "() { return 10; }",
        "BASH_FUNC_kill%%": "() { :; }",
    }
    for shell in ([], *shells()):
        done = run([*shell, str(install(home)), "PreToolUse"], event("PreToolUse"), environment)
        assert decided("PreToolUse", done.stdout) == "deny", shell
    assert not (tmp_path / "ran").exists()
    assert node.bodies.qsize() == 1 + len(shells())


class Held:
    """A wrapper whose hook waits for the node, as the first process of its session."""

    def __init__(self, home: Path, node: NodeDouble, limit_s: int = 600) -> None:
        node.answer = lambda _: None
        self.process = subprocess.Popen(
            [str(install(home, limit_s=limit_s)), "PreToolUse"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        with self.process.stdin as given:
            given.write(event("PreToolUse"))
        self.process.stdin = None
        node.bodies.get(timeout=10)

    def others(self) -> dict[int, str]:
        """What else runs in the session, by process id."""
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(stat[3]) == self.process.pid and stat[0] != "Z":
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    found[int(entry.name)] = line
            except (OSError, ValueError, IndexError):
                continue
        found.pop(self.process.pid, None)
        return found

    def hook(self) -> int:
        return next(pid for pid, line in self.others().items() if "--wrapped" in line)

    def printed(self) -> bytes:
        return self.process.communicate(timeout=30)[0]


def ended(held: Held) -> bool:
    """Whether nothing of the session is left; waits for it."""
    until = time.monotonic() + 15
    while held.others():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
class TestKilled:
    """What is left when one of the processes is killed."""

    def test_the_hook_is_killed(self, home: Path, node: NodeDouble) -> None:
        held = Held(home, node)
        os.kill(held.hook(), signal.SIGKILL)
        assert decided("PreToolUse", held.printed()) == "deny"
        assert ended(held)

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
    def test_the_wrapper_is_told_to_end(self, home: Path, node: NodeDouble, number: int) -> None:
        held = Held(home, node)
        held.process.send_signal(number)
        assert decided("PreToolUse", held.printed()) == "deny"
        assert node.gone.wait(10)
        assert ended(held)

    def test_the_wrapper_is_killed(self, home: Path, node: NodeDouble) -> None:
        held = Held(home, node)
        held.process.kill()
        assert node.gone.wait(10)
        held.process.communicate(timeout=10)
        assert ended(held)

    def test_the_host_goes_away(self, home: Path, node: NodeDouble) -> None:
        held = Held(home, node)
        assert held.process.stdout is not None
        held.process.stdout.close()
        assert node.gone.wait(10)
        held.process.wait(10)
        assert ended(held)

    def test_a_hook_that_hangs_is_ended_before_the_hosts_limit(
        self, home: Path, node: NodeDouble
    ) -> None:
        held = Held(home, node, limit_s=1)
        os.kill(held.hook(), signal.SIGSTOP)
        assert decided("PreToolUse", held.printed()) == "deny"
        assert ended(held)

    def test_an_interpreter_that_hangs_is_ended_too(self, home: Path) -> None:
        script = install(home, program(home, "exec sleep 1000"), limit_s=1)
        done = run([str(script), "PermissionRequest"], event("PermissionRequest"))
        assert decided("PermissionRequest", done.stdout) == "deny"


def test_its_limit_lies_between_the_hooks_and_the_hosts() -> None:
    from node.agents.kits.wrapper import LIMIT_S, STEP_S
    from node.bridge.hook import GATE_S, PRINT_S
    from node.limits import GATE_HOLD_S, GATE_HOST_LIMIT_S

    assert GATE_HOLD_S < GATE_S - PRINT_S < GATE_S < LIMIT_S < GATE_HOST_LIMIT_S
    assert LIMIT_S % STEP_S == 0
