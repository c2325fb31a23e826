"""Small histories of a fleet of two machines, and stores in memory that got them."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from node.store.migrations import migrate
from node.store.projection import DERIVED
from node.store.transaction import store
from sync.log import facts as say
from sync.log.attention_facts import SubscriptionFacts
from sync.log.board_facts import Cell
from sync.log.chain import EMPTY, Head
from sync.log.entry import Entry
from sync.log.kinds import EntryType, log_of
from sync.log.names import ask_name, message_name
from tests.sync.log.entries import SALT, entry, head_of, key

HOME, OTHER = key(1), key(2)
ASK = ask_name(HOME.node_id, 1)
LOCAL_ORDER = {"vote": "n", "rules": "n", "message": "n"}
"""Columns that say in which order entries arrived here; no two nodes need agree on them."""


class Said(NamedTuple):
    """What an entry says."""

    kind: EntryType
    facts: say.Part
    text: say.Part = say.NoText()
    hlc: int = 7 << 16


def log(said: Sequence[Said], by: int, *, after: Sequence[Entry] | None = None) -> list[Entry]:
    """The entries of one node, in its two chains; those of the home follow the founding.

    Hand-overs are of the first final among them.
    """
    before = (FOUNDING if by == 1 else []) if after is None else after
    heads: dict[int, Head] = {one.header.log: head_of(one) for one in before}
    made: list[Entry] = []
    for one in said:
        place = int(log_of(one.kind))
        facts = one.facts
        finals = [other for other in made if other.header.type == EntryType.FINAL]
        if isinstance(facts, say.HandoverFacts) and finals:
            facts = msgspec.structs.replace(facts, final=finals[0].hash)
        signed = entry(
            heads.get(place, EMPTY),
            by=key(by),
            kind=one.kind,
            facts=say.pack_facts(facts),
            text=say.pack_text(SALT, one.text),
            hlc=one.hlc,
        )
        heads[place] = head_of(signed)
        made.append(signed)
    return made


@contextmanager
def holding(entries: Sequence[Entry]) -> Iterator[sqlite3.Connection]:
    """A store in memory that got these entries in this order, after the founding."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(connection, now=0)
        for one in [*FOUNDING, *entries]:
            store(connection, one)
        yield connection
    finally:
        connection.close()


def tables(entries: Sequence[Entry]) -> dict[str, set[tuple[object, ...]]]:
    """The derived tables after these entries, without what is the order's own."""
    with holding(entries) as connection:
        found = {}
        for table in DERIVED:
            rows = connection.execute(f"SELECT * FROM {table}")  # noqa: S608 -- ours
            local = [
                at for at, name in enumerate(rows.description) if name[0] == LOCAL_ORDER.get(table)
            ]
            found[table] = {
                tuple(value for at, value in enumerate(row) if at not in local) for row in rows
            }
    return found


def ask(number: int = 1) -> Said:
    facts = say.AskFacts(
        number=number,
        kind="approval",
        agent="claude",
        session="s",
        project="p",
        created=1,
        deadline=99,
    )
    return Said(EntryType.ASK, facts, say.AskText(title="Deploy"))


def vote(person: str, decision: str, ask_id: str = ASK) -> Said:
    facts = say.VoteFacts(ask=ask_id, person=person, decision=decision, seen=ASKED.hash, at=2)
    return Said(EntryType.VOTE, facts, say.VoteText(because="so"))


def ruling(of: Entry, word: str, ask_id: str = ASK) -> Said:
    facts = say.RulingFacts(ask=ask_id, vote=of.hash, ruling=word, counted=1, at=3)
    return Said(EntryType.RULING, facts)


def final(by: Entry, outcome: str = "allowed") -> Said:
    embedded = say.EmbeddedVote(raw=by.raw, signature=by.signature, facts=by.facts)
    facts = say.FinalFacts(
        ask=ASK,
        seen=ASKED.hash,
        outcome=outcome,
        votes=[embedded],
        people_heads=[VOTES[1].hash],
        use_by=9,
        at=4,
    )
    return Said(EntryType.FINAL, facts, say.FinalText(because="so"))


def handover(status: str, token: int = 1) -> Said:
    facts = say.HandoverFacts(
        ask=ASK, final=b"f" * 32, status=status, token=token, session="s", lease_until=10, at=5
    )
    return Said(EntryType.HANDOVER, facts)


def mark(read: bool, hlc: int) -> Said:
    facts = say.MarkFacts(ask="n-1", person="ann", read=read, at=1)
    return Said(EntryType.MARK, facts, hlc=hlc)


