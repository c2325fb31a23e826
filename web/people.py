"""Routes of the people: roles, invitations, whose machine it is, consents."""

import msgspec
from aiohttp import web

from sync.errors import NotFound
from web.limits import ID_CHARACTERS
from web.machines import machine, qr_rows
from web.messages import Agreeing, Ended, Inviting, MachinePerson, NewRole, Nothing
from web.people_desk import PeopleDesk
from web.people_views import InvitedView
from web.replies import VIEWER, Handler, body, carried_through, reply


class PeopleRoutes:
    """What a person sees of the people and does with them."""

    def __init__(self, desk: PeopleDesk) -> None:
        self._desk = desk

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of their routes."""
        return {
            "people": self.people,
            "invite": self.invite,
            "withdraw_invitation": self.withdraw,
            "set_role": self.set_role,
            "remove_person": self.remove,
            "release_machine": self.release,
            "consent": self.consent,
            "end_sessions_on": self.end_sessions_on,
        }

    async def people(self, request: web.Request) -> web.StreamResponse:
        """Reply everyone."""
        return reply(await self._desk.everyone(request[VIEWER]))

    async def invite(self, request: web.Request) -> web.StreamResponse:
        """Invite someone, and reply the code: no other reply has it."""
        wanted = await body(request, Inviting)
        invited: InvitedView = await carried_through(
            self._desk.invite(
                request[VIEWER], name=wanted.name, role=wanted.role, where=wanted.where
            )
        )
        pairing = invited.pairing
        if pairing is not None and pairing.code is not None:
            shown = msgspec.structs.replace(pairing, qr=qr_rows(pairing.code))
            invited = msgspec.structs.replace(invited, pairing=shown)
        return reply(invited)

    async def withdraw(self, request: web.Request) -> web.StreamResponse:
        """Take an invitation back."""
        await body(request, Nothing)
        withdrawn = self._desk.withdraw_invitation(request[VIEWER], _named(request, "id"))
        return reply(await carried_through(withdrawn))

    async def set_role(self, request: web.Request) -> web.StreamResponse:
        """Say what a person is."""
        role = (await body(request, NewRole)).role
        changed = self._desk.set_role(request[VIEWER], _named(request, "person"), role)
        return reply(await carried_through(changed))

    async def remove(self, request: web.Request) -> web.StreamResponse:
        """Remove a person."""
        await body(request, Nothing)
        removed = self._desk.remove_person(request[VIEWER], _named(request, "person"))
        return reply(await carried_through(removed))

    async def release(self, request: web.Request) -> web.StreamResponse:
        """Say that a machine is somebody's no longer."""
        person = (await body(request, MachinePerson)).person
        released = self._desk.release(request[VIEWER], machine(request), person)
        return reply(await carried_through(released))

    async def end_sessions_on(self, request: web.Request) -> web.StreamResponse:
        """End the person's sessions on another machine."""
        await body(request, Nothing)
        ended = self._desk.end_sessions_on(request[VIEWER], machine(request))
        return reply(Ended(ended=await carried_through(ended)))

    async def consent(self, request: web.Request) -> web.StreamResponse:
        """Agree to a machine, or refuse it."""
        accept = (await body(request, Agreeing)).accept
        agreed = self._desk.consent(request[VIEWER], machine(request), accept=accept)
        return reply(await carried_through(agreed))


def _named(request: web.Request, part: str) -> str:
    """Return a person or an invitation named in the address. Raises `NotFound`."""
    named = request.match_info[part]
    if not 0 < len(named) <= ID_CHARACTERS:
        raise NotFound("There is no such person here.")
    return named
