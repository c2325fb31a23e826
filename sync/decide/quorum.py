"""Counting votes: distinct persons, and two persons signed by one node are one vote."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from sync.decide.vote import Decision, Vote
from sync.log.facts import Quorum


def latest(votes: Iterable[Vote]) -> list[Vote]:
    """Return each person's last vote, in order of arrival; a taken-back one is gone."""
    standing: dict[str, Vote] = {}
    for vote in votes:
        standing.pop(vote.person, None)
        if vote.decision is not Decision.TAKE_BACK:
            standing[vote.person] = vote
    return list(standing.values())


def counted(votes: Iterable[Vote]) -> list[Vote]:
    """Return the allows that count: one a person, one a node (DESIGN §5)."""
    nodes: set[bytes] = set()
    kept: list[Vote] = []
    for vote in latest(votes):
        if vote.decision is Decision.ALLOW and vote.node not in nodes:
            nodes.add(vote.node)
            kept.append(vote)
    return kept


def may_say(quorum: Quorum, vote: Vote) -> bool:
    """Whether the ask takes this from this person: nobody allows what their own agent asks."""
    return vote.decision is not Decision.ALLOW or vote.person not in quorum.not_by


def beside(votes: Iterable[Vote], person: str) -> Vote | None:
    """Return the vote that counts instead of this person's allow, given on the same machine.

    None where the person's own counts, or there is none.
    """
    every = list(votes)
    own = next((vote for vote in latest(every) if vote.person == person), None)
    if own is None or own.decision is not Decision.ALLOW:
        return None
    counts = next(vote for vote in counted(every) if vote.node == own.node)
    return None if counts.person == person else counts


def missing(
    quorum: Quorum, votes: Iterable[Vote], machines: Mapping[str, AbstractSet[bytes]]
) -> tuple[int, int]:
    """Return how many persons could still add an allow, and how many allows cannot come.

    `machines`: where each person who may answer here can do so. Whoever allowed already
    adds nothing more, and each machine counts for one person only.
    """
    standing = counted(votes)
    used = {vote.node for vote in standing}
    done = {vote.person for vote in standing} | set(quorum.not_by)
    free = {person: nodes - used for person, nodes in machines.items() if person not in done}
    able = {person: nodes for person, nodes in free.items() if nodes}
    can = len(standing) + most(able)
    return len(able), max(quorum.needed - can, 0)


def most(able: Mapping[str, AbstractSet[bytes]]) -> int:
    """Return the most persons that can each have a machine of their own."""
    holder: dict[bytes, str] = {}

    def place(person: str, tried: set[bytes]) -> bool:
        for node in sorted(able[person] - tried):
            tried.add(node)
            if node not in holder or place(holder[node], tried):
                holder[node] = person
                return True
        return False

    return sum(place(person, set()) for person in sorted(able))
