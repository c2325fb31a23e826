"""A person at a terminal: shown things, asked yes or no, asked for the passphrase.

All of it on `/dev/tty`, so a program that merely runs the command cannot answer for them.
"""

import contextlib
import os
import signal
import socket
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, NoReturn, Self, TextIO

from node.bridge.client import NodeAway, Refused
from node.cli.page import REPLY_S, Page
from node.cli.place import Place
from node.cli.running import need_serving
from node.cli.stop import Stop
from sync.decide.visible import visible_line
from sync.errors import SeveralPeople

PASSPHRASE_TRIES: Final = 3
LINES_AT_ONCE: Final = 200
"""A longer text is shown screen by screen: a terminal keeps only so many lines."""

TICK_S: Final = 1.0
"""How often a line that tells the time moves."""

ENDING: Final = (signal.SIGTERM, signal.SIGHUP)
"""What ends a command from outside: `kill`, and a window that is closed."""

LINES: Final = 24
COLUMNS: Final = 80
"""Of a terminal that does not say its size."""


def _leave(number: int, _frame: object) -> NoReturn:
    """End in order: the terminal shows what is typed again, the session is ended."""
    raise SystemExit(128 + number)


class Terminal:
    """The terminal of this process. Use as a context."""

    def __init__(self, *, on_page: bool = True) -> None:
        """`on_page`: whether the page can do the same."""
        try:
            descriptor = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
        except OSError:
            raise Stop(
                "This is for a person at a terminal, and there is no terminal here.",
                hint="Run it in a terminal yourself"
                + (", or use the page (`askmesh open`)." if on_page else "; no program can."),
                code="no_terminal",
            ) from None
        self._screen: TextIO = os.fdopen(
            descriptor, "w", encoding="utf-8", errors="backslashreplace"
        )
        self._keys: TextIO = os.fdopen(os.dup(descriptor), encoding="utf-8", errors="replace")
        self._before: list[tuple[signal.Signals, Any]] = []

    def __enter__(self) -> Self:
        with contextlib.suppress(ValueError):  # not in the main thread, which gets the signals
            self._before = [(one, signal.signal(one, _leave)) for one in ENDING]
        return self

    def __exit__(self, *_: object) -> None:
        for one, handler in self._before:
            signal.signal(one, handler)
        for stream in (self._screen, self._keys):
            with contextlib.suppress(OSError):  # a closed window takes its terminal along
                stream.close()

    def show(self, lines: Sequence[str]) -> None:
        """Write lines, screen by screen when they are many. Raises `Stop` when left early.

        The lines must have been through `visible`.
        """
        if len(lines) <= LINES_AT_ONCE:
            self._write(lines)
            return
        height = max(10, (os.get_terminal_size(self._screen.fileno()).lines or LINES) - 2)
        for start in range(0, len(lines), height):
            self._write(lines[start : start + height])
            shown = min(start + height, len(lines))
            if shown < len(lines):
                word = self.ask(f"-- line {shown} of {len(lines)}: Enter for more, q to stop --")
                if word.strip().lower().startswith("q"):
                    raise Stop("Not read to the end, so nothing was done.", code="not_confirmed")

    def restate(self, line: str) -> None:
        """Write a line in place of the one written so before; an empty one takes it away.

        The line must have been through `visible`.
        """
        width = self._columns() - 1
        shown = line[:width]
        self._screen.write(f"\r{shown:<{width}}" if line else f"\r{'':<{width}}\r")
        self._screen.flush()

    @contextlib.contextmanager
    def busy(self, words: str) -> Iterator[None]:
        """Show the words and how long it has taken, until the block ends."""
        ended, started = threading.Event(), time.monotonic()

        def tell() -> None:
            with contextlib.suppress(OSError):  # a closed window: the block goes on without it
                while not ended.is_set():
                    self.restate(f"{words} {time.monotonic() - started:.0f} s")
                    ended.wait(TICK_S)

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield
        finally:
            ended.set()
            teller.join()
            self.restate("")

    def ask(self, prompt: str) -> str:
        """What is typed on one line, after the prompt. Raises `Stop` when the terminal ends."""
        termios.tcflush(self._keys.fileno(), termios.TCIFLUSH)
        self._screen.write(f"{prompt} ")
        self._screen.flush()
        line = self._keys.readline()
        if not line:
            raise Stop("The terminal was closed, so nothing was done.", code="not_confirmed")
        return line.rstrip("\n")

    def confirm(self, prompt: str) -> None:
        """Return when `y` is typed. Raises `Stop` for anything else."""
        if self.ask(f"{prompt} [y/N]").strip().lower() not in {"y", "yes"}:
            raise Stop("Nothing was done.", code="not_confirmed")

    def secret(self, prompt: str) -> str:
        """What is typed on one line, without showing it."""
        with self._without_echo():
            try:
                return self.ask(prompt)
            finally:
                self._screen.write("\n")
                self._screen.flush()

    @contextlib.contextmanager
    def _without_echo(self) -> Iterator[None]:
        keys = self._keys.fileno()
        before = termios.tcgetattr(keys)
        silent = list(before)
        silent[3] &= ~termios.ECHO
        termios.tcsetattr(keys, termios.TCSADRAIN, silent)
        try:
            yield
        finally:
            termios.tcsetattr(keys, termios.TCSADRAIN, before)

    def _columns(self) -> int:
        return os.get_terminal_size(self._screen.fileno()).columns or COLUMNS

    def _write(self, lines: Sequence[str]) -> None:
        self._screen.writelines(f"{line}\n" for line in lines)
        self._screen.flush()


