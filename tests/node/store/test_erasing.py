"""Erasing words: whatever arrives when, they go and stay gone, and every proof still verifies."""

import random
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from node.store.connection import erase_traces, open_writer
from node.store.erasing import drop_replies, erase_ask, redacted
from node.store.migrations import migrate
from node.store.packing import pack
from node.store.transaction import store
from sync.log import facts as say
from sync.log.chain import EMPTY, verify_run
from sync.log.entry import Entry, decode
from sync.log.kinds import EntryType
from sync.log.names import ask_name
from tests.node.store.histories import (
    ASK,
    ASKED,
    FOUNDING,
    HOME,
    LIFE,
    OTHER,
    VOTES,
    Said,
    changed,
    holding,
    log,
    person,
    tables,
    vote,
)
from tests.sync.log.entries import entry, key

WORDS = "SELECT count(*) FROM entry WHERE type >= 16 AND type != 22 AND length(text) > 18"


def erase(
    ask: str = ASK, by: str = "ann", *, of: Sequence[Entry] = (), heads: object = None
) -> Said:
    facts = say.RedactedFacts(
        ask=ask,
        entries=[
            say.EntryPoint(
                author=one.header.author, log=one.header.log, seq=one.header.seq, hash=one.hash
            )
            for one in of
        ],
        by=by,
        heads=[FOUNDING[-1].hash] if heads is None else heads,  # type: ignore[arg-type]
        at=50,
    )
    return Said(EntryType.REDACTED, facts, say.RedactedText(reason="a key"))


NOTE = Said(
    EntryType.NOTE,
    say.NoteFacts(number=9, kind="note", agent="c", session="s", project="p", created=1),
    say.NoteText(title="Note"),
)
ERASED = log([erase()], by=2, after=VOTES)
"""Ann says so on the other machine, after her vote there."""


def words(entries: Sequence[Entry]) -> int:
    with holding(entries) as connection:
        return int(connection.execute(WORDS).fetchone()[0])


def shuffled(logs: Sequence[Sequence[Entry]], seed: int) -> list[Entry]:
    """The logs, each in its own order, between each other in any."""
    left = [list(one) for one in logs if one]
    choose = random.Random(seed)
    told: list[Entry] = []
    while left:
        one = choose.choice(left)
        told.append(one.pop(0))
        left = [one for one in left if one]
    return told


def test_in_whatever_order_it_comes_nothing_of_it_is_left() -> None:
    logs = ([one for one in LIFE if one.header.type != EntryType.RULES], [*VOTES, *ERASED])
    first = tables(shuffled(logs, 0))
    for seed in range(40):
        told = shuffled(logs, seed)
        assert tables(told) == first
        with holding(told) as connection:
            left = connection.execute(
                "SELECT facts FROM entry WHERE text IS NOT NULL AND length(text) > 18"
                " AND type NOT IN (22, 67, 69) AND type >= 16"
            ).fetchall()
            assert [b'"number":2' in facts for (facts,) in left] == [True]
            assert redacted(connection, ASK) == ("ann", 50, "a key")


def test_chain_final_and_votes_still_verify_without_the_words() -> None:
    with holding([*VOTES, *ERASED, *LIFE]) as connection:
        for author, public in ((HOME, HOME.public), (OTHER, OTHER.public)):
            run = [
                decode(*row)
                for row in connection.execute(
                    "SELECT header, signature, facts, text FROM entry WHERE author = ? AND log = 0"
                    " ORDER BY seq",
                    (author.node_id,),
                )
            ]
            assert any(one.text is None for one in run)
            head = verify_run(
                EMPTY, run, fleet=run[0].header.fleet, author=author.node_id, log=0,
                public_key=public,
            )  # fmt: skip
            assert head.seq == len(run)
        assert connection.execute("SELECT state, outcome FROM ask WHERE id = ?", (ASK,)).fetchone()


