"""Letters between machines: signed, small, not stored; `node.process` wires them to links."""

from typing import Any, Protocol


class Post(Protocol):
    """Sends letters; what is received is passed to `SignIns.letter`."""

    async def send(self, to: str | None, kind: str, body: dict[str, Any]) -> bool:
        """Send a letter to a machine by its full id, or (None) to every other one.

        Return whether at least one link took it; that says nothing of its arrival.
        """
        ...


class NoPost:
    """No other machine can be reached."""

    async def send(self, to: str | None, kind: str, body: dict[str, Any]) -> bool:  # noqa: ARG002 -- alone
        """Nobody takes it."""
        return False
