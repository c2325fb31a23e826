"""The lines of what was said about the fleet itself: people, machines, rules, accounts."""

import contextlib
import sqlite3
from collections.abc import Callable
from typing import Final, NamedTuple

from node.audit.names import Names, cut, short_id, utc
from node.audit.proof import Found, Proof, facts_of, text_of
from sync.decide import recovery, word
from sync.decide.standing import in_words
from sync.log import facts as say
from sync.log.entry import Entry, sha256
from sync.log.kinds import EntryType
from sync.log.names import node_name
from web.audit_views import AuditChange, AuditLine

WHAT: Final = {
    EntryType.GENESIS: "fleet",
    EntryType.PERSON: "person",
    EntryType.RULES: "rules",
    EntryType.SPEAKS_FOR: "speaks_for",
    EntryType.MEMBER: "member",
    EntryType.REMOVED: "removed",
    EntryType.STANDING: "standing",
    EntryType.OPERATOR: "operator",
    EntryType.CONSENT: "consent",
    EntryType.REDACTED: "erased",
}


KEPT: Final = (
    "SELECT author, type FROM entry WHERE hash = ?1"
    " UNION ALL SELECT author, type FROM testimony WHERE hash = ?1"
)


class Told(NamedTuple):
    """What a statement says: by whom, in a sentence without its subject, and in parts."""

    by: str | None
    sentence: str
    change: AuditChange
    outside: str | None = None
    """The outside system that said it, where no person did."""


