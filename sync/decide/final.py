"""The compare-and-swap: what the home rules on one vote, and whether it is final.

One call decides one vote inside one transaction. Everything it reads is an argument, so
the same function runs at the home, in the simulation and when a final is checked again.
"""

from collections.abc import Sequence

import msgspec

from sync.decide.ask import Ask, AskState, Kind, Outcome, expired
from sync.decide.people import Person, eligible
from sync.decide.quorum import counted, may_say
from sync.decide.vote import OUTCOME_OF, Decision, Ruling, Vote, check_ballot
from sync.errors import Invalid


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
    text: str | None = None,
    because: str | None = None,
    taken_back: bool = False,
    on_hold: bool = False,
) -> Verdict:
    """Rule on one vote, from whichever node it came.

    `earlier`: votes on this revision that were accepted or counted, in order of arrival.
    `final_by`: hashes of the votes that made the final, where one stands. `text` and
    `because` are the vote's words. `taken_back`: a taking back of the same person names
    this vote, and reached the home before it. `on_hold`: the account of the person, or of
    all, is on hold or suspended.
    """
    needed = ask.quorum.needed
    if not speaks_for or not eligible(person, ask.quorum.role):
        return Verdict(ruling=Ruling.NOT_ALLOWED, needed=needed)
    if vote.decision is Decision.TAKE_BACK:
        return _take_back(ask, vote, earlier, final_by, needed)
    if taken_back:
        return Verdict(ruling=Ruling.TAKEN_BACK, counted=len(counted(earlier)), needed=needed)
    if ask.state is not AskState.WAITING:
        return Verdict(ruling=Ruling.SUPERSEDED, needed=needed)
    if expired(ask.deadline, now):
        return Verdict(ruling=Ruling.LATE, needed=needed, closes=Outcome.EXPIRED)
    if on_hold:
        return Verdict(ruling=Ruling.ON_HOLD, counted=len(counted(earlier)), needed=needed)
    if vote.seen != ask.entry_hash:
        return Verdict(ruling=Ruling.STALE, needed=needed)
    if not _fits(ask, vote, text, because) or not may_say(ask.quorum, vote):
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


def _fits(ask: Ask, vote: Vote, text: str | None, because: str | None) -> bool:
    """Whether the vote says what this ask can be answered with: no node is trusted to check."""
    try:
        check_ballot(
            ask.kind,
            decision=vote.decision,
            options=ask.options,
            choice=vote.choice,
            text=text,
            because=because,
            unclear=vote.unclear,
        )
    except Invalid:
        return False
    return True


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
        left = len(counted([*earlier, vote]))
        return Verdict(ruling=Ruling.TAKEN_BACK, counted=left, needed=needed)
    if ask.state is AskState.CLOSED and any(item in final_by for item in own):
        return Verdict(ruling=Ruling.TAKEN_BACK, needed=needed, voids=True)
    return Verdict(ruling=Ruling.SUPERSEDED, needed=needed)
