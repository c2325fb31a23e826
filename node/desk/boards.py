"""Boards of a project: agents set rows, each edit against the row's revision alone.

A write is recorded whole or, where a row has moved on, not at all; then the rows come back
as they stand. Nothing here asks, answers or closes anything.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence

from node import limits
from node.desk.board_records import Board, Boards, Clash, Row, RowEdit, Written
from node.desk.board_rows import YES, Line, Sheet, sheet, sheets
from node.desk.context import Context
from node.desk.replies import check_same_call, name, recall, remember
from node.desk.requests import Asker
from node.desk.sending import MinutePace
from node.desk.sessions import hear
from node.store.erasing import BOARD
from node.store.transaction import Transaction
from sync.decide.board import (
    ACTION,
    ARCHIVED,
    REMOVED,
    RowStatus,
    advanced,
    check_blocked,
    check_row,
    check_title,
    key,
)
from sync.errors import Invalid, NotFound, TooMany
from sync.log.board_facts import BoardFacts, BoardText, Cell
from sync.log.kinds import EntryType

CELLS = ("status", "note", "next_step", "action_owner", "impact", "outcome", "context")
Change = Callable[[RowEdit, Line], dict[str, str]]
"""The cells that an edit sets on a row as it stands."""


class BoardDesk:
    """What an agent can do with the boards of its project."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._pace = MinutePace(
            limits.BOARD_WRITES_PER_MINUTE,
            asyncio.get_running_loop().time,
            "set {most} rows",
            "Set them together, and only when something has changed.",
        )

    async def upsert(
        self, who: Asker, title: str, rows: Sequence[RowEdit], *, request: str
    ) -> Written:
        """Make a board, or set several rows of one; rows that are not named stay."""
        if not 0 < len(rows) <= limits.BOARD_ROWS:
            raise Invalid(
                f"{len(rows)} rows were given.", hint=f"Give 1 to {limits.BOARD_ROWS} of them."
            )
        if len({" ".join(one.label.split()) for one in rows}) != len(rows):
            raise Invalid("Two rows have the same label.", hint="A label names one row.")
        return await self._write(who, title, rows, _set, request=request)

    async def advance(self, who: Asker, title: str, step: RowEdit, *, request: str) -> Written:
        """Put a row's next step in place of the one that is over, which goes into its history."""
        return await self._write(who, title, [step], _advance, request=request)

    async def get(self, who: Asker, title: str | None) -> Boards:
        """One board, or (None) the project's boards. Changes nothing."""
        fleet = self._context.identity.fleet

        def read(connection: sqlite3.Connection) -> Boards:
            if title is None:
                found = sheets(connection, who.project, fleet, limits.BOARDS_SHOWN)
                return Boards(boards=[one.summary() for one in found])
            return Boards(board=self._sheet(connection, who, title).board(title))

        return await self._context.reader.run(read)

    async def archive(self, who: Asker, title: str, *, archived: bool) -> Board:
        """Put a board away, or take it out again. Its rows stay as they are."""

        def job(transaction: Transaction) -> Board:
            hear(transaction, who)
            found = self._sheet(transaction.connection, who, title)
            if found.archived != archived:
                self._append(transaction, who, title, "", {ARCHIVED: YES if archived else ""})
            return self._sheet(transaction.connection, who, title).board(title)

        self._pace.check(who.session)
        return await self._context.writer.run("board", job)

    def _sheet(self, connection: sqlite3.Connection, who: Asker, title: str) -> Sheet:
        fleet = self._context.identity.fleet
        board = key(who.project, title, fleet=fleet)
        found = sheet(connection, board, who.project, fleet)
        if found is None:
            raise NotFound(
                f"There is no board {title[:80]!r} in this project.",
                hint="Without a title, those there are are listed.",
                tool="board_get",
            )
        return found

    async def _write(
        self, who: Asker, title: str, rows: Sequence[RowEdit], change: Change, *, request: str
    ) -> Written:
        check_title(title)
        for one in rows:
            check_row(one.label, _given(one))
        stored = name("board", who.session, request)
        for _ in rows:
            self._pace.check(who.session)

        def job(transaction: Transaction) -> Written:
            known = recall(transaction, stored, Written)
            if known is not None:
                check_same_call(known.title, title)
                return known
            hear(transaction, who)
            written = self._apply(transaction, who, title, rows, change)
            if written.ok:
                board = key(who.project, title, fleet=transaction.identity.fleet)
                remember(transaction, stored, written, f"{BOARD}{board}")
            return written

        return await self._context.writer.run("board", job)

    def _apply(
        self,
        transaction: Transaction,
        who: Asker,
        title: str,
        rows: Sequence[RowEdit],
        change: Change,
    ) -> Written:
        fleet = transaction.identity.fleet
        board = key(who.project, title, fleet=fleet)
        found = sheet(transaction.connection, board, who.project, fleet) or Sheet()
        at = {one.label: key(who.project, title, one.label, fleet=fleet) for one in rows}
        lines = {one.label: found.lines.get(at[one.label]) or Line() for one in rows}
        clashes = [clash for one in rows if (clash := _clash(one, lines[one.label])) is not None]
        if clashes:
            return Written(ok=False, title=title, conflicts=clashes)
        fresh = sum(not line.here for line in lines.values())
        if len(found.rows()) + fresh > limits.BOARD_ROWS:
            raise TooMany(
                f"A board has {limits.BOARD_ROWS} rows at most; nothing was recorded.",
                hint="Remove rows that are over (`remove`), or begin another board.",
            )
        for one in rows:
            cells = change(one, lines[one.label])
            check_blocked({**lines[one.label].cells, **cells})
            if cells:
                self._append(transaction, who, title, one.label, cells)
        after = sheet(transaction.connection, board, who.project, fleet) or Sheet()
        done = [after.lines[at[one.label]] for one in rows]
        return Written(ok=True, title=title, rows=[line.row() for line in done if line.here])

    def _append(
        self, transaction: Transaction, who: Asker, title: str, label: str, cells: dict[str, str]
    ) -> None:
        fleet = transaction.identity.fleet
        board = key(who.project, title, fleet=fleet)
        transaction.append(
            EntryType.BOARD,
            BoardFacts(
                board=board,
                row=key(who.project, title, label, fleet=fleet) if label else "",
                project=who.project,
                fields=sorted(cells),
                agent=who.agent,
                session=who.session,
                at=transaction.now,
            ),
            BoardText(
                title=title,
                label=label,
                cells=[Cell(field=field, value=cells[field]) for field in sorted(cells)],
            ),
        )
        transaction.change("board", board)


