"""Writes docs/states.md from the tables that decide.

python -m tests.sync.decide.states_page
"""

import ast
import inspect
from collections.abc import Iterable
from enum import Enum
from itertools import product
from pathlib import Path

from sync.decide import ask, card_state, handover, people, standing, vote
from sync.decide.ask import DECIDED, OUTCOMES, STEPS, AskState, Kind, Outcome, Step
from sync.decide.handover import Give, Held, Standing, give
from sync.decide.people import MAY, Act, Role
from sync.decide.vote import DECISIONS, OUTCOME_OF, Decision
from tests.sync.decide.card_table import ROWS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "states.md"
CARDS = (
    "What is seen, heard and offered, on the page and in the terminal alike. In these examples"
    " claude asks on the machine box, and Ann decides on her phone. Signs differ without"
    " colour, and a screen reader hears the words that are read out instead of sign and words."
)
HEAD = """# States

Written by `python -m tests.sync.decide.states_page` from the tables in `sync/decide/`; a
test fails when it is not current. How these words are used: [protocol.md](protocol.md).
"""


def page() -> str:
    """The whole page."""
    parts = [
        HEAD,
        "## An ask\n\n" + meanings(ask.AskState, ask) + "\n\n" + steps(),
        "Notes and results have no life: they are only read.",
        "## How each kind can close\n\n" + closings(),
        "## Rulings\n\nThe home's answer to one vote; every vote gets exactly one.\n\n"
        + meanings(vote.Ruling, vote),
        "## Handing over\n\n" + meanings(handover.Give, handover) + "\n\n" + giving(),
        "## Who may do what\n\n" + roles(),
        "## How accounts stand\n\n" + meanings(standing.Level, standing) + "\n\n" + effects(),
        "## Cards\n\n"
        + meanings(card_state.CardState, card_state)
        + f"\n\n{CARDS}\n\n"
        + cards()
        + "\n\nThe machine that raised an ask, as the machine that shows it knows it:\n\n"
        + meanings(card_state.HomeState, card_state),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def cards() -> str:
    """What each card says, in the order in which its states stand."""
    found = sorted(ROWS, key=lambda row: list(card_state.CardState).index(row.state))
    return table(
        ["state", "case", "sign", "words", "read out", "sentence", "buttons"],
        (
            [
                f"`{row.state.value}`",
                row.name,
                row.sign,
                row.word,
                f"{row.word}: {row.spoken}",
                row.sentence,
                ", ".join(f"`{action}`" for action in row.actions),
            ]
            for row in found
        ),
    )


def effects() -> str:
    """What each standing does; of several the one furthest down counts."""
    rows = [
        [
            f"`{level.value}`",
            *("yes" if one else "" for one in (does.answers, does.banner, does.remedy)),
        ]
        for level, does in sorted(standing.EFFECTS.items(), key=lambda item: item[1].severity)
    ]
    return table(["standing", "answers count", "banner", "remedy for owners and admins"], rows)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    names = list(head)
    lines = [names, ["---"] * len(names), *map(list, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def meanings(kind: type[Enum], module: object) -> str:
    """The members of an enumeration with the sentence that stands below each."""
    tree = ast.parse(inspect.getsource(module))  # type: ignore[arg-type]
    body = next(
        item.body
        for item in tree.body
        if isinstance(item, ast.ClassDef) and item.name == kind.__name__
    )
    said: dict[str, str] = {}
    for line, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            words = ast.literal_eval(after.value) if told else ""  # type: ignore[union-attr]
            said[line.targets[0].id] = " ".join(words.split())
    return table(["", "meaning"], ([f"`{one.value}`", said[one.name]] for one in kind))


def steps() -> str:
    """Kind and state by step."""
    rows = (
        [
            kind.value,
            state.value,
            *(
                STEPS[kind][state][step].value if step in STEPS[kind][state] else ""
                for step in Step
            ),
        ]
        for kind, state in product((Kind.QUESTION, Kind.APPROVAL), AskState)
    )
    return table(["kind", "state", *(f"on `{step.value}`" for step in Step)], rows)


def closings() -> str:
    """Outcomes and the decisions that make them."""
    rows = []
    for kind, outcome in product(Kind, Outcome):
        if outcome in OUTCOMES[kind]:
            made = [word for word in DECISIONS[kind] if OUTCOME_OF[word] is outcome]
            by = f"a vote `{made[0].value}`" if made else "no vote"
            rows.append([kind.value, f"`{outcome.value}`", by])
    rows.append(["any of these", "none", f"a vote `{Decision.TAKE_BACK.value}` makes no final"])
    return table(["kind", "outcome", "made by"], rows)


def giving() -> str:
    """What a session gets that asks for what was decided."""
    held = Held(session="holder", token=1, lease_until=10)
    ways = {
        "the holder": [("holder", 9, False), ("holder", 10, True)],
        "another": [("another", 9, False)],
        "another, by take-over or after the lease": [("another", 9, True), ("another", 10, False)],
    }
    rows = []
    for kind, state, who in product(
        (Kind.QUESTION, Kind.APPROVAL), (AskState.HANDED, AskState.RESOLVED), ways
    ):
        standing = Standing(kind=kind, state=state, outcome=None, use_by=None, held=held)
        (got,) = {
            give(standing, session, now=now, take_over=over) for session, now, over in ways[who]
        }
        rows.append([kind.value, state.value, who, f"`{got.value}`"])
    first = (
        f"Open or void: `{Give.NOTHING.value}`. Closed: `{Give.HAND.value}`, but for an allow"
        f" past its use-by: `{Give.VOID_USE_BY.value}`. Handed or resolved:"
    )
    return first + "\n\n" + table(["kind", "state", "session", "gets"], rows)


def roles() -> str:
    """The roles and acts."""
    rows = (
        [f"`{role.value}`", *("yes" if act in MAY[role] else "" for act in Act)] for role in Role
    )
    ranks = " < ".join(role.value for role in sorted(Role, key=people.RANK.__getitem__))
    return (
        table(["role", *(act.value for act in Act)], rows)
        + f"\n\nWhere a rule names a role, that role or a higher one may answer: {ranks}."
        + f" Only {' and '.join(sorted(kind.value + 's' for kind in DECIDED))} are answered."
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
