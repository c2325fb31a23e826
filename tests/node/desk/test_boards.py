"""Boards: edits against a row's revision, machines that write apart, nothing lost by omission."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from node import limits
from node.desk.board_records import Board, Row, RowEdit, Written
from node.desk.boards import BoardDesk
from node.desk.requests import Asker
from node.store import derive
from node.store.transaction import Transaction
from sync.decide.board import key
from sync.errors import Conflict, Invalid, NotFound, TooMany
from sync.log.board_facts import BoardFacts, BoardText, Cell
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine

TITLE = "Release 4"
CLAUDE = Asker(agent="claude", session="s-1", project="example.org/shop", cwd="/")
BLOCKED = {
    "status": "blocked", "note": "two keys exist", "next_step": "Choose one",
    "action_owner": "decision",
}  # fmt: skip


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "desk", "laptop") as made:
        yield made


class Keeper:
    """An agent on one machine, with its boards."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.desk = BoardDesk(machine.context)

    async def set(self, *rows: RowEdit, request: str = "", title: str = TITLE) -> Written:
        return await self.desk.upsert(CLAUDE, title, rows, request=request)

    async def board(self) -> Board:
        found = (await self.desk.get(CLAUDE, TITLE)).board
        assert found is not None
        return found

    async def rows(self) -> dict[str, Row]:
        return {row.label: row for row in (await self.board()).rows}


@pytest.fixture
async def desk(fleet: Fleet) -> Keeper:
    return Keeper(fleet["desk"])


def edit(label: str, revision: str | None = None, **cells: object) -> RowEdit:
    return RowEdit(label=label, revision=revision, **cells)  # type: ignore[arg-type]


async def test_a_write_returns_the_revision_that_the_next_one_names(desk: Keeper) -> None:
    made = await desk.set(edit("docs"), edit("code", status="partial", note="half"))
    assert made.ok
    assert [(row.label, row.status) for row in made.rows] == [
        ("docs", "tracked"), ("code", "partial"),
    ]  # fmt: skip
    docs, code = made.rows
    # An edit of one row says nothing about the other.
    again = await desk.set(edit("code", code.revision, status="done", outcome="merged"))
    assert again.rows[0].note == "half"
    assert again.rows[0].revision != code.revision
    assert (await desk.set(edit("docs", docs.revision, status="missing"))).ok
    assert list(await desk.rows()) == ["docs", "code"]


async def test_a_row_that_moved_on_comes_back_and_nothing_is_recorded(desk: Keeper) -> None:
    (first,) = (await desk.set(edit("docs"))).rows
    await desk.set(edit("docs", first.revision, note="newer"))
    before = await desk.machine.entries(EntryType.BOARD)
    for stale in (first.revision, None, "nonsense"):
        refused = await desk.set(edit("other"), edit("docs", stale, note="mine"))
        assert (refused.ok, refused.rows) == (False, [])
        (clash,) = refused.conflicts
        assert clash.row is not None
        assert (clash.label, clash.row.note) == ("docs", "newer")
    (none,) = (await desk.set(edit("unknown", "a1"))).conflicts
    assert (none.row, "no such row" in none.why) == (None, True)
    assert await desk.machine.entries(EntryType.BOARD) == before
    now = (await desk.rows())["docs"]
    assert now == clash.row
    assert (await desk.set(edit("docs", now.revision, note="mine"))).ok


async def test_leaving_out_deletes_nothing_and_removing_does(desk: Keeper) -> None:
    docs, _ = (await desk.set(edit("docs", note="keep me", context="long"), edit("code"))).rows
    await desk.set(edit("tests"))
    assert list(await desk.rows()) == ["docs", "code", "tests"]
    gone = await desk.set(edit("docs", docs.revision, remove=True))
    assert (gone.ok, gone.rows) == (True, [])
    assert list(await desk.rows()) == ["code", "tests"]
    back = (await desk.set(edit("docs"))).rows[0]
    # It begins anew: what stood there was taken off.
    assert (back.note, back.context) == ("", "")
    assert list(await desk.rows()) == ["docs", "code", "tests"]


