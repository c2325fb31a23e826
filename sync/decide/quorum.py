"""Counting votes: distinct persons, and two persons signed by one node are one vote."""

from collections.abc import Iterable

from sync.decide.vote import Decision, Vote


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
