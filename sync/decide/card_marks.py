"""The sign, the words and the tone of every state of a card, for the page and the terminal."""

from sync.decide.ask import Kind, Outcome
from sync.decide.card_facts import CardFacts
from sync.decide.card_state import CardState, Mark, Tone


def _mark(sign: str, word: str, tone: Tone = Tone.QUIET) -> Mark:
    return Mark(sign=sign, word=word, tone=tone)


MARKS: dict[CardState, Mark] = {
    CardState.POSTED: _mark("i", "Note"),
    CardState.WAITING: _mark("!", "Needs you", Tone.ACT),
    CardState.AWAY: _mark("◌", "Machine away", Tone.WARN),
    CardState.SENDING: _mark("→", "On its way", Tone.WAIT),
    CardState.KEPT: _mark("□", "Kept until it is back", Tone.WAIT),
    CardState.TAKING_BACK: _mark("←", "Taking it back", Tone.WAIT),
    CardState.COUNTED: _mark("+", "Counted", Tone.WAIT),
    CardState.RESTRICTED: _mark("○", "For others"),
    CardState.DEADLINE_PASSED: _mark("◷", "Deadline passed"),
    CardState.MACHINE_REMOVED: _mark("⊗", "Machine removed", Tone.WARN),
    CardState.MUST_REJOIN: _mark("Y", "Must join again", Tone.WARN),
    CardState.ON_HOLD: _mark("‖", "On hold", Tone.WARN),
    CardState.ACCOUNT_ON_HOLD: _mark("=", "Account on hold", Tone.WARN),
    CardState.SUSPENDED: _mark("■", "Account suspended", Tone.WARN),
    CardState.DISPUTED: _mark("≠", "Disputed", Tone.WARN),
    CardState.ANSWERED_HERE: _mark("✓", "Answered, not picked up", Tone.WAIT),
    CardState.ANSWERED_ELSEWHERE: _mark("»", "Answered, not picked up", Tone.WAIT),
    CardState.UNCLEAR: _mark("~", "Sent back as unclear", Tone.WAIT),
    CardState.LOST: _mark("⊠", "Came too late", Tone.WARN),
    CardState.NOT_PICKED_UP: _mark("…", "Allowed, not picked up", Tone.WAIT),
    CardState.EXPIRED: _mark("●", "Expired"),
    CardState.WITHDRAWN: _mark("▬", "Withdrawn"),
    CardState.HANDED: _mark("▸", "The agent has it", Tone.GOOD),
    CardState.NOT_SEEN: _mark("¿", "Machine not seen since", Tone.WARN),
    CardState.DONE: _mark("✔", "Done", Tone.GOOD),
    CardState.OUTCOME_UNKNOWN: _mark("?", "Outcome unknown", Tone.WARN),
    CardState.TAKEN_BACK: _mark("↩", "Taken back"),
    CardState.VOID: _mark("∅", "Came to nothing"),
}
"""By state; `mark_of` says more where what was decided is known."""
RESULT = _mark("◆", "Result", Tone.GOOD)
FAILED = _mark("✗", "Failed", Tone.BAD)
_REFUSED = frozenset({Outcome.DENIED, Outcome.DECLINED})
_NOT_TOLD = frozenset({CardState.ANSWERED_HERE, CardState.ANSWERED_ELSEWHERE})


def mark_of(state: CardState, facts: CardFacts) -> Mark:
    """Return how a card's state is told at a glance; a verdict by its name."""
    mark = MARKS[state]
    if state is CardState.POSTED:
        return RESULT if facts.kind is Kind.DONE else mark
    if state is CardState.DONE:
        return mark if facts.resolved_ok else FAILED
    if facts.outcome is None:
        return mark
    verdict = "Unclear" if facts.unclear else facts.outcome.value.capitalize()
    if state in _NOT_TOLD:
        return _mark(mark.sign, f"{verdict}, not picked up", mark.tone)
    if state is CardState.HANDED:
        refused = facts.outcome in _REFUSED
        tone = Tone.BAD if facts.outcome is Outcome.DENIED else Tone.QUIET if refused else mark.tone
        return _mark(mark.sign, f"{verdict}, agent has it", tone)
    return mark