async def test_machines_that_write_apart_keep_each_others_cells(fleet: Fleet, desk: Keeper) -> None:
    laptop = Keeper(fleet["laptop"])
    await desk.set(edit("docs", note="from the desk"), edit("mine"))
    await laptop.set(edit("docs", status="partial"), edit("yours"))
    await fleet.meet_all()
    assert set(await desk.rows()) == {"docs", "mine", "yours"}
    assert await desk.rows() == await laptop.rows()
    docs = (await desk.rows())["docs"]
    assert docs.note == "from the desk"
    # Of one cell the last writer counts, on both alike.
    fleet.advance(10)
    await desk.set(edit("docs", docs.revision, outcome="desk"))
    fleet.advance(10)
    await laptop.set(edit("docs", docs.revision, outcome="laptop"))
    await fleet.meet_all()
    assert [(await one.rows())["docs"].outcome for one in (desk, laptop)] == ["laptop"] * 2
    assert await desk.rows() == await laptop.rows()
    for one in (desk, laptop):
        before = await one.rows()
        await one.machine.writer.run("again", lambda job: derive.rebuild_in_place(job.connection))
        assert await one.rows() == before


async def test_the_next_step_puts_the_last_one_into_the_history(desk: Keeper) -> None:
    (row,) = (await desk.set(edit("keys", **BLOCKED, context="why"))).rows
    step = edit("keys", row.revision, note="chosen", next_step="Revoke", action_owner="task")
    done = await desk.desk.advance(CLAUDE, TITLE, step, request="r")
    assert done == await desk.desk.advance(CLAUDE, TITLE, step, request="r")
    (after,) = done.rows
    assert (after.status, after.note, after.impact, after.context) == (
        "blocked",
        "chosen",
        "",
        "why",
    )
    assert after.history == [
        {"note": "two keys exist", "next_step": "Choose one", "action_owner": "decision"}
    ]
    stale = await desk.desk.advance(CLAUDE, TITLE, step, request="other")
    assert not stale.ok
    with pytest.raises(NotFound):
        await desk.desk.advance(CLAUDE, TITLE, edit("nothing"), request="")


async def test_misuse_is_refused_with_what_is_right(desk: Keeper) -> None:
    for rows, title, word in (
        ([], TITLE, "0 rows"),
        ([edit("a"), edit(" a ")], TITLE, "same label"),
        ([edit("")], TITLE, "label is empty"),
        ([edit("a", note="x" * 241)], TITLE, "at most 240"),
        ([edit("a", status="blocked")], TITLE, "blocked row needs `note`, `next_step`"),
        ([edit("a")], " ", "title is empty"),
    ):
        with pytest.raises(Invalid, match=word):
            await desk.set(*rows, title=title)
    with pytest.raises(NotFound, match="no board"):
        await desk.desk.get(CLAUDE, "nothing")
    await desk.set(edit("a"), request="r1")
    with pytest.raises(Conflict):
        await desk.set(edit("a"), request="r1", title="other")
    assert await desk.machine.entries(EntryType.BOARD) == 1


async def test_a_board_is_put_away_and_taken_out(desk: Keeper) -> None:
    await desk.set(edit("a", status="done"), edit("b", **BLOCKED))
    for archived in (True, True, False):
        assert (await desk.desk.archive(CLAUDE, TITLE, archived=archived)).archived is archived
    (listed,) = (await desk.desk.get(CLAUDE, None)).boards
    assert (listed.title, listed.rows, listed.done, listed.blocked) == (TITLE, 2, 1, 1)
    other = Asker(agent="claude", session="s-1", project="elsewhere", cwd="/")
    assert (await desk.desk.get(other, None)).boards == []


async def test_a_board_has_so_many_rows(desk: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BOARD_ROWS", 2)
    made = await desk.set(edit("a"), edit("b"))
    with pytest.raises(TooMany, match="2 rows at most"):
        await desk.set(edit("c"))
    await desk.set(edit("a", made.rows[0].revision, remove=True))
    assert (await desk.set(edit("c"))).ok


def forge(transaction: Transaction, *, facts: BoardFacts, text: BoardText) -> None:
    transaction.append(EntryType.BOARD, facts, text)


async def test_what_a_peer_puts_under_foreign_keys_is_not_shown(desk: Keeper) -> None:
    await desk.set(edit("docs"))
    fleet, project = desk.machine.identity.fleet, CLAUDE.project
    board = key(project, TITLE, fleet=fleet)
    for row, title, label in (("1" * 32, TITLE, "docs"), ("2" * 32, "x", "y"), ("", "x", "")):
        facts = BoardFacts(
            board=board, row=row, project=project, fields=["status"], agent="e", session="s", at=1
        )
        text = BoardText(title=title, label=label, cells=[Cell(field="status", value="done")])
        await desk.machine.writer.run("forge", partial(forge, facts=facts, text=text))
    assert [(row.label, row.status) for row in (await desk.board()).rows] == [("docs", "tracked")]
    assert (await desk.board()).erased == 2
