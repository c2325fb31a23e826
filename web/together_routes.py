"""The table of routes of answers given together, and of what need not have been asked."""

from typing import Final

from web import messages
from web.limits import VOTES_BODY_BYTES
from web.route import Route
from web.together_views import AgentReport, Ballots, Needless, VoteOutcomes

TOGETHER: Final = (
    Route(
        name="vote_together",
        method="POST",
        path="/api/votes",
        summary="Several answers at once, each its own vote; allowed together: identical calls.",
        grants=True,
        takes=Ballots,
        body_bytes=VOTES_BODY_BYTES,
        gives=(VoteOutcomes,),
        status=202,
    ),
    Route(
        name="needless",
        method="PUT",
        path="/api/asks/{id}/needless",
        summary="Say that this need not have been asked, or that it need after all.",
        grants=True,
        takes=Needless,
        gives=(messages.Marked,),
    ),
    Route(
        name="agent_report",
        method="GET",
        path="/api/agents/report",
        summary="How much each agent asked, and how much of it need not have been asked.",
        gives=(AgentReport,),
    ),
)
