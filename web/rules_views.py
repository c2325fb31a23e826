"""The gate's rules as a person is shown them: in force, of before, and as proposed."""

from typing import Literal

import msgspec


class RuleProblem(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong in a rules file."""

    line: int
    reason: str
    fix: str


class RulesSibling(msgspec.Struct, frozen=True, kw_only=True):
    """One of several versions that were put into force at the same time."""

    id: str
    """Of its entry in the log, as hex."""
    name: str
    version: str
    applied_at: int
    applied_by: str
    machine: str
    source: str


class RulesView(msgspec.Struct, frozen=True, kw_only=True):
    """The rules in force."""

    name: str
    version: str
    applied_at: int
    applied_by: str
    count: int
    source: str
    machine: str = ""
    """Where it was applied."""
    notes: list[RuleProblem] = []
    """What of them has no effect as people, machines and time are now."""
    siblings: list[RulesSibling] = []
    """Several versions that were applied at the same time, each of them: all are in force, and
    of what they say the strictest counts. Empty: there is one version, as usual."""


class RulesVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version that was put into force: by whom, when and where."""

    id: str
    """Of its entry in the log, as hex: the same text may have been applied more than once."""
    version: str
    name: str
    applied_at: int
    applied_by: str
    machine: str
    in_force: bool
    replaces: list[str]
    """The versions it took the place of; several where it settled a conflict."""
    added: int
    """Lines that those before did not have; next to it, lines that this has no more."""
    removed: int


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A decision turned into a rule: what to put into force, and what that would change."""

    name: str
    """Of the rules file, as in force."""
    rule: str
    """The rule alone."""
    source: str
    """The whole rules file with it."""
    replaces: str | None
    """The version in force that it was made for."""
    changes: str
    """A unified diff from the rules in force to `source`."""
    until: int | None
    """When the rule ends by itself; null: never."""
    action: Literal["allow", "deny"]
    notes: list[str]
    """What to know before it is put into force, in sentences."""
    may_apply: bool
    """Whether the viewer may: owners and admins only."""
