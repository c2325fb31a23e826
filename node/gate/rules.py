"""The gate's rules: which calls are allowed, asked about or refused; the first match wins."""

import functools
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, Literal

from node.gate.conditions import Condition
from node.gate.given import Given
from node.gate.match import AnyOf, Glob
from node.gate.picking import Picked
from node.gate.truth import Truth
from sync.decide.people import RANK, Role
from sync.errors import CallerError

Action = Literal["allow", "ask", "deny"]

NO, UNSURE, YES = Truth
"""By name: to look one up in its class takes time for each of a thousand rules."""

TOOLS_REMEMBERED: Final = 256
"""Names of tools whose rules are kept picked out; agents choose names, so there is an end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """What is wrong with a rules file, on which line, and what to write instead."""

    line: int
    reason: str
    fix: str


class RulesRefused(CallerError):
    """The rules file is refused; the rules in force stay as they are."""

    code: ClassVar[str] = "rules_refused"

    def __init__(self, problems: list[Problem]) -> None:
        first = problems[0]
        more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(f"Line {first.line}: {first.reason}{more}", hint=first.fix)
        self.problems = problems


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """The rule that decides about a call, and how."""

    rule: str
    action: Action
    deadline_s: float | None
    reason: str | None
    approvals: int = 1
    """How many different people must allow it."""
    role: str | None = None
    """Only people of this role, or a higher one, count."""
    self_approval: bool = True
    """Whether those whose agent asks may allow it."""
    hide: tuple[str, ...] = ()
    """Arguments, by their dotted paths, that never leave the machine that asks."""
    escalate_s: float | None = None
    """After so long without an answer the ask goes to `escalate_to` as well."""
    escalate_to: str | None = None
    """A role."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One `[[rule]]` of the file."""

    name: str
    tool: Glob | AnyOf
    conditions: tuple[Condition, ...]
    action: Action
    deadline_s: float | None
    reason: str | None
    line: int
    agents: tuple[Glob, ...] = ()
    """None: a rule of the account, for every agent that has no rules of its own."""
    approvals: int = 1
    role: str | None = None
    self_approval: bool = True
    hide: tuple[str, ...] = ()
    escalate_s: float | None = None
    escalate_to: str | None = None
    until: int | None = None
    """From then on, Unix milliseconds, it matches nothing (`node.gate.until`)."""

    def holds(self, given: Given) -> Truth:
        """Whether every condition holds; tool and agent have been compared before.

        Only a `deny` can be unsure: `allow` takes doubt for no and `ask` for yes.
        """
        truth = YES
        for condition in self.conditions:
            holds = condition.holds(given)
            if holds is NO:
                return NO
            if holds is UNSURE:
                truth = UNSURE
        if truth is UNSURE and self.action != "deny":
            return NO if self.action == "allow" else YES
        return truth

    def verdict(self) -> Match:
        """What this rule says about a call that it matches."""
        return Match(
            rule=self.name,
            action=self.action,
            deadline_s=self.deadline_s,
            reason=self.reason,
            approvals=self.approvals,
            role=self.role,
            self_approval=self.self_approval,
            hide=self.hide,
            escalate_s=self.escalate_s,
            escalate_to=self.escalate_to,
        )

    def doubt(self) -> Match:
        """What this `deny` says about a call that it may or may not match: a person decides."""
        reason = "The rule refuses such calls; this one cannot be read to its end."
        return Match(rule=self.name, action="ask", deadline_s=None, reason=reason)

    def covers(self, later: "Rule") -> bool:
        """Whether this certainly matches every call that the later rule matches."""
        # The conditions first: many rules for one tool differ in these.
        for mine in self.conditions:
            for each in later.conditions:
                if mine.path == each.path and mine.test.covers(each.test):
                    break
            else:
                return False
        if self.until is not None and (later.until is None or later.until > self.until):
            return False
        if bool(self.agents) != bool(later.agents) or not self.tool.covers(later.tool):
            return False
        return all(any(mine.covers(each) for mine in self.agents) for each in later.agents)


def decide(rules: Iterable[Rule], given: Given) -> Match | None:
    """What the first of these rules that matches says; each is for this tool and agent.

    A `deny` that may match, when the call cannot be read to its end, sees to it that at
    least a person is asked.
    """
    doubtful: Rule | None = None
    for rule in rules:
        truth = rule.holds(given)
        if truth is YES:
            return settled(rule, doubtful)
        if truth is UNSURE and doubtful is None:
            doubtful = rule
    return settled(None, doubtful)


