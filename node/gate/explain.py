"""Says which rule a call meets, and of each one before it why it does not match."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from node.gate.conditions import Condition, Runs
from node.gate.given import MISSING, Given
from node.gate.rules import Match, Rule, Rules, settled, stricter
from node.gate.truth import Truth

OTHERWISE: Final = {
    "arguments": "the text of `{name}` has another pattern",
    "equals": "the value of `{name}` is another",
    "path": "`{name}` leads to another place",
    "host": "`{name}` leads to another host",
    "shell": "no command in `{name}` begins so",
}
"""Why a condition does not hold."""

UNSURE: Final = {
    "equals": "`{name}` has no canonical form",
    "path": "nobody can tell where `{name}` leads",
    "host": "nobody can tell to which host `{name}` leads",
    "shell": "`{name}` cannot be read to its end",
}
"""Why nobody can tell whether it holds."""

OUTCOMES: Final = {
    "allow": "The call is allowed where the agent's host would ask.",
    "ask": "The call is held until {people} {decide}.",
    "deny": "The call is refused.",
}
NO_RULE: Final = (
    "No rule matches: before a call the host's own settings decide, and where the host would"
    " ask somebody, people are asked through askmesh."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One rule that was looked at."""

    agent: str
    """The name of the agent under which it was; empty: of no agent in particular."""
    source: str
    rule: str
    line: int
    matches: Truth
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """What happens with a call, and every rule that was looked at for it."""

    match: Match | None
    steps: tuple[Step, ...]

    @property
    def outcome(self) -> str:
        """What would happen, as a sentence."""
        return NO_RULE if self.match is None else _outcome(self.match)


def explain(
    rules: Rules,
    tool: str,
    arguments: object,
    cwd: str | None = None,
    *,
    agents: Sequence[str] = (),
) -> Explanation:
    """Look at every rule in order, as `Rules.match` decides; the match is the same."""
    given = Given(arguments, cwd)
    steps: list[Step] = []
    found: list[Match | None] = []
    for version in (rules, *rules.siblings):
        # Where the folders of path patterns lead is looked up once for all.
        for picked in version.picked(tool, agents):
            picked.candidates(given)
        found += [_walk(version, tool, given, agent, steps) for agent in agents or ("",)]
    return Explanation(match=functools.reduce(stricter, found), steps=tuple(steps))


def _walk(rules: Rules, tool: str, given: Given, agent: str, steps: list[Step]) -> Match | None:
    """The rules of one version for one name of the agent."""
    owned = any(_is_own(rule, agent) for rule in rules.rules)
    doubtful: Rule | None = None
    for rule in rules.rules:
        truth, why = _look(rule, tool, given, agent, owned=owned)
        steps.append(
            Step(
                agent=agent,
                source=rules.name,
                rule=rule.name,
                line=rule.line,
                matches=truth,
                why=why,
            )
        )
        if truth is Truth.YES:
            return settled(rule, doubtful)
        if truth is Truth.UNSURE and doubtful is None:
            doubtful = rule
    return settled(None, doubtful)


def _is_own(rule: Rule, agent: str) -> bool:
    return any(glob.matches(agent) for glob in rule.agents)


def _look(rule: Rule, tool: str, given: Given, agent: str, *, owned: bool) -> tuple[Truth, str]:
    """Whether a rule matches, and why."""
    if rule.agents and not _is_own(rule, agent):
        return Truth.NO, "it is for other agents"
    if owned and not rule.agents:
        return Truth.NO, f"`{agent}` has rules of its own, so those of the account do not apply"
    if not rule.tool.matches(tool):
        return Truth.NO, f"it is for the tool `{rule.tool.text}`"
    truth = rule.holds(given)
    if truth is Truth.YES and not rule.conditions:
        return truth, "it is for every call of the tool"
    reasons = [_reason(condition, given, truth) for condition in rule.conditions]
    return truth, "; ".join(reason for reason in reasons if reason) or "every condition holds"


def _reason(condition: Condition, given: Given, truth: Truth) -> str:
    """What a condition has to do with the outcome; empty when it holds."""
    name, key = ".".join(condition.path), condition.key
    if given.value(condition.path) is MISSING:
        return f"the call has no `{name}`"
    holds = condition.holds(given)
    if holds is Truth.UNSURE:
        return UNSURE.get(key, "nobody can tell what `{name}` is").format(name=name)
    if holds is Truth.YES or truth is Truth.YES:
        return ""
    if isinstance(condition.test, Runs) and condition.test.guarded:
        return f"not every command in `{name}` is one that it allows, plainly written"
    return OTHERWISE[key].format(name=name)


def _outcome(match: Match) -> str:
    many = match.approvals > 1
    role = f" with the role {match.role} or a higher one" if match.role else ""
    people = f"{match.approvals} people{role}" if many else f"a person{role}"
    people += "" if match.self_approval else ", none of them an owner of the agent,"
    return OUTCOMES[match.action].format(people=people, decide="allow it" if many else "decides")


def as_json(explanation: Explanation) -> dict[str, Any]:
    """What `askmesh rules explain --json` prints."""
    match = explanation.match
    return {
        "action": None if match is None else match.action,
        "rule": None if match is None else match.rule,
        "outcome": explanation.outcome,
        "steps": [
            {
                "agent": step.agent or None,
                "file": step.source,
                "rule": step.rule,
                "line": step.line,
                "matches": {Truth.NO: "no", Truth.UNSURE: "unsure", Truth.YES: "yes"}[step.matches],
                "why": step.why,
            }
            for step in explanation.steps
        ],
    }
