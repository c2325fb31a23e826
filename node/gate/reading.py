"""Reads a rules file, and says of everything in it that is not a rule why, where and what to do."""

import re
import tomllib
from collections.abc import Sequence
from typing import Any, Final

from node import limits
from node.gate.lines import Lines, of_syntax_error, read
from node.gate.match import AnyOf, Glob, bounded
from node.gate.noting import Notes, TooMany, nearest
from node.gate.reading_asking import ASKING, Asking
from node.gate.reading_conditions import CONDITIONS, Conditions
from node.gate.rules import Action, Problem, Rule, RulesRefused
from node.gate.until import KEY as UNTIL
from node.gate.until import read_until
from sync.limits import NAME_CHARACTERS, PROJECT_CHARACTERS

OWN_TOOLS: Final = ("mcp__askmesh__", "mcp__plugin_askmesh_askmesh__")
"""askmesh's own agent tools: without them an agent could not ask, so they are always allowed."""

KEYS: Final = ("name", "agents", "tool", *CONDITIONS, "action", *ASKING, UNTIL, "reason")

SILENCE: Final = re.compile(
    r"(on|after|if|when)_?(timeout|silence|silent|expiry|expired?|no_?answer|unanswered)"
    r"|timeout(_action)?|default(_action)?|fallback|otherwise|else|auto(_?allow|_?approve)?"
)
"""Keys by which other tools say what happens when nobody answers."""

ACTIONS: Final[tuple[Action, ...]] = ("allow", "ask", "deny")
TOP: Final = ("rule", "set")
SET: Final = "set."

NESTED: Final = "This is nested too deeply."
COMPARE: Final = "Compare with docs/rules.md."
OWN_FIX: Final = "Remove the rule: these tools only ask, report and wait, and are always allowed."
SILENCE_FIX: Final = (
    "Remove the key. An `ask` that nobody answers before its deadline expires, and the call is"
    " refused; with `deadline` you choose how long people have."
)