def settled(rule: Rule | None, doubtful: Rule | None) -> Match | None:
    """What a rule that matches says, after one before it that may."""
    if doubtful is None or (rule is not None and rule.action != "allow"):
        return None if rule is None else rule.verdict()
    return doubtful.doubt()


def stricter(one: Match | None, other: Match | None) -> Match | None:
    """Of two rules that both apply, the stricter; two that ask, together."""
    if one is None or other is None or not one.action == other.action == "ask":
        return max(one, other, key=_strictness)
    deadlines = [each for each in (one.deadline_s, other.deadline_s) if each is not None]
    deadline = min(deadlines, default=None)
    escalates = one if one.escalate_s is not None else other
    late = deadline is not None and (escalates.escalate_s or 0) >= deadline
    return replace(
        one,
        deadline_s=deadline,
        approvals=max(one.approvals, other.approvals),
        role=max(one.role, other.role, key=_rank),
        self_approval=one.self_approval and other.self_approval,
        hide=tuple(dict.fromkeys(one.hide + other.hide)),
        escalate_s=None if late else escalates.escalate_s,
        escalate_to=None if late else escalates.escalate_to,
    )


def _rank(role: str | None) -> int:
    return -1 if role is None else RANK[Role(role)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """A rules file that was accepted, ready to be held against calls."""

    name: str
    version: str
    source: str
    rules: tuple[Rule, ...]
    entries: tuple[bytes, ...] = ()
    """The log entries that put them into force; none: nobody ever applied any."""
    siblings: tuple["Rules", ...] = ()
    """Rules that others applied at the same time: they are in force too."""
    _of_tool: dict[tuple[str, str], Picked] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    timely: dict[tuple[object, ...], "Rules"] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    """What is left of them at some time (`node.gate.until`)."""

    def match(
        self,
        tool: str,
        arguments: object,
        cwd: str | None = None,
        *,
        agents: Sequence[str] = (),
    ) -> Match | None:
        """The first rule that matches the call; None when none does.

        `agents` are the names of the agent that calls: the one it has and those it had; of
        what is said to each of them the strictest counts, and so it does of siblings. With
        `cwd`, relative paths are the places they name. Looks at the disk where rules name
        paths, so call it in a thread.
        """
        given = Given(arguments, cwd)
        found = [
            decide(picked.candidates(given), given)
            for rules in (self, *self.siblings)
            for picked in rules.picked(tool, agents)
        ]
        return functools.reduce(stricter, found)

    def picked(self, tool: str, agents: Sequence[str] = ()) -> list[Picked]:
        """For each name of the agent, the rules that are for it and this tool."""
        names = agents or ("",)
        return list({id(each): each for each in (self._for(tool, name) for name in names)}.values())

    def _for(self, tool: str, agent: str) -> Picked:
        if not any(rule.agents for rule in self.rules):
            agent = ""
        picked = self._of_tool.get((tool, agent))
        if picked is None:
            own = [rule for rule in self.rules if any(a.matches(agent) for a in rule.agents)]
            rules = own or [rule for rule in self.rules if not rule.agents]
            picked = Picked([rule for rule in rules if rule.tool.matches(tool)])
            if len(self._of_tool) >= TOOLS_REMEMBERED:
                self._of_tool.clear()
            self._of_tool[tool, agent] = picked
        return picked


def _strictness(match: Match | None) -> int:
    # Where no rule matches, the host decides: less than asking a person, more than allowing.
    return ("allow", None, "ask", "deny").index(None if match is None else match.action)


def version_of(source: str) -> str:
    """How a rules file is named wherever it is shown: the beginning of its SHA-256."""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def parse(
    source: str,
    name: str = "rules",
    people: Sequence[str] | None = None,
    *,
    tightening: bool = False,
) -> Rules:
    """Read a rules file. Raises `RulesRefused` with every problem found in it.

    `people` are the roles of those who are there: then a rule is refused that asks for more
    of them than there are. `tightening`: it is a repository's file, in which an `allow` is as
    if it were not there, so that nothing is unreachable behind one.
    """
    from node.gate.reading import read_rules

    rules = read_rules(source, people, tightening=tightening)
    return Rules(name=name, version=version_of(source), source=source, rules=rules)


EMPTY: Final = Rules(name="rules", version=version_of(""), source="", rules=())
"""What is in force before any rules were applied: the host itself decides when to ask."""


def as_json(problems: list[Problem]) -> list[dict[str, Any]]:
    """Problems as the page and `askmesh rules check --json` show them."""
    return [{"line": p.line, "reason": p.reason, "fix": p.fix} for p in problems]
