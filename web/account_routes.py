"""The routes of accounts: how they stand, and who may say so."""

from typing import Final

from web import account_messages, account_views
from web.limits import WORD_BODY_BYTES
from web.messages import Nothing
from web.route import Access, Route

ACCOUNTS: Final = (
    Route(
        name="standing",
        method="GET",
        path="/api/standing",
        summary="How accounts stand, as far as the viewer may know.",
        gives=(account_views.StandingView,),
    ),
    Route(
        name="set_standing",
        method="PUT",
        path="/api/standing",
        summary="Say how the account of another person stands. Owners only.",
        grants=True,
        takes=account_messages.AccountStanding,
        gives=(account_views.StandingView,),
    ),
    Route(
        name="standing_word",
        method="POST",
        path="/api/standing/word",
        summary="An operator's signed word on an account; its signature is the only credential.",
        access=Access.PUBLIC,
        grants=True,
        takes=account_messages.SignedWord,
        body_bytes=WORD_BODY_BYTES,
        gives=(account_views.WordTaken,),
    ),
    Route(
        name="add_operator",
        method="POST",
        path="/api/standing/operators",
        summary="Let an outside system say how accounts stand. Owners only.",
        grants=True,
        takes=account_messages.NewOperator,
        gives=(account_views.StandingView,),
    ),
    Route(
        name="remove_operator",
        method="DELETE",
        path="/api/standing/operators/{id}",
        summary="No longer let it; `id` is its key as hex. Owners only.",
        grants=True,
        takes=Nothing,
        gives=(account_views.StandingView,),
    ),
)
