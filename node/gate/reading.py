"""Reads a rules file, and says of everything in it that is not a rule why, where and what to do."""

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from node import limits
from node.gate.lines import Lines, Table, of_syntax_error, read
from node.gate.match import Glob
from node.gate.rules import PATH_KEYS, Action, Condition, Problem, Rule, RulesRefused
from sync.limits import APPROVAL_DEADLINE_MAX_MS, DEADLINE_MIN_MS, NAME_CHARACTERS

OWN_TOOLS: Final = ("mcp__askmesh__", "mcp__plugin_askmesh_askmesh__")
"""askmesh's own agent tools: without them an agent could not ask, so they are always allowed."""

KEYS: Final = ("name", "tool", "arguments", "action", "deadline", "reason")

SILENCE: Final = re.compile(
    r"(on|after|if|when)_?(timeout|silence|silent|expiry|expired?|no_?answer|unanswered)"
    r"|timeout(_action)?|default(_action)?|fallback|otherwise|else|auto(_?allow|_?approve)?"
)
"""Keys by which other tools say what happens when nobody answers."""

UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
ACTIONS: Final[tuple[Action, ...]] = ("allow", "ask", "deny")
CONTROL: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

OWN_FIX: Final = "Remove the rule: these tools only ask, report and wait, and are always allowed."
SILENCE_FIX: Final = (
    "Remove the key. An `ask` that nobody answers before its deadline expires, and the call is"
    " refused; with `deadline` you choose how long people have."
)


