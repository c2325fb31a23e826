"""Asks as rows of the store, and how an id that someone typed finds one."""

import sqlite3
from typing import Any, ClassVar

import msgspec

from sync.decide.ask import Ask, AskState, Kind, Outcome
from sync.decide.handover import Held, Standing, lease_from
from sync.errors import BadEntry, Invalid, NotFound
from sync.log.facts import (
    AskText,
    FinalText,
    NoteText,
    PartType,
    Quorum,
    ResolvedText,
    RuleReference,
    read_text,
)
from sync.log.names import split_ask


class AskRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table `ask`, column by column."""

    id: str
    home: str
    number: int
    kind: str
    state: str
    entry_hash: bytes
    agent: str
    session: str
    project: str
    created: int
    deadline: int | None
    enforced: int
    rule_name: str | None
    rule_version: str | None
    needed: int
    role: str | None
    not_by: str
    contract: str | None
    call_mac: bytes | None
    blob: bytes | None
    call_size: int
    options: str
    revision: int
    outcome: str | None
    unclear: int
    choice: str | None
    reason: str | None
    final_hash: bytes | None
    closed: int | None
    use_by: int | None
    closed_by: str | None
    closed_on: str | None
    token: int
    handed_to: str | None
    handover: str | None
    handover_at: int | None
    handover_why: str | None
    lease_until: int | None
    resolved_ok: int | None
    resolved_at: int | None

    @property
    def option_ids(self) -> list[str]:
        """The ids of a question's options."""
        return msgspec.json.decode(self.options, type=list[str])

    @property
    def quorum(self) -> Quorum:
        """Who and how many must approve it."""
        not_by = msgspec.json.decode(self.not_by, type=list[str])
        return Quorum(needed=self.needed, role=self.role, not_by=not_by)

    @property
    def posted(self) -> bool:
        """Whether this is a note or a result, which nobody answers."""
        return self.state == "posted"

    @property
    def rule(self) -> RuleReference | None:
        """The rule that raised it."""
        if self.rule_name is None or self.rule_version is None:
            return None
        return RuleReference(name=self.rule_name, version=self.rule_version)

    def to_decide(self) -> Ask:
        """Return what `sync.decide` needs to know."""
        return Ask(
            id=self.id,
            kind=Kind(self.kind),
            state=AskState(self.state),
            entry_hash=self.entry_hash,
            options=self.option_ids,
            deadline=self.deadline,
            session=self.session,
            enforced=bool(self.enforced),
            quorum=self.quorum,
        )


COLUMNS = ", ".join(AskRow.__struct_fields__)


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """The erasable words of an ask, as far as they are still here."""

    ERASED: ClassVar[str] = "(this text was erased)"

    title: str
    ask: AskText | None = None
    note: NoteText | None = None
    answer: FinalText | None = None
    outcome: str = ""

    @property
    def here(self) -> bool:
        """Whether what was asked can be read."""
        return self.ask is not None or self.note is not None

    @property
    def detail(self) -> str:
        """The detail of whichever kind it is."""
        body = self.ask or self.note
        return "" if body is None else body.detail

    @property
    def branch(self) -> str | None:
        """The branch the agent worked on."""
        body = self.ask or self.note
        return None if body is None else body.branch

    def label(self, choice: str | None) -> str | None:
        """Return the label behind a choice's id."""
        options = [] if self.ask is None else self.ask.options
        return next((option.label for option in options if option.id == choice), None)


def from_record(record: tuple[Any, ...]) -> AskRow:
    """Make a row from a record selected by `COLUMNS`."""
    return AskRow(**dict(zip(AskRow.__struct_fields__, record, strict=True)))


def by_id(connection: sqlite3.Connection, ask: str) -> AskRow | None:
    """Return an ask by its full id."""
    sql = f"SELECT {COLUMNS} FROM ask WHERE id = ?"  # noqa: S608 -- a constant
    record = connection.execute(sql, (ask,)).fetchone()
    return None if record is None else from_record(record)


