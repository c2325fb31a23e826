"""Routes that say no more than that a node is here, and whether anyone has signed in."""

from aiohttp import web

from web.desk import Desk
from web.door import Door
from web.messages import Health, Hello
from web.place import printable
from web.replies import Handler, reply


class HelloRoutes:
    """What may be read without a session."""

    def __init__(self, desk: Desk, door: Door) -> None:
        self._desk = desk
        self._door = door

    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of their routes."""
        return {"health": self.health, "hello": self.hello}

    async def health(self, request: web.Request) -> web.StreamResponse:  # noqa: ARG002 -- a handler
        """Say that the node serves, and nothing else."""
        return reply(Health(version=self._desk.version))

    async def hello(self, request: web.Request) -> web.StreamResponse:
        """Reply what a page needs before anyone has signed in."""
        has_person = await self._desk.has_person()
        return reply(
            Hello(
                store_id=self._desk.store_id,
                has_person=has_person,
                machine=self._desk.machine,
                version=self._desk.version,
                signed_in=await self._door.viewer(request) is not None,
                person=None if has_person else _user(),
                persons=await self._desk.signers() if has_person else [],
            )
        )


def _user() -> str | None:
    """Return the name of this user of the machine, to be proposed to the first person."""
    try:
        import os
        import pwd

        account = pwd.getpwuid(os.getuid())
    except (ImportError, KeyError):
        return None
    full_name = account.pw_gecos.partition(",")[0].strip()
    return printable(full_name or account.pw_name) or None
