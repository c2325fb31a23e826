"""What an entry says of a board: cells of one row, or of the board itself (`sync.decide.board`)."""

from sync.log.parts import Part


class BoardFacts(Part, frozen=True, kw_only=True):
    """Cells that are set: the words are in the text. Of each cell the last writer counts.

    `board` and `row` are made of the title and the label, so that machines that make the same
    one apart from each other make one; `row` empty: cells of the board itself.
    """

    board: str
    project: str
    fields: list[str]
    row: str = ""
    agent: str
    session: str
    at: int


class Cell(Part, frozen=True, kw_only=True):
    """One cell: its field, and what stands in it."""

    field: str
    value: str


class BoardText(Part, frozen=True, kw_only=True):
    """The words of these cells, with what the board and the row are called."""

    title: str
    label: str = ""
    cells: list[Cell] = []
