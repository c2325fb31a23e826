"""A command on a terminal of its own: what a person would see and type."""

import contextlib
import fcntl
import os
import pty
import select
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

WAIT_S: Final = 60.0


class Screen:
    """A process whose controlling terminal is ours; its standard output is kept apart."""

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str], cwd: Path | None = None
    ) -> None:
        self._master, slave = pty.openpty()
        self.shown = ""
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=cwd,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        os.close(self._master)

    def expect(self, text: str) -> str:
        """What was shown up to `text`, which it waits for; later calls look behind it."""
        end = time.monotonic() + WAIT_S
        while text not in self.shown:
            left = end - time.monotonic()
            assert left > 0, f"{text!r} was not shown, but: {self.shown!r}"
            ready, _, _ = select.select([self._master], [], [], min(left, 0.1))
            if ready:
                assert self._read(), f"the terminal ended without {text!r}: {self.shown!r}"
        before, _, self.shown = self.shown.partition(text)
        return before

    def prints(self) -> None:
        """Wait until something was printed, not to the terminal; `end` has it."""
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], WAIT_S)[0], "nothing was printed"

    def type(self, line: str) -> None:
        """Type a line and Enter."""
        os.write(self._master, f"{line}\n".encode())

    def end_of_file(self) -> None:
        """Press Ctrl-D."""
        os.write(self._master, b"\x04")

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        os.write(self._master, b"\x03")

    def end(self) -> tuple[int, str]:
        """Wait for the end: the exit code and what was printed, not to the terminal."""
        output, _ = self.process.communicate(timeout=WAIT_S)
        while select.select([self._master], [], [], 0)[0] and self._read():
            pass
        return self.process.returncode, output.decode()

    def _read(self) -> bool:
        """Take what is there; False when the other side has closed."""
        with contextlib.suppress(OSError):
            data = os.read(self._master, 65_536)
            self.shown += data.decode(errors="replace").replace("\r\n", "\n")
            return bool(data)
        return False
