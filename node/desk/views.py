"""From rows to what is shown: the page, the terminal and the socket see the same views."""

import json
import sqlite3
from typing import Any, Literal, cast

import msgspec

from node import limits
from node.desk import accounts, far, persons
from node.desk.attention import Attentive, Columns, asked
from node.desk.card_view import card_view
from node.desk.context import Context
from node.desk.made_by import Made, made_by
from node.desk.own_vote import own_vote, with_quorum
from node.desk.rows import AskRow, Words, select, standing, words
from node.desk.session_views import project_name, session_views
from node.desk.sight import Sight
from node.desk.votes import allows
from node.store import erasing
from sync.decide import standing as standing_of
from sync.decide.ask import AskState, Kind, Outcome
from sync.decide.card_closed import ended
from sync.decide.card_facts import CardFacts
from sync.decide.handover import WHY_RESTORED, Held, Status
from sync.decide.people import Person, Role, eligible
from sync.decide.verdict import Maker
from sync.decide.vote import Ruling
from web.call_views import CallSummary
from web.card_views import CardView, MadeByView
from web.views import (
    AskView,
    Counts,
    ErasedView,
    FinalView,
    HandoverView,
    MachineView,
    OptionView,
    ResolvedView,
    RuleView,
    SessionView,
)

LOST = frozenset({Ruling.SUPERSEDED.value, Ruling.LATE.value})
REFUSED = {ruling.value: ruling for ruling in (Ruling.STALE, Ruling.NOT_ALLOWED, Ruling.ON_HOLD)}


