"""What an agent may ask of the node, and what it is told: records of the agent routes.

The same records serve the MCP tools, the socket's HTTP routes and the command line.
"""

from typing import Any, Literal

import msgspec

Kind = Literal["question", "approval", "note", "done"]
AnswerState = Literal[
    "waiting",
    "allowed",
    "denied",
    "answered",
    "declined",
    "expired",
    "withdrawn",
    "void",
    "posted",
]
"""`posted`: a note or a result, which nobody answers. `void`: see `reason`."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of what comes in: an unknown field is a mistake and is refused."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what goes out."""


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks: claims of the client, but for `uid` and `pid`, which the kernel states."""

    agent: str
    session: str
    project: str
    """Canonical id of the repository, or the folder when there is none."""
    cwd: str
    branch: str | None = None
    client: str | None = None
    """The MCP client's own name."""
    pid: int = 0
    uid: int = -1


class OptionRequest(Request, frozen=True, kw_only=True):
    """One choice; `label` must stand alone (it becomes a button)."""

    label: str
    detail: str = ""


class Flag(Request, frozen=True, kw_only=True):
    """Raise an ask."""

    kind: Kind
    title: str
    detail: str = ""
    options: list[OptionRequest] = []
    call: Any = None
    """Approval: the exact call as `{"tool": name, "arguments": {...}}`."""
    deadline_s: float | None = None
    fallback: str | None = None
    """Question: what the agent will do itself when nobody answers in time."""
    key: str | None = None
    """Idempotency key: the same session and key give the same ask."""


class Flagged(Reply, frozen=True, kw_only=True):
    """An ask is recorded."""

    id: str
    """Short id, e.g. `k7qf-142`."""
    full_id: str
    state: AnswerState
    already_open: bool = False
    reach: int = 0
    """How many people could answer now."""
    reach_reason: str | None = None
    """Why nobody could, when `reach` is 0."""
    deadline: int | None = None
    needed: int = 1
    """How many people must allow an approval."""
    role: str | None = None
    """The role that those must have."""


class Answer(Reply, frozen=True, kw_only=True):
    """Where an ask stands, and the answer once it was handed over to this session."""

    id: str
    full_id: str
    kind: Kind
    title: str
    state: AnswerState
    token: int | None = None
    """Of the hand-over; `resolve` names it."""
    choice: str | None = None
    """The chosen option's label."""
    text: str | None = None
    because: str | None = None
    by: str | None = None
    """The person's name."""
    fallback: str | None = None
    """With `expired`: the asker's own fallback, not anyone's answer."""
    reason: str | None = None
    resolved: bool = False
    reach: int = 0
    reach_reason: str | None = None
    unclear: bool = False
    """With `denied` or `declined`: sent back as not understood; ask again, better."""
    counted: int = 0
    """While waiting: how many of `needed` allowed it so far. Who they are is not told."""
    needed: int = 1
    role: str | None = None


class PendingRow(Reply, frozen=True, kw_only=True):
    """One row of the caller's project."""

    id: str
    full_id: str
    kind: Kind
    title: str
    state: AnswerState
    agent: str
    session: str
    mine: bool
    """Raised by the calling session."""
    handed_to: str | None
    resolved: bool
    created: int
    deadline: int | None
    counted: int = 0
    needed: int = 1
    role: str | None = None
    unclear: bool = False


class Child(Request, frozen=True, kw_only=True):
    """A sub-agent, and what it is doing."""

    name: str
    doing: str = ""


class Whoami(Reply, frozen=True, kw_only=True):
    """How the node sees the caller."""

    agent: str
    session: str
    project: str
    branch: str | None
    cwd: str
    machine: str
    node: str
    reach: int
    reach_reason: str | None
    wait_limit_s: float
    gate: Literal["in_force", "not_seen"]
