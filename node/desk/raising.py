"""Raising an ask: idempotency, limits, the exact call, and the signed entry."""

import hashlib
import hmac
import sqlite3
from collections import deque
from collections.abc import Callable

import msgspec

from node.agents.contract import contract
from node.desk import persons
from node.desk.closing import reload
from node.desk.context import Limits
from node.desk.replies import another_call
from node.desk.requests import Asker
from node.desk.rows import AskRow, by_id, followed
from node.store.transaction import Transaction
from sync import limits
from sync.decide.ask import DECIDED, Kind, check_shape, check_words, deadline_for
from sync.errors import Conflict, TooMany
from sync.log.entry import sha256
from sync.log.facts import (
    AskFacts,
    AskText,
    CallLine,
    NoteFacts,
    NoteText,
    Option,
    Quorum,
    RuleReference,
)
from sync.log.kinds import EntryType
from sync.log.names import ask_name


class CallContent(msgspec.Struct, frozen=True, kw_only=True):
    """The exact call of an approval, ready to be stored."""

    tool: str
    summary: str
    canonical: bytes
    digest: bytes
    """Of the whole call."""
    blob: bytes
    """Hash under which the canonical call already lies in the blob store."""
    diff: str | None = None
    whole: bytes | None = None
    """The canonical call, where what is in `canonical` has arguments hidden."""
    secret: bytes = b""
    """Key of the commitment to `whole`."""
    hidden: int = 0


class NewAsk(msgspec.Struct, frozen=True, kw_only=True):
    """An ask that was checked and can be recorded."""

    kind: Kind
    title: str
    detail: str = ""
    options: list[Option] = []
    fallback: str | None = None
    deadline_ms: int | None = None
    default_deadline_ms: int | None = None
    key: str | None = None
    call: CallContent | None = None
    enforced: bool = False
    rule: RuleReference | None = None
    approvals: int = 1
    """How many must allow it, as the rule says; below it, who of them may."""
    role: str | None = None
    self_approval: bool = True
    escalate_ms: int | None = None
    """After how long it goes on to those of the role `escalate_to`."""
    escalate_to: str | None = None

    def content(self) -> bytes:
        """Return a hash of what is asked: two asks with the same one are the same."""
        parts = (
            self.kind.value,
            self.title,
            self.detail,
            [(option.label, option.detail) for option in self.options],
            self.fallback,
            self.call.digest if self.call else None,
        )
        return sha256(msgspec.json.encode(parts))