def muted(until: int | None, hlc: int) -> Said:
    facts = SubscriptionFacts(person="ann", field="mute", until=until, at=1)
    return Said(EntryType.SUBSCRIPTION, facts, hlc=hlc)


def message(number: int, to: int, **more: Any) -> Said:  # noqa: ANN401 -- fields of the facts
    said = {"agent": "claude", "session": "s", **more}
    whom = [say.Recipient(node=key(to).node_id, agent="codex")]
    facts = say.MessageFacts(number=number, project="p", to=whom, at=1, **said)
    return Said(EntryType.MESSAGE, facts, say.MessageText(body="hello", subject="hi"))


def receipt(status: str, message_id: str, agent: str = "codex") -> Said:
    facts = say.ReceiptFacts(
        status=status, messages=[message_id], agent="" if status == "carried" else agent, at=2
    )
    return Said(EntryType.RECEIPT, facts)


def cells(row: str, *fields: str, hlc: int = 7 << 16) -> Said:
    facts = say.BoardFacts(
        board="0" * 32, row=row, project="p", fields=list(fields), agent="a", session="s", at=1
    )
    text = say.BoardText(title="t", cells=[Cell(field=one, value=str(hlc)) for one in fields])
    return Said(EntryType.BOARD, facts, text, hlc=hlc)


RESOLVED = Said(
    EntryType.RESOLVED,
    say.ResolvedFacts(ask=ASK, token=1, ok=True, at=6),
    say.ResolvedText(outcome="shipped"),
)
RULES = Said(
    EntryType.RULES,
    say.RulesFacts(name="r", version="v", source_hash=b"h", by="ann", at=2),
    say.RulesText(source=""),
)


def speaks_for(number: int, person: str, by: str | None = "ann") -> Said:
    node = key(number).node_id
    return Said(
        EntryType.SPEAKS_FOR, say.SpeaksForFacts(node=node, person=person, on=True, by=by, at=1)
    )


def person(name: str, role: str, by: str | None = "ann") -> Said:
    facts = say.PersonFacts(person=name, name=name.capitalize(), role=role, by=by, at=1)
    return Said(EntryType.PERSON, facts)


FOUNDING = log(
    [
        Said(
            EntryType.GENESIS,
            say.GenesisFacts(node_key=HOME.public, recovery_key=bytes(32), machine="home", at=1),
        ),
        person("ann", "owner", by=None),
        speaks_for(1, "ann", by=None),
        Said(
            EntryType.MEMBER,
            say.MemberFacts(
                node_key=OTHER.public, certificate=b"c", machine="other", by="ann", at=1
            ),
        ),
        speaks_for(2, "ann"),
    ],
    by=1,
    after=[],
)
"""Ann's fleet of two machines, both hers."""
(ASKED,) = log([ask()], by=1)
"""What the home says first in these tests, and every vote names."""


def knowing(said: Said, *heads: Entry) -> Said:
    return changed(said, heads=[one.hash for one in heads])


def changed(said: Said, **more: object) -> Said:
    return said._replace(facts=msgspec.structs.replace(said.facts, **more))


VOTES = log(
    [
        knowing(person("bob", "member"), FOUNDING[-1]),
        speaks_for(2, "bob"),
        vote("ann", "allow"),
        vote("bob", "deny"),
        mark(True, 5),
        mark(False, 9),
        muted(None, 6),
        message(1, 1),
        receipt("carried", message_name(HOME.node_id, 1)),
        receipt("acknowledged", message_name(HOME.node_id, 1)),
        cells("1" * 32, "status", "note", hlc=20),
        cells("1" * 32, "note", hlc=22),
    ],
    by=2,
)
"""The other machine: Ann names Bob there, and both vote. Finals name what she said."""
ANN, BOB = VOTES[2], VOTES[3]
LIFE = log(
    [
        ask(),
        RULES,
        ask(2),
        ruling(ANN, "accepted"),
        final(ANN),
        ruling(BOB, "superseded"),
        mark(True, 7),
        handover("handed"),
        RESOLVED,
        mark(True, 9),
        muted(50, 10),
        muted(70, 10),
        message(1, 2),
        receipt("carried", message_name(OTHER.node_id, 1)),
        cells("1" * 32, "status", "note", hlc=21),
        cells("", "archived", hlc=22),
        message(2, 2, agent="", session="", person="ann", heads=[FOUNDING[-1].hash]),
    ],
    by=1,
)
