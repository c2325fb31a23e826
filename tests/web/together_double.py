"""The part of the double of the desk that takes answers given together."""

from sync.errors import AskmeshError, NotFound
from web.desk import Viewer
from web.together_views import AgentCount, Ballots
from web.views import AskView, VoteReceipt


class TogetherDouble:
    """Remembers what it was told; `shown` is what every ask looks like by then."""

    shown: AskView

    async def _do(self, name: str, what: object = None) -> None:
        raise NotImplementedError

    async def vote_together(
        self, viewer: Viewer, ballots: Ballots
    ) -> list[VoteReceipt | AskmeshError]:
        await self._do("vote_together", ballots)
        receipt = VoteReceipt(vote="v1", state="accepted", ask=self.shown)
        return [
            receipt if ballot.ask == self.shown.id else NotFound("There is no such ask here.")
            for ballot in ballots.votes
        ]

    async def mark_needless(self, viewer: Viewer, ask_id: str, *, needless: bool) -> AskView:
        await self._do("mark_needless", (ask_id, needless))
        return self.shown

    async def agent_report(self, viewer: Viewer) -> list[AgentCount]:
        return [AgentCount(agent="claude", contract=None, asked=3, needless=1)]