class Changes:
    """Makes the lines of statements from one snapshot of the store."""

    def __init__(
        self, connection: sqlite3.Connection, names: Names, proof: Proof, *, reasons: bool
    ) -> None:
        self._connection = connection
        self._names = names
        self._proof = proof
        self._reasons = reasons

    def line(self, entry_hash: bytes, at: int, found: Found) -> AuditLine:
        """Return the line of a statement; what is wrong with it goes into `found`."""
        author, kind = self._connection.execute(KEPT, (entry_hash,)).fetchone()
        entry = self._proof.entry(entry_hash, "the entry", found)
        told = None if entry is None else self._told(entry, found)
        by = told.by if told else None
        who = (told.outside if told else None) or (None if by is None else self._names.person(by))
        machine = node_name(author)
        box = self._names.machine(machine)
        sentence = told.sentence if told else "Something was said here that cannot be read"
        counts = entry is not None and self._counts(entry)
        tail = "." if counts or entry is None else "; it counts for nothing: nobody might say so."
        return AuditLine(
            id=entry_hash.hex(),
            at=at,
            at_utc=utc(at),
            what=WHAT.get(kind, "unknown"),
            summary=f"{who or box} {sentence}{tail}" if told else f"{sentence}.",
            by=who,
            by_id=by,
            machine=box,
            machine_id=machine,
            session=None,
            change=told.change if told else None,
            counts=counts,
            check="holds",
            findings=[],
        )

    def _counts(self, entry: Entry) -> bool:
        if entry.header.type == EntryType.REDACTED:
            return True
        return self._proof.counts(entry)

    def _told(self, entry: Entry, found: Found) -> Told | None:
        with contextlib.suppress(KeyError, ValueError):
            kind = EntryType(entry.header.type)
            facts = facts_of(entry, say.FACTS[kind], "the entry", found)
            if facts is not None:
                return _TELL[kind](self, entry, facts)
        return None

    def _fleet(self, entry: Entry, facts: say.GenesisFacts) -> Told:
        node = entry.header.author
        return Told(None, f"began the fleet with {facts.machine}", self._about(node=node))

    def _person(self, entry: Entry, facts: say.PersonFacts) -> Told:
        change = AuditChange(
            person=facts.name, person_id=facts.person, role=facts.role, on=not facts.ended
        )
        if facts.recovered is not None and self._recovered(entry, facts):
            return Told(facts.person, "came in by the recovery words; all sessions ended", change)
        if facts.ended:
            return Told(facts.by, f"removed {facts.name}", change)
        if facts.by is None or facts.by == facts.person:
            return Told(facts.person, f"is {facts.role}, by the name of {facts.name}", change)
        return Told(facts.by, f"made {facts.name} {facts.role}", change)

    def _recovered(self, entry: Entry, facts: say.PersonFacts) -> bool:
        """Whether the words of this fleet were used, as the key of its founding tells."""
        fleet, author = entry.header.fleet, entry.header.author
        return any(
            recovery.holds(facts, fleet=fleet, author=author, key=key)
            for (key,) in self._connection.execute(
                "SELECT recovery_key FROM node WHERE recovery_key IS NOT NULL"
            )
        )

    def _rules(self, _entry: Entry, facts: say.RulesFacts) -> Told:
        change = AuditChange(name=facts.name, version=facts.version)
        return Told(facts.by, f"applied the rules {facts.name}, version {facts.version}", change)

    def _speaks_for(self, _entry: Entry, facts: say.SpeaksForFacts) -> Told:
        change = self._about(node=facts.node, person=facts.person, on=facts.on)
        no_longer = "" if facts.on else " no longer"
        if facts.by is None or facts.by == facts.person:
            sentence = f"speaks{no_longer} through {change.machine}"
            return Told(facts.person, sentence, change)
        return Told(facts.by, f"said that {change.machine} is{no_longer} {change.person}'s", change)

    def _consent(self, _entry: Entry, facts: say.ConsentFacts) -> Told:
        change = self._about(node=facts.node, person=facts.person, on=True)
        return Told(facts.person, f"agreed to speak through {change.machine} too", change)

    def _member(self, _entry: Entry, facts: say.MemberFacts) -> Told:
        change = self._about(node=sha256(facts.node_key))
        return Told(facts.by, f"let {facts.machine} into the fleet", change)

    def _removed(self, entry: Entry, facts: say.RemovedFacts) -> Told:
        change = self._about(node=facts.node, on=False)
        left = facts.node == entry.header.author
        what = f"took {change.machine} out of the fleet" if left else f"removed {change.machine}"
        return Told(facts.by, what, change)

    def _standing(self, _entry: Entry, facts: say.StandingFacts) -> Told:
        person, level, reason, outside = facts.person, facts.standing, facts.reason, None
        if facts.operator is not None:
            said = word.word_in(facts)
            outside = self._names.operator(facts.operator)
            if said is None:
                return Told(None, "said what nobody signed", AuditChange(), outside)
            person, level, reason = said.person, said.standing, said.reason
        change = AuditChange(
            person=None if person is None else self._names.person(person),
            person_id=person,
            standing=level,
            reason=cut(reason) if self._reasons else None,
        )
        whose = "everyone" if person is None else self._names.person(person)
        why = f": {change.reason.rstrip('.')}" if change.reason else ""
        what = f"set the account of {whose} to {in_words(level)}{why}"
        return Told(facts.by, what, change, outside)

    def _operator(self, _entry: Entry, facts: say.OperatorFacts) -> Told:
        change = AuditChange(name=facts.name, on=facts.on)
        may = "may" if facts.on else "may no longer"
        return Told(facts.by, f"said that {facts.name} {may} say how accounts stand", change)

    def _redacted(self, entry: Entry, facts: say.RedactedFacts) -> Told:
        text = text_of(entry, say.RedactedText)
        reason = cut(text.reason if text else None)
        why = f": {reason.rstrip('.')}" if reason else ""
        change = AuditChange(ask=facts.ask, reason=reason)
        return Told(facts.by, f"had the words of {short_id(facts.ask)} erased{why}", change)

    def _about(
        self, *, node: bytes, person: str | None = None, on: bool | None = None
    ) -> AuditChange:
        machine = node_name(node)
        return AuditChange(
            machine=self._names.machine(machine),
            machine_id=machine,
            person=None if person is None else self._names.person(person),
            person_id=person,
            on=on,
        )


_TELL: dict[EntryType, Callable[..., Told]] = {
    EntryType.GENESIS: Changes._fleet,  # noqa: SLF001 -- its own table
    EntryType.PERSON: Changes._person,  # noqa: SLF001 -- its own table
    EntryType.RULES: Changes._rules,  # noqa: SLF001 -- its own table
    EntryType.SPEAKS_FOR: Changes._speaks_for,  # noqa: SLF001 -- its own table
    EntryType.CONSENT: Changes._consent,  # noqa: SLF001 -- its own table
    EntryType.MEMBER: Changes._member,  # noqa: SLF001 -- its own table
    EntryType.REMOVED: Changes._removed,  # noqa: SLF001 -- its own table
    EntryType.STANDING: Changes._standing,  # noqa: SLF001 -- its own table
    EntryType.OPERATOR: Changes._operator,  # noqa: SLF001 -- its own table
    EntryType.REDACTED: Changes._redacted,  # noqa: SLF001 -- its own table
}