def _given(edit: RowEdit) -> dict[str, str]:
    """The cells that an edit names."""
    named = {field: getattr(edit, field) for field in CELLS}
    return {field: value for field, value in named.items() if value is not None}


def _clash(edit: RowEdit, line: Line) -> Clash | None:
    """Why an edit cannot be made on a row as it stands; None: it can."""
    row: Row | None = line.row() if line.here else None
    if row is None:
        if edit.revision is None or (line.stamps and edit.revision == line.revision):
            return None
        why = "It was removed." if line.stamps else "There is no such row."
        return Clash(label=edit.label, why=why, row=None)
    if edit.revision == row.revision:
        return None
    why = (
        "It is there already: name its revision."
        if edit.revision is None
        else "It has moved on since you saw it."
    )
    return Clash(label=edit.label, why=f"{why} Look at it before you write.", row=row)


def _set(edit: RowEdit, line: Line) -> dict[str, str]:
    cells = _given(edit)
    if edit.remove:
        return {REMOVED: YES}
    if not line.here:
        # A row that was removed begins anew.
        blank = dict.fromkeys((*CELLS, "history"), "") if line.stamps else {}
        removed = {REMOVED: ""} if line.stamps else {}
        # Never set again: it keeps the row in its place.
        made = {} if line.stamps else {"made": ""}
        return {**blank, **made, "status": RowStatus.TRACKED.value, **cells, **removed}
    return cells


def _advance(edit: RowEdit, line: Line) -> dict[str, str]:
    if not line.here:
        raise NotFound(
            f"There is no row {edit.label[:80]!r} to advance.",
            hint="Set it first.",
            tool="board_row",
        )
    over = advanced(line.cells.get("history", ""), line.cells)
    blank = dict.fromkeys(ACTION, "")
    return {**blank, "status": RowStatus.BLOCKED.value, **_given(edit), "history": over}
