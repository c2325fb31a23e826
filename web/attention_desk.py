"""What the page needs of the node for what a person is called for. Persons only, like `Desk`."""

from typing import TYPE_CHECKING, Protocol

from web.attention_views import AttentionView, QuietHours, Subscribing

if TYPE_CHECKING:
    from web.desk import Viewer


class AttentionDesk(Protocol):
    """Nothing here answers, allows or puts off anything: it only says how loud an ask is."""

    async def attention(self, viewer: "Viewer") -> AttentionView:
        """How the viewer is called now, and what they set."""
        ...

    async def subscribe(self, viewer: "Viewer", wanted: Subscribing) -> AttentionView:
        """Say whether some agents call the viewer.

        Raises `Invalid`, `NotFound` for a machine that is not there, `TooMany`.
        """
        ...

    async def mute(self, viewer: "Viewer", until: int | None) -> AttentionView:
        """Let nothing call the viewer until then. Raises `Invalid` for a time out of reach."""
        ...

    async def set_quiet(self, viewer: "Viewer", quiet: QuietHours | None) -> AttentionView:
        """Set the viewer's quiet hours. Raises `Invalid` for a zone nobody knows."""
        ...
