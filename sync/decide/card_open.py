"""The card of an ask that waits: who may answer it here, and what one did already."""

from sync.decide.ask import Kind, expired
from sync.decide.attention import Mode
from sync.decide.card_account import held_open
from sync.decide.card_facts import Card, CardFacts
from sync.decide.card_state import REACHED, CardState
from sync.decide.people import Person, eligible
from sync.decide.vote import Ruling

_BUTTONS: dict[Kind, tuple[str, ...]] = {
    # Deny stands first in tab order (notes/product.md, complaint 12).
    Kind.APPROVAL: ("deny", "allow"),
    Kind.QUESTION: ("answer", "decline"),
    Kind.NOTE: (),
    Kind.DONE: (),
}


def open_card(facts: CardFacts, viewer: Person | None, now: int) -> Card:
    """Return the card of an ask that waits for its answer."""
    if facts.erased is not None:
        sentence = (
            f"Its text was erased by {facts.erased}, so nobody can answer it;"
            f" {facts.machine} has not withdrawn it yet."
        )
        return _card(CardState.RESTRICTED, sentence, facts)
    # Who lost the right to answer has lost the right to take back: the home refuses both.
    allowed = eligible(viewer, facts.role) and facts.speaks_here
    if expired(facts.deadline, now):
        sentence = f"The deadline has passed here; {facts.machine} has not confirmed it."
        if facts.own_pending:
            sentence += " It decides whether your answer came in time."
        return _card(CardState.DEADLINE_PASSED, sentence, facts)
    if facts.on_hold is not None:
        return _card(CardState.ON_HOLD, facts.on_hold, facts)
    if facts.account is not None:
        return _card(
            *held_open(facts.account, whole=facts.account_whole, pending=facts.own_pending), facts
        )
    own = _own(facts)
    if own is not None:
        state, sentence = own
        actions = ("take_back",) if state is not CardState.TAKING_BACK else _buttons(facts)
        return _card(state, sentence, facts, actions if allowed else ())
    if not allowed:
        return _card(CardState.RESTRICTED, _restricted(facts, viewer), facts)
    if facts.own_agent:
        so_far = f" {facts.counted} of {facts.needed} so far." if facts.counted else ""
        sentence = own_agent(facts.role) + so_far + " You may deny it."
        return _card(CardState.RESTRICTED, sentence, facts, _buttons(facts))
    return _answerable(facts)


def _own(facts: CardFacts) -> tuple[CardState, str] | None:
    """What the viewer did already: one's own verdict beats all else."""
    reached = facts.home in REACHED
    if facts.own_taking_back:
        how = "on its way to" if reached else "kept for"
        sentence = f"You took your answer back; that is {how} {facts.machine}."
        return CardState.TAKING_BACK, sentence
    if facts.own_pending and reached:
        return (
            CardState.SENDING,
            f"Your answer is recorded and on its way to {facts.machine}.",
        )
    if facts.own_pending:
        sentence = (
            f"Your answer is kept until {facts.machine} is back; {facts.agent} was not told yet."
        )
        return CardState.KEPT, sentence
    if facts.own_counted and facts.own_beside is not None:
        sentence = (
            f"Your answer is recorded, but {facts.own_beside} allowed it on the same machine, and"
            f" people on one machine count as one: {facts.counted} of {facts.needed}. Take it"
            " back and allow it on a machine of your own."
        )
        return CardState.COUNTED, sentence
    if facts.own_counted:
        sentence = f"Your answer counts: {facts.counted} of {facts.needed}."
        return CardState.COUNTED, sentence
    return None


def _restricted(facts: CardFacts, viewer: Person | None) -> str:
    if eligible(viewer, facts.role):
        return (
            "You cannot answer from this machine: it does not speak for you."
            " An owner can say that it does."
        )
    who = f"someone with the role {facts.role}" if facts.role else "someone who may answer"
    so_far = f" {facts.counted} of {facts.needed} so far." if facts.counted else ""
    return f"Waiting for {who}.{so_far}{_UNHEARD if facts.unheard else ''}"


def _answerable(facts: CardFacts) -> Card:
    state = CardState.WAITING
    parts = [f"{facts.agent} waits for your answer."]
    if facts.own_refused is Ruling.STALE:
        parts.append("It has changed since you answered; that answer does not count.")
    elif facts.own_refused is Ruling.ON_HOLD:
        parts.append(
            "Your earlier answer came while no answer of the account counted; answer again."
        )
    elif facts.own_refused is not None:
        parts.append(f"{facts.machine} did not accept your earlier answer.")
    if facts.counted:
        parts.append(f"{facts.counted} of {facts.needed} so far.")
    if facts.home not in REACHED:
        state = CardState.AWAY
        parts.append(f"{facts.machine} is away: an answer is kept until it is back.")
    if not facts.call_here:
        parts.append("The exact call is still on its way.")
    heard = _HEARD.get(facts.attention.mode)
    sentence = " ".join([*parts, heard] if heard else parts)
    sentence += _UNHEARD if facts.unheard else ""
    return _card(state, sentence, facts, _buttons(facts), needs_me=facts.attention.calls)


_HEARD = {
    Mode.ESCALATED: "Nobody has answered so far, so it was passed on to you.",
    Mode.NOT_SUBSCRIBED: "You are not subscribed to this agent, so it does not call you.",
    Mode.MUTED: "You are muted, so it does not call you.",
    Mode.QUIET: "You have quiet hours, so it does not call you.",
}
_UNHEARD = " Nobody who may answer is called for it now."


def _buttons(facts: CardFacts) -> tuple[str, ...]:
    """The answers of a kind; what cannot be read here cannot be allowed here."""
    may_allow = facts.call_here and not facts.own_agent
    return tuple(action for action in _BUTTONS[facts.kind] if action != "allow" or may_allow)


def own_agent(role: str | None) -> str:
    """Say to whom it falls to allow what the viewer's own agent asks."""
    who = f"someone else with the role {role}" if role else "someone else"
    return f"Your own agent asks this, so it is for {who} to allow it."


def _card(
    state: CardState,
    sentence: str,
    facts: CardFacts,
    actions: tuple[str, ...] = (),
    *,
    needs_me: bool = False,
) -> Card:
    away = state in (CardState.AWAY, CardState.KEPT) and facts.home_seen is not None
    return Card(
        state=state,
        sentence=sentence,
        actions=actions,
        open=True,
        needs_me=needs_me,
        since=facts.home_seen if away and facts.home_seen is not None else facts.created,
    )