def select(
    connection: sqlite3.Connection, where: str, values: tuple[Any, ...] = ()
) -> list[AskRow]:
    """Return asks by a condition; `where` is ours, only `values` come from outside."""
    sql = f"SELECT {COLUMNS} FROM ask WHERE {where}"  # noqa: S608 -- see the contract
    return [from_record(record) for record in connection.execute(sql, values)]


def find(connection: sqlite3.Connection, typed: str, *, prefer: str | None = None) -> AskRow:
    """Return the ask a person or an agent named, by full id, short id or number.

    Where several fit, that of the machine `prefer`. An ask that was raised again in
    another fleet is found under its old id too. Raises `Invalid` for what is no id or
    names several, `NotFound` for none.
    """
    prefix, number = split_ask(typed)
    # `prefix` is [a-z2-7]* by its grammar, so it holds no wildcard.
    found = select(
        connection,
        "number = ? AND home LIKE ? || '%' ORDER BY home = ? DESC LIMIT 3",
        (number, prefix, prefer or ""),
    )
    if not found:
        raise NotFound(f"There is no ask {typed[:80]}.", hint="Run: askmesh list --all")
    if len(found) > 1 and found[0].home != prefer:
        ids = ", ".join(row.id for row in found)
        raise Invalid(f"{typed[:80]} names several asks: {ids}.")
    return followed(connection, found[0].id) or found[0]


def followed(connection: sqlite3.Connection, ask: str) -> AskRow | None:
    """Return an ask by its full id, or the one as which it was raised again."""
    seen: set[str] = set()
    while ask not in seen:
        seen.add(ask)
        again = connection.execute("SELECT new FROM ask_alias WHERE old = ?", (ask,)).fetchone()
        if again is None:
            break
        ask = again[0]
    return by_id(connection, ask)


def words(connection: sqlite3.Connection, row: AskRow) -> Words:
    """Return the words of an ask."""
    record = connection.execute(
        "SELECT asked.text, final.text, resolved.text FROM ask"
        " LEFT JOIN entry AS asked ON asked.hash = ask.entry_hash"
        " LEFT JOIN entry AS final ON final.hash = ask.final_hash"
        " LEFT JOIN entry AS resolved ON resolved.hash = ask.resolved_hash"
        " WHERE ask.id = ?",
        (row.id,),
    ).fetchone()
    asked, final, resolved = record or (None, None, None)
    ask = None if row.posted else _read(AskText, asked)
    note = _read(NoteText, asked) if row.posted else None
    body, said = ask or note, _read(ResolvedText, resolved)
    return Words(
        title=Words.ERASED if body is None else body.title,
        ask=ask,
        note=note,
        answer=_read(FinalText, final),
        outcome="" if said is None else said.outcome,
    )


def _read(kind: type[PartType], text: bytes | None) -> PartType | None:
    """Return words; None where they were erased, or are not such words."""
    try:
        return read_text(kind, text)
    except BadEntry:
        return None


def last_heard(connection: sqlite3.Connection, session: str | None) -> int:
    """Return when a session was last heard (0: never)."""
    record = connection.execute(
        "SELECT last_heard FROM agent_session WHERE id = ?", (session,)
    ).fetchone()
    return 0 if record is None else int(record[0])


def standing(connection: sqlite3.Connection, row: AskRow, *, far: int | None = None) -> Standing:
    """Return what deciding a hand-over needs; any call of its session renews a lease.

    `far`: when the session was last heard, for an ask of another machine: its sessions
    are not ours, even where their ids are the same.
    """
    held: Held | None = None
    if row.handover == "handed" and row.handed_to is not None:
        heard = last_heard(connection, row.handed_to) if far is None else far
        held = Held(
            session=row.handed_to,
            token=row.token,
            lease_until=max(row.lease_until or 0, lease_from(heard) if heard else 0),
        )
    return Standing(
        kind=Kind(row.kind),
        state=AskState(row.state),
        outcome=None if row.outcome is None else Outcome(row.outcome),
        use_by=row.use_by,
        held=held,
    )
