"""The persons' desk with all it does on people: implements `web.desk.PeopleDesk`."""

from collections.abc import Callable
from typing import Literal

from node.desk.person_desk import PersonDesk
from node.fleet import machines, people, people_shown
from node.fleet.invitations import Invitations
from node.fleet.pairing import Pairings
from node.store.transaction import Transaction
from node.whole import whole
from sync.decide.people import Act
from sync.errors import Conflict
from web.desk import NewSession, Viewer
from web.people_views import InvitedView, PeopleView


class PeopleDesk(PersonDesk):
    """Persons only; agents have no way to reach it."""

    _invitations: Invitations
    _pairings: Pairings

    async def everyone(self, viewer: Viewer) -> PeopleView:
        """Everyone."""
        now, fleet = self._context.clock.now(), self._context.identity.fleet
        return await self._context.reader.run(
            lambda connection: people_shown.view(connection, viewer, fleet=fleet, now=now)
        )

    async def invite(
        self, viewer: Viewer, *, name: str, role: str, where: Literal["here", "machine"]
    ) -> InvitedView:
        """Invite someone new."""
        if where == "here":
            return await self._invitations.invite(viewer, name=name, role=role)
        coming = await self._context.writer.run(
            "invite", lambda job: people.guest(job, viewer, name, role)
        )
        pairing = await self._pairings.begin(viewer, coming=coming)
        return InvitedView(
            where="machine",
            name=coming.name,
            role=coming.role,
            expires=pairing.expires,
            sentence=f"{coming.name}'s machine joins by this code, and is theirs. To sign in"
            " there, they open its page; you type the six digits it shows, for them.",
            pairing=pairing,
        )

    async def withdraw_invitation(self, viewer: Viewer, invitation: str) -> PeopleView:
        """Take an invitation back."""
        await self._invitations.withdraw(viewer, invitation)
        return await self.everyone(viewer)

    async def sign_in_invitation(
        self, code: str, *, name: str | None, passphrase: str, where: str
    ) -> NewSession:
        """Become who was invited."""
        return await self._invitations.use(code, name=name, passphrase=passphrase, where=where)

    async def set_role(self, viewer: Viewer, person: str, role: str) -> PeopleView:
        """Say what a person is."""
        return await self._change(
            viewer, "role", lambda job: people.set_role(job, viewer, person, role)
        )

    async def remove_person(self, viewer: Viewer, person: str) -> PeopleView:
        """End a person."""
        return await self._change(
            viewer, "remove_person", lambda job: people.remove(job, viewer, person)
        )

    async def release(self, viewer: Viewer, node: str, person: str) -> PeopleView:
        """Say that a machine is somebody's no longer."""
        return await self._change(
            viewer, "release", lambda job: people.release(job, viewer, node, person)
        )

    async def end_sessions_on(self, viewer: Viewer, node: str) -> int:
        """End every session of the viewer on another machine."""

        def job(transaction: Transaction) -> machines.Machine:
            machines.acting(transaction, viewer, Act.SEE)
            return machines.find(transaction.connection, node)

        machine = await self._context.writer.run("find", job)
        if machine.id == self._context.identity.name:
            raise Conflict(
                "This is that machine.", hint="Its sessions are ended one by one, or all others."
            )
        if machine.removed:
            raise Conflict(f"{machine.name} was removed from the fleet: nobody answers there.")
        return await whole(self._sign_ins.elsewhere.end(viewer.person, machine.id, machine.name))

    async def consent(self, viewer: Viewer, node: str, *, accept: bool) -> PeopleView:
        """Agree that a machine is the viewer's, or refuse."""
        return await self._change(
            viewer, "consent", lambda job: people.consent(job, viewer, node, accept=accept)
        )

    async def _change(
        self, viewer: Viewer, name: str, job: Callable[[Transaction], object]
    ) -> PeopleView:
        async def carried_out() -> PeopleView:
            await self._context.writer.run(name, job)
            return await self.everyone(viewer)

        return await whole(carried_out())