class Reader(Notes):
    """Reads one source and gathers problems; `rules` are those that have none."""

    def __init__(self, source: str, people: Sequence[str] | None, *, tightening: bool) -> None:
        super().__init__()
        self.source = source
        self.people = people
        self.tightening = tightening
        self.rules: list[Rule] = []
        self.sets: dict[str, AnyOf] = {}

    def read(self) -> tuple[Rule, ...]:
        """The rules of the source. Raises `RulesRefused` when there is any problem."""
        try:
            document = self._document()
            if document is not None:
                self._whole(document, read(self.source))
        except RecursionError:
            self.problems = [Problem(line=1, reason=NESTED, fix=COMPARE)]
        except TooMany:
            pass  # what was noted so far is enough to refuse it
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
        for number, line in enumerate(self.source.split("\n"), 1):
            if line.count(".") > limits.RULE_DOTS:
                reason = f"The line has more than {limits.RULE_DOTS} dots."
                self.refuse(number, reason, "Break the list into several lines.")
                return None
        if self.source.startswith("\ufeff"):
            reason = "The text begins with a byte order mark (U+FEFF), which TOML does not allow."
            self.refuse(1, reason, "Save the file as UTF-8 without one.")
            return None
        try:
            return tomllib.loads(self.source)
        except tomllib.TOMLDecodeError as error:
            line_number = of_syntax_error(str(error), self.source)
            self.refuse(line_number, f"This is not TOML: {error}.", COMPARE)
        return None

    def _whole(self, document: dict[str, Any], lines: Lines) -> None:
        """Everything of the file: what stands outside of rules, each rule, and all together."""
        for key in document.keys() - set(TOP):
            self._unknown(key, lines.top.of(key), known=TOP)
        self.table = lines.top
        self._sets(document.get("set", {}))
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
        # In a repository's file an `allow` is as if it were not there: nothing lies behind it.
        weighed = [rule for rule in self.rules if not self.tightening or rule.action != "allow"]
        self._everybody(weighed)
        self._shadowed(weighed)

    def _unknown(self, key: str, line: int, *, known: Sequence[str]) -> None:
        """Refuse a key that means nothing, and one that means 'silence is consent'."""
        if SILENCE.fullmatch(key.lower().replace("-", "_")):
            reason = f"`{key}`: silence is never an answer in askmesh, so no rule can say it is."
            self.refuse(line, reason, SILENCE_FIX)
            return
        where = "outside of a rule" if known == TOP else "in a rule"
        names = ", ".join(f"`{name}`" for name in KEYS)
        fix = f"{nearest(key, known)}A rule has the keys {names}; outside of rules `set` names"
        self.refuse(line, f"`{key:.60}` means nothing {where}.", f"{fix} sets of tools.")

    def _sets(self, sets: object) -> None:
        """The named sets of tools."""
        fix = 'Write [set] and below it a name and its tools: files = ["Edit", "Write"].'
        if not isinstance(sets, dict):
            self.at("set", "`set` must be a table of named sets.", fix)
            return
        if len(sets) > limits.RULE_SETS:
            reason = f"There are {len(sets)} sets; {limits.RULE_SETS} is the most."
            self.at("set", reason, "Join them by patterns.")
            return
        for name, tools in sets.items():
            key = f"set.{name}"
            if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
                self.at(key, f"`{name:.60}` is no name of a set.", "Use letters, digits, `-`, `_`.")
                continue
            texts = self.lines(tools, key, limits.RULE_ALTERNATIVES, fix)
            globs = [self._tool_glob(text, key) for text in texts]
            known = tuple(glob for glob in globs if glob is not None)
            # One with a problem is known too, so that its rules are not refused for it.
            self.sets[name] = AnyOf(text=key, globs=known)

    def _rule(self, table: dict[str, Any]) -> Rule | None:
        """One rule; None when anything is wrong with it."""
        before = len(self.problems)
        for key in table.keys() - set(KEYS):
            self._unknown(key, self.table.of(key), known=KEYS)
        action = self._action(table)
        rule = {
            "name": self._name(table),
            "agents": self._agents(table),
            "tool": self._tool(table),
            "conditions": Conditions(self, table, guarded=action == "allow").read(),
            "action": action,
            **Asking(self, table, self.people).read(action),
            "until": read_until(self, table),
            "reason": self._reason(table),
        }
        if len(self.problems) > before:
            return None
        return Rule(line=self.table.line, **rule)

    def _name(self, table: dict[str, Any]) -> str | None:
        """The name, by which an ask says what raised it."""
        fix = 'Give it a short name of its own: name = "pushes".'
        return self.text(table, "name", NAME_CHARACTERS, fix)

    def _agents(self, table: dict[str, Any]) -> tuple[Glob, ...]:
        """Whose rule it is; none: the account's."""
        if "agents" not in table:
            return ()
        fix = 'Name agents as they name themselves: agents = ["claude", "release-*"].'
        texts = self.lines(table["agents"], "agents", limits.RULE_ALTERNATIVES, fix)
        for text in texts:
            if text != text.strip() or len(text) > NAME_CHARACTERS:
                reason = f"{text!r:.60} is the name of no agent, so it could never match."
                self.at("agents", reason, fix)
        return tuple(Glob(text) for text in texts)

    def _tool(self, table: dict[str, Any]) -> Glob | AnyOf | None:
        """The tool's name or pattern, or a named set."""
        fix = 'Name the tool as the host calls it: tool = "Bash", or "mcp__github__*".'
        text = self.text(table, "tool", limits.GLOB_CHARACTERS, fix)
        if text is None or not text.startswith(SET):
            return None if text is None else self._tool_glob(text, "tool")
        found = self.sets.get(text.removeprefix(SET))
        if found is None:
            like = nearest(text, [f"{SET}{name}" for name in self.sets])
            fix = f'{like}Define it: [set] and below it files = ["Edit", "Write"].'
            self.at("tool", f"`{text:.60}` is a set that this file does not define.", fix)
        return found

    def _tool_glob(self, text: str, key: str) -> Glob | None:
        """One tool or pattern of tools."""
        found = re.fullmatch(r"\s*(\w+)\((.*)\)\s*", text)
        if found:
            pattern = found[2].removesuffix(":*") + ("*" if found[2].endswith(":*") else "")
            fix = f"tool = '{found[1]}' with arguments = {{ command = '{pattern}' }}."
            self.at(key, f"`{key}` is a name alone, without parentheses.", fix)
        elif re.search(r"[\s|,()]", text):
            fix = "Write one rule for each tool, or a set; `*` stands for any text, `?` for one"
            reason = f"`{key}` names one tool or pattern, without spaces, `|` or `,`."
            self.at(key, reason, f"{fix} character.")
        elif re.split(r"[*?]", text)[0].startswith(OWN_TOOLS):
            self.at(key, "askmesh's own agent tools cannot be put under a rule.", OWN_FIX)
        elif text.startswith(SET):
            self.at(key, f"`{key}` names another set.", "A set holds tools only.")
        elif len(text) > PROJECT_CHARACTERS:
            reason = f"`{key}` is longer than the name of any tool, so it could never match."
            self.at(key, reason, f"Names have up to {PROJECT_CHARACTERS} characters.")
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

    def _reason(self, table: dict[str, Any]) -> str | None:
        """Why the rule is there, for the person and the agent."""
        if "reason" not in table:
            return None
        fix = 'Say in one line why: reason = "Pushes reach everyone."'
        return self.text(table, "reason", limits.REASON_CHARACTERS, fix)

    def _is_new(self, rule: Rule, names: dict[str, int]) -> bool:
        """Whether no earlier rule has the name; an ask must name one rule only."""
        first = names.setdefault(rule.name, rule.line)
        if first == rule.line:
            return True
        reason = f"The rule of line {first} has the name `{rule.name}` too."
        self.refuse(self.table.of("name"), reason, "Give each rule a name of its own.")
        return False

    def _everybody(self, rules: Sequence[Rule]) -> None:
        """Refuse rules of the account when every agent has rules of its own."""
        whole = next((r for r in rules if any(not a.text.strip("*") for a in r.agents)), None)
        account = next((rule for rule in rules if not rule.agents), None)
        if whole is not None and account is not None:
            reason = (
                f"`{account.name}` is never reached: `{whole.name}` (line {whole.line}) is for"
                " every agent, and an agent with rules of its own has no others."
            )
            self.refuse(account.line, reason, f"Remove `agents` from `{whole.name}`.")

    def _shadowed(self, rules: Sequence[Rule]) -> None:
        """Refuse rules that nothing can reach, because an earlier one matches it all."""
        with bounded(limits.RULE_STEPS):
            for place, later in enumerate(rules):
                self._shadow(later, rules[:place])

    def _shadow(self, later: Rule, before: Sequence[Rule]) -> None:
        """Refuse a rule when one before it matches all its calls."""
        for earlier in before:
            if earlier.covers(later):
                reason = (
                    f"`{later.name}` is never reached: `{earlier.name}` (line {earlier.line})"
                    " matches all its calls, and the first match wins."
                )
                self.refuse(later.line, reason, "Put the narrower rule first, or remove it.")
                break


def read_rules(
    source: str, people: Sequence[str] | None = None, *, tightening: bool = False
) -> tuple[Rule, ...]:
    """The rules of a source. Raises `RulesRefused` with every problem found in it."""
    return Reader(source, people, tightening=tightening).read()
