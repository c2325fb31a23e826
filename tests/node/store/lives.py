"""A real node lives through all kinds of asks, so that every table has rows."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from node.bridge.client import Refused
from node.store import membership_tables, receive
from node.store.transaction import Transaction
from sync.log.attention_facts import SubscriptionFacts
from sync.log.entry import NodeKey
from sync.log.facts import (
    AskFacts,
    AskText,
    BoardFacts,
    BoardText,
    CutPoint,
    EmbeddedVote,
    EntryPoint,
    FinalFacts,
    MemberFacts,
    MessageFacts,
    MessageText,
    PersonFacts,
    ReceiptFacts,
    Recipient,
    RedactedFacts,
    RemovedFacts,
    SpeaksForFacts,
    VoteFacts,
    pack_facts,
    pack_text,
)
from sync.log.kinds import EntryType
from sync.log.names import ask_name, message_name
from tests.node.store.stores import Counted, SetTimes, found
from tests.running import Person, RunningNode, node_in
from tests.sync.decide.accounts import operator, told
from tests.sync.log.entries import SALT, entry, head_of, key

RULES = '[[rule]]\nname = "deploys"\ntool = "deploy*"\naction = "ask"\nreason = "it is live"\n'


@contextlib.contextmanager
def lived_in(folder: Path) -> Iterator[Path]:
    """The directory of a node that lived through everything and was stopped in order."""
    with node_in(folder) as node:
        live(node.start())
        node.stop()
        let_a_machine_come_and_go(node.home)
        yield node.home


def live(node: RunningNode) -> Person:
    """Let a node that serves live through everything one machine can have."""
    node.flag(kind="question", title="Before anyone was here?")
    person = node.person()
    node.rules(person, RULES)
    node.rules(person, RULES + "# again\n", name="second")
    _questions(node, person)
    _approvals(node, person)
    for kind in ("note", "done"):
        posted = node.flag(kind=kind, title=f"A {kind}", detail="as text", key=kind)
        person.ok("PUT", f"/api/asks/{posted['id']}/read", {"read": True})
        person.ok("PUT", f"/api/asks/{posted['id']}/needless", {"needless": kind == "done"})
        person.ok("PUT", f"/api/asks/{posted['id']}/read", {"read": kind == "note"})
        person.ok("PUT", f"/api/asks/{posted['id']}/needless", {"needless": kind == "note"})
    return person


def _take(node: RunningNode, ask: str, **more: object) -> dict[str, object]:
    return node.agent("await", {"ask_id": ask, "wait_s": 0}, **more)  # type: ignore[arg-type]


def _questions(node: RunningNode, person: Person) -> None:
    options = [{"label": "left", "detail": "that way"}, {"label": "right"}]
    asked = node.flag(kind="question", title="Which way?", options=options, fallback="left")["id"]
    person.vote(asked, "answer", choice="2", because="it is nearer")
    _take(node, asked)
    node.agent("claim", {"ask_id": asked, "take_over": True}, session="two")
    node.agent("resolve", {"ask_id": asked, "outcome": "went right", "ok": True}, session="two")
    declined = node.flag(kind="question", title="Yours?")["id"]
    person.vote(declined, "decline", because="not mine")
    withdrawn = node.flag(kind="question", title="Still?")["id"]
    node.agent("withdraw", {"ask_id": withdrawn, "reason": "found it"})
    late = node.flag(kind="question", title="Soon?", deadline_s=60)["id"]
    node.advance(61_000)
    person.vote(late, "answer", text="too late", seen=person.ask(late)["seen"])
    taken = node.flag(kind="question", title="Sure?")["id"]
    person.vote(taken, "answer", text="yes")
    person.ok("DELETE", f"/api/asks/{taken}/votes/mine")


def _approvals(node: RunningNode, person: Person) -> None:
    call = {"tool": "deploy", "arguments": {"target": "staging"}}

    def asked(title: str) -> str:
        return str(node.flag(kind="approval", title=title, call=call)["id"])

    resolved = asked("Resolved")
    person.vote(resolved, "allow", because="go on")
    _take(node, resolved)
    node.agent("resolve", {"ask_id": resolved, "outcome": "", "ok": False})
    denied = asked("Denied")
    person.vote(denied, "deny")
    person.vote(denied, "allow")
    _take(node, denied)
    unknown = asked("Unknown")
    person.vote(unknown, "allow")
    _take(node, unknown)
    unused = asked("Unused")
    person.vote(unused, "allow")
    node.advance(3_600_000)
    with contextlib.suppress(Refused):
        _take(node, unused)
    taken = asked("Taken back")
    person.vote(taken, "allow")
    person.ok("DELETE", f"/api/asks/{taken}/votes/mine")
    person.vote(asked("Not fetched"), "allow")
    asked("Open")


def let_a_machine_come_and_go(home: Path) -> None:
    """State in a stopped node's store that a machine joined, and was removed again."""
    opened = found(home, SetTimes(), create=False)
    connection, other = opened.connection, key(9)
    (owner,) = connection.execute("SELECT id FROM person WHERE role = 'owner'").fetchone()
    transaction = Transaction(
        connection,
        identity=opened.identity,
        now=opened.clock.now(),
        wall=opened.clock.times.wall_ms(),
        random=Counted(),
    )
    connection.execute("BEGIN IMMEDIATE")
    joined = MemberFacts(
        node_key=other.public, certificate=b"der", machine="other", by=owner, at=transaction.now
    )
    transaction.append(EntryType.MEMBER, joined)
    cut = [CutPoint(log=0, seq=7, hash=b"h" * 32)]
    gone = RemovedFacts(node=other.node_id, cut=cut, by=owner, at=transaction.now)
    transaction.append(EntryType.REMOVED, gone)
    _a_word_on_the_account(transaction, owner)
    _a_second_machine_that_waits_for_its_person(transaction, owner)
    _one_that_is_ahead_of_us(transaction, key(10), owner)
    _a_note_that_was_erased(transaction, owner)
    _messages_and_a_board(transaction)
    muted = SubscriptionFacts(person=owner, field="mute", until=9, at=transaction.now)
    transaction.append(EntryType.SUBSCRIPTION, muted)
    connection.execute("COMMIT")
    connection.close()


