"""All that stands over a call: the fleet's rules and the repository's, the stricter of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from node.gate.repository import FILE, RepositoryFile
from node.gate.rules import Action, Match, Rules
from sync.decide.people import RANK

STRICTNESS: Final[Mapping[Action, int]] = {"allow": 0, "ask": 1, "deny": 2}
HIGHER: Final = {role.value: rank for role, rank in RANK.items()}
UNKNOWN_ROLE: Final = max(RANK.values()) + 1
"""A role that this askmesh does not know lets nobody through: stricter than any."""
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
        match = self.account.match(tool, arguments, cwd, agents=agents)
        for file in self.repository:
            own = _of_file(file, tool, arguments, cwd, agents)
            match = match if own is None else tightened(match, own)
        return Ruled(match=match, version=self.version)


def _of_file(
    file: RepositoryFile, tool: str, arguments: object, cwd: str | None, agents: Sequence[str]
) -> Match | None:
    """What one of the repository's files says; one that does not read asks about everything."""
    if file.rules is None:
        return Match(
            rule=f"{file.place}: unread",
            action="ask",
            deadline_s=None,
            reason=f"The rules of this repository, {file.place}: it {file.problem}. Until that is"
            " mended every call here is asked about.",
        )
    found = file.rules.match(tool, arguments, cwd, agents=agents)
    if found is None or found.action == "allow":
        return None
    return replace(found, rule=f"{file.place}: {found.rule}")


def tightened(match: Match | None, other: Match) -> Match:
    """The stricter of what was said and of what a repository says in addition."""
    if match is None or STRICTNESS[other.action] > STRICTNESS[match.action]:
        return other
    if STRICTNESS[other.action] < STRICTNESS[match.action] or match.action != "ask":
        return match
    return both(match, other)


def both(one: Match, other: Match) -> Match:
    """An ask as two rules want it: whatever either of them demands."""
    deadlines = [each.deadline_s for each in (one, other) if each.deadline_s is not None]
    return Match(
        rule=f"{one.rule} + {other.rule}",
        action="ask",
        deadline_s=min(deadlines, default=None),
        reason=" ".join(each.reason for each in (one, other) if each.reason) or None,
        approvals=max(one.approvals, other.approvals),
        role=max(one.role, other.role, key=_rank),
        self_approval=one.self_approval and other.self_approval,
        hide=tuple(dict.fromkeys((*one.hide, *other.hide))),
        escalate_s=other.escalate_s if one.escalate_s is None else one.escalate_s,
        escalate_to=other.escalate_to if one.escalate_s is None else one.escalate_to,
    )


def _rank(role: str | None) -> int:
    return -1 if role is None else HIGHER.get(role, UNKNOWN_ROLE)
