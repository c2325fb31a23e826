"""The sessions of a node's links: what they share, and how each is begun."""

from collections.abc import Callable

from sync.net.contract import Session
from sync.net.ledger import Ledger, Member
from sync.net.settings import Settings


class Sessions:
    """Makes the session of each link."""

    def __init__(
        self, ledger: Ledger, settings: Settings, *, random: Callable[[int], bytes]
    ) -> None:
        self._ledger = ledger
        self._settings = settings
        self._random = random

    def forget(self) -> None:
        """This node belongs to another fleet: nothing is shared with what was."""

    def new(self, member: Member) -> Session:
        """Return the session of a new link to `member`."""
        raise NotImplementedError
