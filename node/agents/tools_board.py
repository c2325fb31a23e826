"""The tools by which agents keep boards: what an effort consists of, and how each part stands."""

from typing import Annotated, Final

from msgspec import Meta

from node.agents.texts import quoted
from node.agents.tools import Tool, ToolCall
from node.desk.board_records import Board, Boards, Row, RowEdit, Written
from node.desk.requests import Request
from sync.decide.visible import visible_line

Title = Annotated[str, Meta(description="The board's title; it names the board in this project.")]


class UpsertArguments(Request, frozen=True, kw_only=True):
    """Arguments of `board_upsert`."""

    title: Title
    rows: Annotated[
        list[RowEdit],
        Meta(description="Rows to add or change. Rows that are not named stay as they are."),
    ]


class RowArguments(RowEdit, frozen=True, kw_only=True):
    """Arguments of `board_row` and `board_advance`."""

    title: Title


class GetArguments(Request, frozen=True, kw_only=True):
    """Arguments of `board_get`."""

    title: Annotated[
        str | None, Meta(description="The board's title; without it, the project's boards.")
    ] = None


class ArchiveArguments(Request, frozen=True, kw_only=True):
    """Arguments of `board_archive`."""

    title: Title
    archived: Annotated[bool, Meta(description="False takes it out again.")] = True


async def upsert(call: ToolCall, arguments: UpsertArguments) -> Written:
    """Set several rows."""
    return await call.agents.board_upsert(
        call.who, arguments.title, arguments.rows, request=call.request
    )


async def row(call: ToolCall, arguments: RowArguments) -> Written:
    """Set one row."""
    return await call.agents.board_upsert(
        call.who, arguments.title, [arguments], request=call.request
    )


async def advance(call: ToolCall, arguments: RowArguments) -> Written:
    """Put a row's next step in place."""
    return await call.agents.board_advance(
        call.who, arguments.title, arguments, request=call.request
    )


async def get(call: ToolCall, arguments: GetArguments) -> Boards:
    """Look at boards."""
    return await call.agents.board_get(call.who, arguments.title)


async def archive(call: ToolCall, arguments: ArchiveArguments) -> Board:
    """Put a board away."""
    return await call.agents.board_archive(call.who, arguments.title, archived=arguments.archived)


def say_written(done: Written) -> str:
    """What a write says: the new revisions, or why nothing was recorded."""
    if done.ok:
        rows = ", ".join(f"{quoted(one.label)} is at {one.revision}" for one in done.rows)
        return f"Recorded on {quoted(done.title)}. {rows}".rstrip()
    lines = [
        f"{quoted(one.label)}: {one.why}" + (f" Now: {say_row(one.row)}" if one.row else "")
        for one in done.conflicts
    ]
    return "Nothing was recorded.\n" + "\n".join(lines)


def say_row(one: Row) -> str:
    """One row in a line."""
    parts = [f"[{one.status}] {quoted(one.label)} ({one.revision})"]
    parts += [f"note {quoted(one.note)}"] if one.note else []
    parts += [f"next {quoted(one.next_step)}"] if one.next_step else []
    parts += [f"outcome {quoted(one.outcome)}"] if one.outcome else []
    return visible_line("; ".join(parts))


def say_boards(found: Boards) -> str:
    """A board row by row, or one line for each board."""
    if found.board is not None:
        return say_board(found.board)
    if not found.boards:
        return "This project has no boards."
    return "\n".join(
        visible_line(
            f"{quoted(one.title)}: {one.done} of {one.rows} done, {one.blocked} blocked"
            f"{' (archived)' if one.archived else ''}"
        )
        for one in found.boards
    )


def say_board(board: Board) -> str:
    """A board row by row."""
    head = visible_line(f"{quoted(board.title)}{' (archived)' if board.archived else ''}")
    gone = [f"{board.erased} rows were erased."] if board.erased else []
    return "\n".join([head, *(say_row(one) for one in board.rows), *gone])


TOOLS: Final = [
    Tool(
        name="board_upsert",
        title="Keep a board",
        description=(
            "Make a board of an effort, or set several of its rows at once: recorded whole or not "
            "at all. Rows and fields you leave out stay as they are. To change a row, name its "
            "revision; if it has moved on, it comes back as it stands and nothing is recorded."
        ),
        arguments=UpsertArguments,
        reply=Written,
        run=upsert,
        say=say_written,
    ),
    Tool(
        name="board_row",
        title="Set one row of a board",
        description=(
            "Add or change one row; the reply has its new revision, which the next change names. "
            "One ask on one surface: what a row says is blocked is not raised with `flag` as well."
        ),
        arguments=RowArguments,
        reply=Written,
        run=row,
        say=say_written,
    ),
    Tool(
        name="board_advance",
        title="Next step of a row",
        description=(
            "Put the next step a person has to do in place of the one that is over: that one goes "
            "into the row's history, and the row is blocked again."
        ),
        arguments=RowArguments,
        reply=Written,
        run=advance,
        say=say_written,
    ),
    Tool(
        name="board_get",
        title="Look at boards",
        description=(
            "Show a board with its rows and their revisions, or list the project's boards. What "
            "stands on it was written by agents of this project. Changes nothing."
        ),
        arguments=GetArguments,
        reply=Boards,
        run=get,
        say=say_boards,
        reads_only=True,
    ),
    Tool(
        name="board_archive",
        title="Put a board away",
        description=(
            "Put a board away that is over, or take it out again. Nothing on it is deleted, and "
            "it can still be read by its title."
        ),
        arguments=ArchiveArguments,
        reply=Board,
        run=archive,
        say=say_board,
    ),
]
