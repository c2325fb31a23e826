"""One conversation of the machine that shows a code, and what it means for the code."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from enum import Enum

import msgspec

from sync.errors import AskmeshError, CallerError
from sync.log.names import node_name
from sync.net.pair_talk import Talk, TalkEnded
from sync.wire.pairing import Minter
from sync.wire.pairing_failures import NotLetIn, Why, at_minter
from sync.wire.pairing_steps import Admission, Candidate, Failure, Step

SHORT_ID: int = 8
"""Characters of the node id that both screens show, to be compared by eye."""

_log = logging.getLogger("askmesh.pairing")

Admit = Callable[[Candidate], Awaitable[Admission]]
"""Lets a proved machine in, durably, or raises an `AskmeshError` that says why not."""


class End(Enum):
    """How the time of a code ended."""

    PAIRED = "paired"
    FAILED = "failed"
    EXPIRED = "expired"
    STOPPED = "stopped"


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a code, in words for the person who made it."""

    end: End
    sentence: str
    hint: str = ""
    candidate: Candidate | None = None
    """The machine that was let in; with `PAIRED` always."""
    confirmed: bool = False
    """Whether it has said that it stored everything."""


class Exchange:
    """Runs a `Minter` over one connection."""

    def __init__(self, minter: Minter, talk: Talk, admit: Admit, *, host: str) -> None:
        self._minter = minter
        self._talk = talk
        self._admit = admit
        self._host = host
        self.admitted: Candidate | None = None
        """The machine that was let in."""
        self.deciding: asyncio.Future[Admission] | None = None
        """Runs to its end even if the connection is gone meanwhile."""

    async def run(self, spent: Callable[[], None]) -> Ended | None:
        """Pair. Calls `spent` once the code is; None: it is not, and may be used still."""
        try:
            await self._talk.say(self._minter.begin())
            while True:
                step = self._minter.heard(await self._talk.hear())
                if self._minter.spent:
                    spent()
                ended = await self._follow(step)
                if ended is not None or not self._minter.spent:
                    return ended
        except TalkEnded as error:
            return self._over(Failure(why=error.why))

    async def _follow(self, step: Step) -> Ended | None:
        if step.send is not None:
            # A refusal is a courtesy: the other side may be gone.
            with contextlib.suppress(*((TalkEnded,) if step.failed else ())):
                await self._talk.say(step.send)
        if step.failed is not None:
            return self._over(step.failed)
        if step.candidate is not None:
            return await self._decide(step.candidate)
        return paired(self.admitted, confirmed=True) if step.paired and self.admitted else None

    async def _decide(self, candidate: Candidate) -> Ended | None:
        candidate = msgspec.structs.replace(candidate, host=self._host)
        self.deciding = asyncio.ensure_future(self._let_in(candidate))
        try:
            admission = await asyncio.shield(self.deciding)
        except NotLetIn as error:
            await self._refuse(None, error.why)
            return Ended(end=End.FAILED, sentence=error.sentence, hint=error.hint)
        except AskmeshError as error:
            # Errors of our own store say where it lies: not for others.
            told = error.sentence if isinstance(error, CallerError) else None
            await self._refuse(told)
            return Ended(end=End.FAILED, sentence=error.sentence, hint=error.hint)
        except Exception:  # noqa: BLE001 -- a fault here must not leave the code waiting
            _log.exception("a machine could not be let in")
            await self._refuse(None)
            return failed(Failure(why=Why.REFUSED, machine=candidate.machine))
        for message in self._minter.admit(admission):
            await self._talk.say(message)
        return None

    async def _let_in(self, candidate: Candidate) -> Admission:
        admission = await self._admit(candidate)
        self.admitted = candidate
        return admission

    async def _refuse(self, sentence: str | None, why: Why = Why.REFUSED) -> None:
        with contextlib.suppress(TalkEnded):
            await self._talk.say(self._minter.refuse(why, sentence))

    def _over(self, failure: Failure) -> Ended | None:
        if self.admitted is not None:
            return paired(self.admitted, confirmed=False)
        return failed(failure) if self._minter.spent else None


def failed(failure: Failure, end: End = End.FAILED) -> Ended:
    """Return an end without a machine."""
    known = {"machine": failure.machine, "version": failure.version}
    error = at_minter(failure.why, **{name: word for name, word in known.items() if word})
    return Ended(end=end, sentence=error.sentence, hint=error.hint)


def paired(candidate: Candidate, *, confirmed: bool) -> Ended:
    """Return the end with a machine in the fleet."""
    name = f"{candidate.machine} ({node_name(candidate.node)[:SHORT_ID]})"
    if confirmed:
        return Ended(
            end=End.PAIRED,
            sentence=f"{name} is paired.",
            candidate=candidate,
            confirmed=True,
        )
    return Ended(
        end=End.PAIRED,
        sentence=f"{name} was let in, but has not said that it stored everything.",
        hint="If it does not show as connected soon, pair it again with a new code, or remove it.",
        candidate=candidate,
    )
