"""What the page needs of the node for people. Persons only, like `Desk`."""

from typing import TYPE_CHECKING, Literal, Protocol

from web.people_views import InvitedView, PeopleView

if TYPE_CHECKING:
    from web.desk import NewSession, Viewer


class PeopleDesk(Protocol):
    """The node, as far as persons act on people. Persons only, like `Desk`."""

    async def everyone(self, viewer: "Viewer") -> PeopleView:
        """Everyone, what waits for a consent, and who is invited."""
        ...

    async def invite(
        self, viewer: "Viewer", *, name: str, role: str, where: Literal["here", "machine"]
    ) -> InvitedView:
        """Invite someone new: owners anyone, admins members and viewers.

        Raises `NotAllowed`, `Invalid`, `Conflict` for a name that is taken.
        """
        ...

    async def withdraw_invitation(self, viewer: "Viewer", invitation: str) -> PeopleView:
        """Take an invitation to this machine back."""
        ...

    async def sign_in_invitation(
        self, code: str, *, name: str | None, passphrase: str, where: str
    ) -> "NewSession":
        """Become who was invited. Raises `NotAllowed`, `TooMany`, `Invalid`."""
        ...

    async def set_role(self, viewer: "Viewer", person: str, role: str) -> PeopleView:
        """Say what a person is; settles changes made at the same time.

        Raises `NotFound`, `NotAllowed`, `Conflict` for the last owner.
        """
        ...

    async def remove_person(self, viewer: "Viewer", person: str) -> PeopleView:
        """End a person. Owners only. Raises as `set_role`."""
        ...

    async def release(self, viewer: "Viewer", node: str, person: str) -> PeopleView:
        """Say that a machine is somebody's no longer: by themself, or by an owner."""
        ...

    async def end_sessions_on(self, viewer: "Viewer", node: str) -> int:
        """End every session of the viewer on another machine; how many there were.

        Raises `NotFound`, `NotAllowed`, and `Conflict` where it does not answer.
        """
        ...

    async def consent(self, viewer: "Viewer", node: str, *, accept: bool) -> PeopleView:
        """Agree that a machine is the viewer's, or refuse. Raises `NotFound`."""
        ...
