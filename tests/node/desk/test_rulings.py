"""The home's rulings where several persons must agree: the store's rows feed `final.rule`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from node.desk.answers import Answers
from node.desk.closing import close, hand
from node.desk.context import Context
from node.desk.rows import AskRow, by_id
from node.founding import Opened
from node.store.rebuild import compare
from node.store.transaction import Transaction, store
from sync.decide.ask import Outcome
from sync.log.chain import EMPTY, Head
from sync.log.entry import NodeKey, seal
from sync.log.facts import (
    AskFacts,
    AskText,
    MemberFacts,
    PersonFacts,
    Quorum,
    SpeaksForFacts,
    VoteFacts,
    VoteText,
    pack_facts,
    pack_text,
)
from sync.log.kinds import EntryType
from sync.log.names import ask_name
from tests.node.store.stores import Counted, found
from tests.sync.log.entries import SALT, head_of, key

PEOPLE = {"ann": 11, "bob": 12, "cid": 13}
"""Each votes on a node of their own."""


class Home:
    """An ask that needs two allows, at its home."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.answers = Answers(cast("Context", None))
        self.id = ask_name(opened.identity.key.node_id, 1)
        self.heads: dict[str, Head] = {}
        with self.job() as transaction:
            _founded(transaction)
            for person, number in PEOPLE.items():
                _joined(transaction, person, key(number))
            facts = AskFacts(
                number=1,
                kind="approval",
                agent="claude",
                session="s",
                project="p",
                created=transaction.now,
                deadline=transaction.now + 1_000,
                quorum=Quorum(needed=2),
            )
            transaction.append(EntryType.ASK, facts, AskText(title="Deploy"))

    @contextmanager
    def job(self) -> Iterator[Transaction]:
        connection = self.opened.connection
        connection.execute("BEGIN IMMEDIATE")
        yield Transaction(
            connection,
            identity=self.opened.identity,
            now=self.opened.clock.now(),
            wall=1,
            random=Counted(),
        )
        connection.execute("COMMIT")

    def vote(self, person: str, decision: str, *, signed: bool = True) -> str:
        """A vote arrives from the person's node and is ruled on; return the ruling."""
        row = self.row()
        head = self.heads.get(person, EMPTY)
        facts = VoteFacts(ask=self.id, person=person, decision=decision, seen=row.entry_hash, at=1)
        vote = seal(
            key(PEOPLE[person]),
            fleet=self.opened.identity.fleet,
            seq=head.seq + 1,
            prev=head.hash,
            hlc=1,
            entry_type=EntryType.VOTE,
            facts=pack_facts(facts),
            text=pack_text(SALT, VoteText()),
        )
        if not signed:
            vote = replace(vote, signature=bytes(64))
        self.heads[person] = head_of(vote)
        with self.job() as transaction:
            store(transaction.connection, vote)
            self.answers.rule(transaction, self.id)
            (ruling,) = transaction.row("SELECT ruling FROM vote WHERE hash = ?", vote.hash)
        return str(ruling)

    def row(self) -> AskRow:
        row = by_id(self.opened.connection, self.id)
        assert row is not None
        return row

    def stands(self) -> tuple[str, str | None]:
        row = self.row()
        return row.state, row.outcome


def _founded(transaction: Transaction) -> None:
    now, here = transaction.now, transaction.identity.key.node_id
    transaction.append(
        EntryType.PERSON, PersonFacts(person="eve", name="Eve", role="owner", at=now)
    )
    transaction.append(
        EntryType.SPEAKS_FOR, SpeaksForFacts(node=here, person="eve", on=True, at=now)
    )


def _joined(transaction: Transaction, person: str, node: NodeKey) -> None:
    now = transaction.now
    transaction.append(
        EntryType.MEMBER,
        MemberFacts(node_key=node.public, certificate=b"der", machine=person, by="eve", at=now),
    )
    transaction.append(
        EntryType.PERSON,
        PersonFacts(person=person, name=person, role="member", by="eve", at=now),
    )
    transaction.append(
        EntryType.SPEAKS_FOR,
        SpeaksForFacts(node=node.node_id, person=person, on=True, by="eve", at=now),
    )


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    opened = found(tmp_path)
    yield Home(opened)
    opened.connection.close()


def test_two_of_three(home: Home) -> None:
    assert home.vote("ann", "allow") == "counted"
    assert home.stands() == ("waiting", None)
    assert home.vote("ann", "allow") == "counted"
    assert home.vote("bob", "allow") == "accepted"
    assert home.stands() == ("closed", "allowed")
    assert home.vote("cid", "deny") == "superseded"
    assert home.vote("cid", "take_back") == "superseded"
    assert home.stands() == ("closed", "allowed")


def test_who_took_back_is_not_counted(home: Home) -> None:
    assert home.vote("ann", "allow") == "counted"
    assert home.vote("ann", "take_back") == "taken_back"
    assert home.vote("bob", "allow") == "counted"
    assert home.vote("cid", "allow") == "accepted"


