"""Every route of the page's listener: who it is for, what it takes, what it gives.

`web.app` serves exactly these; `docs/http.md` and `web/openapi.json` are held against them.
"""

from typing import Final

from web import messages
from web.account_routes import ACCOUNTS
from web.attention_routes import ATTENTION
from web.audit_routes import AUDIT
from web.desk import Ballot, Erasing
from web.limits import ANSWER_BODY_BYTES
from web.machine_routes import MACHINES
from web.people_routes import PEOPLE
from web.route import Access, Route
from web.rules_routes import RULES
from web.talk_routes import TALKS
from web.together_routes import TOGETHER
from web.views import (
    AskDetail,
    State,
    VoteReceipt,
)

__all__ = ["ANSWERING_AND_GRANTING", "ROUTES", "Access", "Route"]

_PAGE: Final = (
    Route(
        name="page",
        method="GET",
        path="/",
        summary="The page.",
        access=Access.PUBLIC,
        page=True,
        media="text/html",
    ),
    Route(
        name="page_part",
        method="GET",
        path="/static/{name}",
        summary="A part of the page: script, style, picture.",
        access=Access.PUBLIC,
        page=True,
        media="*/*",
    ),
    Route(
        name="health",
        method="GET",
        path="/healthz",
        summary="Whether the node serves.",
        access=Access.PUBLIC,
        gives=(messages.Health,),
    ),
    Route(
        name="hello",
        method="GET",
        path="/api/hello",
        summary="What a page needs before anyone has signed in.",
        access=Access.PUBLIC,
        gives=(messages.Hello,),
    ),
)

_SIGN_IN: Final = (
    Route(
        name="sign_in",
        method="POST",
        path="/api/session",
        summary="Sign in: by first-run token, passphrase, invitation or recovery words.",
        access=Access.PUBLIC,
        grants=True,
        takes=messages.SignInProof,
        gives=(messages.SignedIn,),
    ),
    Route(
        name="begin_sign_in",
        method="POST",
        path="/api/sign-ins",
        summary="Show six digits here, to be typed where the person is signed in.",
        access=Access.PUBLIC,
        takes=messages.Nothing,
        gives=(messages.WaitingSignIn,),
    ),
    Route(
        name="collect_sign_in",
        method="POST",
        path="/api/sign-ins/{id}/collect",
        summary="For the new place: the session that was approved; 202 until then.",
        access=Access.PUBLIC,
        takes=messages.Digits,
        gives=(messages.SignedIn, messages.NotYet),
    ),
    Route(
        name="sign_ins",
        method="GET",
        path="/api/sign-ins",
        summary="The sign-ins that wait for their digits.",
        gives=(messages.SignIns,),
    ),
    Route(
        name="approve_sign_in",
        method="POST",
        path="/api/sign-ins/{id}",
        summary="Type the digits another place shows: that place becomes a session of yours.",
        grants=True,
        takes=messages.Digits,
        gives=(messages.WaitingSignIn,),
    ),
    Route(
        name="set_passphrase",
        method="PUT",
        path="/api/passphrase",
        summary="Set the passphrase of the person.",
        grants=True,
        takes=messages.NewPassphrase,
        gives=(messages.PassphraseSet,),
    ),
    Route(
        name="sessions",
        method="GET",
        path="/api/sessions",
        summary="All signed-in places of the person.",
        gives=(messages.Sessions,),
    ),
    Route(
        name="hold_session",
        method="GET",
        path="/api/sessions/mine/line",
        summary="For a terminal: its session ends when this connection does. No reply comes.",
        gives=(messages.Ended,),
    ),
    Route(
        name="end_session",
        method="DELETE",
        path="/api/sessions/{id}",
        summary="End one session of the person; `mine` is the one that asks.",
        grants=True,
        takes=messages.Nothing,
        gives=(messages.Ended,),
    ),
    Route(
        name="end_other_sessions",
        method="DELETE",
        path="/api/sessions",
        summary="End every session of the person but the one that asks.",
        grants=True,
        takes=messages.Nothing,
        gives=(messages.Ended,),
    ),
)

_ASKS: Final = (
    Route(
        name="state",
        method="GET",
        path="/api/state",
        summary="The whole page in one snapshot.",
        gives=(State,),
    ),
    Route(
        name="events",
        method="GET",
        path="/api/events",
        summary="Numbered changes above `since`, as server-sent events.",
        media="text/event-stream",
    ),
    Route(
        name="ask",
        method="GET",
        path="/api/asks/{id}",
        summary="One ask by its full or short id, with its exact call and its history.",
        gives=(AskDetail,),
    ),
    Route(
        name="vote",
        method="POST",
        path="/api/asks/{id}/votes",
        summary="Allow, deny, answer or decline what was `seen`.",
        grants=True,
        takes=Ballot,
        body_bytes=ANSWER_BODY_BYTES,
        gives=(VoteReceipt,),
        status=202,
    ),
    Route(
        name="take_back",
        method="DELETE",
        path="/api/asks/{id}/votes/mine",
        summary="Take one's own vote back, until the agent has it.",
        grants=True,
        takes=messages.Nothing,
        gives=(VoteReceipt,),
        status=202,
    ),
    Route(
        name="mark",
        method="PUT",
        path="/api/asks/{id}/read",
        summary="Mark a note or a result as read, or as unread again.",
        grants=True,
        takes=messages.Mark,
        gives=(messages.Marked,),
    ),
    Route(
        name="put_away_restored",
        method="DELETE",
        path="/api/restored",
        summary="Put away the notice that this machine was restored from a backup.",
        grants=True,
        takes=messages.Nothing,
        gives=(messages.Done,),
    ),
    Route(
        name="redact",
        method="POST",
        path="/api/asks/{id}/erasing",
        summary="Have the text of an ask erased on every machine, for good. Owners only.",
        grants=True,
        takes=Erasing,
        gives=(messages.Marked,),
    ),
)

ROUTES: Final = (
    *_PAGE,
    *_SIGN_IN,
    *_ASKS,
    *TOGETHER,
    *ATTENTION,
    *RULES,
    *TALKS,
    *ACCOUNTS,
    *MACHINES,
    *PEOPLE,
    *AUDIT,
)

ANSWERING_AND_GRANTING: Final = tuple(route for route in ROUTES if route.grants)
"""The list of DESIGN §3: tests try each as everything that is not a person."""
