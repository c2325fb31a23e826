"""Who asks, out of what a client claims and what its host shows.

All of it but pid and uid is a claim: any program of the same user can make it. It names
rows for people; it never opens anything that another agent could not open as well.
"""

import hashlib
import unicodedata
from typing import Any, Final

import msgspec

from node.agents.hosts import agent_of_client
from node.desk.requests import Asker
from sync.errors import Invalid
from sync.limits import NAME_CHARACTERS, PROJECT_CHARACTERS
from sync.misfit import misfit

FOLDER_CHARACTERS: Final = 4096
"""The longest path a system takes."""

BRANCH_CHARACTERS: Final = 250
CODEX_TURN: Final = "x-codex-turn-metadata"
BRANCH_META: Final = "askmesh/branch"


class Who(msgspec.Struct, frozen=True, kw_only=True):
    """`who` of a request over HTTP."""

    agent: str
    session: str
    project: str = ""
    cwd: str = ""
    branch: str | None = None
    client: str | None = None


class Hello(msgspec.Struct, frozen=True, kw_only=True):
    """The bridge's first line; see `node.bridge.identity.hello`."""

    askmesh: int
    agent: str | None = None
    session: str | None = None
    environment_agent: str | None = None
    environment_sessions: dict[str, str] = msgspec.field(default_factory=dict)
    process: str = ""
    project: str = ""
    cwd: str = ""
    branch: str | None = None


class Peer(msgspec.Struct, frozen=True, kw_only=True):
    """The process behind a connection, as the kernel states it."""

    pid: int
    uid: int


def asker_over_http(who: object, peer: Peer) -> Asker:
    """The asker of an HTTP request. Raises `Invalid`."""
    try:
        claim = msgspec.convert(who, Who)
    except msgspec.ValidationError as error:
        raise misfit(error, Who) from None
    return Asker(
        agent=name(claim.agent, "agent"),
        session=name(claim.session, "session"),
        project=project(claim.project or f"path:{claim.cwd}"),
        cwd=claim.cwd[:FOLDER_CHARACTERS],
        branch=claim.branch[:BRANCH_CHARACTERS] if claim.branch else None,
        client=short_name(claim.client) if claim.client else None,
        pid=peer.pid,
        uid=peer.uid,
    )


def asker_over_mcp(hello: Hello, client: str, meta: dict[str, Any], peer: Peer) -> Asker:
    """The asker of a tool call: overrides first, then what the MCP client says of itself."""
    agent = short_name(
        hello.agent or agent_of_client(client) or hello.environment_agent or client or "agent"
    )
    session = (
        hello.session
        or hello.environment_sessions.get(agent)
        or codex_session(meta)
        or hello.process
        or f"mcp-{peer.pid}"
    )
    branch = meta.get(BRANCH_META, hello.branch)
    return Asker(
        agent=agent,
        session=short_name(session),
        project=project(hello.project or f"path:{hello.cwd}"),
        cwd=hello.cwd[:FOLDER_CHARACTERS],
        branch=branch[:BRANCH_CHARACTERS] if isinstance(branch, str) and branch else None,
        client=short_name(client) if client else None,
        pid=peer.pid,
        uid=peer.uid,
    )


def codex_session(meta: dict[str, Any]) -> str | None:
    """The session Codex names in each call; it sets no variable for its MCP servers."""
    turn = meta.get(CODEX_TURN)
    if isinstance(turn, str):
        try:
            turn = msgspec.json.decode(turn)
        except msgspec.DecodeError:
            return None
    session = turn.get("session_id") if isinstance(turn, dict) else None
    return session if isinstance(session, str) and session else None


def name(text: str, what: str) -> str:
    """A name as given. Raises `Invalid` when it is empty, too long or holds controls."""
    if not text or len(text) > NAME_CHARACTERS or text != plain(text):
        raise Invalid(f"`{what}` must be 1 to {NAME_CHARACTERS} plain characters.")
    return text


def short_name(text: str) -> str:
    """A name made fit: without controls, and a long one shortened but still its own."""
    cleaned = plain(text) or "unknown"
    return cleaned if len(cleaned) <= NAME_CHARACTERS else shortened(cleaned, NAME_CHARACTERS)


def project(text: str) -> str:
    """A project's id made fit."""
    cleaned = plain(text)
    return cleaned if len(cleaned) <= PROJECT_CHARACTERS else shortened(cleaned, PROJECT_CHARACTERS)


def shortened(text: str, size: int) -> str:
    """The beginning, and a hash of the whole: two long names stay two names."""
    mark = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{text[: size - 17]}~{mark}"


def plain(text: str) -> str:
    """The text without control characters, surrogates and line separators."""
    return "".join(c for c in text if unicodedata.category(c) not in {"Cc", "Cs", "Zl", "Zp"})
