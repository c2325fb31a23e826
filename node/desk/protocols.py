"""What the agent routes and the gate need of the node, as Protocols.

The implementations are `node.desk.agents.AgentDesk` and `node.desk.gate.GateDesk`.
Nothing here can answer or grant: a person's routes are in `web.desk`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Literal, Protocol

import msgspec

from node.desk.board_records import Board, Boards, RowEdit, Written
from node.desk.message_records import Acknowledged, Inbox, Sending, Sent
from node.desk.requests import Answer, Asker, Flag, Flagged, PendingRow, Whoami
from node.gate.call import Call
from node.gate.law import Ruled
from node.gate.rules import Match

Progress = Callable[[float], Awaitable[None]]
"""Told the seconds since the ask was raised, rising over a restart of the node."""


class Agents(Protocol):
    """The tools of an agent.

    `request` is the caller's request id: a retry under the same id returns the first
    reply and does nothing again.
    """

    async def flag(self, who: Asker, flag: Flag, *, request: str) -> Flagged:
        """Record an ask, or return the one already open or recorded under the key."""
        ...

    async def await_answer(
        self, who: Asker, ask_id: str, *, wait_s: float, request: str, progress: Progress | None
    ) -> Answer:
        """Wait for the final and take the hand-over; `waiting` when the time is over."""
        ...

    async def pending(self, who: Asker, *, everything: bool = False) -> list[PendingRow]:
        """The open and unresolved rows of the caller's project, oldest first."""
        ...

    async def claim(self, who: Asker, ask_id: str, *, take_over: bool, request: str) -> Answer:
        """Take over a question's answer of the same project, under a higher token."""
        ...

    async def resolve(
        self, who: Asker, ask_id: str, *, token: int | None, outcome: str, ok: bool, request: str
    ) -> Answer:
        """State what came of an answer. A token that is not the live one is refused."""
        ...

    async def withdraw(self, who: Asker, ask_id: str, *, reason: str, request: str) -> Answer:
        """Close the caller's own open ask."""
        ...

    async def status(self, who: Asker, text: str) -> None:
        """What the session is doing, in its own words; shown, never judged."""
        ...

    async def whoami(self, who: Asker) -> Whoami:
        """How the node sees the caller."""
        ...

    async def send(self, who: Asker, wanted: Sending, *, request: str) -> Sent:
        """Record a message to agents of the caller's project."""
        ...

    async def inbox(
        self,
        who: Asker,
        *,
        sent: bool,
        thread: str | None,
        wait_s: float,
        progress: Progress | None,
    ) -> Inbox:
        """What waits for the caller (or what it sent, or one talk). Marks nothing."""
        ...

    async def hand(self, who: Asker, *, most: int) -> Inbox:
        """Give the caller what waits and no other living session has: handed, not over."""
        ...

    async def ack(self, who: Asker, ids: Sequence[str]) -> Acknowledged:
        """Say that messages to the caller are over: all that are named, or none."""
        ...

    async def board_upsert(
        self, who: Asker, title: str, rows: Sequence[RowEdit], *, request: str
    ) -> Written:
        """Make a board of the caller's project, or set rows of it: all of them, or none."""
        ...

    async def board_advance(
        self, who: Asker, title: str, step: RowEdit, *, request: str
    ) -> Written:
        """Put a row's next step in place of the one that is over."""
        ...

    async def board_get(self, who: Asker, title: str | None) -> Boards:
        """One board, or the project's boards."""
        ...

    async def board_archive(self, who: Asker, title: str, *, archived: bool) -> Board:
        """Put a board away, or take it out again."""
        ...

    async def listing(
        self, who: Asker, *, closed: bool, project: str | None
    ) -> list[dict[str, Any]]:
        """Rows for `askmesh list`: `web.views.AskView` as JSON objects, newest first."""
        ...

    async def show(self, who: Asker, ask_id: str) -> dict[str, Any]:
        """One ask for `askmesh show`: `web.views.AskDetail` as a JSON object."""
        ...

    async def report(self, who: Asker) -> list[dict[str, Any]]:
        """For `askmesh agent report`: `web.views.AgentCount` as JSON objects."""
        ...

    async def node_status(self, who: Asker) -> dict[str, Any]:
        """For `askmesh status`: node, ports, persons signed in or not, counts, sessions, rules."""
        ...

    def watch(self, who: Asker, since: int | None) -> AsyncIterator[dict[str, Any] | None]:
        """For `askmesh watch`: `web.views.Change` as JSON objects (as `web.desk.changes`)."""
        ...

    async def heard(self, who: Asker) -> None:
        """Note that the session is alive; renews the lease of what it holds."""
        ...


class GateHold(msgspec.Struct, frozen=True, kw_only=True):
    """A call held by a hook until a person decided."""

    who: Asker
    call: Call
    match: Match | None
    """The `ask` rule that holds it; None: the host itself would have asked."""
    version: str | None = None
    """Of the rules it was held against."""
    stage: Literal["pre", "permission"]
    invocation: str
    """A random secret of this one hook process, the same when it reconnects."""
    tool_use_id: str | None
    hold_s: float


class GateVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate is to print."""

    allow: bool
    sentence: str
    """For the agent: who decided and why, or what to do next."""
    ask: str | None
    """Short id."""
    printed_not_decided: bool = False


class Gate(Protocol):
    """What the gate needs: asks that it alone may pick up."""

    async def judge(self, who: Asker, call: Call) -> Ruled:
        """What all rules over the call say: the fleet's, its repository's, under each name."""
        ...

    async def hold(self, hold: GateHold) -> GateVerdict:
        """Pick up a verdict by session and digest, or raise an ask and hold.

        Cancelling this (the hook's connection is gone) marks the gate as vanished.
        """
        ...

    async def handed_before(self, who: Asker, call: Call) -> bool:
        """Whether this call was handed over at `pre` and not yet asked at `permission`.

        True at most once for each hand-over.
        """
        ...

    async def tool_use(self, who: Asker, call: Call, tool_use_id: str) -> None:
        """Remember the id the host gave this call (a later `permission` has none)."""
        ...

    async def tool_done(self, who: Asker, tool_use_id: str, *, ok: bool, text: str) -> None:
        """The host ran the call: resolves the hand-over; closes an ask settled there."""
        ...

    async def session_event(self, who: Asker, event: str) -> None:
        """A hook of the session ran: gate in force; closes what was settled at the agent."""
        ...
