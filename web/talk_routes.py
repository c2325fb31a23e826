"""The table of routes of messages between agents."""

from typing import Final

from web.desk import Erasing
from web.limits import ANSWER_BODY_BYTES
from web.route import Route
from web.talk_views import Talk, Writing, Written

TALKS: Final = (
    Route(
        name="messages",
        method="GET",
        path="/api/messages",
        summary="The latest messages between agents, of all projects or of one.",
        gives=(Talk,),
    ),
    Route(
        name="talk",
        method="GET",
        path="/api/messages/{id}",
        summary="The whole talk that a message belongs to.",
        gives=(Talk,),
    ),
    Route(
        name="write_message",
        method="POST",
        path="/api/messages",
        summary="Write to agents of a project. It answers no ask.",
        grants=True,
        takes=Writing,
        body_bytes=ANSWER_BODY_BYTES,
        gives=(Written,),
    ),
    Route(
        name="redact_message",
        method="POST",
        path="/api/messages/{id}/erasing",
        summary="Have the words of a message erased on every machine, for good. Owners only.",
        grants=True,
        takes=Erasing,
        gives=(Written,),
    ),
)
