"""The snapshot and the numbered changes, for pages, `watch` and listings."""

import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from functools import partial
from typing import Any

import msgspec

from node import limits
from node.desk import recovering, restored
from node.desk.attention_desk import all_hushed, view_of
from node.desk.call_content import whole
from node.desk.context import Context
from node.desk.persons import conflicts, reachable
from node.desk.rows import AskRow, by_id, find, select, words
from node.desk.rules_reach import reach_of
from node.desk.rules_store import RulesStore, without_text
from node.desk.standing import banner
from node.desk.views import Looking, as_object
from node.desk.votes import uncounted
from node.store import erasing
from node.store.transaction import Transaction
from node.version import VERSION
from sync.decide.ask import Outcome
from sync.decide.verdict import outcome_word
from sync.errors import NotFound, StoreError, StoreFull, StoreReadOnly
from web.call_views import CallView, FileView
from web.desk import Viewer
from web.views import (
    AskDetail,
    Change,
    HistoryLine,
    Me,
    NodeView,
    PrivacyLine,
    State,
)

BATCH = 200
"""Changes read at one time for one stream."""


class Reading:
    """What is read; nothing here changes anything."""

    def __init__(self, context: Context, rules: RulesStore) -> None:
        self.context = context
        self.rules = rules

    async def state(self, viewer: Viewer) -> State:
        """The snapshot of the page."""
        rules = await self.rules.view()

        def read(connection: sqlite3.Connection) -> State:
            looking = Looking(self.context, connection, viewer.person)
            return State(
                store_id=self.context.store_id,
                n=last_number(connection),
                now=looking.now,
                node=NodeView(
                    machine=looking.machine(self.context.identity.name),
                    version=VERSION,
                    started=self.context.started,
                ),
                me=Me(
                    person=viewer.person,
                    name=viewer.name,
                    role=viewer.role,
                    session=viewer.session_id,
                ),
                asks=looking.shown(),
                sessions=looking.sessions(),
                rules=rules,
                fleet=self.context.fleet.view(connection, looking.now),
                counts=looking.counts(),
                banners=[
                    *hindrance(self.context.writer.trouble),
                    *banners(connection, looking.now),
                    *conflicts(connection, looking.viewer),
                ],
                account=banner(connection, viewer.person, looking.said),
                restored=restored.copied(connection),
                attention=view_of(connection, viewer.person, looking.now),
            )

        return await self.context.reader.run(read)

    async def ask(self, ask_id: str, person: str | None) -> AskDetail:
        """One ask with its exact call and its history."""

        def read(connection: sqlite3.Connection) -> AskDetail:
            # Only an agent's or a listing's bare number means an ask of this machine.
            here = None if person else self.context.identity.name
            row = find(connection, ask_id, prefer=here)
            looking = Looking(self.context, connection, person)
            return AskDetail(
                ask=looking.ask(row),
                call=self._call(connection, row, person),
                history=history(connection, looking, row),
            )

        return await self.context.reader.run(read)

    def _call(
        self, connection: sqlite3.Connection, row: AskRow, person: str | None
    ) -> CallView | None:
        if row.blob is None:
            return None
        try:
            travelled = self.context.blobs.get(row.blob)
            # What a rule hides is for persons at the machine that asks, and for no other agent.
            canonical = whole(self.context, connection, row) if person else travelled
        except NotFound:
            return None
        call: dict[str, Any] = json.loads(canonical or travelled)
        hides = "hidden" in json.loads(travelled)
        local = connection.execute(
            "SELECT digest, diff FROM call WHERE ask = ?", (row.id,)
        ).fetchone()
        return CallView(
            tool=call["tool"],
            arguments=call["arguments"],
            cwd=call["cwd"],
            files=[FileView(path=file["path"], sha256=file["sha256"]) for file in call["files"]],
            diff=local[1] if local and (person or not hides) else None,
            canonical=(canonical or travelled).decode(),
            digest=local[0].hex() if local else "",
            whole="hidden" not in call,
        )

    async def changes(self, since: int, person: str | None) -> AsyncIterator[Change | None]:
        """Numbered changes above `since`; None, and the end, when that is out of range."""
        with self.context.signals.any() as signal:
            while True:
                signal.clear()
                batch = await self.context.reader.run(
                    partial(self._batch, since=since, person=person)
                )
                if batch is None:
                    yield None
                    return
                for change in batch:
                    yield change
                if batch:
                    # The last number of a batch is always among its changes.
                    since = batch[-1].n
                else:
                    await signal.wait()

    def _batch(
        self, connection: sqlite3.Connection, since: int, person: str | None
    ) -> list[Change] | None:
        first, last = connection.execute("SELECT min(n), max(n) FROM event").fetchone()
        if since > (last or 0) or (first is not None and since < first - 1):
            return None
        records = connection.execute(
            "SELECT n, topic, ref FROM event WHERE n > ? ORDER BY n LIMIT ?", (since, BATCH)
        ).fetchall()
        if not records:
            return []
        looking = Looking(self.context, connection, person)
        latest = {_about(topic, ref): n for n, topic, ref in records}
        counts = looking.counts()
        return [
            self._change(looking, n, topic, ref, counts)
            for n, topic, ref in records
            if latest[_about(topic, ref)] == n
        ]

    def _change(
        self,
        looking: Looking,
        n: int,
        topic: str,
        ref: str,
        counts: Any,  # noqa: ANN401
    ) -> Change:
        row = by_id(looking.connection, ref) if topic == "ask" else None
        session = looking.sessions(ref) if topic == "session" else []
        fleet = self.context.fleet
        return Change(
            n=n,
            now=looking.now,
            topic=topic,  # type: ignore[arg-type]  # the node writes these topics only
            ref=ref,
            ask=looking.ask(row) if row else None,
            session=session[0] if session else None,
            fleet=fleet.view(looking.connection, looking.now) if topic == "fleet" else None,
            counts=counts,
        )

    async def last_number(self) -> int:
        """The number of the latest change."""
        return await self.context.reader.run(last_number)

    async def listing(self, *, closed: bool, project: str | None) -> list[dict[str, Any]]:
        """Rows for `askmesh list`, newest first."""
        # Each of these is read from an index, newest first.
        conditions = ["1"] if closed else ["state = 'waiting'", "state = 'posted'"]
        more = "" if project is None else " AND project = ?"
        values = () if project is None else (project,)
        newest = f"ORDER BY created DESC, number DESC LIMIT {limits.OPEN_SHOWN}"

        def read(connection: sqlite3.Connection) -> list[dict[str, Any]]:
            looking = Looking(self.context, connection, None)
            found = [
                row
                for condition in conditions
                for row in select(connection, f"{condition}{more} {newest}", values)
            ]
            found.sort(key=lambda row: (row.created, row.number), reverse=True)
            return [as_object(looking.ask(row)) for row in found[: limits.OPEN_SHOWN]]

        return await self.context.reader.run(read)

    async def node_status(
        self,
        facts: dict[str, Any],
        privacy: Callable[[sqlite3.Connection], list[PrivacyLine]],
    ) -> dict[str, Any]:
        """For `askmesh status`; `facts` are what the process knows of itself."""
        rules = await self.rules.view()

        def read(connection: sqlite3.Connection) -> dict[str, Any]:
            looking = Looking(self.context, connection, None)
            reach, reason = reachable(connection, None)
            account = banner(connection, None, looking.said)
            summary = None if rules is None else without_text(rules)
            return {
                **facts,
                "machine": msgspec.to_builtins(looking.machine(self.context.identity.name)),
                "has_person": bool(looking.people),
                "version": VERSION,
                "started": self.context.started,
                "now": looking.now,
                "reach": reach,
                "reach_reason": reason,
                "counts": msgspec.to_builtins(looking.counts()),
                "sessions": [msgspec.to_builtins(item) for item in looking.sessions()],
                "rules": summary,
                "allows": asdict(reach_of(connection, self.context.identity.name)),
                "account": None if account is None else msgspec.to_builtins(account),
                "banners": hindrance(self.context.writer.trouble)
                + banners(connection, looking.now)
                + restored.words(connection)
                + ([] if account is None else [account.sentence]),
                "fleet": msgspec.to_builtins(self.context.fleet.view(connection, looking.now)),
                "attention": msgspec.to_builtins(all_hushed(connection, looking.now)),
                "privacy": msgspec.to_builtins(privacy(connection)),
            }

        return await self.context.reader.run(read)