@pytest.mark.parametrize(
    ("said", "by"),
    [
        (erase(by="bob", heads=[VOTES[1].hash]), 2),
        (erase(by="nobody"), 2),
        (erase(heads=[]), 2),
        (erase(heads=[FOUNDING[0].hash]), 2),
    ],
    ids=["a member", "an unknown person", "as of nothing", "as of before she was an owner"],
)
def test_who_may_not_say_so_erases_nothing(said: Said, by: int) -> None:
    before = words([*VOTES, *LIFE])
    assert words([*VOTES, *log([said], by=by, after=VOTES), *LIFE]) == before


def test_a_machine_that_does_not_speak_for_the_owner_erases_nothing() -> None:
    third = key(3)
    alone = [entry(by=third, kind=EntryType.REDACTED, facts=say.pack_facts(erase().facts))]
    before = words([*VOTES, *LIFE])
    assert words([*VOTES, *LIFE, *alone]) == before


def test_it_waits_for_the_statements_that_it_names() -> None:
    """And keeps nothing else of the ask waiting meanwhile."""
    carol = log([person("carol", "owner")], by=1, after=[*FOUNDING, *LIFE])
    waits = log([erase(heads=[carol[0].hash])], by=2, after=VOTES)
    with holding([*VOTES, *waits, *LIFE]) as connection:
        assert connection.execute("SELECT state FROM ask WHERE id = ?", (ASK,)).fetchone() == (
            "resolved",
        )
        assert redacted(connection, ASK) is None
        store(connection, carol[0])
        assert redacted(connection, ASK) == ("ann", 50, "a key")
    assert tables([*VOTES, *waits, *LIFE, *carol]) == tables([*VOTES, *LIFE, *carol, *waits])


def test_an_entry_is_found_by_its_name_even_if_nobody_can_read_what_it_is_about() -> None:
    strange = entry(by=key(4), kind=33, facts=b"\xff", text=b"s" * 16 + b"the secret")
    named = log([erase(of=[strange])], by=2, after=VOTES)
    before = [*VOTES, *LIFE]
    for order in ([*before, strange, *named], [*before, *named, strange]):
        with holding(order) as connection:
            assert connection.execute("SELECT text FROM entry WHERE type = 33").fetchall() == [
                (None,)
            ]


def test_statements_keep_their_text_even_if_they_are_named() -> None:
    rules = next(one for one in LIFE if one.header.type == EntryType.RULES)
    with holding([*VOTES, *LIFE, *log([erase(of=[rules])], by=2, after=VOTES)]) as connection:
        (text,) = connection.execute("SELECT text FROM entry WHERE type = 3").fetchone()
        assert text is not None


def test_a_note_and_what_was_not_applied_go_as_well() -> None:
    """Of an ask that came twice, and of a vote with a word nobody knows, the words lie here too."""
    again = log([changed(NOTE, number=1)], by=1, after=[*FOUNDING, *LIFE])
    odd = log([vote("ann", "of a newer askmesh")], by=2, after=[*VOTES, *ERASED])
    for order in ([*VOTES, *LIFE, *again, *ERASED, *odd], [*VOTES, *ERASED, *odd, *LIFE, *again]):
        with holding(order) as connection:
            left = connection.execute("SELECT count(*) FROM about WHERE ask = ?", (ASK,)).fetchone()
            assert left == (0,)
    noted = log([NOTE], by=1, after=[*FOUNDING, *LIFE])
    gone = log([erase(ask_name(HOME.node_id, 9))], by=2, after=VOTES)
    assert words([*VOTES, *noted, *gone]) == words(VOTES)


def test_what_names_no_ask_that_can_be_changes_nothing_else() -> None:
    strange = log([erase(""), erase("-1"), erase("\x00")], by=2, after=VOTES)
    assert words([*VOTES, *LIFE, *strange]) == words([*VOTES, *LIFE])


