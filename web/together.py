"""Routes of answers given together, and of what need not have been asked."""

from aiohttp import web

from sync.errors import AskmeshError
from web.asks import ask_id, check_wait
from web.messages import Marked
from web.replies import VIEWER, Handler, body, carried_through, refused, reply
from web.together_desk import TogetherDesk
from web.together_views import AgentReport, Ballots, Needless, VoteOutcome, VoteOutcomes


class TogetherRoutes:
    """What a person says of several asks, or of an agent's asking."""

    def __init__(self, desk: TogetherDesk) -> None:
        self._desk = desk

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of their routes."""
        return {
            "vote_together": self.vote_together,
            "needless": self.needless,
            "agent_report": self.agent_report,
        }

    async def vote_together(self, request: web.Request) -> web.StreamResponse:
        """Record several answers; one that fails does not stop the others."""
        ballots = await body(request, Ballots)
        check_wait(ballots.wait_s)
        desk = self._desk.vote_together(request[VIEWER], ballots)
        outcomes = [
            VoteOutcome(ask=ballot.ask, error=refused(one))
            if isinstance(one, AskmeshError)
            else VoteOutcome(ask=ballot.ask, receipt=one)
            for ballot, one in zip(ballots.votes, await carried_through(desk), strict=True)
        ]
        return reply(VoteOutcomes(outcomes=outcomes), status=202)

    async def needless(self, request: web.Request) -> web.StreamResponse:
        """Mark what need not have been asked."""
        wanted = await body(request, Needless)
        marked = self._desk.mark_needless(
            request[VIEWER], ask_id(request), needless=wanted.needless
        )
        return reply(Marked(ask=await carried_through(marked)))

    async def agent_report(self, request: web.Request) -> web.StreamResponse:
        """Reply how much each agent asked."""
        return reply(AgentReport(agents=await self._desk.agent_report(request[VIEWER])))