def _about(topic: str, ref: str) -> tuple[str, str]:
    """Return what a change shows anew: any change of the fleet shows all of it."""
    return topic, "" if topic == "fleet" else ref


def last_number(connection: sqlite3.Connection) -> int:
    """Return the number of the latest change."""
    (number,) = connection.execute("SELECT coalesce(max(n), 0) FROM event").fetchone()
    return int(number)


def banners(connection: sqlite3.Connection, now: int) -> list[str]:
    """Return what every page must say at its top."""
    when = recovering.heard(connection)
    if when is None or now - when > limits.RECOVERY_BANNER_MS:
        return []
    return [
        (
            "The recovery words were used: all sessions were ended and open approvals"
            " withdrawn. If that was not you, someone else has your words."
        )
    ]


def hindrance(trouble: StoreError | None) -> list[str]:
    """Return what a page must say while nothing can be recorded."""
    if trouble is None:
        return []
    known = {
        StoreFull: "Its disk is full: free some space, and it goes on by itself.",
        StoreReadOnly: "Its disk or data directory is read-only: make it writable.",
    }
    why = known.get(type(trouble), f"{trouble.sentence} {trouble.hint or ''}".strip())
    return [f"Nothing can be asked or answered on this machine. {why}"]


def history(connection: sqlite3.Connection, looking: Looking, row: AskRow) -> list[HistoryLine]:
    """Return the steps of an ask's life, oldest first."""
    text = words(connection, row)
    lines = [HistoryLine(at=row.created, what="raised", who=row.agent)]
    lines += _votes(connection, looking, row)
    if row.closed is not None and row.outcome is not None:
        reason = (text.answer.reason if text.answer else None) or row.reason or ""
        machine = looking.machine(row.home).name
        what = outcome_word(Outcome(row.outcome), unclear=bool(row.unclear))
        lines.append(HistoryLine(at=row.closed, what=what, who=machine, text=reason))
    if row.handover_at is not None:
        what = "handed over" if row.handover == "handed" else "void"
        who = row.handed_to or looking.machine(row.home).name
        lines.append(
            HistoryLine(at=row.handover_at, what=what, who=who, text=row.handover_why or "")
        )
    if row.resolved_at is not None:
        what = "done" if row.resolved_ok else "failed"
        lines.append(HistoryLine(at=row.resolved_at, what=what, who=row.agent, text=text.outcome))
    said = erasing.redacted(connection, row.id)
    if said is not None:
        who = looking.name_of(said.person) or ""
        lines.append(HistoryLine(at=said.at, what="text erased", who=who, text=said.reason or ""))
    return lines