def test_each_of_those_who_made_it_may_take_it_back(home: Home) -> None:
    home.vote("ann", "allow")
    home.vote("bob", "allow")
    assert home.vote("ann", "take_back") == "taken_back"
    assert home.stands() == ("void", "allowed")


def test_a_denial_is_not_voided_by_someone_who_had_allowed(home: Home) -> None:
    assert home.vote("ann", "allow") == "counted"
    assert home.vote("bob", "deny") == "accepted"
    assert home.vote("ann", "take_back") == "superseded"
    assert home.stands() == ("closed", "denied")


def test_an_allow_is_not_voided_by_someone_who_had_taken_back_before(home: Home) -> None:
    home.vote("ann", "allow")
    home.vote("ann", "take_back")
    home.vote("bob", "allow")
    home.vote("cid", "allow")
    assert home.vote("ann", "take_back") == "superseded"
    assert home.stands() == ("closed", "allowed")


@pytest.mark.parametrize("outcome", [Outcome.EXPIRED, Outcome.WITHDRAWN])
def test_what_no_vote_closed_no_vote_opens(home: Home, outcome: Outcome) -> None:
    home.vote("ann", "allow")
    with home.job() as transaction:
        close(transaction, home.row(), outcome)
    assert home.vote("ann", "take_back") == "superseded"
    assert home.stands() == ("closed", outcome.value)


def test_after_the_hand_over_nothing_is_taken_back(home: Home) -> None:
    home.vote("ann", "allow")
    home.vote("bob", "allow")
    with home.job() as transaction:
        hand(transaction, home.row(), "s")
    assert home.vote("bob", "take_back") == "superseded"
    assert home.stands() == ("handed", "allowed")


def test_a_node_that_does_not_speak_for_the_person_does_not_count(home: Home) -> None:
    with home.job() as transaction:
        node = key(PEOPLE["ann"]).node_id
        (head,) = transaction.row("SELECT head FROM speaks_for WHERE person = 'ann'")
        transaction.append(
            EntryType.SPEAKS_FOR,
            SpeaksForFacts(node=node, person="ann", on=False, replaces=head, by="eve", at=1),
        )
    assert home.vote("ann", "deny") == "not_allowed"
    assert home.stands() == ("waiting", None)


@pytest.mark.parametrize("how", ["machine", "person"])
def test_who_may_not_answer_any_more_counts_no_more(home: Home, how: str) -> None:
    """A final is checked as of when it is made, each vote in it; taking one back stands."""
    assert home.vote("ann", "allow") == "counted"
    with home.job() as transaction:
        table = "speaks_for" if how == "machine" else "person"
        column = "person" if how == "machine" else "id"
        (head,) = transaction.row(f"SELECT head FROM {table} WHERE {column} = 'ann'")  # noqa: S608
        if how == "machine":
            node = key(PEOPLE["ann"]).node_id
            off = SpeaksForFacts(node=node, person="ann", on=False, replaces=head, by="eve", at=1)
            transaction.append(EntryType.SPEAKS_FOR, off)
        else:
            ended = PersonFacts(
                person="ann", name="ann", role="member", ended=True, replaces=head, by="eve", at=1
            )
            transaction.append(EntryType.PERSON, ended)
    assert home.vote("bob", "allow") == "counted"
    assert home.stands() == ("waiting", None)
    assert home.vote("cid", "allow") == "accepted"
    assert home.stands() == ("closed", "allowed")


def test_a_role_of_a_newer_node_may_only_look(home: Home) -> None:
    with home.job() as transaction:
        (head,) = transaction.row("SELECT head FROM person WHERE id = 'ann'")
        transaction.append(
            EntryType.PERSON,
            PersonFacts(person="ann", name="ann", role="guardian", replaces=head, by="eve", at=1),
        )
    assert home.vote("ann", "deny") == "not_allowed"
    assert home.vote("bob", "allow") == "counted"


def test_the_tables_can_be_derived_again(home: Home, tmp_path: Path) -> None:
    home.vote("ann", "allow")
    home.vote("bob", "allow")
    # The other nodes' keys come with pairing; all else must be in order already.
    findings = [line for line in compare(tmp_path) if "not a known node" not in line]
    assert findings == []


def test_a_vote_whose_own_signature_is_spoilt_counts_nowhere(home: Home) -> None:
    # Its author's next entry covers these bytes, so the store takes them in a run.
    assert home.vote("ann", "allow", signed=False) == "not_allowed"
    assert home.vote("bob", "allow") == "counted"
    assert home.vote("cid", "deny", signed=False) == "not_allowed"
    assert home.stands() == ("waiting", None)
    assert home.vote("cid", "allow") == "accepted"
    assert home.stands() == ("closed", "allowed")
