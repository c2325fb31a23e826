"""Whether a home kept to the rules in what it said of its asks, judged from the log alone.

The tables leave out what breaks a rule, so they cannot show that something did. This goes
through the entries themselves: one final for an ask, resting on its votes; one hand-over of
an approval; tokens that rise; one ruling for a vote.
"""

from collections.abc import Callable, Iterable

import msgspec

from sync.decide.ask import DECIDED, AskState, Kind, Outcome, Step, advance
from sync.decide.handover import Status
from sync.decide.membership import Membership
from sync.decide.recheck import Closing, voted_rightly, votes_of
from sync.errors import BadEntry, IllegalStep
from sync.log import facts as say
from sync.log.entry import Entry
from sync.log.kinds import EntryType
from sync.log.names import NUMBER_MAX, ask_name, node_name

AsOf = Callable[[bytes, Iterable[bytes]], Membership | None]
"""The fleet as of these statements; None while one of them is not here."""

_OUTCOMES = frozenset(outcome.value for outcome in Outcome)
_ANSWERED = frozenset(kind.value for kind in DECIDED)
_GIVEN = frozenset({AskState.HANDED, AskState.RESOLVED})
_STEPS = {Status.HANDED.value: Step.HAND, Status.VOID.value: Step.VOID}


class _Life(msgspec.Struct, kw_only=True):
    """Where an ask stands."""

    closing: Closing
    state: AskState = AskState.WAITING
    final: bytes | None = None
    token: int = 0
    waits: bool = False
    """Its final names statements that are not here: what follows cannot be judged yet."""


class Lawful:
    """What homes said so far. Each author's entries must come in their order."""

    def __init__(self, as_of: AsOf) -> None:
        self._as_of = as_of
        self._lives: dict[str, _Life | None] = {}
        """By ask; None for what is only read."""
        self._ruled: set[tuple[str, bytes]] = set()
        self.finals = 0
        self.handovers = 0
        self.waiting = 0
        """Finals that name statements which are not here yet."""

    def hear(self, entry: Entry) -> str | None:
        """Take the next entry that counts; return what is wrong with it, None: nothing.

        Words of a newer askmesh are passed over, as the tables do.
        """
        judge = _JUDGES.get(entry.header.type)
        if judge is None:
            return None
        try:
            judge(self, entry)
        except (BadEntry, IllegalStep) as error:
            return error.sentence
        return None

    def _ask(self, entry: Entry) -> None:
        facts = say.read(say.AskFacts, entry.facts)
        ask = self._new(entry, facts.number)
        self._lives[ask] = None
        if facts.kind in _ANSWERED:
            self._lives[ask] = _Life(
                closing=Closing(
                    kind=Kind(facts.kind),
                    seen=entry.hash,
                    fleet=entry.header.fleet,
                    quorum=facts.quorum,
                )
            )

    def _note(self, entry: Entry) -> None:
        self._lives[self._new(entry, say.read(say.NoteFacts, entry.facts).number)] = None

    def _new(self, entry: Entry, number: int) -> str:
        if not 0 < number <= NUMBER_MAX:
            raise BadEntry("An ask has a number that no ask can have.")
        ask = ask_name(entry.header.author, number)
        if ask in self._lives:
            raise BadEntry(f"Two asks have the number {number}.")
        return ask

    def _life(self, ask: str, entry: Entry) -> _Life:
        if ask.rpartition("-")[0] != node_name(entry.header.author):
            raise BadEntry("It speaks of an ask of another machine, which alone may.")
        life = self._lives.get(ask)
        if life is None:
            raise BadEntry("It speaks of an ask that was never raised.")
        return life

    def _ruling(self, entry: Entry) -> None:
        facts = say.read(say.RulingFacts, entry.facts)
        self._life(facts.ask, entry)
        if (facts.ask, facts.vote) in self._ruled:
            raise BadEntry("It is a second ruling on one vote.")
        self._ruled.add((facts.ask, facts.vote))

    def _final(self, entry: Entry) -> None:
        facts = say.read(say.FinalFacts, entry.facts)
        if facts.outcome not in _OUTCOMES:
            return
        self.finals += 1
        life = self._life(facts.ask, entry)
        if life.waits:
            return
        if life.final is not None:
            raise BadEntry("It is a second final: the ask was closed before.")
        votes = votes_of(facts, life.closing)
        if votes:
            known = self._as_of(entry.header.fleet, facts.people_heads)
            if known is None:
                life.waits = True
                self.waiting += 1
                return
            voted_rightly(votes, known, life.closing.quorum.role)
        life.state, life.final = advance(life.closing.kind, life.state, Step.CLOSE), entry.hash

    def _handover(self, entry: Entry) -> None:
        facts = say.read(say.HandoverFacts, entry.facts)
        step = _STEPS.get(facts.status)
        if step is None:
            return
        self.handovers += 1
        life = self._life(facts.ask, entry)
        if life.waits:
            return
        state = self._handed(life, step)
        least = life.token + 1 if step is Step.HAND else life.token
        if facts.final != life.final:
            raise BadEntry("It hands over another final than the one that closed the ask.")
        if facts.token < least:
            raise BadEntry(f"It has token {facts.token}, where at least {least} was due.")
        life.state, life.token = state, facts.token

    def _handed(self, life: _Life, step: Step) -> AskState:
        kind = life.closing.kind
        if kind is Kind.APPROVAL and step is Step.HAND and life.state in _GIVEN:
            raise BadEntry("It hands an approval over a second time.")
        return advance(kind, life.state, step)

    def _resolved(self, entry: Entry) -> None:
        facts = say.read(say.ResolvedFacts, entry.facts)
        life = self._life(facts.ask, entry)
        if life.waits:
            return
        state = advance(life.closing.kind, life.state, Step.RESOLVE)
        if facts.token != life.token:
            raise BadEntry("It is the outcome of another hand-over than the one that stands.")
        life.state = state


_JUDGES: dict[int, Callable[[Lawful, Entry], None]] = {
    EntryType.ASK: Lawful._ask,  # noqa: SLF001 -- its own table
    EntryType.NOTE: Lawful._note,  # noqa: SLF001 -- its own table
    EntryType.RULING: Lawful._ruling,  # noqa: SLF001 -- its own table
    EntryType.FINAL: Lawful._final,  # noqa: SLF001 -- its own table
    EntryType.HANDOVER: Lawful._handover,  # noqa: SLF001 -- its own table
    EntryType.RESOLVED: Lawful._resolved,  # noqa: SLF001 -- its own table
}
