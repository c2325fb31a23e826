"""Who may decide, worked out from one log alone: roles, accounts, and whose vote may count.

Written again rather than taken from `sync.decide`: in these worlds one machine states all of
this, so its last word counts, and nothing has to be settled.
"""

from collections.abc import Iterable

from sync.decide.word import read
from sync.log.facts import Quorum, VoteFacts
from sync.log.kinds import EntryType
from tests.sim.log import Line, Log

RANKS = {"viewer": 0, "member": 1, "admin": 2, "owner": 3}
HELD = {"on_hold": 1, "suspended": 2}
CARDS = ("", "account_on_hold", "suspended")


class Law:
    """What a store knew of persons before its entry number `before` (None: all it knows)."""

    def __init__(self, log: Log, before: int | None = None) -> None:
        self.log = log
        self._ranks: dict[str, int] = {}
        self._held: dict[tuple[str | None, bytes], int] = {}
        for line in log.statements:
            if before is not None and line.n >= before:
                break
            facts = line.facts
            if line.type == EntryType.PERSON:
                self._ranks[facts.person] = -1 if facts.ended else RANKS[facts.role]
            elif facts.operator is None:
                self._held[facts.person, b""] = HELD.get(facts.standing, 0)
            else:
                word = read(facts.word)
                self._held[word.person, facts.operator] = HELD.get(word.standing, 0)

    def may(self, person: str, role: str | None) -> bool:
        """Whether a person may answer what this role guards."""
        return self._ranks.get(person, -1) >= RANKS[role or "member"]

    def held(self, person: str) -> int:
        """How strictly the answers of a person are held back; 0: they count."""
        words = (level for (whose, _), level in self._held.items() if whose in (None, person))
        return max(words, default=0)

    def wrong(self, vote: VoteFacts, quorum: Quorum) -> str | None:
        """Say why a vote may not count; None: it may."""
        if not self.may(vote.person, quorum.role):
            return f"{vote.person} may not answer it"
        if self.held(vote.person):
            return f"the account of {vote.person} is on hold"
        if vote.decision == "allow" and vote.person in quorum.not_by:
            return f"{vote.person} allows what an agent of theirs asks"
        return None


def too_few(votes: Iterable[tuple[str, VoteFacts]], quorum: Quorum) -> str | None:
    """Say that these votes (machine, facts) are too few to allow it; None: they are enough."""
    given = list(votes)
    persons = {facts.person for _, facts in given}
    machines = {machine for machine, _ in given}
    if min(len(persons), len(machines)) < quorum.needed:
        return f"{len(persons)} persons on {len(machines)} machines allow it"
    return None


def counts_wrongly(log: Log, asked: Line, votes: dict[bytes, Line]) -> list[str]:
    """Return which votes the home counted though it knew better; `log` is the home's own."""
    found = []
    for ruling in log.of(EntryType.RULING, asked.ask):
        vote, what = votes.get(ruling.facts.vote), ruling.facts.ruling
        if vote is None or vote.facts.decision == "take_back":
            continue
        law = Law(log, ruling.n)
        if what in ("accepted", "counted"):
            wrong = law.wrong(vote.facts, asked.facts.quorum)
            found += [f"a vote is {what} though {wrong}"] if wrong else []
        if what == "on_hold" and not law.held(vote.facts.person):
            found.append(f"a vote of {vote.facts.person} is on hold, whose account is not")
    return found