def _a_second_machine_that_waits_for_its_person(transaction: Transaction, owner: str) -> None:
    """Bob has a machine; an owner names another one for him, and he has not agreed yet."""
    bob = PersonFacts(person="bob", name="Bob", role="member", by=owner, at=transaction.now)
    transaction.append(EntryType.PERSON, bob)
    for number in (11, 12):
        node = key(number)
        joined = MemberFacts(
            node_key=node.public,
            certificate=b"der",
            machine=f"bob's {number}",
            by=owner,
            at=transaction.now,
        )
        transaction.append(EntryType.MEMBER, joined)
        speaks = SpeaksForFacts(
            node=node.node_id, person="bob", on=True, by=owner, at=transaction.now
        )
        transaction.append(EntryType.SPEAKS_FOR, speaks)


def _a_word_on_the_account(transaction: Transaction, owner: str) -> None:
    """An operator says how the account of all stands."""
    transaction.append(EntryType.OPERATOR, operator("billing", owner))
    fleet, remedy = transaction.identity.fleet.hex(), "https://pay.example/"
    word = told("billing", 1, "grace", fleet=fleet, remedy=remedy)
    transaction.append(EntryType.STANDING, word)


def _one_that_is_ahead_of_us(transaction: Transaction, other: NodeKey, owner: str) -> None:
    """A machine closes its ask as of statements that are not here."""
    transaction.append(
        EntryType.MEMBER,
        MemberFacts(
            node_key=other.public, certificate=b"der", machine="third", by=owner, at=transaction.now
        ),
    )
    fleet = transaction.identity.fleet
    asked = AskFacts(
        number=1,
        kind="question",
        agent="c",
        session="s",
        project="p",
        created=1,
        escalate_at=5,
        escalate_to="admin",
    )
    text = pack_text(SALT, AskText(title="There?"))
    ask = entry(by=other, facts=pack_facts(asked), text=text, fleet=fleet)
    said = VoteFacts(
        ask=ask_name(other.node_id, 1), person=owner, decision="answer", seen=ask.hash, at=2
    )
    vote = entry(head_of(ask), by=other, kind=EntryType.VOTE, facts=pack_facts(said), fleet=fleet)
    closed = FinalFacts(
        ask=said.ask,
        seen=ask.hash,
        outcome="answered",
        votes=[EmbeddedVote(raw=vote.raw, signature=vote.signature, facts=vote.facts)],
        people_heads=[b"not here".ljust(32)],
        at=3,
    )
    final = entry(
        head_of(vote), by=other, kind=EntryType.FINAL, facts=pack_facts(closed), fleet=fleet
    )
    assert receive.keep(transaction, [ask, vote, final]).kept.trouble is None


def _messages_and_a_board(transaction: Transaction) -> None:
    """An agent writes to another one here, which acknowledges it."""
    me = transaction.identity.key.node_id
    said = MessageFacts(
        number=1,
        project="p",
        to=[Recipient(node=me, agent="codex")],
        agent="claude",
        session="s",
        reply_to=message_name(me, 1),
        at=transaction.now,
    )
    transaction.append(EntryType.MESSAGE, said, MessageText(body="hello"))
    done = ReceiptFacts(
        status="acknowledged",
        messages=[message_name(me, 1)],
        agent="codex",
        session="c",
        at=transaction.now,
    )
    transaction.append(EntryType.RECEIPT, done)
    cells = BoardFacts(
        board="0" * 32,
        project="p",
        fields=["archived"],
        agent="claude",
        session="s",
        at=transaction.now,
    )
    transaction.append(EntryType.BOARD, cells, BoardText(title="A board"))


def _a_note_that_was_erased(transaction: Transaction, owner: str) -> None:
    note, place, entry_hash, author = transaction.row(
        "SELECT id, seq, entry_hash, author FROM ask JOIN entry ON hash = entry_hash"
        " WHERE kind = 'note'"
    )
    point = EntryPoint(author=author, log=1, seq=place, hash=entry_hash)
    heads = membership_tables.heads(transaction.connection)
    said = RedactedFacts(ask=note, entries=[point], by=owner, heads=heads, at=transaction.now)
    transaction.append(EntryType.REDACTED, said)


def rows(home: Path, table: str) -> int:
    """How many rows a table of a stopped node's store has."""
    with contextlib.closing(sqlite3.connect(home / "store.db")) as store:
        (count,) = store.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
    return int(count)
