"""Routes of the machines: the fleet, pairing, joining, leaving, and what leaves this machine."""

import msgspec
from aiohttp import web

from sync.errors import NotFound
from web.desk import MachinesDesk
from web.limits import MACHINE_CHARACTERS
from web.messages import (
    Done,
    Joining,
    LastCode,
    MachineAddress,
    MachineName,
    MachinePerson,
    Nothing,
    Offers,
    Privacy,
    ShownCode,
)
from web.replies import VIEWER, Handler, body, carried_through, reply


class MachineRoutes:
    """What a person sees of machines and does with them."""

    def __init__(self, desk: MachinesDesk, cookie: str) -> None:
        self._desk = desk
        self._cookie = cookie

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of their routes."""
        return {
            "fleet": self.fleet,
            "begin_pairing": self.begin_pairing,
            "pairing": self.pairing,
            "stop_pairing": self.stop_pairing,
            "pairing_offers": self.pairing_offers,
            "join_consequences": self.join_consequences,
            "join": self.join,
            "assign_machine": self.assign,
            "rename_machine": self.rename,
            "remove_machine": self.remove,
            "add_address": self.add_address,
            "drop_address": self.drop_address,
            "leave_consequences": self.leave_consequences,
            "leave": self.leave,
            "rejoin_consequences": self.rejoin_consequences,
            "rejoin": self.rejoin,
            "hold_consequences": self.hold_consequences,
            "go_on": self.go_on,
            "privacy": self.privacy,
        }

    async def fleet(self, request: web.Request) -> web.StreamResponse:
        """Reply every machine."""
        return reply(await self._desk.fleet(request[VIEWER]))

    async def privacy(self, request: web.Request) -> web.StreamResponse:
        """Reply what leaves this machine."""
        return reply(Privacy(lines=await self._desk.privacy(request[VIEWER])))

    # --- letting a machine in -----------------------------------------------------------

    async def begin_pairing(self, request: web.Request) -> web.StreamResponse:
        """Make a code, and reply it with its picture: no other reply has either."""
        await body(request, Nothing)
        view = await carried_through(self._desk.pairing_begin(request[VIEWER]))
        rows = None if view.code is None else qr_rows(view.code)
        return reply(ShownCode(pairing=msgspec.structs.replace(view, qr=rows)))

    async def pairing(self, request: web.Request) -> web.StreamResponse:
        """Reply how the last code stands."""
        view = await self._desk.pairing(request[VIEWER])
        if view is not None:
            # Whatever the desk remembers: a second reader is not who asked for the code.
            view = msgspec.structs.replace(view, code=None, qr=None)
        return reply(LastCode(pairing=view))

    async def stop_pairing(self, request: web.Request) -> web.StreamResponse:
        """Withdraw the code."""
        await body(request, Nothing)
        await carried_through(self._desk.pairing_stop(request[VIEWER]))
        return reply(Done())

    # --- joining and leaving: the viewer is None while nobody ever signed in ----------------

    async def pairing_offers(self, request: web.Request) -> web.StreamResponse:
        """Reply the machines near by that show a code."""
        return reply(Offers(offers=await self._desk.pairing_offers(request.get(VIEWER))))

    async def join_consequences(self, request: web.Request) -> web.StreamResponse:
        """Reply what joining would do."""
        return reply(await self._desk.join_consequences(request.get(VIEWER)))

    async def join(self, request: web.Request) -> web.StreamResponse:
        """Join another fleet. Every session of this machine is over then, also this one."""
        wanted = await body(request, Joining)
        joining = self._desk.join(request.get(VIEWER), code=wanted.code, address=wanted.address)
        response = reply(await carried_through(joining))
        response.del_cookie(self._cookie, path="/", httponly=True, samesite="Strict")
        return response

    async def leave_consequences(self, request: web.Request) -> web.StreamResponse:
        """Reply what leaving would do."""
        return reply(await self._desk.leave_consequences(request[VIEWER]))

    async def leave(self, request: web.Request) -> web.StreamResponse:
        """Leave the fleet. The person stays signed in, as the owner of the new one."""
        await body(request, Nothing)
        return reply(await carried_through(self._desk.leave(request[VIEWER])))

    # --- a used-up identity, and a copied directory ------------------------------------------

    async def rejoin_consequences(self, request: web.Request) -> web.StreamResponse:
        """Reply what a new identity would do."""
        return reply(await self._desk.rejoin_consequences(request.get(VIEWER)))

    async def rejoin(self, request: web.Request) -> web.StreamResponse:
        """Take on a new identity. The person stays signed in, as the owner of the new fleet."""
        await body(request, Nothing)
        return reply(await carried_through(self._desk.rejoin(request.get(VIEWER))))

    async def hold_consequences(self, request: web.Request) -> web.StreamResponse:
        """Reply what saying go would do."""
        return reply(await self._desk.hold_consequences(request[VIEWER]))

    async def go_on(self, request: web.Request) -> web.StreamResponse:
        """Go off hold by a person's word."""
        await body(request, Nothing)
        return reply(await carried_through(self._desk.go_on(request[VIEWER])))

    # --- the machines -------------------------------------------------------------------

    async def assign(self, request: web.Request) -> web.StreamResponse:
        """Say whose machine it is."""
        person = (await body(request, MachinePerson)).person
        assigned = self._desk.assign(request[VIEWER], machine(request), person)
        return reply(await carried_through(assigned))

    async def rename(self, request: web.Request) -> web.StreamResponse:
        """Say what this machine is called."""
        name = (await body(request, MachineName)).name
        renamed = self._desk.rename_machine(request[VIEWER], machine(request), name)
        return reply(await carried_through(renamed))

    async def remove(self, request: web.Request) -> web.StreamResponse:
        """Remove a machine."""
        await body(request, Nothing)
        removed = self._desk.remove_machine(request[VIEWER], machine(request))
        return reply(await carried_through(removed))

    async def add_address(self, request: web.Request) -> web.StreamResponse:
        """Give an address of a machine."""
        address = (await body(request, MachineAddress)).address
        added = self._desk.add_address(request[VIEWER], machine(request), address)
        return reply(await carried_through(added))

    async def drop_address(self, request: web.Request) -> web.StreamResponse:
        """Take an address back."""
        address = (await body(request, MachineAddress)).address
        dropped = self._desk.drop_address(request[VIEWER], machine(request), address)
        return reply(await carried_through(dropped))


def machine(request: web.Request) -> str:
    """Return the machine named in the address: a full id, a short one or a name.

    Raises `NotFound` for what can be none of them.
    """
    named = request.match_info["node"]
    if not 0 < len(named) <= MACHINE_CHARACTERS:
        raise NotFound("There is no such machine here.")
    return named


def qr_rows(code: str) -> list[str]:
    """Return the QR picture of a code as rows of 0 (light) and 1 (dark), without its border."""
    import segno

    picture = segno.make_qr(code, error="m")
    return ["".join("1" if dark else "0" for dark in row) for row in picture.matrix]
