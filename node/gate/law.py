"""All that stands over a call: the fleet's rules and the repository's, the stricter of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from node.gate.repository import FILE, RepositoryFile
from node.gate.rules import Match, Rules, stricter
from node.gate.until import in_time

NO_RULES: Final = "none"
"""How the fleet's rules are named where none were ever applied, but a repository has some."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ruled:
    """What the rules say about a call, and in which version they stood."""

    match: Match | None
    version: str | None
    """None: there are no rules at all."""

    @property
    def refuses(self) -> bool:
        """Whether the call may not run, whoever allowed it."""
        return self.match is not None and self.match.action == "deny"


@dataclass(frozen=True, kw_only=True, slots=True)
class Law:
    """The rules over calls in one folder, as they stand."""

    account: Rules
    repository: tuple[RepositoryFile, ...] = ()
    now: int
    """Rules whose time is over by then match nothing."""

    @property
    def version(self) -> str | None:
        """Of all rules together: the fleet's, and the digest of each of the repository's files."""
        account = self.account.version if self.account.entries else None
        if not self.repository:
            return account
        files = (f"{FILE}:{file.version}" for file in self.repository)
        return "+".join((account or NO_RULES, *files))

    def judge(
        self, tool: str, arguments: object, cwd: str | None, *, agents: Sequence[str]
    ) -> Ruled:
        """What is to happen with a call of an agent that has, or had, these names."""
        rules = in_time(self.account, self.now)
        match = rules.match(tool, arguments, cwd, agents=agents)
        for file in self.repository:
            own = self._of_file(file, (tool, arguments, cwd), agents)
            match = match if own is None else tightened(match, own)
        return Ruled(match=match, version=self.version)

    def _of_file(
        self, file: RepositoryFile, call: tuple[str, object, str | None], agents: Sequence[str]
    ) -> Match | None:
        """What one of the repository's files says; one that does not read always asks."""
        if file.rules is None:
            return unread(file)
        found = in_time(file.rules, self.now).match(*call, agents=agents)
        return None if found is None or found.action == "allow" else named(file, found)


def unread(file: RepositoryFile) -> Match:
    """What a repository's file says that has no rules that can be used: a person decides."""
    reason = (
        f"The rules of this repository, {file.place}: it {file.problem}. Until that is"
        " mended every call here is asked about."
    )
    return Match(rule=f"{file.place}: unread", action="ask", deadline_s=None, reason=reason)


def named(file: RepositoryFile, found: Match) -> Match:
    """What a repository's rule says, by the name that the card shows."""
    if file.rules is None:
        return found
    return replace(found, rule=f"{file.place}: {found.rule}")


def tightened(match: Match | None, other: Match) -> Match:
    """What was said, made stricter by what a repository says in addition."""
    if match is not None and match.action == other.action == "ask":
        name = f"{match.rule} + {other.rule}"
        reasons = " ".join(each.reason for each in (match, other) if each.reason)
        return replace(stricter(match, other) or match, rule=name, reason=reasons or None)
    return stricter(match, other) or other
