"""The one link that is made without a signed-in person, and the only places it may go to.

A desktop browser, else the terminal of the person who typed `askmesh up`, or a file they
named. Never standard output, a log, an argument list or an environment: agents read those.
"""

import html
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from node.cli.stop import Stop
from node.limits import SIGN_IN_FIRST_MS

OPENER_PATH: Final = os.pathsep.join(
    ("/usr/local/bin", "/usr/bin", "/bin", "/snap/bin", "/run/current-system/sw/bin")
)
"""Where the program that opens pages is looked for: not on PATH, which an agent's host may
have changed to catch links."""

OPENER_S: Final = 3.0
"""An opener that fails does so at once; one that is a browser itself goes on running."""

PAGE_KEPT_S: Final = 60
"""A browser that has to start first reads the redirecting file within this time."""

LOOK_S: Final = 0.5
LEFT_OVER: Final = "sign-in-"
MINUTES: Final = SIGN_IN_FIRST_MS // 60_000

_REDIRECT: Final = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={url}">
<title>askmesh</title>
<p><a href="{url}">Sign in to askmesh</a></p>
"""


def sign_in_link(page: str, token: str) -> str:
    """The link: the token is in the fragment, which a browser sends to nobody."""
    return f"{page}#t={token}"


def opener(environment: Mapping[str, str], *, path: str = OPENER_PATH) -> str | None:
    """The program that opens a page in the desktop's browser; None without a desktop."""
    if sys.platform == "darwin":
        return None if environment.get("SSH_CONNECTION") else shutil.which("open", path=path)
    if environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"):
        return shutil.which("xdg-open", path=path)
    return None


def opener_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The desktop's variables without those that choose another program for links."""
    kept = {
        name: value
        for name, value in environment.items()
        if name != "BROWSER" and not name.startswith("ASKMESH_")
    }
    return kept | {"PATH": OPENER_PATH}


def open_in_browser(target: str, program: str, environment: Mapping[str, str]) -> bool:
    """Open a page or file; whether the opener took it. It shows nothing of its own here."""
    try:
        process = subprocess.Popen(
            [program, target],
            cwd="/",
            env=opener_environment(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return False
    try:
        return process.wait(OPENER_S) == 0
    except subprocess.TimeoutExpired:
        return True


def terminal_path() -> str | None:
    """`/dev/tty` when this process has a terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return None
    return "/dev/tty"


class LinkFile:
    """`--first-sign-in FILE`: made before the node starts, written when the node serves."""

    def __init__(self, path: str) -> None:
        self.path = Path(path).absolute()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            self._descriptor = os.open(self.path, flags, 0o600)
        except FileExistsError:
            raise Stop(
                f"{self.path} exists already; the sign-in link goes into a new file only.",
                hint="Name another file, or remove this one first.",
            ) from None

    def write(self, link: str) -> None:
        """Put the link in."""
        with os.fdopen(self._descriptor, "w") as file:
            file.write(f"{link}\n")

    def discard(self) -> None:
        """Remove the file: there will be no link."""
        os.close(self._descriptor)
        self.path.unlink(missing_ok=True)


def remove_left_over(home: str) -> None:
    """Remove redirecting files of earlier starts; their tokens died with those nodes."""
    for file in Path(home).glob(f"{LEFT_OVER}*.html"):
        file.unlink(missing_ok=True)


def show_in_browser(
    home: str,
    link: str,
    program: str,
    environment: Mapping[str, str],
    *,
    kept_s: int = PAGE_KEPT_S,
) -> bool:
    """Open the link by a private file that redirects, so that it stands in no argument list."""
    descriptor, name = tempfile.mkstemp(prefix=LEFT_OVER, suffix=".html", dir=home)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(_REDIRECT.format(url=html.escape(link)))
    opened = open_in_browser(f"file://{name}", program, environment)
    if opened:
        _remove_later(name, kept_s)
    else:
        Path(name).unlink(missing_ok=True)
    return opened


def show_on_terminal(link: str, terminal: str) -> None:
    """Write the link to the terminal itself, past standard output and error."""
    with open(terminal, "w", encoding="utf-8") as screen:  # noqa: PTH123 - a device
        screen.write(
            f"\n  Sign in once to become the owner of this inbox (within {MINUTES} minutes):\n\n"
            f"    {link}\n\n"
        )


def _remove_later(name: str, seconds: int) -> None:
    """Leave a small process behind that removes the file: this command ends before."""
    subprocess.run(
        ["/bin/sh", "-c", '{ sleep "$1"; rm -f -- "$0"; } &', name, str(seconds)],
        check=False,
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_for_opening(terminal: str, *, until: Callable[[], bool]) -> bool:
    """Offer the link on the terminal while the browser starts; whether Enter was pressed.

    Some browsers may not read files of a hidden folder: they would show an error page and
    the person would have no link at all.
    """
    with open(terminal, "r+b", buffering=0) as screen:  # noqa: PTH123 - a device
        screen.write(
            b"  Your browser opens the page. Should it not, press Enter here for the link"
            b" (Ctrl-C leaves it).\n"
        )
        end = time.monotonic() + PAGE_KEPT_S
        while time.monotonic() < end and not until():
            ready, _, _ = select.select([screen], [], [], LOOK_S)
            if ready:
                return bool(screen.read(1024))
    return False
