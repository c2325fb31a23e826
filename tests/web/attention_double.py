"""The part of the double of the desk that says what calls a person."""

from web.attention_views import AttentionView, QuietHours, Subscribing
from web.desk import Viewer


def attention_view() -> AttentionView:
    return AttentionView(
        person="p1",
        name="Ann",
        state="called",
        until=None,
        muted_until=None,
        quiet=None,
        subscriptions=[],
    )


class AttentionDouble:
    """Remembers what it was asked to set."""

    async def _do(self, name: str, what: object = None) -> None:
        raise NotImplementedError

    async def attention(self, viewer: Viewer) -> AttentionView:
        return attention_view()

    async def subscribe(self, viewer: Viewer, wanted: Subscribing) -> AttentionView:
        await self._do("subscribe", wanted)
        return attention_view()

    async def mute(self, viewer: Viewer, until: int | None) -> AttentionView:
        await self._do("mute", until)
        return attention_view()

    async def set_quiet(self, viewer: Viewer, quiet: QuietHours | None) -> AttentionView:
        await self._do("set_quiet", quiet)
        return attention_view()
