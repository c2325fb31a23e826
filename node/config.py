"""The node's files beside its store: the lock, the settings, the facts of a run."""

import fcntl
import json
import os
import time
from pathlib import Path
from typing import Any

import msgspec

from node.limits import (
    KEEP_TEXTS_DAYS,
    KEEP_TEXTS_LEAST_DAYS,
    KEEP_TEXTS_MOST_DAYS,
    PEER_PORT,
    WEB_PORT,
)
from sync.decide.name import checked
from sync.errors import Invalid, StoreError, StoreHeld

LOCK_FILE = "node.lock"
FACTS_FILE = "node.json"
SETTINGS_FILE = "settings.json"
LOOKERS_S = 0.5
"""`askmesh status` and others hold the lock for an instant to see whether a node does."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """What `up` was last told; kept so that every later start is the same."""

    port: int = PEER_PORT
    web_port: int = WEB_PORT
    bind: str | None = None
    mdns: bool = True
    name: str | None = None
    keep_texts: int = KEEP_TEXTS_DAYS
    """Days after an ask is over; 0: for ever."""


def prepare(home: Path, *, create: bool) -> None:
    """Make sure the data directory is ours alone. Raises `StoreError` in words."""
    try:
        if create:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = home.stat()
    except OSError as error:
        raise StoreError(
            f"The data directory {home} cannot be used: {error.strerror}.",
            hint="Run `askmesh up` to begin, or check the path and its owner.",
        ) from None
    if status.st_uid != os.getuid():
        raise StoreError(f"The data directory {home} belongs to another user.")
    if status.st_mode & 0o077:
        try:
            home.chmod(0o700)
        except OSError:
            raise StoreError(
                f"Others can enter the data directory {home}.", hint=f"Run: chmod 700 {home}"
            ) from None


def lock(home: Path, facts: dict[str, Any]) -> int:
    """Hold the data directory; return the descriptor to keep open.

    Raises `StoreHeld` that says who holds it.
    """
    path = home / LOCK_FILE
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            f"The data directory {home} cannot be written: {error.strerror}.",
            hint="Make it writable, then start again.",
        ) from None
    if not _held(descriptor):
        holder = read(path).get("pid", "unknown")
        os.close(descriptor)
        raise StoreHeld(
            f"Another node (pid {holder}) already runs on {home}.",
            hint="Use that one, or stop it with `askmesh down`.",
        ) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(facts).encode(), 0)
    return descriptor


def _held(descriptor: int) -> bool:
    """Take the lock, if need be after those who only look whether it is held."""
    until = time.monotonic() + LOOKERS_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(0.02)
        else:
            return True


def read(path: Path) -> dict[str, Any]:
    """Return a small JSON object; {} when it is missing or damaged."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def write(path: Path, value: dict[str, Any]) -> None:
    """Write a small JSON object whole or not at all, for this user only."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(value, file)
    temporary.replace(path)


def settings(home: Path, told: dict[str, Any]) -> Settings:
    """Return the settings, with what this start was told put over what was kept.

    Raises `Invalid` for a value that cannot be used.
    """
    merged = {**read(home / SETTINGS_FILE), **told}
    try:
        chosen = msgspec.convert(merged, Settings)
        if told.get("name") is not None:
            check_machine(told["name"])
        check_keep(chosen.keep_texts)
        return chosen
    except msgspec.ValidationError as error:
        raise Invalid(
            f"{home / SETTINGS_FILE} holds a value that cannot be used: {error}.",
            hint="Correct or remove it; the defaults are used then.",
        ) from None


def check_machine(name: str) -> str:
    """Return what this machine is to be called, as it is kept. Raises `Invalid`."""
    return checked("machine's name", name)


def check_keep(days: int) -> None:
    """Raise `Invalid` for a number of days that texts cannot be kept."""
    if days and not KEEP_TEXTS_LEAST_DAYS <= days <= KEEP_TEXTS_MOST_DAYS:
        raise Invalid(
            f"Texts cannot be kept for {days} days.",
            hint=f"Give {KEEP_TEXTS_LEAST_DAYS} to {KEEP_TEXTS_MOST_DAYS} days, or 0: for ever.",
        )
