"""Statements of several machines as a test makes them: no signatures, real ids and hashes."""

from collections.abc import Iterable

import msgspec

from sync.decide.membership import Membership, settle
from sync.decide.statements import Stated
from sync.log import facts as say
from sync.log.entry import sha256
from sync.log.kinds import EntryType

TYPES: dict[type[say.Statement], EntryType] = {
    say.GenesisFacts: EntryType.GENESIS,
    say.MemberFacts: EntryType.MEMBER,
    say.RemovedFacts: EntryType.REMOVED,
    say.CertificateFacts: EntryType.CERTIFICATE,
    say.PersonFacts: EntryType.PERSON,
    say.SpeaksForFacts: EntryType.SPEAKS_FOR,
    say.RulesFacts: EntryType.RULES,
    say.ConsentFacts: EntryType.CONSENT,
    say.OperatorFacts: EntryType.OPERATOR,
    say.StandingFacts: EntryType.STANDING,
}


def key_of(name: str) -> bytes:
    """The public key of a machine."""
    return sha256(b"key of " + name.encode())


def node_of(name: str) -> bytes:
    """The node id of a machine."""
    return sha256(key_of(name))


class Machine:
    """One machine: what it knows, and what it states by that."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.id = node_of(name)
        self.known: dict[bytes, Stated] = {}
        self.seq = 0

    def say(self, facts: say.Statement, *, heads: Iterable[bytes] | None = None) -> Stated:
        """State something as of what is known here (or of `heads`)."""
        self.seq += 1
        named = self.fleet().heads if heads is None else heads
        signed = msgspec.structs.replace(facts, heads=list(named))
        packed = say.pack_facts(signed)
        one = Stated(
            hash=sha256(self.id + self.seq.to_bytes(8, "big") + packed),
            author=self.id,
            seq=self.seq,
            type=TYPES[type(facts)].value,
            facts=signed,
            fleet=FLEET,
        )
        self.known[one.hash] = one
        return one

    def hear(self, *others: "Machine") -> None:
        """Learn all that others know."""
        for other in others:
            self.known.update(other.known)

    def fleet(self) -> Membership:
        """The fleet as it is known here."""
        return settle(self.known.values(), founder=FOUNDER)


FOUNDER = node_of("home")
FLEET = b"f" * 16


def genesis(name: str = "home") -> say.GenesisFacts:
    return say.GenesisFacts(
        node_key=key_of(name), recovery_key=b"r" * 32, machine=name, certificate=b"cert", at=1
    )


def member(name: str, by: str, certificate: bytes = b"cert") -> say.MemberFacts:
    return say.MemberFacts(
        node_key=key_of(name), certificate=certificate, machine=name, by=by, at=2
    )


def person(
    name: str,
    role: str = "owner",
    *,
    by: str | None = None,
    ended: bool = False,
    replaces: Stated | None = None,
    also: Iterable[Stated] = (),
) -> say.PersonFacts:
    return say.PersonFacts(
        person=name,
        name=name.title(),
        role=role,
        ended=ended,
        replaces=None if replaces is None else replaces.hash,
        also=[one.hash for one in also],
        by=by,
        at=3,
    )


def speaks(
    machine: str,
    name: str,
    *,
    by: str | None = None,
    on: bool = True,
    replaces: Stated | None = None,
) -> say.SpeaksForFacts:
    return say.SpeaksForFacts(
        node=node_of(machine),
        person=name,
        on=on,
        replaces=None if replaces is None else replaces.hash,
        by=by,
        at=4,
    )


def consent(machine: str, name: str, named: Stated) -> say.ConsentFacts:
    return say.ConsentFacts(node=node_of(machine), person=name, named=named.hash, at=4)


def removed(
    machine: str, by: str | None, cut: dict[int, int] | None = None, **more: int
) -> say.RemovedFacts:
    return say.RemovedFacts(
        node=node_of(machine),
        cut=[say.CutPoint(log=log, seq=seq, hash=bytes(32)) for log, seq in (cut or {}).items()],
        by=by,
        at=more.get("at", 5),
    )


def rules(
    version: str, by: str, *, replaces: Stated | None = None, also: Iterable[Stated] = ()
) -> say.RulesFacts:
    return say.RulesFacts(
        name="rules",
        version=version,
        source_hash=b"h" * 32,
        replaces=None if replaces is None else replaces.hash,
        also=[one.hash for one in also],
        by=by,
        at=6,
    )


def founded() -> Machine:
    """A machine `home` whose owner is `ann`."""
    home = Machine("home")
    home.say(genesis())
    home.say(person("ann"))
    home.say(speaks("home", "ann"))
    return home


def joined(by: Machine, name: str, *, for_person: str | None = None, who: str = "ann") -> Machine:
    """A machine that was paired with `by`, with all that it knows."""
    by.say(member(name, who))
    if for_person is not None:
        by.say(speaks(name, for_person, by=who))
    machine = Machine(name)
    machine.hear(by)
    return machine


def of_role(role: str) -> tuple[Machine, Machine]:
    """A fleet of two machines: the owner's, and one that speaks for `bob` of this role."""
    home = founded()
    home.say(person("bob", role, by="ann"))
    return home, joined(home, "lap", for_person="bob")