def check(ask: NewAsk) -> None:
    """Check an ask before anything is stored. Raises `Invalid` that names the field."""
    check_words("title", ask.title, limits.TITLE_CHARACTERS, needed=True)
    check_words("detail", ask.detail, limits.DETAIL_CHARACTERS)
    check_words("fallback", ask.fallback or "", limits.ANSWER_CHARACTERS // 2)
    check_words("key", ask.key or "", limits.KEY_CHARACTERS)
    for option in ask.options:
        check_words("option's label", option.label, limits.LABEL_CHARACTERS, needed=True)
        check_words("option's detail", option.detail, limits.TITLE_CHARACTERS)
    check_shape(
        ask.kind,
        options=[option.label for option in ask.options],
        fallback=ask.fallback,
        has_call=ask.call is not None,
    )
    deadline_for(
        ask.kind,
        created=0,
        asked_ms=ask.deadline_ms,
        default_ms=ask.default_deadline_ms,
    )


class Pace:
    """Asks a second, by session and for the whole node; on the event loop only."""

    def __init__(self, most: Limits, seconds: Callable[[], float]) -> None:
        self._most = most
        self._seconds = seconds
        self._recent: dict[str, deque[float]] = {}

    def over(self, session: str) -> bool:
        """Count one ask, and say whether that is more than the limit."""
        try:
            self.check(session)
        except TooMany:
            return True
        return False

    def check(self, session: str) -> None:
        """Count one ask. Raises `TooMany` that names the limit."""
        now = self._seconds()
        for name, most in (
            (session, self._most.asks_per_second_session),
            ("", self._most.asks_per_second_node),
        ):
            recent = self._recent.setdefault(name, deque())
            while recent and recent[0] <= now - 1:
                recent.popleft()
            if len(recent) >= most:
                whose = "This session" if name else "This node"
                raise TooMany(
                    f"{whose} may raise {most} asks a second; this one was not recorded.",
                    hint="Wait a second. One ask for one decision is enough.",
                )
        for name in (session, ""):
            self._recent[name].append(now)
        if len(self._recent) > 4096:
            self._recent = {
                name: queue for name, queue in self._recent.items() if queue[-1] > now - 1
            }


def earlier(connection: sqlite3.Connection, session: str, ask: NewAsk) -> AskRow | None:
    """Return the ask this one repeats: under its key, or open with the same content.

    Raises `Conflict` when the key was used for something else.
    """
    content = ask.content()
    if ask.key is not None:
        row = connection.execute(
            "SELECT ask, content FROM ask_key WHERE session = ? AND key = ?",
            (session, ask.key),
        ).fetchone()
        if row is not None:
            if row[1] != content:
                raise Conflict(
                    f"The key {ask.key!r} was used in this session for another ask ({row[0]}).",
                    hint="Use a new key for a new question.",
                )
            return followed(connection, row[0])
        return None
    if ask.enforced or ask.kind not in DECIDED:
        return None
    row = connection.execute(
        "SELECT ask_content.ask FROM ask_content JOIN ask ON ask.id = ask_content.ask"
        " WHERE ask_content.session = ? AND content = ? AND ask.state = 'waiting'",
        (session, content),
    ).fetchone()
    return None if row is None else by_id(connection, row[0])


def check_same(connection: sqlite3.Connection, earlier: str, ask: NewAsk) -> None:
    """Refuse a retry that asks something else than the first time. Raises `Conflict`."""
    row = connection.execute("SELECT content FROM ask_content WHERE ask = ?", (earlier,)).fetchone()
    if row is not None and row[0] != ask.content():
        raise another_call(earlier)


def record(transaction: Transaction, who: Asker, ask: NewAsk, most: Limits) -> AskRow:
    """Append the ask and index it. Raises `TooMany` when the session has too many open."""
    number = int.from_bytes(transaction.value("number") or b"", "big") + 1
    transaction.keep("number", number.to_bytes(8, "big"))
    if ask.kind in DECIDED:
        _record_ask(transaction, who, ask, number, most)
    else:
        transaction.append(
            EntryType.NOTE,
            NoteFacts(
                number=number,
                kind=ask.kind.value,
                agent=who.agent,
                session=who.session,
                project=who.project,
                created=transaction.now,
                contract=contract(),
            ),
            NoteText(title=ask.title, detail=ask.detail, branch=who.branch, cwd=who.cwd),
        )
    name = ask_name(transaction.identity.key.node_id, number)
    if ask.key is not None:
        transaction.run(
            "INSERT INTO ask_key VALUES (?, ?, ?, ?)", who.session, ask.key, name, ask.content()
        )
    transaction.change("ask", name)
    return reload(transaction, name)


def _check_room(transaction: Transaction, session: str, most: Limits) -> None:
    (already,) = transaction.row(
        "SELECT count(*) FROM ask WHERE session = ? AND state = 'waiting' AND home = ?",
        session,
        transaction.identity.name,
    )
    if already >= most.open_asks_per_session:
        raise TooMany(
            f"This session has {already} open asks, the most it may have.",
            hint="Withdraw what is no longer needed, or wait for answers.",
        )


def _quorum(transaction: Transaction, ask: NewAsk) -> Quorum:
    not_by = [] if ask.self_approval else persons.owners(transaction)
    return Quorum(needed=ask.approvals, role=ask.role, not_by=not_by)


def _facts(
    who: Asker, ask: NewAsk, *, number: int, created: int, salt: bytes, quorum: Quorum
) -> AskFacts:
    call = ask.call
    return AskFacts(
        number=number,
        kind=ask.kind.value,
        agent=who.agent,
        session=who.session,
        project=who.project,
        created=created,
        deadline=deadline_for(
            ask.kind,
            created=created,
            asked_ms=ask.deadline_ms,
            default_ms=ask.default_deadline_ms,
        ),
        options=[option.id for option in ask.options],
        enforced=ask.enforced,
        rule=ask.rule,
        quorum=quorum,
        # The replicated digest is keyed by the salt: without the text it says nothing.
        call_mac=hmac.digest(salt, call.canonical, hashlib.sha256) if call else None,
        blob=call.blob if call else None,
        call_size=len(call.canonical) if call else 0,
        contract=contract(),
        escalate_at=None if ask.escalate_ms is None else created + ask.escalate_ms,
        escalate_to=None if ask.escalate_ms is None else ask.escalate_to,
    )


def _record_ask(
    transaction: Transaction, who: Asker, ask: NewAsk, number: int, most: Limits
) -> None:
    _check_room(transaction, who.session, most)
    salt = transaction.random(limits.SALT_BYTES)
    call = ask.call
    transaction.append(
        EntryType.ASK,
        _facts(
            who,
            ask,
            number=number,
            created=transaction.now,
            salt=salt,
            quorum=_quorum(transaction, ask),
        ),
        AskText(
            title=ask.title,
            detail=ask.detail,
            options=ask.options,
            fallback=ask.fallback,
            branch=who.branch,
            cwd=who.cwd,
            call=_line(call) if call else None,
        ),
        salt=salt,
    )
    name = ask_name(transaction.identity.key.node_id, number)
    transaction.run("INSERT INTO ask_content VALUES (?, ?, ?)", name, who.session, ask.content())
    if call is not None:
        _keep_call(transaction, name, call)


def _line(call: CallContent) -> CallLine:
    return CallLine(tool=call.tool, summary=call.summary, hidden=call.hidden)


def _keep_call(transaction: Transaction, ask: str, call: CallContent) -> None:
    """Keep what only its home may know of a call."""
    transaction.run(
        "INSERT INTO call (ask, digest, diff) VALUES (?, ?, ?)", ask, call.digest, call.diff
    )
    if call.whole is not None:
        transaction.run(
            "INSERT INTO hidden_call (ask, canonical, secret) VALUES (?, ?, ?)",
            ask,
            call.whole,
            call.secret,
        )
