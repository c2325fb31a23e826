"""Says which rule a call meets, and of each one before it why it does not match."""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from node.gate.conditions import Condition, Runs
from node.gate.given import MISSING, Given
from node.gate.law import Law, named, tightened, unread
from node.gate.noting import UNITS
from node.gate.repository import RepositoryFile
from node.gate.rules import Match, Rule, Rules, settled, stricter
from node.gate.truth import Truth
from node.gate.until import in_time, written

OTHERWISE: Final = {
    "arguments": "the text of `{name}` has another pattern",
    "equals": "the value of `{name}` is another",
    "path": "`{name}` leads to another place",
    "host": "`{name}` leads to another host",
    "shell": "no command in `{name}` begins so",
    "cwd": "it is for calls in another folder",
    "others": "the call has arguments that it does not name",
}
"""Why a condition does not hold."""

UNSURE: Final = {
    "equals": "`{name}` has no canonical form",
    "path": "nobody can tell where `{name}` leads",
    "host": "nobody can tell to which host `{name}` leads",
    "shell": "`{name}` cannot be read to its end",
    "cwd": "nobody can tell which folder the call is made in",
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


class Said(NamedTuple):
    """What one version says to one name of the agent, and by which of its rules."""

    match: Match | None
    by: Step | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """What happens with a call, and every rule that was looked at for it."""

    match: Match | None
    steps: tuple[Step, ...]
    won: tuple[Step, ...] = ()
    """The rules that say so."""
    lost: tuple[Step, ...] = ()
    """Those that match as well, and say what is less strict."""

    @property
    def outcome(self) -> str:
        """What would happen, as a sentence."""
        return NO_RULE if self.match is None else _outcome(self.match)

    @property
    def headline(self) -> str:
        """Which rules decide, where each stands, and why these of all that match."""
        if self.match is None:
            return ""
        rules = " and ".join(f"`{step.rule}` ({_place(step)})" for step in self.won)
        words = f"{rules} {'says' if len(self.won) == 1 else 'say'} {self.match.action}"
        if not self.lost:
            return f"{words}."
        others = ", ".join(f"`{step.rule}` ({_place(step)})" for step in self.lost)
        return f"{words}, which is stricter than {others}, and the stricter counts."


def explain(
    law: Law,
    tool: str,
    arguments: object,
    cwd: str | None = None,
    *,
    agents: Sequence[str] = (),
) -> Explanation:
    """Look at every rule in order, as `Law.judge` decides; the match is the same."""
    given = Given(arguments, cwd)
    steps: list[Step] = []
    walk = _Walk(law.now, tool, given, agents, steps)
    said = [
        each for version in (law.account, *law.account.siblings) for each in walk.version(version)
    ]
    match = functools.reduce(stricter, (each.match for each in said))
    for file in law.repository:
        found = walk.file(file)
        of_file = functools.reduce(stricter, (each.match for each in found))
        if of_file is not None:
            match = tightened(match, named(file, of_file))
            said += found
    spoken = list(
        dict.fromkeys(
            (each.by, each.match.action) for each in said if each.by and each.match is not None
        )
    )
    action = None if match is None else match.action
    return Explanation(
        match=match,
        steps=tuple(steps),
        won=_apart(step for step, says in spoken if says == action),
        lost=_apart(step for step, says in spoken if says != action),
    )


def _apart(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Each rule once, under however many names the agent met it."""
    return tuple({(step.source, step.line): step for step in steps}.values())


class _Walk(NamedTuple):
    """One call on its way past all rules."""

    now: int
    tool: str
    given: Given
    agents: Sequence[str]
    steps: list[Step]

    def version(self, rules: Rules) -> list[Said]:
        """What one version says, to each name of the agent."""
        timely = in_time(replace(rules, siblings=()), self.now)
        # Where the folders of path patterns lead is looked up once for all.
        for picked in timely.picked(self.tool, self.agents):
            picked.candidates(self.given)
        return [self._past(rules, agent) for agent in self.agents or ("",)]

    def file(self, file: RepositoryFile) -> list[Said]:
        """What one of the repository's files says; one that does not read always asks."""
        if file.rules is not None:
            return self.version(replace(file.rules, name=file.place))
        match = unread(file)
        step = Step(
            agent="",
            source=file.place,
            rule=match.rule,
            line=1,
            matches=Truth.YES,
            why=f"it {file.problem}",
        )
        self.steps.append(step)
        return [Said(match, step)]

    def _past(self, rules: Rules, agent: str) -> Said:
        """The rules of one version for one name of the agent."""
        owned = any(_is_own(rule, agent) and not self._over(rule) for rule in rules.rules)
        doubtful: Rule | None = None
        doubt: Step | None = None
        for rule in rules.rules:
            truth, why = self._look(rule, agent, owned=owned)
            step = Step(
                agent=agent,
                source=rules.name,
                rule=rule.name,
                line=rule.line,
                matches=truth,
                why=why,
            )
            self.steps.append(step)
            if truth is Truth.YES:
                match = settled(rule, doubtful)
                return Said(match, doubt if match and match.rule != rule.name else step)
            if truth is Truth.UNSURE and doubtful is None:
                doubtful, doubt = rule, step
        return Said(settled(None, doubtful), doubt)

    def _over(self, rule: Rule) -> bool:
        return rule.until is not None and rule.until <= self.now

    def _look(self, rule: Rule, agent: str, *, owned: bool) -> tuple[Truth, str]:
        """Whether a rule matches, and why."""
        if rule.until is not None and self._over(rule):
            return Truth.NO, f"it held until {written(rule.until)}"
        if rule.agents and not _is_own(rule, agent):
            return Truth.NO, "it is for other agents"
        if owned and not rule.agents:
            return Truth.NO, f"`{agent}` has rules of its own, so those of the account do not apply"
        if not rule.tool.matches(self.tool):
            return Truth.NO, f"it is for the tool `{rule.tool.text}`"
        truth = rule.holds(self.given)
        if truth is Truth.YES and not rule.conditions:
            return truth, "it is for every call of the tool"
        reasons = [_reason(condition, self.given, truth) for condition in rule.conditions]
        return truth, "; ".join(reason for reason in reasons if reason) or "every condition holds"


def _place(step: Step) -> str:
    return f"{step.source}, line {step.line}"


def _is_own(rule: Rule, agent: str) -> bool:
    return any(glob.matches(agent) for glob in rule.agents)


def _reason(condition: Condition, given: Given, truth: Truth) -> str:
    """What a condition has to do with the outcome; empty when it holds."""
    name, key = ".".join(condition.path), condition.key
    if key == "cwd" and given.value(condition.path) is MISSING:
        return "the folder of the call is not known"
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
    words = OUTCOMES[match.action].format(people=people, decide="allow it" if many else "decides")
    if match.deadline_s is not None:
        words += f" After {span(match.deadline_s)} it expires, and the call is refused."
    if match.escalate_s is not None:
        words += f" After {span(match.escalate_s)} those with the role {match.escalate_to} are"
        words += " asked as well."
    return words


def span(seconds: float) -> str:
    """A duration as rules write it."""
    whole = round(seconds)
    unit = next(unit for unit, each in reversed(UNITS.items()) if whole % each == 0)
    return f"{whole // UNITS[unit]}{unit}"


def as_json(explanation: Explanation) -> dict[str, Any]:
    """What `askmesh rules explain --json` prints."""
    match = explanation.match
    return {
        "action": None if match is None else match.action,
        "rule": None if match is None else match.rule,
        "outcome": explanation.outcome,
        "won": [_named(step) for step in explanation.won],
        "lost": [_named(step) for step in explanation.lost],
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


def _named(step: Step) -> dict[str, Any]:
    return {"file": step.source, "line": step.line, "rule": step.rule}
