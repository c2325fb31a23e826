"""A decision turned into a rule: for that very call, put where it comes to count.

What it says is narrow: this tool, with these arguments and no others, in this folder. Wider
it becomes only by who edits it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from node.gate.explain import Step, explain
from node.gate.law import Law
from node.gate.lines import TOKEN
from node.gate.rules import Match, Rules, RulesRefused, parse
from node.gate.until import written
from sync.decide.people import RANK, Role
from sync.errors import Conflict, Invalid, NotAllowed

TELLING: Final = {"Bash": ("description",)}
"""Arguments that say in words what the others do: another wording is no other call."""

BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
WILD: Final = re.compile(r"[*?]")

BY_HAND: Final = "Write such a rule by hand, and apply it as a rules file."


@dataclass(frozen=True, kw_only=True, slots=True)
class Wish:
    """The call that was decided about, and what is to happen with such calls."""

    tool: str
    arguments: object
    cwd: str
    agents: tuple[str, ...]
    """The names of the agent that made it."""
    action: Literal["allow", "deny"]
    name: str
    """Of the rule."""
    until: int | None
    """Unix milliseconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Applier:
    """Who puts it into force."""

    role: Role
    owns: bool
    """It is their own agent that made the call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """The rule, and the rules file with it."""

    rule: str
    source: str
    for_agents: tuple[str, ...]
    """Whose rule it is; empty: one of the account."""


def propose(law: Law, wish: Wish, by: Applier) -> Made:
    """Make the rule, and make sure that it does this and nothing else.

    Raises `NotAllowed` where it would loosen what is not theirs to loosen alone, `Invalid`
    where no rule can name the call, or none would change anything.
    """
    if law.account.siblings:
        raise Conflict(
            "Several rules were applied at the same time.", hint="Settle that first: apply one."
        )
    account = replace(law, repository=())
    _check_guards(account, wish, by)
    agents = _whose(law.account, wish)
    try:
        rule = _written(wish, agents)
    except RecursionError as error:
        raise Invalid("The call is nested too deeply for a rule.", hint=BY_HAND) from error
    source = _inserted(law.account.source, rule, _before(account, wish))
    made = Made(rule=rule, source=source, for_agents=agents)
    _check_outcome(replace(law, account=_with(law.account, made)), wish)
    return made


def _check_guards(law: Law, wish: Wish, by: Applier) -> None:
    """Raise where the rule is needless, or not theirs to loosen now or while it would hold."""
    match = _match(law, wish)
    if match is not None and match.action == wish.action:
        raise Invalid(f"The rules {match.action} such calls already, by `{match.rule}`.")
    if wish.action == "deny":
        return
    ends = {rule.until for rule in law.account.rules if rule.until and rule.until > law.now}
    # What stands behind a rule that ends earlier would be loosened from then on.
    for moment in sorted(end for end in ends if wish.until is None or end < wish.until):
        _check_guard(law.account, _match(replace(law, now=moment), wish), by)
    _check_guard(law.account, match, by)


def _check_guard(rules: Rules, match: Match | None, by: Applier) -> None:
    if match is None or match.action == "allow":
        return
    why = ""
    # One that may refuse, where nobody can tell, lets a person decide.
    if any(rule.action == "deny" for rule in rules.rules if rule.name == match.rule):
        why = "refuses such calls, or may"
    elif match.approvals > 1:
        why = f"wants {match.approvals} people to allow each of them, and one applies rules"
    elif match.role is not None and RANK[Role(match.role)] > RANK[by.role]:
        why = f"wants the role {match.role} for them"
    elif not match.self_approval and by.owns:
        why = "wants others than the people whose agent asks"
    elif match.hide:
        why = "keeps arguments of them on the machine that asks, and rules go to every machine"
    if why:
        raise NotAllowed(
            f"`{match.rule}` {why}: no rule made of one decision may loosen that.",
            hint="Who may change that rule changes it by hand.",
        )


def _match(law: Law, wish: Wish) -> Match | None:
    return law.judge(wish.tool, wish.arguments, wish.cwd, agents=wish.agents).match


def _whose(rules: Rules, wish: Wish) -> tuple[str, ...]:
    """The agent's names if it has rules of its own: those of the account do not reach it."""
    own = [
        name
        for name in wish.agents
        if any(glob.matches(name) for rule in rules.rules for glob in rule.agents)
    ]
    if any(WILD.search(name) for name in own):
        raise Invalid("The name of the agent holds `*` or `?`.", hint=BY_HAND)
    return tuple(own)