class Reader:
    """Reads one source and gathers problems; `rules` are those that have none."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.rules: list[Rule] = []
        self.table = Table(line=1)

    def refuse(self, line: int, reason: str, fix: str) -> None:
        """Note a problem."""
        self.problems.append(Problem(line=line, reason=reason, fix=fix))

    def read(self) -> tuple[Rule, ...]:
        """The rules of the source. Raises `RulesRefused` when there is any problem."""
        document = self._document()
        if document is not None:
            self._whole(document, read(self.source))
        if self.problems:
            raise RulesRefused(sorted(self.problems, key=lambda problem: problem.line))
        return tuple(self.rules)

    def _document(self) -> dict[str, Any] | None:
        """The source as TOML; None with a problem noted."""
        try:
            size = len(self.source.encode())
        except UnicodeEncodeError:
            self.refuse(1, "The text is not valid Unicode.", "Save the file as UTF-8.")
            return None
        if size > limits.RULES_BYTES:
            reason = f"The file has {size} bytes; {limits.RULES_BYTES} is the most."
            self.refuse(1, reason, "Join rules by patterns: `*` stands for any text.")
            return None
        try:
            return tomllib.loads(self.source)
        except tomllib.TOMLDecodeError as error:
            line = of_syntax_error(str(error), self.source)
            self.refuse(line, f"This is not TOML: {error}.", "Compare with docs/rules.md.")
        except RecursionError:
            self.refuse(1, "This is nested too deeply.", "Compare with docs/rules.md.")
        return None

    def _whole(self, document: dict[str, Any], lines: Lines) -> None:
        """Everything of the file: what stands outside of rules, each rule, and all together."""
        for key in document.keys() - {"rule"}:
            self._unknown(key, lines.top.of(key), where="outside of a rule")
        tables = document.get("rule", [])
        if not isinstance(tables, list) or len(tables) != len(lines.rules):
            fix = "Write each rule as a table of its own that begins with a line `[[rule]]`."
            self.refuse(lines.top.of("rule"), "`rule` is not a list of tables.", fix)
            return
        if len(tables) > limits.RULES:
            reason = f"There are {len(tables)} rules; {limits.RULES} is the most."
            self.refuse(lines.rules[limits.RULES].line, reason, "Join rules by patterns.")
            return
        names: dict[str, int] = {}
        for table, self.table in zip(tables, lines.rules, strict=True):
            rule = self._rule(table)
            if rule is not None and self._is_new(rule, names):
                self.rules.append(rule)
        self._shadowed()

    def _unknown(self, key: str, line: int, *, where: str) -> None:
        """Refuse a key that means nothing, and one that means 'silence is consent'."""
        if SILENCE.fullmatch(key.lower().replace("-", "_")):
            reason = f"`{key}`: silence is never an answer in askmesh, so no rule can say it is."
            self.refuse(line, reason, SILENCE_FIX)
        else:
            known = ", ".join(f"`{name}`" for name in KEYS)
            fix = f"A rule has the keys {known}; outside of rules there is nothing."
            self.refuse(line, f"`{key}` means nothing {where}.", fix)

    def _rule(self, table: dict[str, Any]) -> Rule | None:
        """One rule; None when anything is wrong with it."""
        before = len(self.problems)
        for key in table.keys() - set(KEYS):
            self._unknown(key, self.table.of(key), where="in a rule")
        action = self._action(table)
        rule = {
            "name": self._name(table),
            "tool": self._tool(table),
            "conditions": self._conditions(table, guarded=action == "allow"),
            "action": action,
            "deadline_s": self._deadline(table, action),
            "reason": self._reason(table),
        }
        if len(self.problems) > before:
            return None
        return Rule(line=self.table.line, **rule)  # type: ignore[arg-type]

    def _text(self, table: Mapping[str, Any], key: str, most: int, fix: str) -> str | None:
        """A text that must be there, on one line, not too long."""
        value, line = table.get(key), self.table.of(key)
        if value is None:
            self.refuse(line, f"The rule has no `{key}`.", fix)
        elif not isinstance(value, str) or not value.strip():
            self.refuse(line, f"`{key}` must be a text that is not empty.", fix)
        elif len(value) > most:
            self.refuse(line, f"`{key}` has {len(value)} characters; {most} is the most.", fix)
        elif CONTROL.search(value):
            self.refuse(line, f"`{key}` holds a control character or a line break.", fix)
        else:
            return value
        return None

    def _name(self, table: dict[str, Any]) -> str | None:
        """The name, by which an ask says what raised it."""
        fix = 'Give it a short name of its own: name = "pushes".'
        return self._text(table, "name", NAME_CHARACTERS, fix)

    def _tool(self, table: dict[str, Any]) -> Glob | None:
        """The tool's name or pattern."""
        fix = 'Name the tool as the host calls it: tool = "Bash", or "mcp__github__*".'
        text = self._text(table, "tool", limits.GLOB_CHARACTERS, fix)
        line = self.table.of("tool")
        if text is None:
            return None
        found = re.fullmatch(r"\s*(\w+)\((.*)\)\s*", text)
        if found:
            pattern = found[2].removesuffix(":*") + ("*" if found[2].endswith(":*") else "")
            fix = f"tool = '{found[1]}' with arguments = {{ command = '{pattern}' }}."
            self.refuse(line, "`tool` is a name alone, without parentheses.", fix)
        elif re.search(r"[\s|,()]", text):
            fix = "Write one rule for each tool; `*` stands for any text, `?` for one character."
            self.refuse(line, "`tool` names one tool or pattern, without spaces, `|` or `,`.", fix)
        elif re.split(r"[*?]", text)[0].startswith(OWN_TOOLS):
            self.refuse(line, "askmesh's own agent tools cannot be put under a rule.", OWN_FIX)
        else:
            return Glob(text)
        return None

    def _action(self, table: dict[str, Any]) -> Action | None:
        """What is to happen."""
        value, line = table.get("action"), self.table.of("action")
        fix = 'Write action = "allow", "ask" or "deny".'
        if value in ACTIONS:
            return ACTIONS[ACTIONS.index(value)]
        if value is None:
            self.refuse(line, "The rule has no `action`.", fix)
        else:
            self.refuse(line, f"`action` is {value!r:.60}, which is none of the three.", fix)
        return None

    def _deadline(self, table: dict[str, Any], action: Action | None) -> float | None:
        """How long people have, in seconds; only a rule that asks has one."""
        value, line = table.get("deadline"), self.table.of("deadline")
        if value is None:
            return None
        fix = 'Write a whole number and a unit, from 1 s to 7 d: "90s", "30m", "4h", "2d".'
        if action in ("allow", "deny"):
            reason = f"A rule that says `{action}` asks nobody, so it can have no `deadline`."
            self.refuse(line, reason, 'Remove the key, or write action = "ask".')
            return None
        found = re.fullmatch(r"([0-9]{1,6})([smhd])", value) if isinstance(value, str) else None
        if found is None:
            self.refuse(line, f"`deadline` is {value!r:.60}, which is no duration.", fix)
            return None
        seconds = int(found[1]) * UNITS[found[2]]
        if not DEADLINE_MIN_MS <= seconds * 1000 <= APPROVAL_DEADLINE_MAX_MS:
            self.refuse(line, f"`deadline` is {value}, which is out of range.", fix)
            return None
        return float(seconds)

    def _reason(self, table: dict[str, Any]) -> str | None:
        """Why the rule is there, for the person and the agent."""
        if "reason" not in table:
            return None
        fix = 'Say in one line why: reason = "Pushes reach everyone."'
        return self._text(table, "reason", limits.REASON_CHARACTERS, fix)

    def _conditions(self, table: dict[str, Any], *, guarded: bool) -> tuple[Condition, ...]:
        """The patterns of arguments; tables within tables are paths, as are dotted keys."""
        line = self.table.of("arguments")
        fix = 'Name arguments with patterns: arguments = { command = "git push*" }.'
        if "arguments" not in table:
            return ()
        arguments = table["arguments"]
        if not isinstance(arguments, dict) or not arguments:
            self.refuse(line, "`arguments` must be a table that is not empty.", fix)
            return ()
        flat = _flat(arguments)
        if len(flat) > limits.RULE_ARGUMENTS:
            reason = f"There are {len(flat)} arguments; {limits.RULE_ARGUMENTS} is the most."
            self.refuse(line, reason, "Leave out what the other patterns decide already.")
        conditions = (self._condition(path, value, guarded=guarded) for path, value in flat)
        return tuple(condition for condition in conditions if condition is not None)

    def _condition(self, path: str, value: object, *, guarded: bool) -> Condition | None:
        """One argument's pattern."""
        line = self.table.keys.get(f"arguments.{path}", self.table.of("arguments"))
        label = f"arguments.{path}"
        if not isinstance(value, str):
            shown = str(value).lower() if isinstance(value, bool) else str(value)
            fix = f'Write the pattern as text: "{shown:.40}" stands for the JSON value.'
            self.refuse(line, f"`{label}` must be a text.", fix)
        elif len(path) > limits.GLOB_CHARACTERS:
            reason = f"The name of an argument has {len(path)} characters."
            self.refuse(line, reason, f"{limits.GLOB_CHARACTERS} is the most.")
        elif not value:
            fix = "`*` stands for any text; leave the argument out when it does not matter."
            self.refuse(line, f"`{label}` is empty.", fix)
        elif len(value) > limits.GLOB_CHARACTERS:
            most = limits.GLOB_CHARACTERS
            reason = f"`{label}` has {len(value)} characters; {most} is the most."
            self.refuse(line, reason, "Let `*` stand for a part of it.")
        elif path.rpartition(".")[2] in PATH_KEYS and value.startswith("~"):
            fix = "Write the path in full, or begin it with `*/`."
            self.refuse(line, f"`{label}` begins with `~`, which a pattern does not expand.", fix)
        else:
            return Condition(path=tuple(path.split(".")), glob=Glob(value, guarded=guarded))
        return None

    def _is_new(self, rule: Rule, names: dict[str, int]) -> bool:
        """Whether no earlier rule has the name; an ask must name one rule only."""
        first = names.setdefault(rule.name, rule.line)
        if first == rule.line:
            return True
        reason = f"The rule of line {first} has the name `{rule.name}` too."
        self.refuse(self.table.of("name"), reason, "Give each rule a name of its own.")
        return False

    def _shadowed(self) -> None:
        """Refuse rules that nothing can reach, because an earlier one matches it all."""
        wider: dict[tuple[str, str], bool] = {}
        for place, later in enumerate(self.rules):
            for earlier in self.rules[:place]:
                tools = (earlier.tool.text, later.tool.text)
                if tools not in wider:
                    wider[tools] = earlier.tool.covers(later.tool)
                if wider[tools] and earlier.covers(later):
                    reason = (
                        f"`{later.name}` is never reached: `{earlier.name}` (line"
                        f" {earlier.line}) matches all its calls, and the first match wins."
                    )
                    self.refuse(later.line, reason, "Put the narrower rule first, or remove it.")
                    break


def _flat(arguments: dict[str, Any]) -> list[tuple[str, object]]:
    """The leaves of nested tables, with their dotted paths."""
    leaves: list[tuple[str, object]] = []
    inside = [("", arguments)]
    while inside:
        prefix, table = inside.pop(0)
        for key, value in table.items():
            if isinstance(value, dict) and value:
                inside.append((f"{prefix}{key}.", value))
            else:
                leaves.append((f"{prefix}{key}", value))
    return leaves


def read_rules(source: str) -> tuple[Rule, ...]:
    """The rules of a source. Raises `RulesRefused` with every problem found in it."""
    return Reader(source).read()
