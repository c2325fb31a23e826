"""The part of the double of the desk that has rules."""

from sync.errors import Conflict, NotFound
from web.desk import Viewer
from web.rules_messages import OneVersion, RulesChecked, RulesHistory, Wanted
from web.rules_views import Proposal, RuleProblem, RulesVersion, RulesView

NOW = 1_700_000_000_000
VERSION = RulesVersion(
    id="ab" * 32,
    version="ab" * 6,
    name="team",
    applied_at=NOW,
    applied_by="Ann",
    machine="testbox",
    in_force=True,
    replaces=[],
    added=1,
    removed=0,
)


class RulesDouble:
    """Complains about anything but an empty file."""

    async def _do(self, name: str, what: object = None) -> None:
        raise NotImplementedError

    async def rules(self, viewer: Viewer) -> RulesView | None:
        return None

    async def check_rules(self, viewer: Viewer, source: str) -> RulesChecked:
        problem = RuleProblem(line=1, reason="Not empty.", fix="Empty it.")
        return RulesChecked(
            ok=not source, errors=[problem] if source else [], notes=[], changes="+a"
        )

    async def apply_rules(
        self, viewer: Viewer, *, name: str, source: str, replaces: str | None
    ) -> RulesView:
        if replaces is not None:
            raise Conflict("Other rules are in force by now.")
        await self._do("apply_rules", (name, source))
        return RulesView(
            name=name, version="v" * 12, applied_at=NOW, applied_by="Ann", count=0, source=source
        )

    async def rules_history(self, viewer: Viewer) -> RulesHistory:
        return RulesHistory(versions=[VERSION], more=False)

    async def rules_version(self, viewer: Viewer, version: str) -> OneVersion:
        if not VERSION.version.startswith(version):
            raise NotFound("There is no such version.")
        return OneVersion(version=VERSION, source="# a", changes="+# a")

    async def propose_rule(self, viewer: Viewer, ask_id: str, wanted: Wanted) -> Proposal:
        return Proposal(
            name="team",
            rule="# a",
            source="# a",
            replaces=None,
            changes="+# a",
            until=None,
            action=wanted.action,
            notes=[],
            may_apply=True,
        )
