"""The short text beside a structured reply: what happened and what to do next.

A person's words are quoted and named as theirs: they are data, not orders to the host.
"""

from node.agents.asking import Raised
from node.desk.requests import Answer, PendingRow


def say_raised(raised: Raised) -> str:
    """What `flag` says."""
    if raised.state == "posted":
        return f"{raised.id} is posted; nobody has to answer it."
    if raised.state != "waiting":
        return say_state(raised)
    known = "was open already" if raised.already_open else "is recorded"
    whom = waits_for(raised)
    return f"{raised.id} {known} and waits for {whom}. {reach(raised)}{next_step(raised.id)}"


def say_answer(answer: Answer) -> str:
    """What `await_answer`, `claim`, `resolve` and `withdraw` say."""
    if answer.state == "waiting":
        whom = waits_for(answer)
        return f"{answer.id} still waits for {whom}. {reach(answer)}{next_step(answer.id)}"
    return say_state(answer)


def say_state(answer: Raised | Answer) -> str:
    """Where a closed ask stands."""
    done = " Already resolved." if answer.resolved else ""
    return f"{answer.id}: {verdict(answer)}{because(answer)}{done}{resolve_hint(answer)}"


def verdict(answer: Raised | Answer) -> str:
    """The state in words."""
    by = f" by {answer.by}" if answer.by else ""
    if answer.unclear:
        return (
            f"sent back{by} as unclear. Nothing was decided: that is no yes, and it is no refusal"
            " of what you asked. Ask again so that someone who was not here understands it."
        )
    match answer.state:
        case "allowed" | "denied" | "declined":
            return f"{answer.state}{by}."
        case "answered":
            said = [f"chose {quoted(answer.choice)}"] if answer.choice is not None else []
            said += [f"wrote {quoted(answer.text)}"] if answer.text is not None else []
            return f"answered{by}: {' and '.join(said) or 'without words'}."
        case "expired" if answer.fallback is not None:
            return (
                "nobody answered in time. Your own fallback applies, as your decision and "
                f"nobody else's: {quoted(answer.fallback)}."
            )
        case "expired":
            return "nobody answered in time. That is neither a yes nor a no; do not go on as if."
        case "withdrawn":
            return "withdrawn; no answer will come."
        case "void":
            return f"no longer valid ({answer.reason or 'no reason given'}); do not act on it."
        case _:
            return f"{answer.state}."


def because(answer: Raised | Answer) -> str:
    """The person's or the node's reason, if one was given."""
    if answer.because:
        return f" Because: {quoted(answer.because)}."
    if answer.reason and answer.state != "void":
        return f" {answer.reason}"
    return ""


def resolve_hint(answer: Raised | Answer) -> str:
    """With an answer in hand: how to say what came of it."""
    if answer.token is None or answer.resolved or answer.state not in {"allowed", "answered"}:
        return ""
    return f" When done, call resolve with id {answer.id} and token {answer.token}."


def waits_for(waiting: Raised | Answer | PendingRow) -> str:
    """For whom an ask waits: how many and of which role, never who they are."""
    who = "a person" if waiting.role is None else f"a person with the role {waiting.role}"
    if waiting.needed == 1:
        return who
    left = max(waiting.needed - waiting.counted, 1)
    role = "" if waiting.role is None else f" with the role {waiting.role}"
    more = f"{left} more" if waiting.counted else f"{left}"
    people = "person" if left == 1 else "people"
    return f"{more} {people}{role} ({waiting.counted} of {waiting.needed} allowed it)"


def reach(answer: Raised | Answer) -> str:
    """How many people could answer now; and why none, if none."""
    if answer.reach and answer.reach_reason:
        people = "1 person" if answer.reach == 1 else f"{answer.reach} people"
        return f"{people} can answer, but nobody can settle it yet: {answer.reach_reason}. "
    if answer.reach == 0:
        return f"Nobody can answer yet: {answer.reach_reason or 'no reason known'}. "
    people = "1 person" if answer.reach == 1 else f"{answer.reach} people"
    return f"{people} can answer. "


def next_step(ask: str) -> str:
    """What a waiting agent can do."""
    return (
        f"Call await_answer with id {ask} to wait, or do other work and look later; "
        "the ask is kept, over restarts too."
    )


def quoted(text: str | None) -> str:
    """Someone's words, marked as such."""
    return f"“{text}”"
