"""What the page needs of the node for the gate's rules. Persons only, like `Desk`."""

from typing import TYPE_CHECKING, Protocol

from web.rules_messages import OneVersion, RulesChecked, RulesHistory, Wanted
from web.rules_views import Proposal, RulesView

if TYPE_CHECKING:
    from web.desk import Viewer


class RulesDesk(Protocol):
    """The rules in force, those of before, and others to put into force."""

    async def rules(self, viewer: "Viewer") -> RulesView | None:
        """The rules in force."""
        ...

    async def check_rules(self, viewer: "Viewer", source: str) -> RulesChecked:
        """What is wrong with a rules file, and what it would change. Changes nothing."""
        ...

    async def apply_rules(
        self, viewer: "Viewer", *, name: str, source: str, replaces: str | None
    ) -> RulesView:
        """Put rules into force. `replaces` is the version the person saw in force."""
        ...

    async def rules_history(self, viewer: "Viewer") -> RulesHistory:
        """The versions there were, latest first."""
        ...

    async def rules_version(self, viewer: "Viewer", version: str) -> OneVersion:
        """One of them, by the beginning of its version or of its id.

        Raises `NotFound`; `Conflict` where several begin so.
        """
        ...

    async def propose_rule(self, viewer: "Viewer", ask_id: str, wanted: Wanted) -> Proposal:
        """Turn the call of an approval into a rule for such calls. Changes nothing.

        Raises `NotAllowed` where that would loosen what is not the viewer's to loosen,
        `Invalid` where no rule can name the call.
        """
        ...
