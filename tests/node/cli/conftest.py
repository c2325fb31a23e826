"""A real node under the real command, in a home of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from tests.node.cli.screen import Screen
from tests.running import PASSPHRASE, Person, free_port

ROOT: Final = Path(__file__).parents[3]


@dataclass(frozen=True, kw_only=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def object(self) -> dict[str, Any]:
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


@dataclass(frozen=True, kw_only=True)
class Command:
    """`askmesh` for one data directory, with and without a terminal."""

    home: Path
    project: Path
    web_port: int
    port: int

    @property
    def line(self) -> list[str]:
        launcher = str(ROOT / "askmesh" / "__main__.py")
        return [sys.executable, "-I", launcher, "--home", str(self.home)]

    def environment(self) -> dict[str, str]:
        kept = ("PATH", "LANG", "LC_ALL")
        return {name: os.environ[name] for name in kept if name in os.environ} | {
            "HOME": str(self.home.parent),
            "ASKMESH_SESSION": "s-cli",
        }

    def run(self, *words: str, text: str = "") -> Result:
        """Run it without a terminal, as an agent would."""
        done = subprocess.run(
            [*self.line, *words],
            input=text,
            capture_output=True,
            text=True,
            env=self.environment(),
            cwd=self.project,
            start_new_session=True,
            timeout=100,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Result(code=done.returncode, out=done.stdout, err=done.stderr)

    def on_screen(self, *words: str) -> Screen:
        """Run it on a terminal, as a person would."""
        return Screen([*self.line, *words], environment=self.environment(), cwd=self.project)

    def up(self, *words: str) -> Result:
        ports = ["--web-port", str(self.web_port), "--port", str(self.port)]
        return self.run("up", *ports, *words)

    def ask(self, *words: str) -> str:
        """Ask, and return the short id."""
        result = self.run("ask", *words)
        assert result.code == 0, result.err
        return result.out.strip()

    def person(self) -> Person:
        """A browser that is not signed in."""
        return Person(self.web_port)

    def sign_in_first(self, link: str) -> int:
        """Do what the page does with the first link; the reply's status."""
        token = link.strip().partition("#t=")[2]
        body = {"token": token, "name": "Ann", "passphrase": PASSPHRASE}
        return self.person().send("POST", "/api/session", body)[0]


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    """No node yet."""
    project = tmp_path / "project"
    project.mkdir()
    made = Command(home=tmp_path / "data", project=project, web_port=free_port(), port=free_port())
    yield made
    made.run("down")


@pytest.fixture
def signed_in(command: Command) -> Command:
    """A node whose owner is Ann."""
    link = command.home.parent / "link"
    result = command.up("--first-sign-in", str(link))
    assert result.code == 0, result.err
    assert command.sign_in_first(link.read_text()) == 200
    return command
