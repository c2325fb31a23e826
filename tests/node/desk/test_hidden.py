"""Hidden arguments on two machines: whole at their home, nowhere else, and still signed for."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from node.desk.requests import Flag
from node.desk.rows import AskRow
from node.gate.rules import Match, Rules
from node.store.erasing import erase_ask
from node.store.transaction import Transaction
from node.verify import calls
from node.verify.report import Checked
from tests.node.desk.fleets import fleet_of
from tests.node.desk.gates import Gate

SECRET = "correct horse battery staple"
ARGUMENTS = {"command": "deploy", "env": {"KEY": SECRET}}
HIDING = Match(
    rule="keys", action="ask", deadline_s=None, reason=None, hide=("env.KEY", "not.there")
)


@pytest.fixture
async def gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Gate]:
    """At home on the desk; every call meets a rule that hides."""
    monkeypatch.setattr(Rules, "match", lambda *_given, **_more: HIDING)
    async with fleet_of(tmp_path, "desk", "far") as fleet:
        folder = tmp_path / "shop"
        folder.mkdir()
        yield Gate(fleet, fleet["desk"], folder)


def everything(home: Path) -> bytes:
    """All that a machine has on its disk."""
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


async def bring(gate: Gate, row: AskRow) -> None:
    """All entries, and the blob as links fetch it."""
    await gate.fleet.meet_all()
    assert row.blob is not None
    name = row.blob.hex()
    [blob] = gate.machine.home.rglob(name)
    (gate.fleet["far"].home / blob.relative_to(gate.machine.home)).write_bytes(blob.read_bytes())


async def test_the_other_machines_get_a_marker_and_may_still_allow(gate: Gate) -> None:
    call = gate.call(ARGUMENTS)
    row = await gate.raised(call)
    await bring(gate, row)
    fleet, far = gate.fleet, gate.fleet["far"]
    assert SECRET.encode() in everything(gate.machine.home)
    assert SECRET.encode() not in everything(far.home)
    here = await gate.machine.reading.ask(row.id, fleet.ann)
    there = await far.reading.ask(row.id, fleet.ann)
    assert here.call is not None
    assert there.call is not None
    assert (here.call.arguments, here.call.whole) == (ARGUMENTS, True)
    assert here.call.canonical == call.canonical.decode()
    marker = {"KEY": f"[hidden: {len(SECRET)} characters]"}
    assert (there.call.arguments["env"], there.call.whole) == (marker, False)
    assert there.ask.call is not None
    assert there.ask.call.hidden == 1
    assert "1 argument never leaves desk" in there.ask.call.hidden_note
    assert "has not seen all of it" in there.ask.call.hidden_note
    assert here.ask.seen == there.ask.seen
    assert "allow" in there.ask.card.actions
    await far.vote(fleet.ann, row.id, "allow")
    await fleet.meet_all()
    assert (await gate.hold(call)).allow
    assert SECRET.encode() not in everything(far.home)


async def test_no_agent_reads_it_not_even_at_home(gate: Gate) -> None:
    row = await gate.raised(gate.call(ARGUMENTS))
    shown = await gate.machine.reading.ask(row.id, None)
    assert shown.call is not None
    assert not shown.call.whole
    assert SECRET not in repr(shown)
    assert SECRET not in repr(await gate.machine.reading.listing(closed=True, project=None))


async def test_the_digest_covers_it(gate: Gate) -> None:
    row = await gate.raised(gate.call(ARGUMENTS))
    await gate.machine.vote(gate.fleet.ann, row.id, "allow", wait_s=5)
    other = gate.call({"command": "deploy", "env": {"KEY": "another"}})
    await gate.raised(other)
    assert await gate.machine.stands(row.id) == ("closed", "allowed")
    assert (await gate.hold(gate.call(ARGUMENTS))).allow


async def test_what_an_agent_asks_for_itself_hides_it_too(gate: Gate) -> None:
    call = {"tool": "deploy", "arguments": ARGUMENTS}
    flag = Flag(kind="approval", title="Ship", call=call)
    ask = (await gate.machine.agents.flag(gate.who(), flag, request="1")).full_id
    await gate.fleet.meet_all()
    assert SECRET.encode() not in everything(gate.fleet["far"].home)
    detail = await gate.machine.reading.ask(ask, gate.fleet.ann)
    assert detail.call is not None
    assert detail.call.arguments == ARGUMENTS


async def test_its_text_goes_when_the_words_go(gate: Gate) -> None:
    row = await gate.raised(gate.call(ARGUMENTS))

    def erase(transaction: Transaction) -> None:
        erase_ask(transaction.connection, row.id)

    await gate.machine.writer.run("erase", erase)
    left = await gate.machine.reader.run(
        lambda reading: reading.execute("SELECT canonical, secret FROM hidden_call").fetchall()
    )
    assert not any(any(part) for columns in left for part in columns)
    detail = await gate.machine.reading.ask(row.id, gate.fleet.ann)
    assert SECRET not in repr(detail)


async def verified(gate: Gate) -> Checked:
    home = gate.machine.home
    return await gate.machine.reader.run(
        lambda reading: calls.check(home, reading, lambda *_told: None)
    )


async def test_verify_holds_it_against_what_was_signed(gate: Gate) -> None:
    await gate.raised(gate.call(ARGUMENTS))
    assert (await verified(gate)).findings == []
    changed = json.dumps({**ARGUMENTS, "env": {"KEY": "forged"}}).encode()

    def forge(transaction: Transaction) -> None:
        transaction.run("UPDATE hidden_call SET canonical = ?", changed)

    await gate.machine.writer.run("forge", forge)
    told = " ".join(map(repr, (await verified(gate)).findings))
    assert "hidden arguments" in told
    assert "digest kept" in told


async def test_nothing_hidden_travels_as_before(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rules, "match", lambda *_given, **_more: replace(HIDING, hide=()))
    call = gate.call(ARGUMENTS)
    row = await gate.raised(call)
    assert row.blob is not None
    assert gate.machine.context.blobs.get(row.blob) == call.canonical
    shown = await gate.shown(row)
    assert (shown["call"]["hidden"], shown["call"]["hidden_note"]) == (0, "")
