"""Faults put into the core on purpose, one at a time: the simulation must find each.

Each changes what real functions do, as a careless edit would. `FOUND` names a seed that
finds it; the search is `python -m tests.sim --planted`. Those that let somebody decide who
may not stand in `tests.sim.planted_people`.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from msgspec.structs import replace

from node.fleet.ledger import StoreLedger
from node.store import derive, exchange, projection, receive
from node.store.transaction import Identity
from node.store.writer import Writer
from sync.decide.ask import AskState, Kind, Step, advance
from sync.decide.final import rule
from sync.log.chain import Head
from sync.log.entry import Entry
from sync.log.facts import HandoverFacts
from sync.log.kinds import EntryType
from sync.log.vector import Wanted
from sync.net.ledger import Kept
from tests.sim import chaos
from tests.sim.planted_people import PEOPLE, Patch
from tests.sim.planted_people import put as _put


def _no_swap(stack: ExitStack) -> None:
    """A final is made whatever stands already."""

    def lenient(kind: Kind, state: AskState, step: Step) -> AskState:
        return AskState.CLOSED if step is Step.CLOSE else advance(kind, state, step)

    def blind(ask: Any, *args: Any, **more: Any) -> Any:  # noqa: ANN401
        return rule(replace(ask, state=AskState.WAITING), *args, **more)

    _put(stack, "node.desk.closing.advance", lenient)
    _put(stack, "node.store.projection.advance", lenient)
    _put(stack, "node.desk.answers.rule", blind)


def _acknowledged_early(stack: ExitStack) -> None:
    """What came is acknowledged while it is still being stored."""
    real = StoreLedger.keep

    async def keep(self: StoreLedger, run: Sequence[Entry], source: bytes) -> Kept:
        task = asyncio.ensure_future(real(self, run, source))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        heads = {
            (one.header.author, one.header.log): Head(seq=one.header.seq, hash=one.hash)
            for one in run
        }
        return Kept(heads=heads, trouble=None)

    _put(stack, "node.fleet.ledger.StoreLedger.keep", keep)


def _told_early(stack: ExitStack) -> None:
    """A hand-over is told before it is committed."""
    real = Writer._one

    def one(self: Writer, asked: Any, identity: Identity) -> Any:  # noqa: ANN401
        done = real(self, asked, identity)
        if "hand_over" in asked.name and done[0].error is None and not asked.future.done():
            asked.future.set_result(done[0].result)
            self._told_early = True  # type: ignore[attr-defined]
        return done

    def tell(self: Writer, done: Any) -> None:  # noqa: ANN401
        told(self, [item for item in done if not item.asked.future.done()])

    def commit(self: Writer, group: Any) -> Any:  # noqa: ANN401
        """The disk takes its time."""
        if not any("hand_over" in asked.name for asked in group):
            return committed(self, group)
        self._connection.execute("BEGIN IMMEDIATE")
        made = [one(self, asked, self._identity)[0] for asked in group]
        self._connection.execute("ROLLBACK")
        self._loop.call_later(0.05, committed, self, group)
        return made

    told, committed = Writer._tell, Writer._commit
    _put(stack, "node.store.writer.Writer._tell", tell)
    _put(stack, "node.store.writer.Writer._commit", commit)


def _same_token(stack: ExitStack) -> None:
    """Taking a question over does not raise the token."""
    made = HandoverFacts
    life = projection._life

    def facts(**given: Any) -> Any:  # noqa: ANN401
        if given["status"] == "handed":
            given["token"] = max(1, given["token"] - 1)
        return made(**given)

    def lenient(connection: Any, arrived: Any, ask: str) -> Any:  # noqa: ANN401
        found = life(connection, arrived, ask)
        handed = arrived.entry.header.type == EntryType.HANDOVER
        return found._replace(token=found.token - 1) if found and handed else found

    _put(stack, "node.desk.closing.HandoverFacts", facts)
    _put(stack, "node.store.projection._life", lenient)


def _fork_dropped(stack: ExitStack) -> None:
    """Another entry in the place of one that is here is passed over."""
    _put(stack, "node.store.receive._Batch._conflict", lambda *_args: None)


def _late_counts(stack: ExitStack) -> None:
    """The deadline is left to the sweeper."""
    _put(stack, "sync.decide.final.expired", lambda *_args: False)


def _anyone_speaks(stack: ExitStack) -> None:
    """Any machine's vote counts for anyone."""

    def trusting(*args: Any, **more: Any) -> Any:  # noqa: ANN401
        return rule(*args, **{**more, "speaks_for": True})

    _put(stack, "node.desk.answers.rule", trusting)
    _put(stack, "node.store.projection.voted_rightly", lambda *_args: None)


def _relay_skips(stack: ExitStack) -> None:
    """Of another one's log every fifth entry is left out when it is passed on."""
    real = exchange.entries

    def entries(connection: Any, fleet: bytes, wanted: Wanted, **more: Any) -> list[Entry]:  # noqa: ANN401
        found = real(connection, fleet, wanted, **more)
        own = derive._local(connection, derive.NODE)
        if wanted.author == own:
            return found
        return [one for one in found if one.header.seq % 5]

    _put(stack, "node.store.exchange.entries", entries)


def _asked_again(stack: ExitStack) -> None:
    """A retry of the same request is a new one."""
    _put(stack, "node.desk.agents.recall", lambda *_args: None)
    _put(stack, "node.desk.taking.recall", lambda *_args: None)


def _cut_ignored(stack: ExitStack) -> None:
    """What a removed machine says after its end still counts."""
    _put(stack, "node.store.receive._Batch._end", lambda *_args: None)
    _put(stack, "node.store.derive.Ends.count", lambda *_args: True)
    _put(stack, "node.store.derive._within", lambda *_args: True)


def _one_history(stack: ExitStack) -> None:
    """What was stated in the other history of a machine is not kept. Worlds have both fates."""
    real = receive.attest
    stack.enter_context(mock.patch.dict(chaos.RARE, chaos.FATES))
    _put(stack, "node.store.receive.attest", lambda transaction, _told: real(transaction, ()))


PLANTS: dict[str, Patch] = {
    **PEOPLE,
    "no compare-and-swap": _no_swap,
    "acknowledged before commit": _acknowledged_early,
    "handed over before commit": _told_early,
    "token does not rise": _same_token,
    "fork passed over": _fork_dropped,
    "late vote counts": _late_counts,
    "anyone speaks for anyone": _anyone_speaks,
    "relay skips entries": _relay_skips,
    "retry asks again": _asked_again,
    "cut ignored": _cut_ignored,
    "other history not kept": _one_history,
}

FOUND: dict[str, int] = {
    "role ignored": 2,
    "one person counts twice": 30,
    "one machine counts twice": 0,
    "own agent allowed": 44,
    "hold ignored": 3,
    "handed over on hold": 94,
    "counted for ever": 242,
    "unclear is a no": 0,
    "no compare-and-swap": 2,
    "acknowledged before commit": 0,
    "handed over before commit": 0,
    "token does not rise": 2,
    "fork passed over": 58,
    "late vote counts": 19,
    "anyone speaks for anyone": 11,
    "relay skips entries": 40,
    "retry asks again": 15,
    "cut ignored": 2,
    "other history not kept": 30,
}
"""A seed that found each; where it does so no more, the search begins anew."""


@contextmanager
def planted(name: str | None) -> Iterator[None]:
    """Run with one of the faults; None: without."""
    with ExitStack() as stack:
        if name is not None:
            PLANTS[name](stack)
        yield
