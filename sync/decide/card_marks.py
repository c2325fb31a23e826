"""The sign, the words and the tone of every state of a card, for the page and the terminal.

Signs are of the set that the fonts of every system have (WGL4), one cell wide, and none
that a browser would paint as a coloured picture.
"""

from msgspec.structs import replace

from sync.decide.ask import Kind, Outcome
from sync.decide.card_facts import Card, CardFacts
from sync.decide.card_state import CardState, Mark, Tone
from sync.decide.people import Person, eligible


def _mark(sign: str, word: str, more: str, tone: Tone = Tone.QUIET) -> Mark:
    # Who speaks to a screen by the words on it has to find them in what is read out.
    return Mark(sign=sign, word=word, tone=tone, spoken=f"{word}: {more}")


_AWAITED = "the machine that asked has not confirmed it"
_NOT_TOLD = "the agent has not been told yet"

MARKS: dict[CardState, Mark] = {
    CardState.POSTED: _mark("*", "Note", "nobody has to answer it"),
    CardState.WAITING: _mark("!", "Needs you", "it waits for your answer", Tone.ACT),
    CardState.AWAY: _mark("↓", "Machine away", "an answer is kept until it is back", Tone.WARN),
    CardState.SENDING: _mark("→", "On its way", f"your answer, and {_AWAITED}", Tone.WAIT),
    CardState.KEPT: _mark(
        "□", "Kept until it is back", "your answer, for the machine that asked", Tone.WAIT
    ),
    CardState.TAKING_BACK: _mark("←", "Taking it back", _AWAITED, Tone.WAIT),
    CardState.COUNTED: _mark("+", "Counted", "your answer counts, and more are needed", Tone.WAIT),
    CardState.RESTRICTED: _mark("○", "For others", "you may not answer it"),
    CardState.DEADLINE_PASSED: _mark("≥", "Deadline passed", _AWAITED),
    CardState.MACHINE_REMOVED: _mark(
        "░", "Machine removed", "nothing more will come of it", Tone.WARN
    ),
    CardState.MUST_REJOIN: _mark(
        "Y", "Must join again", "the history of its machine split in two", Tone.WARN
    ),
    CardState.ON_HOLD: _mark("║", "On hold", "this machine decides nothing for now", Tone.WARN),
    CardState.ACCOUNT_ON_HOLD: _mark(
        "=", "Account on hold", "it goes no further until that is settled", Tone.WARN
    ),
    CardState.SUSPENDED: _mark("■", "Account suspended", "it goes no further", Tone.WARN),
    CardState.DISPUTED: _mark(
        "≠", "Disputed", "another copy of its machine may say otherwise", Tone.WARN
    ),
    CardState.ANSWERED_HERE: _mark("⌂", "Answered by you", _NOT_TOLD, Tone.WAIT),
    CardState.ANSWERED_ELSEWHERE: _mark("»", "Answered", _NOT_TOLD, Tone.WAIT),
    CardState.UNCLEAR: _mark("~", "Sent back as unclear", _NOT_TOLD, Tone.WAIT),
    CardState.LOST: _mark(
        "¬", "Came too late", "another answer was first, and yours does not count", Tone.WARN
    ),
    CardState.NOT_PICKED_UP: _mark(
        "…", "Allowed, not picked up", "nothing says that the agent has it", Tone.WAIT
    ),
    CardState.EXPIRED: _mark("●", "Expired", "the deadline passed before it was decided"),
    CardState.WITHDRAWN: _mark("▬", "Withdrawn", "nobody decided it"),
    CardState.HANDED: _mark(
        "►", "The agent has it", "what came of it has not been said", Tone.GOOD
    ),
    CardState.NOT_SEEN: _mark(
        "¿", "Machine not seen since", "what came of it is not known here", Tone.WARN
    ),
    CardState.DONE: _mark("√", "Done", "the agent says that it worked", Tone.GOOD),
    CardState.OUTCOME_UNKNOWN: _mark(
        "?", "Outcome unknown", "the agent took it and fell silent", Tone.WARN
    ),
    CardState.TAKEN_BACK: _mark("◄", "Taken back", "before the agent had it"),
    CardState.VOID: _mark("ø", "Came to nothing", "what was decided was never used"),
}
"""By state; `mark_of` says more where more is known."""

RESULT = _mark("¶", "Result", "finished work, to be read", Tone.GOOD)
READ = _mark("·", "Read", "you have put it away")
QUIETER = _mark("◊", "You may answer", "it does not call you", Tone.WAIT)
UNCOUNTED = _mark("±", "Not counted", "your answer is recorded beside another one", Tone.WARN)
FAILED = _mark("X", "Failed", "the agent says that it did not work", Tone.BAD)
ERASED = _mark("○", "Text erased", "nobody can answer it")
NOT_HERE = _mark("○", "Not from here", "this machine does not speak for you")
NOBODY = _mark("○", "Waiting", "for someone who may answer")
TO_ALLOW = _mark("○", "For others to allow", "your own agent asks it")

_REFUSED = frozenset({Outcome.DENIED, Outcome.DECLINED})


def mark_of(shown: Card, facts: CardFacts, viewer: Person | None) -> Mark:
    """Return how a card is told at a glance; a verdict by its name."""
    mark = MARKS[shown.state]
    match shown.state:
        case CardState.POSTED:
            return READ if facts.read else RESULT if facts.kind is Kind.DONE else mark
        case CardState.WAITING:
            return mark if shown.needs_me else QUIETER
        case CardState.COUNTED:
            return mark if facts.own_beside is None else UNCOUNTED
        case CardState.RESTRICTED:
            return _restricted(mark, facts, viewer)
        case CardState.DONE:
            return _resolved(mark if facts.resolved_ok else FAILED, facts)
        case CardState.HANDED:
            return _named(replace(mark, tone=_handed(mark, facts)), facts, "agent has it")
        case CardState.ANSWERED_HERE | CardState.ANSWERED_ELSEWHERE:
            return _named(mark, facts, "not picked up")
    return mark


def _restricted(mark: Mark, facts: CardFacts, viewer: Person | None) -> Mark:
    if facts.erased is not None:
        return ERASED
    if viewer is None:
        return NOBODY
    if not eligible(viewer, facts.role):
        return mark
    return TO_ALLOW if facts.speaks_here else NOT_HERE


def _resolved(mark: Mark, facts: CardFacts) -> Mark:
    """What the agent did after a no is not what it had asked for."""
    if not _refused(facts):
        return mark
    what = "agent is done" if facts.resolved_ok else "agent failed"
    return _named(replace(mark, tone=Tone.QUIET), facts, what)


def _handed(mark: Mark, facts: CardFacts) -> Tone:
    if facts.outcome is Outcome.DENIED and not facts.unclear:
        return Tone.BAD
    return Tone.QUIET if _refused(facts) else mark.tone


def _refused(facts: CardFacts) -> bool:
    return facts.outcome in _REFUSED


def _named(mark: Mark, facts: CardFacts, what: str) -> Mark:
    """Put the verdict before `what`; without one the state's own words stand."""
    if facts.outcome is None:
        return mark
    verdict = "Unclear" if facts.unclear else facts.outcome.value.capitalize()
    word = f"{verdict}, {what}"
    return replace(mark, word=word, spoken=mark.spoken.replace(mark.word, word, 1))
