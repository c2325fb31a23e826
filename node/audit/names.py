"""What people and machines are called in an audit, and how its moments are written."""

import datetime as dt
import sqlite3

from sync.log.names import SHORT
from web.limits import AUDIT_CHARACTERS


class Names:
    """The people and the machines by their ids, as the store names them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._persons = dict(connection.execute("SELECT id, name FROM person").fetchall())
        self._machines = dict(connection.execute("SELECT id, name FROM node").fetchall())
        self._operators = dict(connection.execute("SELECT key, name FROM operator").fetchall())

    def person(self, person: str) -> str:
        """Return a person's name; the id where nobody has it."""
        return str(self._persons.get(person, person))

    def machine(self, node: str) -> str:
        """Return a machine's name; its short id where it has none here."""
        return str(self._machines.get(node, node[:SHORT]))

    def operator(self, key: bytes) -> str:
        """Return the name of an outside system; the beginning of its key where it has none."""
        return str(self._operators.get(key, key.hex()[:8]))


def short_id(ask: str) -> str:
    """Return an ask's short id."""
    home, _, number = ask.rpartition("-")
    return f"{home[:SHORT]}-{number}"


def cut(text: str | None) -> str | None:
    """Return a text as far as an audit shows it; None for none."""
    if not text:
        return None
    return text if len(text) <= AUDIT_CHARACTERS else f"{text[: AUDIT_CHARACTERS - 1]}…"


def utc(at: int) -> str | None:
    """Return a moment as text, None for what is no date: anyone's clock may say anything."""
    try:
        moment = dt.datetime.fromtimestamp(at / 1_000, dt.UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