@contextlib.contextmanager
def signed_in(place: Place, terminal: Terminal, *, timeout: float = REPLY_S) -> Iterator[Page]:
    """A terminal session that lives as long as this command, after the passphrase was typed.

    Raises `Stop` and `NodeAway`.
    """
    page = Page(need_serving(place.home).web_port, timeout=timeout)
    if not page.get("hello").get("has_person"):
        raise Stop(
            "Nobody has signed in on this fleet yet, so nobody can answer or grant anything.",
            hint="Run `askmesh down`, then `askmesh up`: it shows the link for the first sign-in.",
        )
    session = _begin(place, terminal, page)
    line = page.hold()
    try:
        yield page
    finally:
        with contextlib.suppress(NodeAway, Refused):
            page.delete("sessions", session)
        line.close()


def _begin(place: Place, terminal: Terminal, page: Page) -> str:
    if place.named_by != "default":
        terminal.show([f"Data directory: {visible_line(place.home)} (from {place.named_by})"])
    for left in range(PASSPHRASE_TRIES - 1, -1, -1):
        passphrase = terminal.secret("Passphrase:")
        if not passphrase:
            raise Stop("No passphrase was typed, so nothing was done.", code="not_confirmed")
        try:
            return _session(terminal, page, passphrase)
        except Refused as error:
            if error.code != "not_allowed" or not left:
                raise
            terminal.show([visible_line(error.message)])
    raise AssertionError


def _session(terminal: Terminal, page: Page, passphrase: str) -> str:
    body = {"passphrase": passphrase, "kind": "terminal", "where": _where()}
    try:
        return session_id(page.post("session", body=body))
    except Refused as error:
        if error.code != SeveralPeople.code:
            raise
        terminal.show([visible_line(error.message)])
        person = terminal.ask("Your name:").strip()
        return session_id(page.post("session", body=body | {"person": person}))


def session_id(reply: dict[str, Any]) -> str:
    """The id of the session just made."""
    me = reply.get("me", reply)
    return str(me.get("session", ""))


def _where() -> str:
    name = os.ttyname(0) if os.isatty(0) else "terminal"
    return f"askmesh on {socket.gethostname()} ({name})"
