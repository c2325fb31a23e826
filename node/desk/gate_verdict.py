"""What the gate tells an agent: sentences that say who decided and what to do next."""

from node.desk import persons, rows
from node.desk.context import Context
from node.desk.made_by import names_of
from node.desk.protocols import GateVerdict
from node.desk.raising import CallContent
from node.desk.rows import AskRow
from node.desk.votes import COUNTED_FROM, allows
from node.store.transaction import Transaction
from sync import limits
from sync.decide import standing
from sync.decide.ask import AskState, Outcome
from sync.decide.standing import Said
from sync.decide.verdict import nobody_in_time


def not_decided(context: Context, transaction: Transaction, row: AskRow) -> GateVerdict:
    """Return the deny of a gate whose time is over while the ask stays open."""
    short = context.short(row.id)
    # How far it is, and never by whom: who allowed it is for people to know.
    far = ""
    if row.needed >= COUNTED_FROM:
        people = persons.everyone(transaction.connection)
        far = f" ({allows(transaction.connection, row, people)} of {row.needed} allowed it)"
    return GateVerdict(
        allow=False,
        sentence=f"Not decided yet: {short} still waits for a person{far}, and the call did not"
        " run. This is not a refusal. Go on with other work and repeat exactly this call"
        " later; the answer is then picked up.",
        ask=short,
        printed_not_decided=True,
    )


def verdict_of(context: Context, transaction: Transaction, row: AskRow) -> GateVerdict:
    """Return what the gate prints about an ask that is closed."""
    short = context.short(row.id)
    answer = rows.words(transaction.connection, row).answer
    by = names_of(transaction.connection, row) or "a person"
    because = f": {answer.because}" if answer and answer.because else "."
    if row.unclear:
        because = f": “{answer.because}”." if answer and answer.because else "."
    allowed = row.outcome == Outcome.ALLOWED.value and row.state == AskState.HANDED.value
    if allowed:
        sentence = f"Allowed by {by} ({short}){because}"
    elif row.state == AskState.VOID.value:
        sentence = f"{short} was allowed by {by}, but it is void: {row.handover_why}."
    elif row.unclear:
        sentence = (
            f"Sent back by {by} as unclear ({short}){because} Nothing was decided, and the call"
            " did not run. Ask again so that someone who was not here understands it."
        )
    elif row.outcome == Outcome.DENIED.value:
        sentence = f"Denied by {by} ({short}){because}"
    elif row.outcome == Outcome.EXPIRED.value:
        late = nobody_in_time(row.needed)
        sentence = f"{short}: {late[:1].lower()}{late[1:]}, so the call may not run."
    else:
        sentence = f"{short} was withdrawn, so the call may not run."
    return GateVerdict(allow=allowed, sentence=sentence, ask=short)


def held_back(context: Context, transaction: Transaction, row: AskRow, why: Said) -> GateVerdict:
    """Return the deny of an allow that is not handed over while an account is on hold."""
    short = context.short(row.id)
    people = dict(transaction.rows("SELECT id, name FROM person"))
    by = names_of(transaction.connection, row) or "a person"
    who = people.get(why.person or "")
    because = standing.not_handed(why.level, whole=why.person is None, who=who)
    return GateVerdict(
        allow=False,
        sentence=f"{short} was allowed by {by}, but {because} The call did not run. Go on with"
        " other work and repeat exactly this call later: it is picked up if that has ended by"
        " then, and is asked anew once the allow is too old.",
        ask=short,
    )


def title_of(content: CallContent) -> str:
    """Return the title of a held call: its summary, cut to what a title may have."""
    title = f"{content.tool}: {content.summary}" if content.summary else content.tool
    title = " ".join(title.split()) or content.tool
    if len(title) > limits.TITLE_CHARACTERS:
        title = title[: limits.TITLE_CHARACTERS - 1] + "…"
    return title