def test_an_ask_counts_whether_its_words_can_be_read_or_not() -> None:
    """Else who has the words, and who got the entry without them, would not agree."""
    unreadable = entry(
        by=HOME,
        kind=EntryType.ASK,
        facts=ASKED.facts,
        text=bytes(16) + b"not JSON at all",
    )
    bare = Entry(
        header=unreadable.header,
        raw=unreadable.raw,
        signature=unreadable.signature,
        facts=unreadable.facts,
        text=None,
    )

    def asks(one: Entry) -> list[tuple[object, ...]]:
        connection = sqlite3.connect(":memory:", isolation_level=None)
        migrate(connection, now=0)
        store(connection, one)
        return connection.execute("SELECT * FROM ask").fetchall()

    assert asks(unreadable) == asks(bare) != []


SECRET = re.compile(rb"SECRET(\d{6})!")


def secrets(home: Path) -> set[int]:
    """The secrets that the files of a store hold, read as bytes."""
    return {
        int(found)
        for path in sorted(home.iterdir())
        if path.is_file()
        for found in SECRET.findall(path.read_bytes())
    }


class Pages:
    """A store whose rows come and go, each with a secret of its own."""

    def __init__(self, home: Path, seed: int) -> None:
        self.choose = random.Random(seed)
        self.store = open_writer(home)
        migrate(self.store, now=0)
        self.here: set[int] = set()
        self.store.execute("BEGIN")

    def add(self, number: int) -> None:
        choose, store = self.choose, self.store
        held = b"SECRET%06d!" % number * choose.choice([1, 3, 20, 90, 800])
        fixed = (choose.randbytes(32), bytes(171), bytes(64))
        store.execute(
            "INSERT INTO entry (fleet, author, log, seq, type, hash, header, signature, facts,"
            " text) VALUES (x'00', ?, 0, ?, 16, ?, ?, ?, ?, ?)",
            (
                bytes([choose.randrange(5)]),
                number,
                *fixed,
                choose.randbytes(choose.choice([60, 200, 900])),
                held,
            ),
        )
        ask = f"{choose.getrandbits(250):052x}-{number}"
        store.execute("INSERT INTO about SELECT ?, max(n) FROM entry", (ask,))
        reply = "INSERT INTO reply (request, body, ask, at) VALUES (?, ?, ?, ?)"
        store.execute(reply, (ask[::-1], held, ask, number))
        call = "INSERT INTO call (ask, digest, diff) VALUES (?, x'00', ?)"
        store.execute(call, (ask, held.decode()))
        self.here.add(number)

    def erase(self, number: int) -> None:
        (ask,) = self.store.execute("SELECT ask FROM call WHERE n = ?", (number,)).fetchone()
        erase_ask(self.store, ask)
        self.here.discard(number)

    def commit(self, *, packing: bool = False) -> None:
        while packing and pack(self.store, 1):
            pass
        self.store.execute("COMMIT")
        self.store.execute("BEGIN")


@pytest.mark.parametrize(("seed", "packing"), [(0, False), (1, True), (2, True)])
def test_no_page_of_the_file_keeps_what_was_erased(
    tmp_path: Path, seed: int, packing: bool
) -> None:
    """Not even where rows of all sizes came and went around it, or were written anew."""
    pages = Pages(tmp_path, seed)
    for number in range(1, 1_501):
        pages.add(number)
        while pages.here and pages.choose.random() < 0.4:
            pages.erase(pages.choose.choice(sorted(pages.here)))
        if number % 50 == 0:
            pages.commit(packing=packing)
    pages.store.execute("COMMIT")
    assert erase_traces(pages.store)
    assert secrets(tmp_path) == pages.here
    assert 0 < len(pages.here) < 1_200
    pages.store.execute("BEGIN")
    drop_replies(pages.store, 9_999)
    for number in sorted(pages.here):
        pages.erase(number)
    pages.store.execute("COMMIT")
    assert erase_traces(pages.store)
    assert secrets(tmp_path) == set()
    pages.store.close()
