"""The people's part of the desk double."""

from typing import Literal

from sync.errors import NotAllowed
from web.desk import NewSession, Viewer
from web.people_views import InvitedView, PeopleView, PersonRow

INVITATION = "ABCD-EFGH-IJKL-MNOP-QRST"
NOBODY = PeopleView(
    people=[
        PersonRow(
            id="p1",
            name="Ann",
            role="owner",
            you=True,
            ended=False,
            split=False,
            machines=[],
            roles=[],
            removable=False,
            last_owner=True,
            places=1,
            used=1,
        )
    ],
    consents=[],
    invitations=[],
    may_invite=[],
    owner=True,
)


class PeopleDouble:
    """Notes what it is asked to do."""

    async def _do(self, name: str, what: object = None) -> None:
        raise NotImplementedError

    async def signers(self) -> list[str]:
        return []

    async def everyone(self, viewer: Viewer) -> PeopleView:
        return NOBODY

    async def invite(
        self, viewer: Viewer, *, name: str, role: str, where: Literal["here", "machine"]
    ) -> InvitedView:
        await self._do("invite", (name, role, where))
        return InvitedView(where=where, name=name, role=role, code=INVITATION, sentence="Type it.")

    async def withdraw_invitation(self, viewer: Viewer, invitation: str) -> PeopleView:
        await self._do("withdraw_invitation", invitation)
        return NOBODY

    async def end_sessions_on(self, viewer: Viewer, node: str) -> int:
        await self._do("end_sessions_on", node)
        return 2

    async def set_role(self, viewer: Viewer, person: str, role: str) -> PeopleView:
        await self._do("set_role", (person, role))
        return NOBODY

    async def remove_person(self, viewer: Viewer, person: str) -> PeopleView:
        await self._do("remove_person", person)
        return NOBODY

    async def release(self, viewer: Viewer, node: str, person: str) -> PeopleView:
        await self._do("release", (node, person))
        return NOBODY

    async def consent(self, viewer: Viewer, node: str, *, accept: bool) -> PeopleView:
        await self._do("consent", (node, accept))
        return NOBODY

    async def sign_in_invitation(
        self, code: str, *, name: str | None, passphrase: str, where: str
    ) -> NewSession:
        if code != INVITATION:
            raise NotAllowed("That is not right.")
        await self._do("sign_in_invitation", (name, passphrase, where))
        viewer = Viewer(session_id="session2", person="p2", name="Bob", role="member", kind="page")
        return NewSession(secret="n" * 43, viewer=viewer, passphrase_set=True)
