"""Messages between agents: from one machine to another, and what each side is told."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node import limits
from node.desk.mailbox import Mailbox
from node.desk.message_records import Inbox, Sending, Sent
from node.desk.requests import Asker, Flag
from node.desk.retention import Retention
from node.desk.sessions import SessionBook
from node.desk.sight import FarSession
from sync.errors import Conflict, Invalid, NotAllowed, NotFound, TooMany
from sync.limits import DAY_MS, MESSAGE_CHARACTERS
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine, viewer

PROJECT = "example.org/shop"


def who(agent: str, session: str = "", project: str = PROJECT) -> Asker:
    return Asker(agent=agent, session=session or f"{agent}-1", project=project, cwd="/")


CLAUDE, CODEX = who("claude"), who("codex")


class Desks:
    """Two machines with a mailbox each: `claude` is heard on the desk, `codex` on the laptop."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.desk, self.laptop = fleet["desk"], fleet["laptop"]
        self.boxes = {
            machine: Mailbox(machine.context, SessionBook()) for machine in (self.desk, self.laptop)
        }

    async def send(
        self, body: str, to: str = "codex", *, by: Asker = CLAUDE, at: Machine | None = None,
        request: str = "", **more: object,
    ) -> Sent:  # fmt: skip
        wanted = Sending(to=[to] if to else [], body=body, **more)  # type: ignore[arg-type]
        return await self.boxes[at or self.desk].send(by, wanted, request=request)

    async def codex(self, session: str = "") -> Inbox:
        return await self.boxes[self.laptop].inbox(who("codex", session))

    async def sent(self) -> list[str]:
        found = await self.boxes[self.desk].inbox(CLAUDE, sent=True)
        return [one.state for row in found.messages for one in row.to]


@pytest.fixture
async def desks(tmp_path: Path) -> AsyncIterator[Desks]:
    async with fleet_of(tmp_path, "desk", "laptop") as fleet:
        found = Desks(fleet)
        for machine, asker in ((found.desk, CLAUDE), (found.laptop, CODEX)):
            await machine.agents.heard(asker)
        told = FarSession(
            node=found.laptop.id, id="codex-1", agent="codex", project=PROJECT,
            started=1, last_heard=found.desk.context.clock.now(), heard=1,
        )  # fmt: skip
        found.desk.seen.told = [told]
        yield found


def ids(inbox: Inbox) -> list[str]:
    return [row.id for row in inbox.messages]


async def test_a_message_is_carried_handed_and_acknowledged_and_the_sender_sees_each(
    desks: Desks,
) -> None:
    sent = await desks.send("The schema is merged.", subject="schema")
    assert re.fullmatch(r"[a-z2-7]{4}-m1", sent.id)
    (one,) = sent.to
    assert (one.agent, one.machine, one.state, one.machine_state) == (
        "codex", "laptop", "kept", "never_seen",
    )  # fmt: skip
    await desks.fleet.meet_all()
    assert await desks.sent() == ["carried"]
    (row,) = (await desks.codex()).messages
    assert (row.sender, row.person, row.state) == ("claude@desk", False, "carried")
    assert "The schema is merged." in row.text
    await desks.boxes[desks.laptop].hand(CODEX)
    await desks.fleet.meet_all()
    assert await desks.sent() == ["handed"]
    done = await desks.boxes[desks.laptop].ack(CODEX, [sent.id])
    assert done.acknowledged == [sent.id]
    assert (await desks.codex()).messages == []
    await desks.fleet.meet_all()
    assert await desks.sent() == ["acknowledged"]


async def test_looking_marks_nothing(desks: Desks) -> None:
    await desks.send("look")
    await desks.fleet.meet_all()
    before = await desks.laptop.heads()
    first, second = await desks.codex(), await desks.codex()
    assert ids(first) == ids(second)
    assert [row.state for row in second.messages] == ["carried"]
    # Only the random marks around the words differ.
    assert first.messages[0].text != second.messages[0].text
    assert await desks.laptop.heads() == before


async def test_one_who_is_away_gets_it_when_it_is_back_and_one_nobody_knows_never(
    desks: Desks,
) -> None:
    desks.desk.seen.told = []
    with pytest.raises(NotFound) as unknown:
        await desks.send("hello")
    assert "nothing was sent" in unknown.value.sentence
    assert await desks.desk.entries(EntryType.MESSAGE) == 0
    # An ask of it that reached this machine makes it known, for as long as asks are.
    await desks.laptop.agents.flag(CODEX, Flag(kind="note", title="Here I am"), request="r")
    await desks.fleet.meet_all()
    desks.fleet.cut("desk", "laptop")
    sent = await desks.send("hello")
    assert [one.machine_state for one in sent.to] == ["away"]
    desks.fleet.advance(3 * DAY_MS)
    await desks.fleet.meet_all()
    assert len((await desks.codex()).messages) == 1


async def test_presence_that_was_seen_once_is_remembered(desks: Desks) -> None:
    await desks.send("first")
    desks.desk.seen.told = []
    await desks.send("second")


