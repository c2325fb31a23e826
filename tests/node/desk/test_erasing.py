"""An owner has a text erased: it goes from every file of every machine, the proofs stay."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from node.desk import erasing
from node.desk.requests import Flag
from node.store.rebuild import compare
from sync.errors import Conflict, Invalid, NotAllowed
from sync.log.kinds import EntryType
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import Machine, viewer
from web.desk import Erasing
from web.views import AskView

SECRET = "hunter2-Zq9"
CALL = {"tool": "deploy", "arguments": {"token": SECRET}}


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "desk", "laptop", "attic") as made:
        for one, other in (("desk", "laptop"), ("desk", "attic"), ("laptop", "attic")):
            made.link(one, other)
        yield made


def holds(machine: Machine) -> list[str]:
    """The files of a machine in which the secret can be read, as bytes."""
    return [
        str(path.relative_to(machine.home))
        for path in sorted(machine.home.rglob("*"))
        if path.is_file() and SECRET.encode() in path.read_bytes()
    ]


async def redact(
    machine: Machine,
    ask: str,
    person: str,
    *,
    confirm: str | None = None,
    reason: str | None = None,
) -> AskView:
    wanted = Erasing(confirm=confirm or machine.context.short(ask), reason=reason)
    return await erasing.redact(machine.context, viewer(person), ask, wanted)


async def lived(fleet: Fleet) -> list[str]:
    """Asks of every kind, full of a secret, at every stage; all machines hold all of it."""
    desk, ann = fleet["desk"], fleet.ann
    asked = await desk.ask(
        title=f"Is {SECRET} it?",
        detail=SECRET * 900,
        options=[{"label": SECRET, "detail": SECRET}],
        fallback=SECRET,
    )
    held = await desk.ask("approval", title=SECRET, call=CALL)
    waits = await desk.ask("approval", title=f"Open {SECRET}", call=CALL)
    note = await desk.ask("note", title="A note", detail=SECRET)
    declined = await desk.ask(title=f"Not {SECRET}?")
    await fleet.meet_all()
    await fleet["laptop"].vote(ann, asked, "answer", text=SECRET, because=SECRET)
    await fleet["attic"].vote(ann, held, "allow", because=SECRET)
    await fleet["laptop"].vote(ann, declined, "decline", because=SECRET)
    await fleet.meet_all()
    await desk.fetch(asked)
    await desk.fetch(held)
    await desk.agents.resolve(
        desk.asker(), asked, token=1, outcome=SECRET, ok=True, request="resolve-1"
    )
    await fleet.meet_all()
    for machine in fleet.machines.values():
        assert holds(machine) != []
    return [asked, held, waits, note, declined]


async def test_no_file_of_any_machine_keeps_it_and_all_that_was_decided_still_verifies(
    fleet: Fleet,
) -> None:
    asks = await lived(fleet)
    laptop = fleet["laptop"]
    decided = {ask: (await laptop.row(ask)).outcome for ask in asks}
    for ask in asks:
        await redact(laptop, ask, fleet.ann, reason="leaked")
    assert holds(laptop) == []
    await fleet.meet_all()
    for machine in fleet.machines.values():
        assert holds(machine) == []
        assert list((machine.home / "blobs").iterdir()) == []
        assert compare(machine.home) == []
        for ask in asks:
            view = await machine.view(ask, fleet.ann)
            assert view.erased is not None
            assert (view.erased.by, view.erased.reason) == ("Ann", "leaked")
            assert SECRET not in repr(view)
            assert not view.card.needs_me
            if decided[ask] is not None:
                assert view.final is not None
                assert view.final.outcome == decided[ask]
        await machine.restart()
        assert holds(machine) == []


async def test_what_is_open_is_withdrawn_by_its_machine_and_the_agent_is_told_why(
    fleet: Fleet,
) -> None:
    desk, laptop, attic = (fleet[name] for name in ("desk", "laptop", "attic"))
    ask = await desk.ask("approval", title=SECRET, call=CALL)
    await fleet.meet_all()
    await attic.vote(fleet.ann, ask, "allow")
    view = await redact(laptop, ask, fleet.ann)
    assert (view.card.state, view.card.actions) == ("restricted", [])
    assert "erased by Ann" in view.card.sentence
    assert await laptop.needs(fleet.ann) == 0
    with pytest.raises(Conflict, match="erased"):
        await laptop.vote(fleet.ann, ask, "deny")
    # The answer was given first, but it comes to the machine after what ends the ask.
    await fleet.carry("laptop", "desk")
    await fleet.meet_all()
    for machine in (desk, laptop, attic):
        assert await machine.stands(ask) == ("closed", "withdrawn")
    answer = await desk.fetch(ask)
    assert (answer.state, answer.reason) == ("withdrawn", "its text was erased by Ann")


@pytest.mark.parametrize("kind", ["question", "approval"])
async def test_a_verdict_that_nobody_has_acted_on_comes_to_nothing(fleet: Fleet, kind: str) -> None:
    desk = fleet["desk"]
    ask = await desk.ask(kind, title=SECRET)
    if kind == "question":
        await desk.vote(fleet.ann, ask, "answer", text=SECRET)
    else:
        await desk.vote(fleet.ann, ask, "allow", because=SECRET)
    view = await redact(desk, ask, fleet.ann)
    assert (view.handover and view.handover.reason) == "its text was erased"
    answer = await desk.fetch(ask)
    assert (answer.state, answer.text, answer.reason) == ("void", None, "its text was erased")


async def test_a_denial_stays_one(fleet: Fleet) -> None:
    desk = fleet["desk"]
    ask = await desk.ask("approval", title=SECRET)
    await desk.vote(fleet.ann, ask, "deny", because=SECRET)
    await redact(desk, ask, fleet.ann)
    answer = await desk.fetch(ask)
    assert (answer.state, answer.because) == ("denied", None)


async def test_a_machine_that_was_away_does_not_bring_it_back(fleet: Fleet, tmp_path: Path) -> None:
    """Nor does a machine that is new learn it from that one; nor what is said there meanwhile."""
    asks = await lived(fleet)
    attic = fleet["attic"]
    open_one = asks[2]
    await attic.vote(fleet.ann, open_one, "deny", because=SECRET)
    for ask in asks:
        await redact(fleet["desk"], ask, fleet.ann)
    await fleet.meet("desk", "laptop")
    fleet.advance(7 * 24 * 3_600_000)
    shed = await fleet.add(tmp_path, "shed")
    try:
        await fleet.carry("laptop", "shed")
        await fleet.carry("attic", "shed")
        await fleet.carry("attic", "desk")
        for machine in (shed, fleet["desk"], fleet["laptop"]):
            assert holds(machine) == []
        assert holds(attic) != []
        await fleet.meet_all()
        for machine in fleet.machines.values():
            assert holds(machine) == []
    finally:
        await shed.close()


async def test_it_reaches_a_machine_before_the_ask_does(fleet: Fleet, tmp_path: Path) -> None:
    desk = fleet["desk"]
    ask = await desk.ask("approval", title=SECRET, call=CALL)
    await fleet.meet("desk", "laptop")
    await redact(fleet["laptop"], ask, fleet.ann)
    await fleet.carry("laptop", "attic", only="laptop")
    assert await fleet["attic"].entries(EntryType.ASK) == 0
    # From the machine that has not heard of it yet.
    await fleet.carry("desk", "attic")
    assert await fleet["attic"].entries(EntryType.ASK) == 1
    assert holds(fleet["attic"]) == []
    assert list((fleet["attic"].home / "blobs").iterdir()) == []


async def test_what_an_agent_says_of_it_later_is_not_kept(fleet: Fleet) -> None:
    desk = fleet["desk"]
    ask = await desk.ask("approval", title=SECRET, call=CALL)
    await desk.vote(fleet.ann, ask, "allow")
    await desk.fetch(ask)
    await redact(desk, ask, fleet.ann)
    await desk.agents.resolve(
        desk.asker(), ask, token=1, outcome=f"used {SECRET}", ok=True, request="later"
    )
    view = await desk.view(ask, fleet.ann)
    assert view.resolved is not None
    assert (view.resolved.ok, view.resolved.text) == (True, "")
    assert holds(desk) == []


async def test_an_earlier_reply_that_held_it_is_not_given_again(fleet: Fleet) -> None:
    """And doing the call again would bring the text back."""
    desk = fleet["desk"]
    flag = Flag(kind="question", title=SECRET)
    made = await desk.agents.flag(desk.asker(), flag, request="first")
    await redact(desk, made.full_id, fleet.ann)
    with pytest.raises(Conflict, match="erased"):
        await desk.agents.flag(desk.asker(), flag, request="first")
    assert holds(desk) == []


async def test_only_an_owner_on_a_machine_that_speaks_for_them(fleet: Fleet) -> None:
    desk = fleet["desk"]
    await fleet.person("bob", "admin", "desk")
    ask = await desk.ask(title=SECRET)
    await fleet.meet_all()
    with pytest.raises(NotAllowed, match="owner"):
        await redact(desk, ask, "bob")
    with pytest.raises(Invalid, match="nothing was erased"):
        await redact(desk, ask, fleet.ann, confirm="yes")
    await fleet.person("carol", "owner", "laptop")
    with pytest.raises(NotAllowed, match="does not speak"):
        await redact(desk, ask, "carol")
    assert (await desk.view(ask, fleet.ann)).title == SECRET
    assert await desk.entries(EntryType.REDACTED) == 0
    await redact(desk, ask, fleet.ann)
    await redact(desk, ask, fleet.ann)
    assert await desk.entries(EntryType.REDACTED) == 1


async def test_the_history_says_who_had_it_erased(fleet: Fleet) -> None:
    desk = fleet["desk"]
    ask = await desk.ask(title=SECRET)
    await redact(desk, ask, fleet.ann, reason="a token")
    last = (await desk.history(ask, fleet.ann))[-1]
    assert (last.what, last.who, last.text) == ("text erased", "Ann", "a token")


async def test_a_blob_that_another_ask_names_too_goes_all_the_same(fleet: Fleet) -> None:
    """Else whoever names it keeps it; what no erased ask names stays."""
    desk = fleet["desk"]
    ask = await desk.ask("approval", title="One", call=CALL)
    other = await desk.ask("approval", title="Two", session="t", call={**CALL, "tool": "other"})
    await redact(desk, ask, fleet.ann)
    blob = (await desk.row(other)).blob
    assert blob is not None
    assert [path.name for path in (desk.home / "blobs").iterdir()] == [blob.hex()]


async def test_what_was_raised_again_goes_under_its_earlier_id_as_well(fleet: Fleet) -> None:
    """A machine that joined again had said the same words as another one."""
    desk, laptop = fleet["desk"], fleet["laptop"]
    before, now = await desk.ask(title=SECRET), await desk.ask(title=SECRET, session="t")
    await fleet.meet_all()
    await desk.writer.run(
        "alias", lambda job: job.run("INSERT INTO ask_alias VALUES (?, ?)", before, now)
    )
    await redact(desk, now, fleet.ann)
    await fleet.meet_all()
    assert holds(desk) == []
    assert holds(laptop) == []
