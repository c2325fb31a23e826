"""What the page needs of the node for messages between agents. Persons only, like `Desk`."""

from typing import TYPE_CHECKING, Protocol

from web.talk_views import MessageView, Talk, Writing

if TYPE_CHECKING:
    from web.desk import Erasing, Viewer


class TalkDesk(Protocol):
    """Reading along, and writing to agents: that answers no ask."""

    async def messages(self, viewer: "Viewer", *, project: str | None, before: int | None) -> Talk:
        """The latest messages of the fleet or of one project."""
        ...

    async def talk(self, viewer: "Viewer", message: str) -> Talk:
        """The whole talk that a message belongs to. Raises `NotFound`."""
        ...

    async def write_message(self, viewer: "Viewer", wanted: Writing) -> MessageView:
        """Write to agents of a project. Raises `NotAllowed` for who may only see."""
        ...

    async def redact_message(
        self, viewer: "Viewer", message: str, wanted: "Erasing"
    ) -> MessageView:
        """Have the words of a message erased on all machines, for good. Owners only."""
        ...
