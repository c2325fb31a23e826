"""The accounts' part of the desk double."""

from sync.errors import NotAllowed
from web import account_views
from web.desk import Viewer


def standing_view(me: str) -> account_views.StandingView:
    return account_views.StandingView(
        fleet="00" * 16, me=me, banner=None, accounts=[], operators=[], persons=[]
    )


class AccountsDouble:
    """Fits `web.desk.AccountsDesk`."""

    async def _do(self, name: str, what: object = None) -> None:
        raise NotImplementedError

    async def standing(self, viewer: Viewer) -> account_views.StandingView:
        return standing_view(viewer.person)

    async def set_standing(
        self, viewer: Viewer, person: str, standing: str, *, remedy: str | None, reason: str
    ) -> account_views.StandingView:
        await self._do("set_standing", (person, standing, remedy, reason))
        return standing_view(viewer.person)

    async def standing_word(
        self, operator: bytes, word: bytes, signature: bytes
    ) -> account_views.WordTaken:
        if signature != b"signed":
            raise NotAllowed("The signature is not by that key over these bytes.")
        await self._do("standing_word", (operator, word))
        return account_views.WordTaken(state="recorded", serial=1)

    async def add_operator(
        self, viewer: Viewer, name: str, key: bytes
    ) -> account_views.StandingView:
        await self._do("add_operator", (name, key))
        return standing_view(viewer.person)

    async def remove_operator(self, viewer: Viewer, key: bytes) -> account_views.StandingView:
        await self._do("remove_operator", key)
        return standing_view(viewer.person)
