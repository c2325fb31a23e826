"""What may come next in a log, and what counts as a fork of it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.errors import BadEntry, Forked
from sync.log.chain import EMPTY, Head, extend, verify_run
from sync.log.entry import Entry
from sync.log.kinds import EntryType
from tests.sync.log.entries import FLEET, chain, entry, head_of, key

LOG = chain(6)


def run(head: Head, entries: list[Entry], *, log: int = 0, author: int = 1) -> Head:
    return verify_run(
        head,
        entries,
        fleet=FLEET,
        author=key(author).node_id,
        log=log,
        public_key=key(author).public,
    )


def with_signature(made: Entry, signature: bytes) -> Entry:
    return msgspec.structs.replace(made, signature=signature)


@given(start=st.integers(0, 6), length=st.integers(0, 6))
def test_a_run_that_continues_is_taken(start: int, length: int) -> None:
    head = EMPTY if start == 0 else head_of(LOG[start - 1])
    part = LOG[start : start + length]
    assert run(head, part) == (head_of(part[-1]) if part else head)


def test_the_last_entry_again_changes_nothing() -> None:
    head = head_of(LOG[2])
    assert extend(head, LOG[2]) == head
    assert run(head, [LOG[2], LOG[3]]) == head_of(LOG[3])


@given(order=st.permutations(range(4)))
def test_only_the_right_order_is_taken(order: list[int]) -> None:
    entries = [LOG[number] for number in order]
    if order == sorted(order):
        assert run(EMPTY, entries) == head_of(LOG[3])
        return
    with pytest.raises(BadEntry):
        run(EMPTY, entries)


def test_a_gap_is_no_fork() -> None:
    with pytest.raises(BadEntry, match="5 came where 2 was due"):
        extend(head_of(LOG[0]), LOG[4])


def test_an_old_entry_again_is_no_fork() -> None:
    """A head alone cannot tell a re-sent entry from another one: no evidence of a fork."""
    with pytest.raises(BadEntry):
        extend(head_of(LOG[4]), LOG[1])


def test_another_entry_in_the_same_place_is_a_fork() -> None:
    other = entry(head_of(LOG[0]), facts=b'{"number":99}')
    with pytest.raises(Forked, match="Entry 2 "):
        run(head_of(LOG[1]), [other])


def test_an_entry_on_another_history_is_a_fork() -> None:
    other = entry(head_of(LOG[0]), facts=b'{"number":99}')
    after = entry(head_of(other))
    with pytest.raises(Forked, match="another history"):
        run(head_of(LOG[1]), [after])


@pytest.mark.parametrize("place", ["same", "next"])
def test_a_forgery_is_not_evidence_of_a_fork(place: str) -> None:
    """Evidence freezes its author for ever, so only the author's own signature makes it."""
    other = entry(head_of(LOG[0]), facts=b'{"number":99}')
    forged = other if place == "same" else entry(head_of(other))
    with pytest.raises(BadEntry, match="does not verify"):
        run(head_of(LOG[1]), [with_signature(forged, bytes(64))])


def test_a_signature_in_the_middle_is_proved_by_the_end() -> None:
    """And whoever relays a run cannot make its honest author look forked."""
    for place in range(5):
        changed = [*LOG[:place], with_signature(LOG[place], bytes(64)), *LOG[place + 1 :]]
        with pytest.raises(BadEntry, match="does not verify"):
            run(EMPTY, changed)
    with pytest.raises(BadEntry, match="does not verify"):
        run(EMPTY, [*LOG[:5], with_signature(LOG[5], bytes(64))])


def test_a_run_of_another_author_log_or_fleet_is_refused() -> None:
    for wrong in (
        entry(by=key(2)),
        entry(kind=EntryType.NOTE),
        entry(fleet=b"other fleet 0000"),
    ):
        with pytest.raises(BadEntry, match="not its own"):
            run(EMPTY, [wrong])


def test_the_two_logs_are_chains_of_their_own() -> None:
    notes = chain(3, kind=EntryType.NOTE)
    assert run(EMPTY, notes, log=1) == head_of(notes[2])
    with pytest.raises(BadEntry):
        run(head_of(notes[2]), [LOG[3]], log=1)