async def test_a_near_name_is_told(desks: Desks) -> None:
    with pytest.raises(NotFound) as error:
        await desks.send("x", to="codxe")
    assert "codex" in error.value.hint


async def test_everyone_is_who_was_heard_of_lately_but_for_the_sender(desks: Desks) -> None:
    await desks.desk.agents.heard(who("gemini"))
    await desks.desk.agents.heard(who("other", project="elsewhere"))
    sent = await desks.send("all of you", to="everyone")
    assert [one.agent for one in sent.to] == ["codex", "gemini"]
    desks.fleet.advance(limits.SEAT_HEARD_MS + 1)
    await desks.desk.agents.heard(who("gemini"))
    sent = await desks.send("again", to="everyone")
    assert [one.agent for one in sent.to] == ["gemini"]
    assert [one.agent for one in (await desks.send("you", to="codex")).to] == ["codex"]


async def test_answers_keep_to_their_thread(desks: Desks) -> None:
    first = await desks.send("Which port?")
    await desks.fleet.meet_all()
    back = await desks.send("8000", to="", by=CODEX, at=desks.laptop, reply_to=first.id)
    assert [(one.agent, one.machine) for one in back.to] == [("claude", "desk")]
    await desks.fleet.meet_all()
    third = await desks.send("thanks", to="", reply_to=back.full_id)
    assert {first.thread, back.thread, third.thread} == {first.id}
    thread = await desks.boxes[desks.desk].inbox(CLAUDE, thread=third.id)
    assert ids(thread) == [first.id, back.id, third.id]
    assert thread.messages[1].reply_to == first.id


async def test_only_who_has_a_message_answers_or_acknowledges_it(desks: Desks) -> None:
    sent = await desks.send("for codex")
    await desks.fleet.meet_all()
    box = desks.boxes[desks.laptop]
    eve = who("eve")
    for ask in (
        box.ack(eve, [sent.id]),
        box.ack(who("codex", project="elsewhere"), [sent.id]),
        box.send(eve, Sending(body="x", reply_to=sent.id), request=""),
        box.send(
            who("codex", project="elsewhere"), Sending(body="x", reply_to=sent.id), request=""
        ),
    ):
        with pytest.raises(NotAllowed):
            await ask
    assert (await box.inbox(eve)).messages == []
    assert (await box.inbox(eve, thread=sent.id)).messages == []
    with pytest.raises(NotFound):
        await box.ack(CODEX, [sent.id, "m77"])
    assert len((await desks.codex()).messages) == 1


async def test_what_was_handed_to_a_session_is_left_to_it_while_it_lives(desks: Desks) -> None:
    await desks.send("one")
    await desks.fleet.meet_all()
    box = desks.boxes[desks.laptop]
    other = who("codex", "codex-2")
    assert len((await box.hand(CODEX)).messages) == 1
    assert (await box.hand(CODEX)).messages == []
    assert (await box.hand(other)).messages == []
    # It is not over: whoever looks still sees it.
    assert [row.state for row in (await box.inbox(other)).messages] == ["handed"]
    desks.fleet.advance(limits.MESSAGE_LEASE_MS + 1)
    again = await box.hand(other)
    assert [row.times for row in again.messages] == [1]
    # That it was handed is said once.
    assert await desks.laptop.entries(EntryType.RECEIPT) == 2


async def test_what_a_session_that_ended_had_is_handed_to_the_next(desks: Desks) -> None:
    await desks.send("one")
    await desks.fleet.meet_all()
    box = desks.boxes[desks.laptop]
    await box.hand(CODEX)
    await desks.laptop.writer.run(
        "end",
        lambda job: job.run("UPDATE agent_session SET ended = 1 WHERE id = ?", CODEX.session),
    )
    assert len((await box.hand(who("codex", "codex-2"))).messages) == 1


async def test_sessions_of_one_agent_write_to_each_other(desks: Desks) -> None:
    sent = await desks.send("to my other self", to="claude@desk")
    box = desks.boxes[desks.desk]
    assert [one.state for one in sent.to] == ["carried"]
    assert (await box.inbox(CLAUDE)).messages == []
    assert ids(await box.inbox(who("claude", "claude-2"))) == [sent.id]
    # Nobody tells a machine what it has itself.
    assert await desks.desk.entries(EntryType.RECEIPT) == 0


async def test_the_same_request_sends_once_and_another_text_is_refused(desks: Desks) -> None:
    first = await desks.send("once", request="r1")
    assert await desks.send("once", request="r1") == first
    with pytest.raises(Conflict):
        await desks.send("twice", request="r1")
    assert await desks.desk.entries(EntryType.MESSAGE) == 1


async def test_acknowledging_again_is_no_error_and_says_nothing_new(desks: Desks) -> None:
    sent = await desks.send("x")
    await desks.fleet.meet_all()
    box = desks.boxes[desks.laptop]
    for _ in range(2):
        assert (await box.ack(CODEX, [sent.id, sent.full_id])).acknowledged == [sent.id]
    assert await desks.laptop.entries(EntryType.RECEIPT) == 2


