"""The gate's rules: which calls are allowed, asked about or refused; the first match wins."""

import hashlib
import os.path
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal

import rfc8785

from node.gate.match import Glob
from sync.errors import CallerError

Action = Literal["allow", "ask", "deny"]

PATH_KEYS: Final = ("file_path", "notebook_path", "path")
"""Arguments that hosts read as a path: `ask` and `deny` also see what the path comes to."""

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
class Condition:
    """One argument, by its path of keys, and the pattern its text must have."""

    path: tuple[str, ...]
    glob: Glob

    def holds(self, arguments: object, cwd: str | None) -> bool:
        """Whether the argument is there and has the pattern; a missing one never does."""
        value = arguments
        for key in self.path:
            if not isinstance(value, Mapping) or key not in value:
                return False
            value = value[key]
        if not isinstance(value, str):
            return self._holds_json(value)
        if self.glob.matches(value):
            return True
        # Only where matching makes the gate stricter: another spelling of a path that a
        # rule guards. An `allow` is taken at its word and nothing else.
        if self.glob.guarded or self.path[-1] not in PATH_KEYS:
            return False
        return self.glob.matches(plain_path(value, cwd))

    def _holds_json(self, value: object) -> bool:
        """Whether the canonical JSON of a value that is no text has the pattern."""
        try:
            text = rfc8785.dumps(value).decode()  # type: ignore[arg-type]
        except (ValueError, RecursionError):
            return not self.glob.guarded
        return self.glob.matches(text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One `[[rule]]` of the file."""

    name: str
    tool: Glob
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

    def applies(self, arguments: object, cwd: str | None) -> bool:
        """Whether every condition holds; the tool has been compared before."""
        return all(condition.holds(arguments, cwd) for condition in self.conditions)

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

    def covers(self, later: "Rule") -> bool:
        """Whether this certainly matches every call that the later rule matches."""
        if not self.tool.covers(later.tool):
            return False
        others = {condition.path: condition.glob for condition in later.conditions}
        return all(
            condition.path in others and condition.glob.covers(others[condition.path])
            for condition in self.conditions
        )


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
    _of_tool: dict[str, tuple[Rule, ...]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def match(
        self,
        tool: str,
        arguments: object,
        cwd: str | None = None,
        *,
        agents: Sequence[str] = (),
    ) -> Match | None:
        """The first rule that matches the call; None when none does.

        `agents` are the names of the agent that calls: the one it has and those it had.
        With `cwd`, `ask` and `deny` rules see relative paths as the places they name.
        Of siblings the strictest action counts.
        """
        found = self._match(tool, arguments, cwd)
        for sibling in self.siblings:
            other = sibling.match(tool, arguments, cwd, agents=agents)
            found = max(found, other, key=_strictness)
        return found

    def _match(self, tool: str, arguments: object, cwd: str | None) -> Match | None:
        for rule in self._for(tool):
            if rule.applies(arguments, cwd):
                return rule.verdict()
        return None

    def _for(self, tool: str) -> tuple[Rule, ...]:
        """The rules whose tool pattern has this name."""
        picked = self._of_tool.get(tool)
        if picked is None:
            picked = tuple(rule for rule in self.rules if rule.tool.matches(tool))
            if len(self._of_tool) >= TOOLS_REMEMBERED:
                self._of_tool.clear()
            self._of_tool[tool] = picked
        return picked


def _strictness(match: Match | None) -> int:
    # Where no rule matches, the host decides: less than asking a person, more than allowing.
    return ("allow", None, "ask", "deny").index(None if match is None else match.action)


def version_of(source: str) -> str:
    """How a rules file is named wherever it is shown: the beginning of its SHA-256."""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def plain_path(text: str, cwd: str | None) -> str:
    """The place a path names, without `~`, `.`, `..` and doubled slashes; links stay."""
    # As the host reads it: pathlib would keep `..` and raise where there is no such user.
    place = os.path.join(cwd or "", os.path.expanduser(text))  # noqa: PTH111, PTH118
    path = os.path.normpath(place)
    return f"/{path.lstrip('/')}" if path.startswith("//") else path


def parse(source: str, name: str = "rules") -> Rules:
    """Read a rules file. Raises `RulesRefused` with every problem found in it."""
    from node.gate.reading import read_rules

    rules = read_rules(source)
    return Rules(name=name, version=version_of(source), source=source, rules=rules)


EMPTY: Final = Rules(name="rules", version=version_of(""), source="", rules=())
"""What is in force before any rules were applied: the host itself decides when to ask."""


def as_json(problems: list[Problem]) -> list[dict[str, Any]]:
    """Problems as the page and `askmesh rules check --json` show them."""
    return [{"line": p.line, "reason": p.reason, "fix": p.fix} for p in problems]
