"""What is asked and told of boards: records of the agent routes and of the MCP tools."""

from typing import Annotated, Literal

from msgspec import Meta, field

from node.desk.requests import Reply, Request

Status = Literal["done", "partial", "missing", "tracked", "na", "blocked"]
Owner = Literal["decision", "task", "approval"]


class RowEdit(Request, frozen=True, kw_only=True):
    """One row as it is to be. What is left out stays as it is."""

    label: Annotated[str, Meta(description="What the row is about; it names the row.")]
    revision: Annotated[
        str | None,
        Meta(description="Of the row as you saw it; only a new row needs none."),
    ] = None
    status: Annotated[
        Status | None,
        Meta(
            description="blocked: a person has to do something. A failing test is not that: it is"
            " partial."
        ),
    ] = None
    note: Annotated[str | None, Meta(description="How it stands, in a sentence.")] = None
    next_step: Annotated[
        str | None, Meta(description="What comes next; of a blocked row: what the person does.")
    ] = None
    action_owner: Annotated[
        Owner | None,
        Meta(description="blocked: what the person does: decide, do a task, approve."),
    ] = None
    impact: Annotated[str | None, Meta(description="Why it matters now.")] = None
    outcome: Annotated[str | None, Meta(description="What came of it.")] = None
    context: Annotated[str | None, Meta(description="Background for whoever was not here.")] = None
    remove: Annotated[bool, Meta(description="Take the row off the board.")] = False


class Row(Reply, frozen=True, kw_only=True):
    """A row as it stands."""

    label: str
    revision: str
    status: str = "tracked"
    note: str = ""
    next_step: str = ""
    action_owner: str = ""
    impact: str = ""
    outcome: str = ""
    context: str = ""
    agent: str
    """Who set it last."""
    at: int
    history: list[dict[str, str]] = field(default_factory=list)
    """Earlier steps, the oldest first."""


class Clash(Reply, frozen=True, kw_only=True):
    """A row that was not set, and why; `row` is how it stands now (null: there is none)."""

    label: str
    why: str
    row: Row | None


class Written(Reply, frozen=True, kw_only=True):
    """What became of a write: all of it was recorded, or, with `conflicts`, nothing."""

    ok: bool
    title: str
    rows: list[Row] = field(default_factory=list)
    """Those that were set, with their new revisions."""
    conflicts: list[Clash] = field(default_factory=list)


class Board(Reply, frozen=True, kw_only=True):
    """A board with its rows, in the order in which they were first set."""

    title: str
    archived: bool
    rows: list[Row]
    erased: int = 0
    """Rows whose words are gone."""


class Summary(Reply, frozen=True, kw_only=True):
    """A board in a list."""

    title: str
    archived: bool
    rows: int
    done: int
    blocked: int
    at: int
    """When anything on it was set last."""


class Boards(Reply, frozen=True, kw_only=True):
    """One board, or the project's boards."""

    board: Board | None = None
    boards: list[Summary] = field(default_factory=list)
