"""The routes of the people: roles, invitations, whose machine it is, consents."""

from typing import Final

from web import messages
from web.people_views import InvitedView, PeopleView
from web.route import Route

PEOPLE: Final = (
    Route(
        name="people",
        method="GET",
        path="/api/people",
        summary="Everyone of the fleet, what waits for a consent, and who is invited.",
        gives=(PeopleView,),
    ),
    Route(
        name="invite",
        method="POST",
        path="/api/invitations",
        summary="Invite someone to this machine, or to a new one; the code is in this reply alone.",
        grants=True,
        takes=messages.Inviting,
        gives=(InvitedView,),
    ),
    Route(
        name="withdraw_invitation",
        method="DELETE",
        path="/api/invitations/{id}",
        summary="Take an invitation to this machine back.",
        grants=True,
        takes=messages.Nothing,
        gives=(PeopleView,),
    ),
    Route(
        name="set_role",
        method="PUT",
        path="/api/people/{person}/role",
        summary="Say what a person is: owner, admin, member or viewer.",
        grants=True,
        takes=messages.NewRole,
        gives=(PeopleView,),
    ),
    Route(
        name="remove_person",
        method="DELETE",
        path="/api/people/{person}",
        summary="Remove a person: their sessions end everywhere, their votes count no more.",
        grants=True,
        takes=messages.Nothing,
        gives=(PeopleView,),
    ),
    Route(
        name="release_machine",
        method="DELETE",
        path="/api/machines/{node}/person",
        summary="Say that a machine is somebody's no longer.",
        grants=True,
        takes=messages.MachinePerson,
        gives=(PeopleView,),
    ),
    Route(
        name="end_sessions_on",
        method="DELETE",
        path="/api/machines/{node}/sessions",
        summary="End every session of the person on another machine, which must be connected.",
        grants=True,
        takes=messages.Nothing,
        gives=(messages.Ended,),
    ),
    Route(
        name="consent",
        method="PUT",
        path="/api/machines/{node}/consent",
        summary="Agree that a machine is yours, as an owner said, or refuse it.",
        grants=True,
        takes=messages.Agreeing,
        gives=(PeopleView,),
    ),
)
