"""How a command ends when it cannot do what was asked: a sentence, a hint, an exit code."""

import json
from typing import IO, Any, Final

import click

from node.bridge.client import NodeAway, Refused
from sync.decide.visible import visible
from sync.errors import AskmeshError

REFUSED: Final = 1
"""Refused, denied or failed."""
USAGE: Final = 2
AWAY: Final = 3
"""The node could not be reached; nothing was recorded."""
KEPT: Final = 4
"""Kept, or still waiting: it is recorded and not decided yet."""

JSON_META: Final = "askmesh.json"
"""Where the contexts of one command note that `--json` was given."""


class Stop(click.ClickException):
    """The command cannot go on: what happened, what to do, and the exit code for it."""

    def __init__(
        self, sentence: str, *, hint: str = "", exit_code: int = REFUSED, code: str = "failed"
    ) -> None:
        super().__init__(sentence)
        self.hint = hint
        self.exit_code = exit_code  # type: ignore[misc]  # click reads it from the instance
        self.code = code
        self.as_json = False
        self.more: dict[str, Any] = {}

    def show(self, file: IO[Any] | None = None) -> None:
        """Write the sentence and the hint to standard error; with `--json` an error object too."""
        if self.as_json:
            error = {"code": self.code, "message": self.message, "hint": self.hint}
            click.echo(json.dumps({"error": error | self.more}))
        click.echo(f"askmesh: {visible(self.message)}", file=file, err=True)
        if self.hint:
            click.echo(f"  {visible(self.hint)}", file=file, err=True)


def stop_for(error: Exception) -> Stop:
    """The `Stop` that says what a foreseen error means to the person at the terminal."""
    if isinstance(error, Stop):
        return error
    if isinstance(error, NodeAway):
        return _away(error)
    if isinstance(error, Refused):
        return Stop(error.message, hint=error.hint, code=error.code)
    if isinstance(error, AskmeshError):
        return Stop(error.sentence, hint=error.hint, code=error.code)
    if isinstance(error, OSError) and error.filename:
        hint = "Check that the file or folder is there, is yours, and that the disk has room."
        return Stop(f"{error.filename}: {error.strerror}.", hint=hint)
    raise error


def _away(error: NodeAway) -> Stop:
    hint = error.hint or "Start it with `askmesh up`, or look with `askmesh doctor`."
    if error.sent:
        hint = (
            "Whether it was carried out is not known: look with `askmesh list`, "
            f"then try again. {error.hint}".rstrip()
        )
    return Stop(error.sentence, hint=hint, exit_code=AWAY, code="node_away")