def _votes(connection: sqlite3.Connection, looking: Looking, row: AskRow) -> list[HistoryLine]:
    """Return who answered where, and what the home said to it."""
    home = looking.machine(row.home).name
    # Where there is one machine, its name on every line would tell nothing.
    several = len(looking.machines) > 1
    not_counted = uncounted(connection, row, looking.people)
    lines: list[HistoryLine] = []
    for vote, node, person, decision, unclear, ruling, at in connection.execute(
        "SELECT hash, node, person, decision, unclear, ruling, at FROM vote WHERE ask = ?"
        " ORDER BY n",
        (row.id,),
    ):
        who = looking.name_of(person) or ""
        said = f"{home} has not ruled on it yet" if ruling is None else ruling.replace("_", " ")
        given = decision.replace("_", " ")
        lines.append(
            HistoryLine(
                at=at,
                what="sent back as unclear" if unclear else f"answered: {given}",
                who=f"{who} on {looking.machine(node).name}" if several else who,
                text="recorded, not counted" if vote in not_counted else said,
            )
        )
    return lines


def trim_events(transaction: Transaction) -> None:
    """Drop changes that no page needs any more."""
    transaction.run(
        "DELETE FROM event WHERE n <= (SELECT max(n) FROM event) - ?", limits.EVENTS_KEPT
    )
