"""What this machine lacks for some tests, in words that a report can show."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CLIENTS = ROOT / "tests" / "clients"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@cache
def lacking() -> dict[str, str]:
    """Why tests with a marker cannot run here, by marker; absent means that they can."""
    reasons = {
        "root": "" if os.geteuid() == 0 else "needs root",
        "browser": "" if browser() else "needs Chromium (deploy/test installs it as root)",
        "netns": network_namespaces(),
        "npm": "" if node_packages() else "needs the Node packages (deploy/test installs them)",
    }
    return {marker: reason for marker, reason in reasons.items() if reason}


def skip_what_cannot_run(items: Iterable[pytest.Item]) -> None:
    """Mark each test that needs what is lacking as skipped, with the reason."""
    for item in items:
        for marker, reason in lacking().items():
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


def network_namespaces() -> str:
    """Why no network can be made for a test; "" when it can."""
    if os.geteuid() != 0:
        return "needs root"
    if not shutil.which("ip") or not shutil.which("bridge"):
        return "needs iproute2 (deploy/test installs it as root)"
    if not shutil.which("nft"):
        return "needs nftables (deploy/test installs it as root)"
    name = f"askmesh-{os.getpid()}-probe"
    made = subprocess.run(["ip", "netns", "add", name], check=False, capture_output=True)
    if made.returncode:
        return "needs the right to make network namespaces"
    subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
    return ""


def browser() -> str | None:
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def node_packages() -> Path | None:
    """The folder of the locked Node packages, or None when they are not these."""
    folder = CLIENTS / "node_modules"
    marker = folder / ".askmesh-lock"
    wanted = hashlib.sha256((CLIENTS / "package-lock.json").read_bytes()).hexdigest()
    here = shutil.which("node") and marker.exists() and marker.read_text() == wanted
    return folder if here else None
