"""The persons' desk: implements `web.desk.Desk`. Agents have no way to reach it."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Literal

from node.desk import batches, erasing, persons
from node.desk.answers import Answers
from node.desk.attention_desk import AttentionBook
from node.desk.audit import audit
from node.desk.context import Context
from node.desk.needless import mark, report
from node.desk.proposing import propose_rule
from node.desk.reading import Reading
from node.desk.restored import put_away
from node.desk.rows import find
from node.desk.rules_store import RulesStore
from node.desk.sign_in import SignIns
from node.desk.standing import StandingDesk
from node.desk.talks import Talks
from node.desk.views import Looking
from node.store.transaction import Transaction
from node.version import VERSION
from sync.decide.people import Act, may
from sync.errors import AskmeshError, Invalid, NotAllowed
from sync.log.facts import MarkFacts
from sync.log.kinds import EntryType
from web.account_views import StandingView, WordTaken
from web.attention_views import AttentionView, QuietHours, Subscribing
from web.audit_views import AuditPage, AuditWanted
from web.desk import Ballot, Erasing, NewSession, SignIn, Viewer
from web.rules_messages import OneVersion, RulesChecked, RulesHistory, Wanted
from web.rules_views import Proposal, RulesView
from web.talk_views import MessageView, Talk, Writing
from web.together_views import AgentCount, Ballots
from web.views import (
    AskDetail,
    AskView,
    Change,
    SessionRow,
    State,
    VoteReceipt,
)


class PersonDesk:
    """Puts the parts together; each method is described in `web.desk.Desk`."""

    def __init__(
        self,
        context: Context,
        *,
        reading: Reading,
        answers: Answers,
        sign_ins: SignIns,
        rules: RulesStore,
    ) -> None:
        self._accounts = StandingDesk(context)
        self._context = context
        self._reading = reading
        self._answers = answers
        self._sign_ins = sign_ins
        self._rules = rules
        self._attention = AttentionBook(context)
        self._talks = Talks(context)

    @property
    def store_id(self) -> str:
        """A random id of this store."""
        return self._context.store_id

    @property
    def machine(self) -> str:
        """This machine's name."""
        return self._context.machine

    @property
    def version(self) -> str:
        """The program's version."""
        return VERSION

    def now(self) -> int:
        """The judging clock."""
        return self._context.clock.now()

    def trouble(self) -> str | None:
        """Why nothing can be recorded now."""
        trouble = self._context.writer.trouble
        return trouble.sentence if trouble else None

    async def viewer(self, secret: str) -> Viewer | None:
        """Whose session this is."""
        return await self._sign_ins.viewer(secret)

    async def has_person(self) -> bool:
        """Whether anyone ever signed in."""
        return await self._sign_ins.has_person()

    async def sign_in_first(
        self, token: str, *, name: str, passphrase: str | None, where: str
    ) -> NewSession:
        """The first person."""
        return await self._sign_ins.first(token, name=name, passphrase=passphrase, where=where)

    async def sign_in_passphrase(
        self,
        passphrase: str,
        *,
        kind: Literal["page", "terminal"],
        where: str,
        person: str | None = None,
    ) -> NewSession:
        """By passphrase."""
        return await self._sign_ins.by_passphrase(passphrase, kind=kind, where=where, who=person)

    async def signers(self) -> list[str]:
        """Who signs in here by passphrase, where they are several."""
        found = await self._context.reader.run(persons.with_passphrase)
        return [name for _, name, _, _ in found] if len(found) > 1 else []

    async def sign_in_recovery(self, words: str, *, where: str) -> NewSession:
        """By recovery words."""
        return await self._sign_ins.by_recovery(words, where=where)

    async def set_passphrase(self, viewer: Viewer, passphrase: str, *, old: str | None) -> None:
        """A new passphrase for the viewer."""
        await self._sign_ins.set_passphrase(viewer, passphrase, old=old)

    async def sign_in_request(self, *, where: str) -> SignIn:
        """Begin by six digits."""
        return await self._sign_ins.request(where=where)

    async def sign_in_collect(self, sign_in_id: str, digits: str) -> NewSession | None:
        """The new place asks whether it was approved."""
        return await self._sign_ins.collect(sign_in_id, digits)

    async def sign_ins(self, viewer: Viewer) -> list[SignIn]:  # noqa: ARG002 -- proves a session
        """What waits."""
        return await self._sign_ins.waiting()

    async def approve_sign_in(
        self, viewer: Viewer, sign_in_id: str, digits: str, *, person: str | None = None
    ) -> SignIn:
        """Approve by digits."""
        return await self._sign_ins.approve(viewer, sign_in_id, digits, guest=person)

    async def sessions(self, viewer: Viewer) -> list[SessionRow]:
        """The viewer's places."""
        return await self._sign_ins.sessions(viewer)

    async def end_session(self, viewer: Viewer, session_id: str | None) -> int:
        """End one, or all others."""
        return await self._sign_ins.end(viewer, session_id)

    async def state(self, viewer: Viewer) -> State:
        """The snapshot."""
        return await self._reading.state(viewer)

    async def ask(self, viewer: Viewer, ask_id: str) -> AskDetail:
        """One ask."""
        return await self._reading.ask(ask_id, viewer.person)

    def changes(self, viewer: Viewer, since: int) -> AsyncIterator[Change | None]:
        """Changes until the viewer's session ends."""
        return self._while_signed_in(viewer, since)

    async def _while_signed_in(self, viewer: Viewer, since: int) -> AsyncIterator[Change | None]:
        async for change in self._reading.changes(since, viewer.person):
            ended = change is not None and change.topic == "people"
            if ended and not await self._lives(viewer):
                return
            yield change

    async def _lives(self, viewer: Viewer) -> bool:
        return await self._context.reader.run(
            lambda connection: (
                connection.execute(
                    "SELECT 1 FROM person_session WHERE id = ?", (viewer.session_id,)
                ).fetchone()
                is not None
            )
        )

    async def vote(self, viewer: Viewer, ask_id: str, ballot: Ballot) -> VoteReceipt:
        """Answer."""
        return await self._answers.vote(viewer, ask_id, ballot)

    async def take_back(self, viewer: Viewer, ask_id: str) -> VoteReceipt:
        """Take an answer back."""
        return await self._answers.take_back(viewer, ask_id)

    async def mark_read(self, viewer: Viewer, ask_id: str, *, read: bool) -> AskView:
        """Mark a note or a result."""

        def job(transaction: Transaction) -> AskView:
            row = find(transaction.connection, ask_id)
            person = persons.everyone(transaction.connection).get(viewer.person)
            if not may(person, Act.ANSWER):
                raise NotAllowed("You may see this, but not mark it.")
            if not row.posted:
                raise Invalid(f"A {row.kind} is answered, not marked as read.")
            transaction.append(
                EntryType.MARK,
                MarkFacts(ask=row.id, person=viewer.person, read=read, at=transaction.now),
            )
            transaction.change("ask", row.id)
            return Looking(self._context, transaction.connection, viewer.person).ask(row)

        return await self._context.writer.run("mark", job)

    async def vote_together(
        self, viewer: Viewer, ballots: Ballots
    ) -> list[VoteReceipt | AskmeshError]:
        """Give several answers."""
        return await batches.vote_together(self._answers, viewer, ballots)

    async def mark_needless(self, viewer: Viewer, ask_id: str, *, needless: bool) -> AskView:
        """Mark what need not have been asked."""
        return await mark(self._context, viewer, ask_id, needless=needless)

    async def agent_report(self, viewer: Viewer) -> list[AgentCount]:  # noqa: ARG002 -- proves it
        """How much each agent asked."""
        return await self._context.reader.run(report)

    async def audit(
        self, viewer: Viewer, wanted: AuditWanted, *, before: str | None, limit: int
    ) -> AuditPage:
        """Who decided what."""
        return await audit(self._context, viewer, wanted, before=before, limit=limit)

    async def attention(self, viewer: Viewer) -> AttentionView:
        """How the viewer is called."""
        return await self._attention.view(viewer)

    async def subscribe(self, viewer: Viewer, wanted: Subscribing) -> AttentionView:
        """Whether some agents call the viewer."""
        return await self._attention.subscribe(viewer, wanted)

    async def mute(self, viewer: Viewer, until: int | None) -> AttentionView:
        """Let nothing call the viewer for a while."""
        return await self._attention.mute(viewer, until)

    async def set_quiet(self, viewer: Viewer, quiet: QuietHours | None) -> AttentionView:
        """The viewer's quiet hours."""
        return await self._attention.set_quiet(viewer, quiet)

    async def messages(self, viewer: Viewer, *, project: str | None, before: int | None) -> Talk:
        """The latest messages."""
        return await self._talks.latest(viewer, project=project, before=before)

    async def talk(self, viewer: Viewer, message: str) -> Talk:
        """One talk."""
        return await self._talks.talk(viewer, message)

    async def write_message(self, viewer: Viewer, wanted: Writing) -> MessageView:
        """Write to agents."""
        return await self._talks.write(viewer, wanted)

    async def redact_message(self, viewer: Viewer, message: str, wanted: Erasing) -> MessageView:
        """Have words erased."""
        return await self._talks.redact(viewer, message, wanted)

    async def put_away_restored(self, viewer: Viewer) -> None:
        """A person has read it."""
        await self._context.writer.run("restored_seen", partial(put_away, viewer=viewer))

    async def redact(self, viewer: Viewer, ask_id: str, wanted: Erasing) -> AskView:
        """Have a text erased."""
        return await erasing.redact(self._context, viewer, ask_id, wanted)

    async def rules(self, viewer: Viewer) -> RulesView | None:  # noqa: ARG002 -- proves a session
        """The rules in force."""
        return await self._rules.view()

    async def apply_rules(
        self, viewer: Viewer, *, name: str, source: str, replaces: str | None
    ) -> RulesView:
        """Apply rules."""
        return await self._rules.apply(viewer, name=name, source=source, replaces=replaces)

    async def check_rules(self, viewer: Viewer, source: str) -> RulesChecked:  # noqa: ARG002 -- as above
        """Check a rules file."""
        return await self._rules.check(source)

    async def rules_history(self, viewer: Viewer) -> RulesHistory:  # noqa: ARG002 -- as above
        """The versions there were."""
        return await self._rules.history()

    async def rules_version(self, viewer: Viewer, version: str) -> OneVersion:  # noqa: ARG002 -- as above
        """One version."""
        return await self._rules.version(version)

    async def propose_rule(self, viewer: Viewer, ask_id: str, wanted: Wanted) -> Proposal:
        """A rule made of a decision."""
        return await propose_rule(self._context, self._rules, viewer, ask_id, wanted)

    async def standing(self, viewer: Viewer) -> StandingView:
        """How accounts stand."""
        return await self._accounts.standing(viewer)

    async def set_standing(
        self, viewer: Viewer, person: str, standing: str, *, remedy: str | None, reason: str
    ) -> StandingView:
        """An owner's word on another person."""
        return await self._accounts.set_standing(
            viewer, person, standing, remedy=remedy, reason=reason
        )

    async def standing_word(self, operator: bytes, word: bytes, signature: bytes) -> WordTaken:
        """An operator's word; nobody needs to be signed in."""
        return await self._accounts.standing_word(operator, word, signature)

    async def add_operator(self, viewer: Viewer, name: str, key: bytes) -> StandingView:
        """Register an operator."""
        return await self._accounts.add_operator(viewer, name, key)

    async def remove_operator(self, viewer: Viewer, key: bytes) -> StandingView:
        """Remove an operator."""
        return await self._accounts.remove_operator(viewer, key)
