"""What a welcome carries: the founder's genesis first, and all of it or nothing."""

import pytest

from sync.errors import TooLarge
from sync.limits import FRAME_BYTES
from sync.log.entry import Entry
from sync.wire import pairing_words as words
from sync.wire.pairing_failures import Why
from sync.wire.pairing_steps import Admission
from tests.sync.log.entries import FLEET, chain, entry, key
from tests.sync.wire.pairs import ADMISSION, CODE, STATEMENTS, joiner, minter, quick


def test_what_fits_into_a_welcome_arrives_whole_and_more_is_refused() -> None:
    fitting = [*chain(300), *(entry(facts=b"x" * 16_000) for _ in range(50))]
    words.check_fits(fitting)
    body = words.welcome_body(words.Welcome(fleet=FLEET, founder=key().node_id), fitting)
    assert len(body) + 1 + 64 <= FRAME_BYTES
    welcome, found = words.read_welcome(body)
    assert (welcome.fleet, welcome.founder) == (FLEET, key().node_id)
    assert list(found) == fitting
    for too_many in ([entry()] * 1001, [entry(facts=b"x" * 16_000)] * 66):
        with pytest.raises(TooLarge, match="no machine can join"):
            words.check_fits(too_many)


@pytest.mark.parametrize(
    ("founder", "statements"),
    [
        (key(3).node_id, STATEMENTS),
        (key().node_id, STATEMENTS[1:]),
        (key().node_id, ()),
        (key().node_id, tuple(chain(1))),
    ],
)
def test_a_welcome_begins_with_the_genesis_of_the_founder(
    founder: bytes, statements: tuple[Entry, ...]
) -> None:
    failed = welcomed_by(Admission(fleet=FLEET, founder=founder, statements=statements))
    assert failed is Why.UNREADABLE


def welcomed_by(admission: Admission) -> Why | None:
    """How the joining side takes this welcome."""
    first, second = minter(), joiner()
    step = second.heard(first.begin())
    assert step.stretch
    proof = first.heard(second.answer(quick(CODE, step.stretch))).send
    assert proof
    confirm = second.heard(proof).send
    assert confirm
    first.heard(confirm)
    failed = second.heard(first.admit(admission)).failed
    return None if failed is None else failed.why


def test_statements_of_another_fleet_are_no_welcome() -> None:
    assert welcomed_by(ADMISSION) is None
    assert welcomed_by(changed_fleet()) is Why.UNREADABLE


def changed_fleet() -> Admission:
    return Admission(fleet=bytes(16), founder=key().node_id, statements=STATEMENTS)
