"""Every route of the page's listener: who it is for, what it takes, what it gives.

`web.app` serves exactly these; `docs/http.md` and `web/openapi.json` are held against them.
"""

from enum import Enum
from typing import Any, Final, Literal

import msgspec

from web import messages
from web.desk import Ballot, Erasing
from web.limits import ANSWER_BODY_BYTES, RULES_BODY_BYTES, SMALL_BODY_BYTES
from web.views import (
    AskDetail,
    Consequences,
    FleetView,
    JoinedView,
    LeftView,
    State,
    VoteReceipt,
)


class Access(Enum):
    """Who may call a route."""

    PUBLIC = "public"
    """No session: the page itself, and what makes a session out of a proof."""
    PERSON = "person"
    """A session of a person."""
    FIRST = "first"
    """A session of a person; anyone on this machine while nobody ever signed in on it."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One route."""

    name: str
    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    summary: str
    access: Access = Access.PERSON
    grants: bool = False
    """It answers an ask, or gives or takes a right: what no agent may ever reach."""
    page: bool = False
    """The page or a part of it: other sites may link to it as a whole window."""
    takes: type[Any] | None = None
    body_bytes: int = SMALL_BODY_BYTES
    gives: tuple[type[Any], ...] = ()
    """One record, or several of which one comes; none: a file or a stream."""
    status: int = 200
    media: str = "application/json"


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
        summary="Sign in: by the first-run token, the passphrase or the recovery words.",
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

_RULES: Final = (
    Route(
        name="rules",
        method="GET",
        path="/api/rules",
        summary="The rules in force.",
        gives=(messages.RulesInForce,),
    ),
    Route(
        name="check_rules",
        method="POST",
        path="/api/rules/check",
        summary="Check a rules file; changes nothing.",
        takes=messages.RulesSource,
        body_bytes=RULES_BODY_BYTES,
        gives=(messages.RulesChecked,),
    ),
    Route(
        name="apply_rules",
        method="PUT",
        path="/api/rules",
        summary="Put a rules file into force.",
        grants=True,
        takes=messages.NewRules,
        body_bytes=RULES_BODY_BYTES,
        gives=(messages.RulesInForce,),
    ),
)

_MACHINES: Final = (
    Route(
        name="fleet",
        method="GET",
        path="/api/fleet",
        summary="Every machine of the fleet, as this one sees it.",
        gives=(FleetView,),
    ),
    Route(
        name="begin_pairing",
        method="POST",
        path="/api/pairing",
        summary="Show a code that lets one machine join this fleet.",
        grants=True,
        takes=messages.Nothing,
        gives=(messages.ShownCode,),
    ),
    Route(
        name="pairing",
        method="GET",
        path="/api/pairing",
        summary="How the last code stands, without the code.",
        gives=(messages.LastCode,),
    ),
    Route(
        name="stop_pairing",
        method="DELETE",
        path="/api/pairing",
        summary="Withdraw the code.",
        grants=True,
        takes=messages.Nothing,
        gives=(messages.Done,),
    ),
    Route(
        name="pairing_offers",
        method="GET",
        path="/api/pairing/offers",
        summary="Machines near by that show a code; looks for about two seconds.",
        access=Access.FIRST,
        gives=(messages.Offers,),
    ),
    Route(
        name="join_consequences",
        method="GET",
        path="/api/joining",
        summary="What joining another fleet would do to this machine.",
        access=Access.FIRST,
        gives=(Consequences,),
    ),
    Route(
        name="join",
        method="POST",
        path="/api/joining",
        summary="Join the fleet of the machine that shows this code; ends every session here.",
        access=Access.FIRST,
        grants=True,
        takes=messages.Joining,
        gives=(JoinedView,),
    ),
    Route(
        name="assign_machine",
        method="PUT",
        path="/api/machines/{node}/person",
        summary="Say whose machine it is.",
        grants=True,
        takes=messages.MachinePerson,
        gives=(FleetView,),
    ),
    Route(
        name="remove_machine",
        method="DELETE",
        path="/api/machines/{node}",
        summary="Remove a machine from the fleet, for good.",
        grants=True,
        takes=messages.Nothing,
        gives=(FleetView,),
    ),
    Route(
        name="add_address",
        method="POST",
        path="/api/machines/{node}/addresses",
        summary="Give an address of a machine.",
        grants=True,
        takes=messages.MachineAddress,
        gives=(FleetView,),
    ),
    Route(
        name="drop_address",
        method="DELETE",
        path="/api/machines/{node}/addresses",
        summary="Take a given address of a machine back.",
        grants=True,
        takes=messages.MachineAddress,
        gives=(FleetView,),
    ),
    Route(
        name="leave_consequences",
        method="GET",
        path="/api/leaving",
        summary="What leaving the fleet would do to this machine.",
        gives=(Consequences,),
    ),
    Route(
        name="leave",
        method="POST",
        path="/api/leaving",
        summary="Leave the fleet: this machine is one of its own again.",
        grants=True,
        takes=messages.Nothing,
        gives=(LeftView,),
    ),
    Route(
        name="privacy",
        method="GET",
        path="/api/privacy",
        summary="What leaves this machine, and to whom.",
        gives=(messages.Privacy,),
    ),
)

ROUTES: Final = (*_PAGE, *_SIGN_IN, *_ASKS, *_RULES, *_MACHINES)

ANSWERING_AND_GRANTING: Final = tuple(route for route in ROUTES if route.grants)
"""The list of DESIGN §3: tests try each as everything that is not a person."""
