"""What the page needs of the node for answers given together. Persons only, like `Desk`."""

from typing import TYPE_CHECKING, Protocol

from sync.errors import AskmeshError
from web.together_views import AgentCount, Ballots
from web.views import AskView, VoteReceipt

if TYPE_CHECKING:
    from web.desk import Viewer


class TogetherDesk(Protocol):
    """Answers given together, and what need not have been asked."""

    async def vote_together(
        self, viewer: "Viewer", ballots: Ballots
    ) -> list[VoteReceipt | AskmeshError]:
        """Record several votes, each by itself; what became of each, in their order.

        Raises `Invalid` where they do not belong together: nothing is recorded then.
        """
        ...

    async def mark_needless(self, viewer: "Viewer", ask_id: str, *, needless: bool) -> AskView:
        """Say that something need not have been asked, or that it need after all."""
        ...

    async def agent_report(self, viewer: "Viewer") -> list[AgentCount]:
        """How much each agent asked, and how much of it need not have been asked."""
        ...
