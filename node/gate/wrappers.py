"""Programs that run the command they are given: what they would run."""

import re
from dataclasses import dataclass, field
from typing import Final

Words = tuple[str | None, ...]
"""A simple command; None is a word whose text only the shell knows."""

SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "rbash"})

PASSING: Final = frozenset(
    [
        "env",
        "sudo",
        "doas",
        "xargs",
        "nohup",
        "nice",
        "ionice",
        "timeout",
        "gtimeout",
        "time",
        "stdbuf",
        "setsid",
        "command",
        "builtin",
        "exec",
        "chroot",
        "unshare",
        "nsenter",
        "flock",
        "watch",
        "parallel",
        "strace",
        "ltrace",
        "taskset",
        "chrt",
        "busybox",
        "toybox",
        "coproc",
        "noglob",
        "nocorrect",
        "-",
        "runuser",
        "su",
        "setpriv",
        "pkexec",
        "caffeinate",
        "arch",
        "torsocks",
        "proxychains",
        "systemd-run",
        "prlimit",
        "catchsegv",
        "fakeroot",
        "firejail",
        "bwrap",
        "dbus-run-session",
        "xvfb-run",
        "ssh",
        "rtk",
        "time",
        "not",
        "unbuffer",
        "script",
        "entr",
        "sem",
        "!",
        "then",
        "do",
        "else",
        "if",
        "while",
        "until",
    ]
)
"""Each runs some of its words as a command; which ones, its options decide."""

TEXT_TAKERS: Final = frozenset({"eval", "trap", "watch", "ssh", "parallel", "su", "runuser"})
"""These read their words as the text of a shell."""

REBINDING: Final = frozenset({"alias", "hash", "enable", "bind", "complete", "fc", "mapfile"})
"""After these, names mean something else, or they run texts of their own."""

FINDERS: Final = frozenset({"find", "gfind", "fd", "fdfind"})
FINDS: Final = re.compile(r"-(exec|ok)(dir)?|-[xX]|--exec(-batch)?|--exec(-batch)?=.*")
"""Options of those, after which a command stands."""

STARTS: Final = 64
"""Words of one command at which the command that it runs may begin."""

OPTION: Final = re.compile(r"-|\+[A-Za-z]")


@dataclass(kw_only=True, slots=True)
class Inner:
    """What a command runs in its turn."""

    commands: list[Words] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    unclear: bool = False
    runs: bool = False
    """Whether this program runs others."""


def base_name(name: str) -> str:
    """The name of a program without the folder where it lies, as systems without case read it."""
    return name.rstrip("/").rpartition("/")[2].removeprefix("=").casefold()


def inner(words: Words) -> Inner:
    """What the command runs in its turn; nothing for ordinary programs."""
    found, name = Inner(), words[0]
    if name is None:
        # A word that only the shell knows may hold any program, with its arguments.
        found.unclear = True
        if len(words) > 1:
            found.commands.append(words[1:])
        return found
    program = base_name(name)
    if program in REBINDING:
        found.unclear = True
    if program in SHELLS:
        _shell(words, found)
    if program in TEXT_TAKERS:
        _text(words, found)
    if program in PASSING:
        _passing(words, found)
    if program in FINDERS:
        _finding(words, found)
    found.runs |= program in SHELLS | TEXT_TAKERS | PASSING | REBINDING
    return found


def _shell(words: Words, found: Inner) -> None:
    """`bash -c TEXT` runs the text; without a file it runs what it reads."""
    file = False
    for place, word in enumerate(words[1:], 1):
        if word is None:
            found.unclear = True
        elif re.fullmatch(r"[-+][A-Za-z]*c[A-Za-z]*|--command", word):
            rest = [each for each in words[place + 1 :] if each is None or not OPTION.match(each)]
            # An option that takes a value may stand before the text.
            found.texts += [text for text in rest[:2] if text is not None]
            found.unclear |= not rest or None in rest[:2]
            return
        elif not OPTION.match(word):
            file = file or word not in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
            file = file and words[1] not in ("-o", "+o", "-s")
    found.unclear |= not file


def _text(words: Words, found: Inner) -> None:
    """Words that are read as the text of a shell, joined by spaces."""
    known = [word for word in words[1:] if word is not None]
    if len(known) < len(words) - 1:
        found.unclear = True
    if base_name(words[0] or "") == "eval":
        found.texts.append(" ".join(known).removeprefix("-- "))
    else:
        found.texts += [word for word in known if re.search(r"[\s;&|$`<>()]", word)]


def _passing(words: Words, found: Inner) -> None:
    """Every rest of the words is taken for the command: options decide, and they are many.

    What stands before the command (`-u root`, `A=b`, `30s`) is no program that a rule
    names, or the rule would want to know.
    """
    found.unclear |= len(words) > STARTS
    for place, word in enumerate(words[1:STARTS], 1):
        if word is None:
            found.unclear = True
        elif re.match(r"-[A-Za-z]*S|--split-string", word):
            found.texts.append(re.sub(r"^(-[A-Za-z]*S|--split-string=?)", "", word))
            found.texts += [each for each in words[place + 1 : place + 2] if each]
        elif word.startswith("-") or re.match(r"[A-Za-z_][A-Za-z0-9_]*=", word):
            continue
        found.commands.append(words[place:])


def _finding(words: Words, found: Inner) -> None:
    """`find -exec COMMAND`: what follows such an option."""
    for place, word in enumerate(words[:-1]):
        if word is not None and FINDS.fullmatch(word):
            found.runs = True
            if len(found.commands) == STARTS:
                found.unclear = True
                return
            found.commands.append(words[place + 1 : place + 1 + STARTS])
