"""Boards: tables that agents keep of an effort, cell by cell.

Nobody has to be asked before a cell is set, so machines that are apart can both do it: of
each cell the last writer by (HLC, node) counts. On one machine an edit names the row's
revision, so that nobody writes over what they have not seen.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from enum import Enum

import msgspec

from sync.decide.ask import check_words
from sync.errors import BadEntry, Invalid
from sync.limits import BOARD_FIELDS, LABEL_CHARACTERS, TITLE_CHARACTERS
from sync.log.board_facts import BoardFacts

KEY_DIGITS = 32
"""Of a board's and a row's key in hex: 128 bits."""
REVISION_DIGITS = 10
HISTORY_KEPT = 20
"""Earlier steps of a row that travel with it; older ones stand in the log."""
ARCHIVED = "archived"
"""The board's own field: `yes` or empty."""
REMOVED = "removed"
"""A row's field: `yes` or empty. Only this removes a row: leaving it out does not."""

_KEY = re.compile(rf"[0-9a-f]{{{KEY_DIGITS}}}\Z")
_FIELD = re.compile(r"[a-z_]{1,32}\Z")


class RowStatus(Enum):
    """How a row stands."""

    DONE = "done"
    PARTIAL = "partial"
    MISSING = "missing"
    TRACKED = "tracked"
    NA = "na"
    BLOCKED = "blocked"
    """A person has to do something. A failing test is not that: it is `partial`."""


WORDS: dict[str, int] = {
    "note": 240,
    "next_step": 180,
    "impact": 180,
    "outcome": 240,
    "context": 8_000,
}
"""The fields of words, and how many characters each takes."""
OWNERS = frozenset({"", "decision", "task", "approval"})
"""What a person has to do about a blocked row."""
ACTION = ("note", "next_step", "action_owner", "impact", "outcome")
"""What belongs to one step of a row, and goes into its history with the next."""


def key(*parts: str, fleet: bytes) -> str:
    """Return the key of a board (project, title) or of a row (project, title, label)."""
    whole = hashlib.sha256(fleet)
    for part in parts:
        whole.update(b"\0" + " ".join(part.split()).encode())
    return whole.hexdigest()[:KEY_DIGITS]


def revision(cells: Iterable[tuple[str, int, str]]) -> str:
    """Return the revision of a row from (field, hlc, node) of its cells: alike on every node."""
    whole = hashlib.sha256()
    for field, hlc, node in sorted(cells):
        whole.update(f"{field}\0{hlc}\0{node}\0".encode())
    return whole.hexdigest()[:REVISION_DIGITS]


def check_facts(facts: BoardFacts) -> None:
    """Refuse what nobody could mean. Raises `BadEntry`."""
    keys = [facts.board] + ([facts.row] if facts.row else [])
    if not all(_KEY.match(one) for one in keys):
        raise BadEntry("A cell is of no board.")
    if not 0 < len(facts.fields) <= BOARD_FIELDS or not all(map(_FIELD.match, facts.fields)):
        raise BadEntry("A board's entry sets no cells, or what is no cell.")


def check_title(title: str) -> None:
    """Refuse a title that is none. Raises `Invalid`."""
    check_words("title", title, TITLE_CHARACTERS, needed=True)


def check_row(label: str, cells: Mapping[str, str]) -> None:
    """Check a row before anything is stored. Raises `Invalid` that names the field."""
    check_words("label", label, LABEL_CHARACTERS, needed=True)
    for field, most in WORDS.items():
        check_words(field, cells.get(field, ""), most)
    status = cells.get("status")
    if status is not None and status not in {one.value for one in RowStatus}:
        known = ", ".join(one.value for one in RowStatus)
        raise Invalid(f"{status[:40]!r} is no status of a row.", hint=f"There are: {known}.")
    if cells.get("action_owner", "") not in OWNERS:
        raise Invalid(
            "`action_owner` is `decision`, `task` or `approval`.",
            hint="It says what a person has to do about a blocked row.",
        )


def check_blocked(cells: Mapping[str, str]) -> None:
    """Refuse a blocked row that does not say what a person has to do. Raises `Invalid`."""
    lacking = [
        name for name in ("note", "next_step", "action_owner") if not cells.get(name, "").strip()
    ]
    if cells.get("status") == RowStatus.BLOCKED.value and lacking:
        raise Invalid(
            f"A blocked row needs {', '.join(f'`{name}`' for name in lacking)}: blocked means"
            " that a person has to do something.",
            hint="What only you are stuck on is `partial` or `tracked`.",
        )


def advanced(history: str, before: Mapping[str, str]) -> str:
    """Return a row's history with the step that is over added, the oldest let go."""
    steps = past(history)
    over = {name: before[name] for name in ACTION if before.get(name)}
    return msgspec.json.encode([*steps, over][-HISTORY_KEPT:]).decode()


def past(history: str) -> list[dict[str, str]]:
    """Return the earlier steps of a row; none where they cannot be read."""
    try:
        return msgspec.json.decode(history or "[]", type=list[dict[str, str]])[-HISTORY_KEPT:]
    except msgspec.DecodeError:
        return []
