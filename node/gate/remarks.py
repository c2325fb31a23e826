"""What of rules does nothing as things stand, though nothing is wrong with them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

from node.gate.rules import Problem, Rule, Rules
from node.gate.until import written
from sync.decide.people import Role

ROLES: Final = tuple(role.value for role in Role if role is not Role.VIEWER)
OVER_FIX: Final = "Remove the rule, or give it a later `until`."
REACH_FIX: Final = (
    "Give one of these people a machine of their own (`askmesh node pair`, then `askmesh node"
    " assign`), or ask for fewer."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """How many people can allow one call, each on a machine of their own, by the lowest role.

    `others`: without those whose agents ask on the machine that says so.
    """

    anyone: dict[str, int]
    others: dict[str, int]

    @classmethod
    def told(cls, value: object) -> Self | None:
        """What a node tells of it; None where an older one does not."""
        parts: Any = value if isinstance(value, dict) else {}
        read = [parts.get("anyone"), parts.get("others")]
        if not all(isinstance(part, dict) and set(ROLES) <= part.keys() for part in read):
            return None
        return cls(anyone=read[0], others=read[1])

    def of(self, rule: Rule) -> int:
        """How many can allow what this rule asks about."""
        counts = self.anyone if rule.self_approval else self.others
        return counts[rule.role or Role.MEMBER.value]


def remarks(rules: Rules, now: int, reach: Reach | None) -> list[Problem]:
    """Return what of these rules, and of their siblings, has no effect today.

    `reach` None: what people and machines there are is not known here.
    """
    every = [rule for each in (rules, *rules.siblings) for rule in each.rules]
    return [note for rule in every for note in _of(rule, now, reach)]


def _of(rule: Rule, now: int, reach: Reach | None) -> Iterator[Problem]:
    if rule.until is not None and rule.until <= now:
        reason = f"`{rule.name}` held until {written(rule.until)}: it matches nothing any more."
        yield Problem(line=rule.line, reason=reason, fix=OVER_FIX)
        return
    if rule.action != "ask" or reach is None or reach.of(rule) >= rule.approvals:
        return
    people = "1 person" if rule.approvals == 1 else f"{rule.approvals} people"
    role = f" with the role {rule.role} or a higher one" if rule.role else ""
    others = "" if rule.self_approval else ", none of whom owns the agent that asks"
    reason = (
        f"`{rule.name}` needs {people}{role}{others}, each on a machine of their own, for what is"
        f" answered on one machine counts as one. As machines are now, {reach.of(rule)} can:"
        " nobody can get such a call allowed, and it expires."
    )
    yield Problem(line=rule.line, reason=reason, fix=REACH_FIX)
