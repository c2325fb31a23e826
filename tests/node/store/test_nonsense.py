"""What a member signs may be nonsense, and what relays bring may be spoilt: nothing harms.

Nonsense is stored, relayed and left out by every store alike. A changed bit is not stored.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from node.store import derive, receive
from node.store.migrations import migrate
from node.store.projection import DERIVED
from node.store.rebuild import differences
from node.store.transaction import Identity, Transaction, store
from node.verify.log import LogCheck
from node.verify.names import Names
from sync.errors import BadEntry
from sync.log.chain import EMPTY
from sync.log.entry import Entry, decode, seal
from sync.log.kinds import EntryType, log_of
from tests.counts import counted
from tests.node.store.histories import FOUNDING, LIFE, LOCAL_ORDER, VOTES, holding
from tests.node.store.stores import Counted
from tests.sync.log.entries import SALT, head_of, key

MODELS = [*FOUNDING, *LIFE, *VOTES]
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(["", "n-1", "AAAA", "allowed", "handed", "ann", "owner", "approval"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@st.composite
def nonsense(draw: st.DrawFn) -> tuple[int, bytes, bytes]:
    """Type, facts and text: those of a true entry, with something else in some places."""
    model = draw(st.sampled_from(MODELS))
    facts = model.facts
    if draw(st.integers(0, 3)):
        said = json.loads(facts)
        for name in draw(st.lists(st.sampled_from(sorted(said)), max_size=3)):
            said[name] = draw(VALUES)
        facts = json.dumps(said).encode()
    else:
        at = draw(st.integers(0, len(facts)))
        facts = facts[:at] + draw(st.binary(max_size=6)) + facts[at + draw(st.integers(0, 6)) :]
    text = model.text or SALT
    if draw(st.booleans()):
        text = draw(st.binary(max_size=40))
    kind = draw(st.just(model.header.type) | st.sampled_from([one.value for one in EntryType]))
    return kind, facts, text


class Author:
    """A member that signs whatever it likes, after what it said rightly."""

    def __init__(self, number: int, before: list[Entry]) -> None:
        self.key = key(number)
        own = [one for one in before if one.header.author == self.key.node_id]
        self.heads = {one.header.log: head_of(one) for one in own}

    def sign(self, kind: int, facts: bytes, text: bytes) -> Entry:
        head = self.heads.get(log_of(kind), EMPTY)
        made = seal(
            self.key,
            fleet=FOUNDING[0].header.fleet,
            seq=head.seq + 1,
            prev=head.hash,
            hlc=9 << 16,
            entry_type=kind,
            facts=facts,
            text=text,
        )
        self.heads[made.header.log] = head_of(made)
        return made


@settings(max_examples=counted(80))
@given(said=st.lists(nonsense(), min_size=1, max_size=8), by=st.sampled_from([1, 2]))
def test_signed_nonsense_harms_nothing(said: list[tuple[int, bytes, bytes]], by: int) -> None:
    lawful = [*LIFE, *VOTES]
    author = Author(by, [*FOUNDING, *lawful])
    with holding(lawful) as connection:
        connection.execute("INSERT INTO local VALUES ('fleet', ?)", (FOUNDING[0].header.fleet,))
        for one in said:
            store(connection, author.sign(*one))
        assert differences(connection) == []
        before = tables(connection)
        derive.rebuild_in_place(connection)
        assert tables(connection) == before
        kinds = LogCheck(connection, Names(connection)).run(lambda _kind, _done, _total: None)
        # Each of it is a true entry, whatever it says; what breaks a rule is named.
        assert [kind.kind for kind in kinds if kind.faults] in ([], ["finals"])


@settings(max_examples=counted(60))
@given(said=st.lists(nonsense(), min_size=1, max_size=6), chance=st.randoms())
def test_nonsense_comes_to_the_same_whatever_came_first(
    said: list[tuple[int, bytes, bytes]],
    chance: Any,  # noqa: ANN401
) -> None:
    """Two members talk nonsense at once: the order of arrival makes no difference."""
    lawful = [*LIFE, *VOTES]
    logs = []
    for number in (1, 2):
        author = Author(number, [*FOUNDING, *lawful])
        logs.append([author.sign(*one) for one in said[number - 1 :: 2]])
    found = []
    for _ in range(2):
        left, right = (list(log) for log in logs)
        mixed = []
        while left or right:
            side = left if left and (not right or chance.random() < 0.5) else right
            mixed.append(side.pop(0))
        with holding([*lawful, *mixed]) as connection:
            found.append(tables(connection))
    assert found[0] == found[1]


def tables(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """The derived tables, without the order of arrival."""
    found = {}
    for table in DERIVED:
        rows = connection.execute(f"SELECT * FROM {table}")  # noqa: S608 -- names of ours
        names = [column[0] for column in rows.description]
        kept = [at for at, name in enumerate(names) if name != LOCAL_ORDER.get(table)]
        found[table] = sorted(repr([row[at] for at in kept]) for row in rows)
    return found


RUN = [*FOUNDING[1:], *LIFE]
"""What a relay brings of one author."""


@settings(max_examples=counted(60))
@given(data=st.data())
def test_a_relay_can_withhold_and_not_change(data: st.DataObject) -> None:
    """Of a run with one changed place, only what is as it was signed is stored."""
    at = data.draw(st.integers(0, len(RUN) - 1))
    part = data.draw(st.sampled_from(["raw", "signature", "facts", "text"]))
    was = getattr(RUN[at], part)
    bit = data.draw(st.integers(0, len(was) * 8 - 1))
    changed = bytearray(was)
    changed[bit // 8] ^= 1 << bit % 8
    with member() as (connection, transaction):
        try:
            parts = {name: getattr(RUN[at], name) for name in ("raw", "signature", "facts", "text")}
            spoilt = decode(**{**parts, part: bytes(changed)})
        except BadEntry:
            return  # no frame brings it
        receive.keep(transaction, [*RUN[:at], spoilt, *RUN[at + 1 :]])
        true = {one.raw + one.signature for one in (*FOUNDING, *RUN)}
        held = connection.execute("SELECT header, signature FROM entry").fetchall()
        assert {header + signature for header, signature in held} <= true
        # And the whole truth is taken after that.
        receive.keep(transaction, RUN)
        assert connection.execute("SELECT count(*) FROM entry").fetchone() == (len(RUN) + 1,)
        assert connection.execute("SELECT count(*) FROM fork").fetchone() == (0,)


@contextmanager
def member() -> Iterator[tuple[sqlite3.Connection, Transaction]]:
    """A store of the second machine, which knows the founder, and one job on it."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(connection, now=0)
        fleet = FOUNDING[0].header.fleet
        connection.execute("INSERT INTO local VALUES ('fleet', ?)", (fleet,))
        connection.execute("INSERT INTO local VALUES ('node', ?)", (key(2).node_id,))
        store(connection, FOUNDING[0])
        yield (
            connection,
            Transaction(
                connection,
                identity=Identity(key=key(2), fleet=fleet),
                now=1,
                wall=1_800_000_000_000,
                random=Counted(),
            ),
        )
    finally:
        connection.close()