MISUSE: list[tuple[Sending, type[Exception], str]] = [
    (Sending(to=["codex"], body=" "), Invalid, "body is empty"),
    (Sending(to=["codex"], body="x" * (MESSAGE_CHARACTERS + 1)), Invalid, "at most 16000"),
    (Sending(to=["codex"], body="x", subject="y" * 201), Invalid, "subject"),
    (Sending(to=["codex"], body="\ud800"), Invalid, "half of a character"),
    (Sending(to=["x" * 200], body="x"), Invalid, "recipient"),
    (Sending(to=["codex"] * 33, body="x"), TooMany, "at most 32"),
    (Sending(body="x"), Invalid, "no recipient"),
    (Sending(body="x", reply_to="m9"), NotFound, "no message m9"),
    (Sending(body="x", reply_to="k7qf-1"), Invalid, "not a message's id"),
]


async def test_misuse_is_refused_in_words(desks: Desks) -> None:
    for wanted, error, word in MISUSE:
        with pytest.raises(error, match=re.escape(word)):
            await desks.boxes[desks.desk].send(CLAUDE, wanted, request="")
    assert await desks.desk.entries(EntryType.MESSAGE) == 0


async def test_a_flood_meets_a_named_limit_and_harms_nobody_else(desks: Desks) -> None:
    for number in range(limits.MESSAGES_PER_MINUTE):
        await desks.send(f"number {number}")
    with pytest.raises(TooMany, match=f"{limits.MESSAGES_PER_MINUTE} messages a minute"):
        await desks.send("one more")
    assert await desks.desk.entries(EntryType.MESSAGE) == limits.MESSAGES_PER_MINUTE
    await desks.send("another session may", by=who("gemini"))


async def test_what_nobody_reads_does_not_pile_up(
    desks: Desks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MESSAGES_UNREAD", 2)
    for body in ("one", "two"):
        await desks.send(body)
    with pytest.raises(TooMany, match="codex@laptop has not acknowledged 2"):
        await desks.send("three")
    await desks.fleet.meet_all()
    await desks.boxes[desks.laptop].ack(CODEX, [(await desks.codex()).messages[0].id])
    await desks.fleet.meet_all()
    await desks.send("three")


async def test_a_burst_comes_in_parts_that_are_counted(
    desks: Desks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "INBOX_SHOWN", 3)
    for number in range(5):
        await desks.send("x" * 15_000, subject=str(number))
    await desks.fleet.meet_all()
    found = await desks.codex()
    assert (len(found.messages), found.more) == (2, 3)
    box = desks.boxes[desks.laptop]
    seen: list[str] = []
    while (part := await box.hand(CODEX)).messages:
        seen += ids(part)
    assert len(set(seen)) == len(seen) == 5


async def test_a_message_wakes_who_waits_for_one(desks: Desks) -> None:
    box = desks.boxes[desks.laptop]
    waiting = asyncio.create_task(box.inbox(CODEX, wait_s=30))
    await desks.laptop.agents.heard(who("other"))
    sent = await desks.send("wake up")
    assert not waiting.done()
    await desks.fleet.meet_all()
    async with asyncio.timeout(20):
        assert ids(await waiting) == [sent.id]
    assert ids(await box.inbox(CODEX, wait_s=30)) == [sent.id]


async def test_words_go_by_age_and_the_message_stays(desks: Desks) -> None:
    sent = await desks.send("a secret")
    await desks.fleet.meet_all()
    machine = desks.laptop
    desks.fleet.advance(DAY_MS)
    await Retention(machine.context).step(machine.context.clock.now())
    for _ in range(93):
        desks.fleet.advance(DAY_MS)
        await Retention(machine.context).step(machine.context.clock.now())
    (row,) = (await desks.codex()).messages
    assert row.id == sent.id
    assert "this text was erased" in row.text
    assert b"a secret" not in (machine.home / "store.db").read_bytes()


async def test_a_machine_that_was_removed_is_written_to_no_more(desks: Desks) -> None:
    await desks.fleet.remove("laptop")
    with pytest.raises(NotFound):
        await desks.send("hello")


async def test_a_person_reads_along_and_writes(desks: Desks) -> None:
    box = desks.boxes[desks.desk]
    message = await box.sender.write(
        viewer(desks.fleet.ann), Sending(to=["codex"], body="Use port 8000."), PROJECT
    )
    await desks.fleet.meet_all()
    (row,) = (await desks.codex()).messages
    assert row.full_id == message
    assert (row.sender, row.person) == ("Ann", True)
    assert "a person “Ann”" in row.text
    assert "not an answer to any ask" in row.text
    back = await desks.send("done", to="", by=CODEX, at=desks.laptop, reply_to=row.id)
    assert (back.to, back.read_by_people) == ([], True)


async def test_who_may_only_see_writes_to_nobody(desks: Desks) -> None:
    person = await desks.fleet.person("vic", "viewer", "desk")
    other = await desks.fleet.person("bob", "member", "laptop")
    box = desks.boxes[desks.desk]
    for one, word in ((person, "read along"), (other, "does not speak for you")):
        with pytest.raises(NotAllowed, match=word):
            await box.sender.write(viewer(one), Sending(to=["codex"], body="x"), PROJECT)
