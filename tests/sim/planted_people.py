"""Faults by which somebody decides who may not, or more is decided than was said."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any
from unittest import mock

from node.desk.closing import close
from node.desk.rows import AskRow
from node.desk.votes import standing_votes
from sync.decide.final import rule
from sync.decide.quorum import latest
from sync.decide.vote import Decision, Vote

Patch = Callable[[ExitStack], None]


def put(stack: ExitStack, target: str, fault: object) -> None:
    """Let something else stand in the place of a name."""
    stack.enter_context(mock.patch(target, fault))


def _unchecked(stack: ExitStack) -> None:
    """Nobody looks again at a final, so that only the home's own fault is left."""
    put(stack, "node.store.projection.voted_rightly", lambda *_args: None)


def _role_ignored(stack: ExitStack) -> None:
    """Whoever is known may answer: viewers, and who was removed."""
    put(stack, "sync.decide.final.eligible", lambda person, _role: person is not None)
    put(stack, "node.desk.votes.eligible", lambda person, _role: person is not None)
    _unchecked(stack)


def _allows(votes: Iterable[Vote]) -> list[Vote]:
    return [vote for vote in votes if vote.decision is Decision.ALLOW]


def _person_twice(stack: ExitStack) -> None:
    """Machines are counted, not persons."""

    def counted(votes: Sequence[Vote]) -> list[Vote]:
        back = {vote.person for vote in votes if vote.decision is Decision.TAKE_BACK}
        kept = {vote.node: vote for vote in _allows(votes) if vote.person not in back}
        return list(kept.values())

    put(stack, "sync.decide.final.counted", counted)
    put(stack, "sync.decide.recheck._independent", lambda votes: len({one.node for one in votes}))


def _machine_twice(stack: ExitStack) -> None:
    """Two persons on one machine are two."""
    put(stack, "sync.decide.final.counted", lambda votes: _allows(latest(votes)))
    put(stack, "sync.decide.recheck._independent", lambda votes: len(list(votes)))


def _own_agent(stack: ExitStack) -> None:
    """Who must not allow what their own agent asks may, behind the page's back."""
    put(stack, "sync.decide.final.may_say", lambda *_args: True)
    put(stack, "node.desk.votes.may_say", lambda *_args: True)
    put(stack, "sync.decide.recheck._by_others", lambda *_args: None)


def _hold_ignored(stack: ExitStack) -> None:
    """That an account is on hold is left to where the answer is given."""

    def trusting(*args: Any, **more: Any) -> Any:  # noqa: ANN401
        return rule(*args, **{**more, "on_hold": False})

    put(stack, "node.desk.answers.rule", trusting)
    _unchecked(stack)


def _handed_on_hold(stack: ExitStack) -> None:
    """What was allowed before is handed over while an account is on hold."""
    put(stack, "node.desk.accounts.allow_held", lambda *_args: None)


def _still_counted(stack: ExitStack) -> None:
    """What was counted once is counted for ever, whatever became of who said it."""

    def counting(connection: sqlite3.Connection, row: AskRow, people: object) -> list[Vote]:
        del people
        return standing_votes(connection, row.id)

    put(stack, "node.desk.answers.counting_votes", counting)
    _unchecked(stack)


def _unclear_lost(stack: ExitStack) -> None:
    """What was sent back as unclear is a plain no."""

    def plain(*args: Any, **more: Any) -> Any:  # noqa: ANN401
        return close(*args, **{**more, "unclear": False})

    put(stack, "node.desk.answers.close", plain)


PEOPLE: dict[str, Patch] = {
    "role ignored": _role_ignored,
    "one person counts twice": _person_twice,
    "one machine counts twice": _machine_twice,
    "own agent allowed": _own_agent,
    "hold ignored": _hold_ignored,
    "handed over on hold": _handed_on_hold,
    "counted for ever": _still_counted,
    "unclear is a no": _unclear_lost,
}