class Looking:
    """One reading of one snapshot, for one viewer (None: no person, as for the socket)."""

    def __init__(
        self, context: Context, connection: sqlite3.Connection, viewer: str | None
    ) -> None:
        self.context = context
        self.connection = connection
        self.now = context.clock.now()
        self.people = persons.everyone(connection)
        self.viewer: Person | None = self.people.get(viewer) if viewer else None
        self.speaks = self.viewer is not None and persons.speaks_for(
            connection, context.identity.name, self.viewer.id
        )
        self.attentive = Attentive(connection, self.people)
        self._sights: dict[str, Sight] = {}
        self._disputed: dict[str, set[str]] = {}
        self.silenced = far.silenced(context, connection)
        self.said = accounts.said(connection)
        self.held = standing_of.refuses(self.said, viewer)
        self.machines = {
            node: MachineView(id=node, short=node[:4], name=name)
            for node, name in connection.execute("SELECT id, name FROM node")
        }

    def ask(self, row: AskRow) -> AskView:
        """Return one ask as it is shown."""
        text = words(self.connection, row)
        erased = self._erased(row, text)
        read = self._read(row)
        return AskView(
            id=row.id,
            short=self.context.short(row.id),
            number=row.number,
            kind=cast("Literal['question', 'approval', 'note', 'done']", row.kind),
            title=text.title,
            detail=text.detail,
            options=_options(text),
            agent=row.agent,
            session=row.session,
            project=row.project,
            project_name=project_name(row.project),
            branch=text.branch,
            machine=self.machine(row.home),
            created=row.created,
            deadline=row.deadline,
            closed=row.closed,
            rule=RuleView(name=row.rule.name, version=row.rule.version) if row.rule else None,
            enforced=bool(row.enforced),
            fallback=text.ask.fallback if text.ask else None,
            call=self._call(row, text),
            seen=row.entry_hash.hex(),
            revision=row.revision,
            card=self._card(row, text, erased, read=read),
            final=self.final(row, text),
            handover=self._handover(row),
            resolved=_resolved(row, text),
            read=read,
            needless=self._needless(row),
            alike=self._alike(row),
            needed=row.needed,
            counted=allows(self.connection, row, self.people),
            erased=erased,
        )

    def machine(self, node: str) -> MachineView:
        """Return a node by its id; one that is not known yet by its short id."""
        return self.machines.get(node) or MachineView(id=node, short=node[:4], name=node[:4])

    def name_of(self, person: str | None) -> str | None:
        """Return a person's name."""
        known = self.people.get(person) if person else None
        return known.name if known else person

    def final(self, row: AskRow, text: Words) -> FinalView | None:
        """Return how the ask closed."""
        if row.outcome is None or row.closed is None:
            return None
        answer = text.answer
        return FinalView(
            outcome=cast(
                "Literal['allowed', 'denied', 'answered', 'declined', 'expired', 'withdrawn']",
                row.outcome,
            ),
            at=row.closed,
            by=self.name_of(row.closed_by),
            machine=self.machine(row.closed_on).name if row.closed_on else None,
            unclear=bool(row.unclear),
            made_by=[
                MadeByView(person=made.name, machine=made.machine)
                for made in map(self._maker, made_by(self.connection, row))
            ],
            choice=row.choice,
            label=text.label(row.choice),
            text=answer.text if answer else None,
            because=answer.because if answer else None,
            reason=(answer.reason if answer else None) or row.reason,
        )

    def ended(self, row: AskRow) -> str:
        """Return how an ask ended, as one sentence without its full stop."""
        return ended(self._facts(row, words(self.connection, row)))

    def counts(self) -> Counts:
        """Count what the badge, the title and the lists show."""
        gone = json.dumps(sorted(far.gone(self.context, self.connection)))
        (waiting,) = self.connection.execute(
            "SELECT count(*) FROM ask WHERE state = 'waiting'"
            " AND home NOT IN (SELECT value FROM json_each(?))",
            (gone,),
        ).fetchone()
        viewer = self.viewer.id if self.viewer else ""
        (unread,) = self.connection.execute(
            "SELECT count(*) FROM (SELECT id FROM ask WHERE state = 'posted'"
            " ORDER BY created DESC LIMIT ?) WHERE NOT EXISTS"
            " (SELECT 1 FROM mark WHERE mark.ask = id AND person = ? AND read)",
            (limits.UNREAD_COUNTED, viewer),
        ).fetchone()
        return Counts(needs_me=self._needs_me(gone), open=waiting, unread=unread)

    def _needs_me(self, gone: str) -> int:
        """Count the cards with `needs_me`: the same conditions, in SQL."""
        if self.viewer is None or not self.speaks or not persons.may_answer(self.viewer):
            return 0
        if self.silenced is not None or self.held is not None:
            return 0
        roles = [role.value for role in Role if eligible(self.viewer, role.value)]
        found = self.connection.execute(
            "SELECT agent, project, home, ask.role, at, escalation.role, count(*) FROM ask"
            " LEFT JOIN escalation ON ask = id WHERE state = 'waiting'"
            " AND (deadline IS NULL OR deadline > ?)"
            " AND (ask.role IS NULL OR ask.role IN (SELECT value FROM json_each(?)))"
            " AND home NOT IN (SELECT value FROM json_each(?))"
            " AND id NOT IN (SELECT ask FROM redaction)"
            " AND (not_by = '[]'"
            "  OR NOT EXISTS (SELECT 1 FROM json_each(not_by) WHERE json_each.value = ?))"
            " AND NOT EXISTS (SELECT 1 FROM vote WHERE vote.ask = ask.id AND person = ?"
            "  AND (ruling IS NULL OR ruling = 'counted') AND n ="
            "  (SELECT max(n) FROM vote AS own WHERE own.ask = ask.id"
            "   AND own.person = vote.person)) GROUP BY 1, 2, 3, 4, 5, 6",
            (self.now, json.dumps(roles), gone, self.viewer.id, self.viewer.id),
        )
        means, viewer = self.attentive.means, self.viewer
        return sum(n for *what, n in found if means(viewer, asked(Columns(*what)), self.now).calls)

    def sight(self, node: str) -> Sight:
        """Return how a machine stands, read once."""
        known = self._sights.get(node)
        if known is None:
            known = self._sights[node] = far.sight(self.context, self.connection, node)
        return known

    def disputed(self, row: AskRow) -> bool:
        """Whether its home said something of it after its history split."""
        found = self._disputed.get(row.home)
        if found is None:
            split = row.home in far.forked(self.connection)
            found = far.disputed(self.connection, row.home) if split else set()
            self._disputed[row.home] = found
        return row.id in found

    def _made_by(self, row: AskRow) -> dict[str, Any]:
        """Return the fields of `CardFacts` that say who beside the deciding one counted."""
        makers = [self._maker(made) for made in made_by(self.connection, row)]
        return {"own_made": any(one.viewer for one in makers), "also_by": tuple(makers[:-1])}

    def _maker(self, made: Made) -> Maker:
        return Maker(
            name=self.name_of(made.person),
            machine=self.machine(made.node).name if made.node else None,
            viewer=self.viewer is not None and made.person == self.viewer.id,
        )

    def _erased(self, row: AskRow, text: Words) -> ErasedView | None:
        """Whether its words are gone, and by whom: no one's, where they were only kept so long."""
        if text.here:
            return None
        said = erasing.redacted(self.connection, row.id)
        if said is None:
            return ErasedView(by=None, at=None, reason=None)
        return ErasedView(by=self.name_of(said.person), at=said.at, reason=said.reason)

    def _card(self, row: AskRow, text: Words, erased: ErasedView | None, *, read: bool) -> CardView:
        heard = self.attentive.of(row, self.viewer, self.now)
        facts = msgspec.structs.replace(
            with_quorum(self.connection, row, self._facts(row, text), self.viewer, self.people),
            attention=heard.attention,
            unheard=heard.unheard,
            on_hold=self.silenced,
            **accounts.on_card(self.connection, row, self.said, self.held, self.people),
            disputed=self.disputed(row),
            erased=erased.by if erased else None,
            read=read,
        )
        return card_view(facts, self.viewer, self.now)

    def _facts(self, row: AskRow, text: Words) -> CardFacts:
        own, sight = own_vote(self.connection, row, self.viewer), self.sight(row.home)
        return CardFacts(
            kind=Kind(row.kind),
            state=AskState.WAITING if row.posted else AskState(row.state),
            deadline=row.deadline,
            created=row.created,
            agent=row.agent,
            machine=self.machine(row.home).name,
            home=sight.state,
            home_seen=sight.at,
            home_seen_by=sight.by,
            speaks_here=self.speaks,
            call_here=text.here and (row.blob is None or self.context.blobs.has(row.blob)),
            role=row.role,
            needed=row.needed,
            own_pending=own.pending,
            own_taking_back=own.taking_back,
            own_lost=own.ruled in LOST,
            own_refused=REFUSED.get(own.ruled),
            outcome=Outcome(row.outcome) if row.outcome else None,
            unclear=bool(row.unclear),
            closed_at=row.closed,
            closed_by=self.name_of(row.closed_by),
            closed_by_viewer=self.viewer is not None and row.closed_by == self.viewer.id,
            closed_on=self.machine(row.closed_on).name if row.closed_on else None,
            **self._made_by(row),
            answer_label=text.label(row.choice),
            reason=(text.answer.reason if text.answer else None) or row.reason,
            withdrawn_by_home=row.outcome == Outcome.WITHDRAWN.value and row.reason is not None,
            restored=row.reason == WHY_RESTORED,
            use_by=row.use_by,
            handover=Status(row.handover) if row.handover else None,
            handover_at=row.handover_at,
            handover_reason=row.handover_why,
            held=self._held(row),
            resolved_ok=None if row.resolved_ok is None else bool(row.resolved_ok),
            resolved_at=row.resolved_at,
            resolved_text=text.outcome,
        )

    def _held(self, row: AskRow) -> Held | None:
        if row.posted or row.handover is None:
            return None
        heard = far.last_heard(self.context, self.connection, row)
        return standing(self.connection, row, far=heard).held

    def _handover(self, row: AskRow) -> HandoverView | None:
        if row.handover is None or row.handover_at is None:
            return None
        held = self._held(row)
        return HandoverView(
            status=cast("Literal['handed', 'void']", row.handover),
            at=row.handover_at,
            token=row.token,
            session=row.handed_to,
            lease_until=held.lease_until if held else None,
            reason=row.handover_why,
        )

    def _call(self, row: AskRow, text: Words) -> CallSummary | None:
        if text.ask is None or text.ask.call is None:
            return None
        return CallSummary(
            tool=text.ask.call.tool,
            summary=text.ask.call.summary,
            cwd=text.ask.cwd,
            size=row.call_size,
            here=row.blob is not None and self.context.blobs.has(row.blob),
            hidden=text.ask.call.hidden,
            hidden_note=self._hidden_note(row, text.ask.call.hidden),
        )

    def _hidden_note(self, row: AskRow, count: int) -> str:
        """What it means that arguments never leave their machine."""
        if not count:
            return ""
        what = "1 argument never leaves" if count == 1 else f"{count} arguments never leave"
        if row.home == self.context.identity.name:
            return f"{what} this machine; here a signed-in person reads all of the call."
        verb = "is" if count == 1 else "are"
        return (
            f"{what} {self.machine(row.home).name} and {verb} hidden here: read the whole call on"
            " a page there. Whoever allows it here has not seen all of it."
        )

    def _read(self, row: AskRow) -> bool:
        if not row.posted or self.viewer is None:
            return False
        mark = self.connection.execute(
            "SELECT read FROM mark WHERE ask = ? AND person = ?", (row.id, self.viewer.id)
        ).fetchone()
        return mark is not None and bool(mark[0])

    def _needless(self, row: AskRow) -> bool:
        if self.viewer is None:
            return False
        mark = self.connection.execute(
            "SELECT needless FROM needless WHERE ask = ? AND person = ?", (row.id, self.viewer.id)
        ).fetchone()
        return mark is not None and bool(mark[0])

    def _alike(self, row: AskRow) -> str | None:
        """What identical open calls have in common, as far as that costs little to know."""
        if row.state != AskState.WAITING.value or row.blob is None:
            return None
        if row.call_size > limits.ALIKE_BYTES:
            return None
        digest = self.context.blobs.digest(row.blob)
        return None if digest is None else digest.hex()

    def shown(self) -> list[AskView]:
        """Return what the page's snapshot shows: open asks and the latest closed ones."""
        rows = select(
            self.connection,
            "state = 'waiting' ORDER BY created DESC LIMIT ?",
            (limits.OPEN_SHOWN,),
        )
        rows += select(
            self.connection,
            "closed IS NOT NULL ORDER BY closed DESC LIMIT ?",
            (limits.CLOSED_SHOWN,),
        )
        rows += select(
            self.connection,
            "state = 'posted' ORDER BY created DESC LIMIT ?",
            (limits.CLOSED_SHOWN,),
        )
        return [self.ask(row) for row in rows]

    def sessions(self, only: str | None = None) -> list[SessionView]:
        """Return the sessions heard of, latest first."""
        return session_views(self.context, self.connection, self.machine, self.now, only)


def _options(text: Words) -> list[OptionView]:
    return [
        OptionView(id=option.id, label=option.label, detail=option.detail)
        for option in (text.ask.options if text.ask else [])
    ]


def _resolved(row: AskRow, text: Words) -> ResolvedView | None:
    if row.resolved_at is None:
        return None
    return ResolvedView(ok=bool(row.resolved_ok), text=text.outcome, at=row.resolved_at)


def as_object(view: msgspec.Struct) -> dict[str, object]:
    """Return a view as a JSON object."""
    return cast("dict[str, object]", msgspec.to_builtins(view))
