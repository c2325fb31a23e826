"""Pairing of two real stores over real TLS, as the persons at them see it."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from node.fleet import machines
from node.fleet.pairing import Pairings
from node.store import introduced
from node.store.receive import Received, keep
from node.store.transaction import Transaction
from node.store.writer import Job
from sync.errors import AskmeshError, Conflict, Invalid, NotAllowed, PairingFailed
from sync.limits import FRAME_ENTRIES, PAIRING_S
from sync.log.entry import Entry, seal
from sync.log.facts import PersonFacts, RulesFacts, RulesText, pack_facts, pack_text
from sync.log.kinds import EntryType
from sync.net.pair_listener import Times
from sync.wire.pairing_code import new_code
from tests.node.desk.machines import TOKEN, Machine
from tests.node.fleet.networks import Networked
from tests.sync.net.machines import HERE, until
from web.desk import Viewer
from web.views import PairingView

WRONG = new_code(b"another!").shown()


class Paired:
    """A machine of its own fleet, with its links and pairing."""

    def __init__(self, machine: Machine, code_s: float) -> None:
        self.machine = machine
        self.node = Networked(machine)
        self.viewer: Viewer | None = None
        self.entered = 0
        self.pairings = Pairings(
            machine.context,
            lambda: self.node.network.mesh,
            bind=HERE,
            members_changed=self.node.network.members_changed,
            entered=self._entered,
            times=Times(code_s=code_s, message_s=5.0, handshake_s=5.0),
        )

    async def _entered(self) -> None:
        self.entered += 1
        await self.node.network.renew()

    async def sign_in(self, name: str) -> Viewer:
        made = await self.machine.sign_ins.first(TOKEN, name=name, passphrase=None, where="test")
        self.viewer = made.viewer
        return made.viewer

    async def begin(self) -> tuple[str, str]:
        """Show a code; return it, and the address beside it."""
        assert self.viewer is not None
        view = await self.pairings.begin(self.viewer)
        assert view.code
        assert self.pairings._listener
        return view.code, f"{HERE}:{self.pairings._listener.port}"

    async def ended(self) -> PairingView:
        """How the code ended."""
        await until(lambda: not self.pairings.waiting(), "the code's time ends")
        await until(lambda: self.pairings.now().state != "waiting", "it is told")  # type: ignore[union-attr]
        view = self.pairings.now()
        assert view is not None
        assert view.code is None
        return view

    async def join(self, code: str, address: str) -> str:
        """Type a code; return what is said of it."""
        return (await self.pairings.join(self.viewer, code=code, address=address)).sentence

    async def fails(self, code: str, address: str) -> AskmeshError:
        """Type a code that leads nowhere."""
        before = self.machine.context.identity.fleet
        with pytest.raises(AskmeshError) as caught:
            await self.join(code, address)
        assert self.machine.context.identity.fleet == before
        assert self.entered == 0
        return caught.value

    async def count(self, sql: str, *values: object) -> int:
        return await self.machine.reader.run(
            lambda connection: int(connection.execute(sql, values).fetchone()[0])
        )

    async def members(self) -> set[str]:
        def read(connection: sqlite3.Connection) -> set[str]:
            named = connection.execute("SELECT name FROM node WHERE removed IS NULL")
            return {name for (name,) in named}

        return await self.machine.reader.run(read)


@asynccontextmanager
async def machine(folder: Path, name: str, code_s: float = PAIRING_S) -> AsyncIterator[Paired]:
    made = Paired(Machine(folder / name, {}), code_s)
    await made.node.network.start()
    try:
        yield made
    finally:
        await made.pairings.stop()
        await made.node.network.stop()
        await made.machine.close()


@pytest.fixture
async def two(tmp_path: Path) -> AsyncIterator[tuple[Paired, Paired]]:
    """The desk, on which Ann is signed in, and a laptop of its own fleet."""
    async with AsyncExitStack() as stack:
        desk = await stack.enter_async_context(machine(tmp_path, "desk"))
        laptop = await stack.enter_async_context(machine(tmp_path, "laptop"))
        await desk.sign_in("Ann")
        yield desk, laptop


async def becomes(node: Paired, names: set[str]) -> None:
    for _ in range(1000):
        if await node.members() == names:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(await node.members())


async def test_a_machine_joins_by_code_and_address_and_is_linked(
    two: tuple[Paired, Paired],
) -> None:
    desk, laptop = two
    code, address = await desk.begin()
    assert "belongs to the fleet of desk" in await laptop.join(code.lower(), address)
    view = await desk.ended()
    assert (view.state, view.machine and view.machine.name) == ("paired", "laptop")
    assert laptop.machine.context.identity.fleet == desk.machine.context.identity.fleet
    assert laptop.entered == 1
    await becomes(laptop, {"desk", "laptop"})
    await until(desk.node.network.mesh.linked, "they are linked")
    ask = await laptop.machine.ask("question")
    for _ in range(1000):
        if await desk.count("SELECT count(*) FROM ask WHERE id = ?", ask):
            break
        await asyncio.sleep(0.01)
    assert await desk.count("SELECT count(*) FROM ask WHERE id = ?", ask)


async def test_a_wrong_code_burns_the_right_one(two: tuple[Paired, Paired]) -> None:
    desk, laptop = two
    code, address = await desk.begin()
    assert isinstance(await laptop.fails(WRONG, address), PairingFailed)
    view = await desk.ended()
    assert view.state == "failed"
    assert "wrong code" in view.sentence
    await laptop.fails(code, address)
    assert await desk.members() == {"desk"}


async def test_a_mistyped_code_and_address_spend_nothing(two: tuple[Paired, Paired]) -> None:
    desk, laptop = two
    code, address = await desk.begin()
    assert isinstance(
        await laptop.fails(code[:-1] + ("0" if code[-1] != "0" else "1"), address), Invalid
    )
    assert isinstance(await laptop.fails(code, "nowhere"), Invalid)
    assert "belongs" in await laptop.join(code, address)


async def test_one_code_at_a_time_the_newer_counts(two: tuple[Paired, Paired]) -> None:
    desk, laptop = two
    first, where = await desk.begin()
    second, address = await desk.begin()
    await laptop.fails(first, where)
    assert "belongs" in await laptop.join(second, address)


async def test_a_code_that_was_withdrawn_lets_nobody_in(two: tuple[Paired, Paired]) -> None:
    desk, laptop = two
    code, address = await desk.begin()
    await desk.pairings.stop()
    assert (await desk.ended()).state == "stopped"
    await laptop.fails(code, address)


async def test_a_code_runs_out(tmp_path: Path) -> None:
    async with machine(tmp_path, "desk", code_s=0.05) as desk:
        await desk.sign_in("Ann")
        await desk.begin()
        view = await desk.ended()
        assert view.state == "expired"
        assert "run out" in view.sentence


async def test_a_member_may_not_show_a_code(two: tuple[Paired, Paired]) -> None:
    desk, _ = two
    ann = desk.viewer
    assert ann is not None
    facts = PersonFacts(person="bob", name="Bob", role="member", by=ann.person, at=1)
    await desk.machine.writer.run("bob", lambda job: job.append(EntryType.PERSON, facts))
    bob = Viewer(session_id="x", person="bob", name="Bob", role="member", kind="page")
    with pytest.raises(NotAllowed, match="owner or an admin"):
        await desk.pairings.begin(bob)
    with pytest.raises(NotAllowed, match="owner or an admin"):
        await desk.pairings.check_may_join(bob)
    await desk.pairings.check_may_join(ann)


async def test_who_signed_in_must_be_signed_in_to_join(two: tuple[Paired, Paired]) -> None:
    desk, laptop = two
    await laptop.pairings.check_may_join(None)
    await laptop.sign_in("Bob")
    bob, laptop.viewer = laptop.viewer, None
    code, address = await desk.begin()
    assert isinstance(await laptop.fails(code, address), NotAllowed)
    laptop.viewer = bob
    await laptop.join(code, address)
    assert await laptop.count("SELECT count(*) FROM person_session") == 0


async def test_a_code_whose_maker_signed_out_lets_nobody_in(two: tuple[Paired, Paired]) -> None:
    desk, laptop = two
    code, address = await desk.begin()
    await desk.machine.writer.run("out", lambda job: job.run("DELETE FROM person_session"))
    assert "signed out" in (await laptop.fails(code, address)).sentence
    assert (await desk.ended()).state == "failed"
    assert await desk.members() == {"desk"}


async def test_a_machine_with_others_is_refused_and_the_code_stays(
    two: tuple[Paired, Paired], tmp_path: Path
) -> None:
    desk, laptop = two
    code, address = await desk.begin()
    await laptop.join(code, address)
    await becomes(laptop, {"desk", "laptop"})
    async with machine(tmp_path, "box") as box:
        await box.sign_in("Eve")
        code, address = await box.begin()
        with pytest.raises(Conflict, match="in a fleet with laptop already"):
            await desk.join(code, address)
        assert box.pairings.waiting()
        # Its own code as well: they are in one fleet already.
        code, address = await desk.begin()
        laptop.entered = 0
        with pytest.raises(NotAllowed):
            await laptop.join(code, address)


async def test_a_key_that_was_removed_is_not_let_in_again(
    two: tuple[Paired, Paired],
) -> None:
    desk, laptop = two
    code, address = await desk.begin()
    ann = desk.viewer
    assert ann is not None

    await breaks_off(laptop, code, address)
    view = await desk.ended()
    assert view.state == "paired"
    assert "has not said that it stored everything" in view.sentence
    await desk.machine.writer.run("remove", lambda job: machines.remove(job, ann, "laptop"))
    code, address = await desk.begin()
    error = await laptop.fails(code, address)
    assert "not let in again" in error.sentence
    assert "ASKMESH_HOME" in error.hint
    view = await desk.ended()
    assert "not let in again" in view.sentence
    assert "ASKMESH_HOME" in view.sentence


async def test_what_broke_off_is_paired_again_without_a_second_statement(
    two: tuple[Paired, Paired],
) -> None:
    desk, laptop = two
    code, address = await desk.begin()
    await breaks_off(laptop, code, address)
    assert (await desk.ended()).machine
    assert await desk.members() == {"desk", "laptop"}
    assert await laptop.count("SELECT count(*) FROM fleet_left") == 0
    code, address = await desk.begin()
    await laptop.join(code, address)
    member = "SELECT count(*) FROM entry WHERE type = ?"
    assert await desk.count(member, EntryType.MEMBER.value) == 1
    await becomes(laptop, {"desk", "laptop"})


async def test_a_kill_after_storing_and_before_saying_so_leaves_a_member(
    two: tuple[Paired, Paired],
) -> None:
    desk, laptop = two
    code, address = await desk.begin()
    await breaks_off(laptop, code, address, stored=True)
    assert "has not said that it stored everything" in (await desk.ended()).sentence
    await laptop.node.network.stop()
    await laptop.machine.restart()
    laptop.node = Networked(laptop.machine)
    await laptop.node.network.start()
    await becomes(laptop, {"desk", "laptop"})
    await until(desk.node.network.mesh.linked, "they are linked")


async def breaks_off(node: Paired, code: str, address: str, *, stored: bool = False) -> None:
    """The machine is let in, and fails before (or right after) it has stored that."""
    writer = node.machine.context.writer
    run = writer.run

    async def spoiled(name: str, job: Callable[[Transaction], object]) -> object:
        done = await run(name, job) if stored or name != "join" else None
        if name == "join":
            raise RuntimeError("killed")
        return done

    writer.run = spoiled  # type: ignore[method-assign, assignment]
    try:
        with pytest.raises(RuntimeError, match="killed"):
            await node.join(code, address)
    finally:
        writer.run = run  # type: ignore[method-assign]


async def test_before_its_log_names_anyone_the_members_are_those_of_the_welcome(
    two: tuple[Paired, Paired],
) -> None:
    desk, laptop = two
    await laptop.node.network.stop()
    code, address = await desk.begin()
    await desk.node.network.stop()
    await laptop.join(code, address)
    listed = await laptop.machine.reader.run(introduced.listed)
    assert [one.name for one in listed] == ["desk"]
    assert listed[0].node == desk.machine.identity.key.node_id
    assert await laptop.count("SELECT count(*) FROM address WHERE node = ?", desk.machine.id) == 1
    (genesis,) = await laptop.machine.reader.run(
        lambda connection: connection.execute(
            "SELECT author FROM entry WHERE fleet = ? AND type = ? ORDER BY n LIMIT 1",
            (desk.machine.context.identity.fleet, EntryType.GENESIS.value),
        ).fetchone()
    )
    assert genesis == desk.machine.identity.key.node_id


def many_rules(node: Machine, by: str, times: int) -> Job[Received]:
    """A job that states so many versions of the rules, as years of changes would."""

    def job(transaction: Transaction) -> Received:
        seq, prev = transaction.row(
            "SELECT seq, hash FROM head WHERE author = ? AND log = 0", node.identity.key.node_id
        ) or (0, b"")
        run: list[Entry] = []
        for version in range(times):
            facts = RulesFacts(
                name="r", version=str(version), source_hash=bytes(32), by=by, at=1,
                replaces=run[-1].hash if run else None,
            )  # fmt: skip
            run.append(
                seal(
                    node.identity.key,
                    fleet=transaction.identity.fleet,
                    seq=seq + version + 1,
                    prev=prev,
                    hlc=1 << 16,
                    entry_type=EntryType.RULES,
                    facts=pack_facts(facts),
                    text=pack_text(bytes(16), RulesText(source="")),
                )
            )
            prev = run[-1].hash
        return keep(transaction, run)

    return job


async def test_a_fleet_with_years_of_changes_takes_another_machine(
    two: tuple[Paired, Paired],
) -> None:
    """More statements than one message holds."""
    desk, laptop = two
    times = FRAME_ENTRIES + 500
    assert desk.viewer
    stated = many_rules(desk.machine, desk.viewer.person, times)
    assert (await desk.machine.writer.run("rules", stated)).kept.trouble is None
    await laptop.join(*await desk.begin())
    assert (await desk.ended()).state == "paired"
    await becomes(laptop, {"desk", "laptop"})
    for _ in range(1000):
        if await laptop.count("SELECT count(*) FROM rules") == times:
            break
        await asyncio.sleep(0.01)
    assert await laptop.count("SELECT count(*) FROM rules WHERE in_force") == 1
