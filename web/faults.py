"""Logging what should not have happened, without anything that a request brought along."""

import logging
import traceback
from typing import Final

CAUSES: Final = 8
"""Causes of one error that are named; a chain may even be a circle."""

_log: Final = logging.getLogger("askmesh.web")


def report(route: str, error: BaseException) -> None:
    """Log where an unexpected error came from: kinds and places, no messages, no values.

    The message of an error may quote what was sent: a passphrase, a cookie, an ask.
    """
    kinds: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(kinds) < CAUSES:
        kinds.append(type(cause).__qualname__)
        cause = cause.__cause__ or cause.__context__
    places = "".join(traceback.format_tb(error.__traceback__))
    _log.error("%s failed inside: %s\n%s", route, " from ".join(kinds), places)


class WithoutContent(logging.Filter):
    """Takes the content out of what the HTTP server logs: it quotes headers it cannot read."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the record, with the kind of its error in place of message and traceback."""
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        record.msg = "the page's listener: %s"
        record.args = (type(error).__qualname__ if error is not None else "a fault",)
        record.exc_info = record.exc_text = None
        return True
