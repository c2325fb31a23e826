"""What the rules demand of an ask about a call: how many people, of which role, until when."""

import msgspec

from node.desk.raising import NewAsk
from node.gate.law import Ruled
from node.gate.rules import Match
from sync.errors import NotAllowed
from sync.limits import APPROVAL_DEADLINE_MS
from sync.log.facts import RuleReference


def under(ask: NewAsk, ruled: Ruled) -> NewAsk:
    """The ask with all that the rule demands which asks about such calls.

    A deadline of the ask's own may be shorter than the rule's, never longer.
    """
    match = ruled.match
    if match is None or match.action != "ask":
        return ask
    most = None if match.deadline_s is None else round(match.deadline_s * 1000)
    own = ask.deadline_ms
    if own is not None and most is not None:
        own = min(own, most)
    escalate = _escalate_ms(match, own or most or APPROVAL_DEADLINE_MS)
    return msgspec.structs.replace(
        ask,
        rule=RuleReference(name=match.rule, version=ruled.version) if ruled.version else None,
        deadline_ms=own,
        default_deadline_ms=most if most is not None else ask.default_deadline_ms,
        approvals=match.approvals,
        role=match.role,
        self_approval=match.self_approval,
        escalate_ms=escalate,
        escalate_to=None if escalate is None else match.escalate_to,
    )


def _escalate_ms(match: Match, deadline: int) -> int | None:
    """After how long it goes on to others; None where nobody could answer any more by then."""
    if match.escalate_s is None:
        return None
    after = round(match.escalate_s * 1000)
    return after if after < deadline else None


def check_not_refused(ruled: Ruled) -> None:
    """Raise `NotAllowed` where a rule refuses the call: no answer could let it run."""
    match = ruled.match
    if match is None or match.action != "deny":
        return
    because = f": {match.reason}" if match.reason else "."
    raise NotAllowed(
        f"A rule refuses this call (`{match.rule}`){because}",
        hint="Nobody is asked about it. Do it in another way, or ask a question about it.",
    )
