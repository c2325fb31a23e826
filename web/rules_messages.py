"""What the routes of the gate's rules take and give."""

from typing import Annotated, Literal

import msgspec

from web.limits import RULE_DAYS
from web.messages import Given, Name, Taken
from web.rules_views import Proposal, RuleProblem, RulesVersion, RulesView


class RulesSource(Taken, frozen=True, kw_only=True):
    """The text of a rules file."""

    source: str


class NewRules(Taken, frozen=True, kw_only=True):
    """A rules file to put into force in place of the version `replaces`."""

    name: Name
    source: str
    replaces: str | None
    """The version the person saw in force; null when there was none."""


class Wanted(Taken, frozen=True, kw_only=True):
    """What a proposed rule is to do with such calls, and for how many days."""

    action: Literal["allow", "deny"]
    days: Annotated[int, msgspec.Meta(ge=1, le=RULE_DAYS)] | None = 7
    """Null: without end."""


class RulesInForce(Given, frozen=True, kw_only=True):
    """The rules in force; null when none were ever applied."""

    rules: RulesView | None


class RulesChecked(Given, frozen=True, kw_only=True):
    """Whether a rules file could be put into force, and what that would change."""

    ok: bool
    errors: list[RuleProblem]
    changes: str = ""
    """A unified diff from the rules in force; empty: there is no difference."""
    notes: list[RuleProblem]
    """What of it would have no effect as people, machines and time are now."""


class RulesHistory(Given, frozen=True, kw_only=True):
    """The versions there were, latest first; `more`: older ones are not in it."""

    versions: list[RulesVersion]
    more: bool


class OneVersion(Given, frozen=True, kw_only=True):
    """One version: its text, and what it changed when it was put into force."""

    version: RulesVersion
    source: str
    changes: str


class Proposed(Given, frozen=True, kw_only=True):
    """A rule made of a decision. Nothing was changed by it."""

    proposal: Proposal
