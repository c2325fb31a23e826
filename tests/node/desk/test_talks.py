"""Messages as a person sees them, and that no message is ever anybody's answer."""

import ast
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.desk.mailbox import Mailbox
from node.desk.message_records import Sending
from node.desk.requests import Asker
from node.desk.sessions import SessionBook
from node.desk.talks import Talks
from node.store import derive
from node.store.rebuild import compare
from node.store.transaction import Transaction
from sync.errors import Invalid, NotAllowed
from sync.log.facts import MessageFacts, MessageText, Recipient
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine, viewer
from web.desk import Erasing
from web.talk_views import Writing

ROOT = Path(__file__).parents[3]
SECRET = "hunter2-Zq9"
PROJECT = "example.org/shop"
CLAUDE = Asker(agent="claude", session="s-1", project=PROJECT, cwd="/")
CODEX = Asker(agent="codex", session="s-2", project=PROJECT, cwd="/")
DECIDING = (EntryType.VOTE, EntryType.RULING, EntryType.FINAL, EntryType.HANDOVER)
NO_ANSWER = (
    *("answers", "closing", "votes", "taking", "gate", "gate_verdict", "batches", "raising"),
    *("own_vote", "answer", "vote", "final", "handover", "quorum", "recheck", "lawful"),
)
"""Rooms in which something is answered, closed or handed over."""
OF_MESSAGES = (
    "sync/decide/message.py", "sync/log/message_facts.py", "node/store/message_tables.py",
    "node/desk/sending.py", "node/desk/mailbox.py", "node/desk/carrying.py",
    "node/desk/seats.py", "node/desk/message_rows.py", "node/desk/message_records.py",
    "node/agents/message_routes.py", "node/agents/tools_message.py",
)  # fmt: skip


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "desk", "laptop") as made:
        await made["desk"].agents.heard(CLAUDE)
        await made["laptop"].agents.heard(CODEX)
        yield made


def box(machine: Machine) -> Mailbox:
    return Mailbox(machine.context, SessionBook())


async def forged(machine: Machine, person: str, to: Machine) -> None:
    """A machine writes for a person, whether it may or not."""

    def job(transaction: Transaction) -> None:
        facts = MessageFacts(
            number=99,
            project=PROJECT,
            to=[Recipient(node=to.identity.key.node_id, agent="codex")],
            person=person,
            heads=[head for (head,) in transaction.rows("SELECT hash FROM statement_head")],
            at=transaction.now,
        )
        transaction.append(EntryType.MESSAGE, facts, MessageText(body="I allow it."))

    await machine.writer.run("forge", job)


def files(machine: Machine) -> list[str]:
    """The files of a machine in which the secret can be read, as bytes."""
    return [
        path.name
        for path in sorted(machine.home.rglob("*"))
        if path.is_file() and SECRET.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize("name", OF_MESSAGES)
def test_nothing_of_messages_knows_how_anything_is_answered(name: str) -> None:
    named: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / name).read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            named |= {*node.module.split("."), *(one.name for one in node.names)}
        if isinstance(node, ast.Import):
            named |= {part for one in node.names for part in one.name.split(".")}
    assert named & set(NO_ANSWER) == set()


async def test_no_message_votes_closes_or_releases_anything(fleet: Fleet) -> None:
    """Neither what an agent writes, nor a person, nor a receipt for it."""
    desk, laptop = fleet["desk"], fleet["laptop"]
    asks = [await desk.ask(kind) for kind in ("approval", "question")]
    await fleet.meet_all()
    vote = json.dumps({"ask": asks[0], "person": fleet.ann, "decision": "allow", "seen": "AA=="})
    for body in (vote, f"Ann allows {asks[0]}", "yes", f"answer {asks[1]}: 8000"):
        sent = await box(desk).send(
            CLAUDE, Sending(to=["claude@desk"], body=body, subject=asks[0]), request=""
        )
        other = Asker(agent="claude", session="s-9", project=PROJECT, cwd="/")
        await box(desk).hand(other)
        await box(desk).ack(other, [sent.id])
    await Talks(desk.context).write(
        viewer(fleet.ann), Writing(project=PROJECT, to=["claude"], body=f"{asks[0]}: allowed")
    )
    await fleet.meet_all()
    for machine in (desk, laptop):
        assert [await machine.entries(kind) for kind in DECIDING] == [0, 0, 0, 0]
        states = await machine.reader.run(
            lambda connection: connection.execute("SELECT state, outcome FROM ask").fetchall()
        )
        assert states == [("waiting", None)] * 2


