"""Boards as they stand in the store: cells with their words, rows, revisions."""

import sqlite3
from collections import defaultdict

import msgspec

from node.desk.board_records import Board, Row, Summary
from sync.decide.board import ARCHIVED, REMOVED, RowStatus, key, past, revision
from sync.errors import BadEntry
from sync.log.facts import BoardText, read_text

YES = "yes"


class Line(msgspec.Struct, kw_only=True):
    """One row of a board: its cells, and what names it."""

    label: str | None = None
    """None: its words are gone."""
    cells: dict[str, str] = msgspec.field(default_factory=dict)
    stamps: list[tuple[str, int, str]] = msgspec.field(default_factory=list)
    agent: str = ""
    at: int = 0
    first: int = 0

    @property
    def revision(self) -> str:
        """What an edit names."""
        return revision(self.stamps)

    @property
    def here(self) -> bool:
        """Whether it is on the board."""
        return bool(self.stamps) and self.cells.get(REMOVED) != YES

    def row(self) -> Row:
        """Return it as it is told."""
        plain = {
            name: self.cells.get(name, "")
            for name in ("note", "next_step", "action_owner", "impact", "outcome", "context")
        }
        return Row(
            label=self.label or "",
            revision=self.revision,
            status=self.cells.get("status") or RowStatus.TRACKED.value,
            agent=self.agent,
            at=self.at,
            history=past(self.cells.get("history", "")),
            **plain,
        )


class Sheet(msgspec.Struct, kw_only=True):
    """A whole board."""

    title: str | None = None
    lines: dict[str, Line] = msgspec.field(default_factory=lambda: defaultdict(Line))

    @property
    def archived(self) -> bool:
        """Whether it was put away."""
        return self.lines[""].cells.get(ARCHIVED) == YES

    def rows(self) -> list[Line]:
        """The rows on it that can be read, in the order in which they were first set."""
        found = [line for row, line in self.lines.items() if row and line.here]
        return sorted(
            (line for line in found if line.label is not None),
            key=lambda line: (line.first, line.label),
        )

    def board(self, title: str) -> Board:
        """Return it as it is told."""
        here = [line for row, line in self.lines.items() if row and line.here]
        shown = self.rows()
        return Board(
            title=title,
            archived=self.archived,
            rows=[line.row() for line in shown],
            erased=len(here) - len(shown),
        )

    def summary(self) -> Summary:
        """Return it as in a list."""
        statuses = [line.row().status for line in self.rows()]
        return Summary(
            title=self.title or "",
            archived=self.archived,
            rows=len(statuses),
            done=statuses.count(RowStatus.DONE.value),
            blocked=statuses.count(RowStatus.BLOCKED.value),
            at=max(line.at for line in self.lines.values()),
        )


def sheet(connection: sqlite3.Connection, board: str, project: str, fleet: bytes) -> Sheet | None:
    """Return a board by its key; None: nothing was ever set on it.

    Words that stand under keys that are not theirs are a peer's mistake, and not shown.
    """
    found = Sheet()
    for row, field, hlc, node, agent, at, text in connection.execute(
        "SELECT row, field, hlc, node, board_cell.agent, at, text FROM board_cell"
        " JOIN entry ON entry.hash = entry_hash"
        " WHERE board = ? AND project = ? AND board_cell.fleet = ? ORDER BY hlc, node",
        (board, project, fleet),
    ):
        line = found.lines[row]
        line.stamps.append((field, hlc, node))
        line.agent, line.at = agent, at
        line.first = line.first or hlc
        said = _words(text)
        if said is None or key(project, said.title, fleet=fleet) != board:
            continue
        found.title = said.title
        if row and key(project, said.title, said.label, fleet=fleet) != row:
            continue
        line.label = said.label
        line.cells |= {cell.field: cell.value for cell in said.cells if cell.field == field}
    return found if found.lines else None


def sheets(connection: sqlite3.Connection, project: str, fleet: bytes, most: int) -> list[Sheet]:
    """Return the boards of a project that can be read, the latest first."""
    keys = connection.execute(
        "SELECT board FROM board_cell WHERE project = ? AND fleet = ? GROUP BY board"
        " ORDER BY max(at) DESC LIMIT ?",
        (project, fleet, most),
    ).fetchall()
    found = [sheet(connection, board, project, fleet) for (board,) in keys]
    return [one for one in found if one is not None and one.title is not None]


def _words(text: bytes | None) -> BoardText | None:
    try:
        return read_text(BoardText, text)
    except BadEntry:
        return None
