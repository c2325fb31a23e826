"""Prefixes of shell commands: `git push` stands for every command that begins so."""

import re
from dataclasses import dataclass, field
from typing import Final

from node.gate.shell import Shell
from node.gate.truth import Truth
from node.gate.wrappers import Words, base_name

LETTER: Final = re.compile(r"-[A-Za-z]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Prefix:
    """The first words of a command."""

    words: tuple[str, ...]
    name: str = field(init=False, compare=False, repr=False)
    """Of the program, as `base_name` has it."""

    def __post_init__(self) -> None:
        """Find the name once: many rules are held against each call."""
        object.__setattr__(self, "name", base_name(self.words[0]))

    @property
    def text(self) -> str:
        """As it is shown."""
        return " ".join(self.words)

    def allows(self, words: Words, *, exactly: bool) -> bool:
        """Whether the command begins with these very words; `exactly`: and has no others."""
        if exactly:
            return words == self.words
        return words[: len(self.words)] == self.words

    def guards(self, shell: Shell) -> Truth:
        """Whether anything in the text may be this command."""
        truth = Truth.NO
        for words in shell.named.get(self.name, ()):
            truth = max(truth, self._guards(words))
        if truth is not Truth.NO:
            return truth
        if not shell.readable or None in shell.named or None in shell.suspects:
            return Truth.UNSURE
        suspects = shell.suspects.get(self.name, ())
        return Truth.UNSURE if any(self._guards(words) for words in suspects) else Truth.NO

    def _guards(self, words: Words) -> Truth:
        """Whether a command of this name is this one; other options may stand between."""
        rest, truth = words[1:], Truth.YES
        for wanted in self.words[1:]:
            if wanted.startswith("-"):
                truth = min(truth, _has_option(rest, wanted))
            else:
                found, rest = _skip_to(rest, wanted)
                truth = min(truth, found)
            if truth is Truth.NO:
                break
        return truth


def _has_option(words: Words, wanted: str) -> Truth:
    """Whether an option stands anywhere among the words, also joined with others."""
    if LETTER.fullmatch(wanted):
        pattern = re.compile(rf"-[A-Za-z]*{wanted[1]}.*", re.DOTALL)
    else:
        pattern = re.compile(rf"{re.escape(wanted)}(=.*)?", re.DOTALL)
    if any(word is not None and pattern.fullmatch(word) for word in words):
        return Truth.YES
    return Truth.UNSURE if None in words else Truth.NO


def _skip_to(words: Words, wanted: str) -> tuple[Truth, Words]:
    """The words after the wanted one; before it only options may stand, each with a value."""
    value = False
    for place, word in enumerate(words):
        if word is None:
            return Truth.UNSURE, ()
        if word == wanted:
            return Truth.YES, words[place + 1 :]
        if word.startswith("-"):
            value = True
        elif value:
            value = False
        else:
            return Truth.NO, ()
    return Truth.NO, ()