def _before(law: Law, wish: Wish) -> Step | None:
    """The rule that decides by now: the new one comes before it. None: it comes last."""
    found = explain(law, wish.tool, wish.arguments, wish.cwd, agents=wish.agents)
    return min(found.won, key=lambda step: step.line, default=None)


def _written(wish: Wish, agents: tuple[str, ...]) -> str:
    """The rule as TOML."""
    telling = TELLING.get(wish.tool, ())
    lines = ["[[rule]]", f"name = {text_of(wish.name)}", f"tool = {text_of(wish.tool)}"]
    if WILD.search(wish.tool):
        raise Invalid("The name of the tool holds `*` or `?`.", hint=BY_HAND)
    if agents:
        lines.append(f"agents = {_value(list(agents))}")
    if not isinstance(wish.arguments, Mapping):
        raise Invalid("The call has no arguments by name.", hint=BY_HAND)
    for path, value in _leaves(wish.arguments):
        if path not in telling:
            lines.append(f"equals.{_key(path)} = {_value(value)}")
    if WILD.search(wish.cwd):
        raise Invalid("The name of the call's folder holds `*` or `?`.", hint=BY_HAND)
    lines.append(f"cwd = {text_of(wish.cwd)}")
    if wish.action == "allow":
        # A refusal must not end where a call has one argument more.
        lines.append(f"others = {_value(list(telling))}")
    lines.append(f'action = "{wish.action}"')
    if wish.until is not None:
        lines.append(f"until = {written(wish.until)}")
    return "\n".join(lines) + "\n"


def _leaves(arguments: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Each value with its dotted path."""
    for key, value in arguments.items():
        if not key or "." in key:
            raise Invalid(
                f"The argument {key!r:.60} has a name that no rule can hold.", hint=BY_HAND
            )
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _key(path: str) -> str:
    return path if BARE.fullmatch(path) else text_of(path)


def _value(value: object) -> str:
    """A JSON value as TOML. Raises `Invalid` for null, which TOML has not."""
    if value is None:
        raise Invalid("An argument is null, which no rule can name.", hint=BY_HAND)
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, list):
        return f"[{', '.join(_value(each) for each in value)}]"
    if isinstance(value, Mapping):
        inside = ", ".join(f"{text_of(key)} = {_value(each)}" for key, each in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    return json.dumps(value)


def text_of(text: str) -> str:
    """A text as TOML writes it; what cannot be seen is written as its number."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(mark if mark.isprintable() else _number(ord(mark)) for mark in quoted)


def _number(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x1_0000 else f"\\U{code:08x}"


def _inserted(source: str, rule: str, before: Step | None) -> str:
    """The rules file with the rule in it: before another with its comments, or at the end."""
    if before is None:
        return f"{source.rstrip()}\n\n{rule}".lstrip()
    lines = source.split("\n")
    bare = TOKEN.sub(_blank, source).split("\n")
    place = before.line - 1
    while place > 0 and lines[place - 1].lstrip().startswith("#") and not bare[place - 1].strip():
        place -= 1
    return "\n".join([*lines[:place], *rule.split("\n"), *lines[place:]])


def _blank(token: re.Match[str]) -> str:
    """A comment out of sight; of texts every line stays one that is not blank."""
    return "" if token[0].startswith("#") else re.sub(r"[^\n]*", ".", token[0])


def _with(rules: Rules, made: Made) -> Rules:
    """The rules with the new one. Raises `Invalid` where they would be refused, or changed."""
    try:
        after = parse(made.source, rules.name)
    except RulesRefused as refused:
        first = refused.problems[0]
        raise Invalid(f"No rule can name this call: {first.reason}", hint=BY_HAND) from refused
    before = [rule.name for rule in rules.rules]
    if [rule.name for rule in after.rules if rule.name in before] != before:
        raise Invalid("There is no place for it in the rules in force.", hint=BY_HAND)
    return after


def _check_outcome(law: Law, wish: Wish) -> None:
    """Raise where the new rule would not come to count."""
    match = _match(law, wish)
    if match is not None and match.action == wish.action and match.rule == wish.name:
        return
    what = "nothing" if match is None else f"`{match.rule}`"
    raise Invalid(
        f"Such a rule would change nothing here: {what} would still decide.", hint=BY_HAND
    )
