"""Finds among many rules for one tool those that a call could meet, without asking each."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from node.gate.conditions import PATH_KEYS, Equal, Runs, Text
from node.gate.given import MISSING, Given, Path
from node.gate.places import plain_path
from node.gate.shell import Shell
from node.gate.wrappers import base_name

if TYPE_CHECKING:
    from node.gate.rules import Rule

Places = dict[str, list[int]]
"""For a text, the places of rules that need it."""

ALL: Final = "*"


class Picked:
    """The rules for one tool and agent, in order, found by what each of them needs."""

    def __init__(self, rules: Sequence["Rule"]) -> None:
        self.rules = tuple(rules)
        self._always: list[int] = []
        self._prefix: dict[Path, Places] = {}
        self._equal: dict[Path, Places] = {}
        self._runs: dict[Path, Places] = {}
        for place, rule in enumerate(self.rules):
            if not self._index(place, rule):
                self._always.append(place)
        self._lengths = {
            path: sorted({len(text) for text in places}) for path, places in self._prefix.items()
        }

    def _index(self, place: int, rule: "Rule") -> bool:
        """Put the rule under one of its conditions; False when none narrows it down."""
        for condition in rule.conditions:
            path, test = condition.path, condition.test
            if isinstance(test, Equal):
                _note(self._equal, path, [test.json], place)
            elif isinstance(test, Runs):
                names = {base_name(prefix.words[0]) for prefix in test.prefixes}
                _note(self._runs, path, [*names, ALL], place)
            elif isinstance(test, Text) and test.glob.begin:
                _note(self._prefix, path, [test.glob.begin], place)
            else:
                continue
            return True
        return False

    def candidates(self, given: Given) -> Iterable["Rule"]:
        """Every rule that could match, in order; others certainly do not."""
        found = set(self._always)
        for path, places in self._equal.items():
            self._add_equal(found, places, given, path)
        for path, places in self._runs.items():
            _add_runs(found, places, given, path)
        for path, places in self._prefix.items():
            self._add_prefix(found, places, given, path)
        return (self.rules[place] for place in sorted(found))

    def _add_equal(self, found: set[int], places: Places, given: Given, path: Path) -> None:
        if given.value(path) is not MISSING:
            text = given.json(path)
            found.update(_all(places) if text is None else places.get(text, ()))

    def _add_prefix(self, found: set[int], places: Places, given: Given, path: Path) -> None:
        value = given.value(path)
        if value is MISSING:
            return
        texts = {value} if isinstance(value, str) else {given.json(path)}
        if isinstance(value, str) and path[-1] in PATH_KEYS:
            texts.add(plain_path(value, given.cwd))
        for text in texts:
            if text is None:
                found.update(_all(places))
                continue
            for length in self._lengths[path]:
                if length > len(text):
                    break
                found.update(places.get(text[:length], ()))


def _add_runs(found: set[int], places: Places, given: Given, path: Path) -> None:
    value = given.value(path)
    if value is MISSING:
        return
    shell = given.shell(value) if isinstance(value, str) else Shell(readable=False)
    names = {words[0] for words in (*shell.commands, *shell.suspected)}
    if not shell.readable or None in names:
        found.update(places[ALL])
        return
    for name in names:
        found.update(places.get(base_name(name or ""), ()))


def _note(index: dict[Path, Places], path: Path, texts: Iterable[str], place: int) -> None:
    places = index.setdefault(path, {})
    for text in texts:
        places.setdefault(text, []).append(place)


def _all(places: Places) -> Iterable[int]:
    return (place for each in places.values() for place in each)
