"""The compare-and-swap: what the home rules on one vote, and whether it is final.

One call decides one vote inside one transaction. Everything it reads is an argument, so
the same function runs at the home, in the simulation and when a final is checked again.
"""

from collections.abc import Sequence

import msgspec

from sync.decide.ask import Ask, AskState, Kind, Outcome, expired
from sync.decide.people import Person, eligible
from sync.decide.quorum import counted
from sync.decide.vote import DECISIONS, OUTCOME_OF, Decision, Ruling, Vote


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A ruling, and the final it makes (None: none).

    `closes` may be set where the vote itself lost: a late vote shows that the deadline
    has passed, so the ask expires there and then, even if no sweeper ran.
    """

    ruling: Ruling
    counted: int = 0
    needed: int = 1
    closes: Outcome | None = None
    made_by: tuple[Vote, ...] = ()
    voids: bool = False
    """The final that stands becomes void: it was taken back before anyone had it."""


def rule(
    ask: Ask,
    vote: Vote,
    *,
    earlier: Sequence[Vote],
    person: Person | None,
    speaks_for: bool,
    final_by: Sequence[bytes],
    now: int,
) -> Verdict:
    """Rule on one vote.

    `earlier`: votes on this revision that were accepted or counted, in order of arrival.
    `final_by`: hashes of the votes that made the final, where one stands.
    """
    needed = ask.quorum.needed
    if not speaks_for or not eligible(person, ask.quorum.role):
        return Verdict(ruling=Ruling.NOT_ALLOWED, needed=needed)
    if vote.decision is Decision.TAKE_BACK:
        return _take_back(ask, vote, earlier, final_by, needed)
    if ask.state is not AskState.WAITING:
        return Verdict(ruling=Ruling.SUPERSEDED, needed=needed)
    if expired(ask.deadline, now):
        return Verdict(ruling=Ruling.LATE, needed=needed, closes=Outcome.EXPIRED)
    if vote.seen != ask.entry_hash:
        return Verdict(ruling=Ruling.STALE, needed=needed)
    if vote.decision not in DECISIONS[ask.kind] or not _offered(ask, vote):
        return Verdict(ruling=Ruling.NOT_ALLOWED, needed=needed)
    if ask.kind is Kind.APPROVAL and vote.decision is Decision.ALLOW:
        return _count(vote, earlier, needed)
    return Verdict(
        ruling=Ruling.ACCEPTED,
        counted=1,
        needed=needed,
        closes=OUTCOME_OF[vote.decision],
        made_by=(vote,),
    )


def _offered(ask: Ask, vote: Vote) -> bool:
    """Whether the choice is one of the ask's: the vote may come from any node."""
    if vote.choice is None:
        return True
    return vote.decision is Decision.ANSWER and vote.choice in ask.options


def _count(vote: Vote, earlier: Sequence[Vote], needed: int) -> Verdict:
    standing = counted([*earlier, vote])
    if len(standing) < needed:
        return Verdict(ruling=Ruling.COUNTED, counted=len(standing), needed=needed)
    return Verdict(
        ruling=Ruling.ACCEPTED,
        counted=len(standing),
        needed=needed,
        closes=Outcome.ALLOWED,
        made_by=tuple(standing),
    )


def _take_back(
    ask: Ask, vote: Vote, earlier: Sequence[Vote], final_by: Sequence[bytes], needed: int
) -> Verdict:
    own = [other.hash for other in earlier if other.person == vote.person]
    if ask.state is AskState.WAITING:
        return Verdict(ruling=Ruling.TAKEN_BACK, needed=needed)
    if ask.state is AskState.CLOSED and any(item in final_by for item in own):
        return Verdict(ruling=Ruling.TAKEN_BACK, needed=needed, voids=True)
    return Verdict(ruling=Ruling.SUPERSEDED, needed=needed)