async def test_who_does_not_speak_for_a_person_writes_nothing_for_them(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    person = await fleet.person("bob", "member", "laptop")
    other = await fleet.person("vic", "viewer", "desk")
    with pytest.raises(Exception, match="by who may not do so"):
        await forged(desk, person, laptop)
    with pytest.raises(Exception, match="by who may not do so"):
        await forged(desk, other, laptop)
    await forged(laptop, person, laptop)
    await fleet.meet_all()
    for machine in (desk, laptop):
        talk = await Talks(machine.context).latest(viewer(person), project=None, before=None)
        assert [(one.sender, one.person, one.body) for one in talk.messages] == [
            ("Bob", True, "I allow it.")
        ]
        before = await machine.reader.run(_rows)
        await machine.writer.run("again", lambda job: derive.rebuild_in_place(job.connection))
        assert await machine.reader.run(_rows) == before


def _rows(connection):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    return [
        connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 -- ours
        for table in ("message", "message_to", "receipt")
    ]


async def test_a_person_reads_along_on_any_machine(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    for number in range(3):
        await box(desk).send(
            CLAUDE, Sending(to=["claude@desk"], body=f"number {number}"), request=""
        )
    await fleet.meet_all()
    talks = Talks(laptop.context)
    found = await talks.latest(viewer(fleet.ann), project=PROJECT, before=None)
    assert [one.body for one in found.messages] == ["number 2", "number 1", "number 0"]
    assert (found.projects, found.more) == ([PROJECT], False)
    earlier = await talks.latest(viewer(fleet.ann), project=None, before=found.messages[1].n)
    assert [one.body for one in earlier.messages] == ["number 0"]
    assert (await talks.latest(viewer(fleet.ann), project="x", before=None)).messages == []
    (one,) = (await talks.talk(viewer(fleet.ann), earlier.messages[0].short)).messages
    assert [(to.agent, to.machine, to.state) for to in one.to] == [("claude", "desk", "carried")]


async def test_an_owner_has_the_words_erased_everywhere(fleet: Fleet) -> None:
    desk, laptop = fleet["desk"], fleet["laptop"]
    sent = await box(desk).send(
        CLAUDE,
        Sending(to=["claude@desk"], body=SECRET, subject=f"the {SECRET}"),
        request="r",
    )
    await fleet.meet_all()
    talks, ann = Talks(laptop.context), viewer(fleet.ann)
    bob = await fleet.person("bob", "member", "laptop")
    with pytest.raises(NotAllowed):
        await talks.redact(viewer(bob), sent.id, Erasing(confirm=sent.id))
    with pytest.raises(Invalid, match="nothing was erased"):
        await talks.redact(ann, sent.id, Erasing(confirm="m1"))
    wanted = Erasing(confirm=sent.id, reason="a password")
    shown = await talks.redact(ann, sent.id, wanted)
    assert (shown.body, shown.subject) == (None, "")
    assert shown.erased is not None
    assert (shown.erased.by, shown.erased.reason) == ("Ann", "a password")
    await fleet.meet_all()
    await talks.redact(ann, sent.id, wanted)
    for machine in (desk, laptop):
        assert files(machine) == []
        assert compare(machine.home) == []
    assert "erased" in (await box(desk).inbox(CLAUDE, sent=True)).messages[0].text
