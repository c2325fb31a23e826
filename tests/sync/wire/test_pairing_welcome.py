"""What a welcome carries: the founder's genesis first, and all of it or nothing."""

import pytest

from sync.errors import TooLarge
from sync.limits import FRAME_BYTES, PAIR_PARTS
from sync.log.entry import Entry, sha256
from sync.wire.pairing import Joiner, Minter
from sync.wire.pairing_failures import Why
from sync.wire.pairing_steps import Admission, JoinerState, Step
from sync.wire.pairing_welcome import bodies, parts, read_welcome
from sync.wire.pairing_words import Kind, Welcome
from tests.sync.log.entries import FLEET, chain, entry, key
from tests.sync.wire.pairs import ADMISSION, CODE, STATEMENTS, joiner, minter, quick

GENESIS, *OTHERS = STATEMENTS
LONG = (GENESIS, *OTHERS, *(entry(facts=bytes(16_000)) for _ in range(150)), *chain(1_500))
"""More than two messages hold."""


def test_what_a_machine_is_told_takes_as_many_messages_as_it_needs() -> None:
    admission = Admission(fleet=FLEET, founder=key().node_id, statements=LONG)
    messages = admit(admission)
    assert [raw[0] for raw in messages] == [Kind.WELCOME] + [Kind.MORE] * (len(messages) - 1)
    assert len(messages) > 3
    assert max(map(len, messages)) <= FRAME_BYTES
    second, steps = told(messages)
    assert [step.welcomed for step in steps[:-1]] == [None] * (len(messages) - 1)
    welcomed = steps[-1].welcomed
    assert welcomed is not None
    assert welcomed.statements == LONG
    assert second.state is JoinerState.STORING


@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_further_message_is_the_one_that_was_named(place: int) -> None:
    admission = Admission(fleet=FLEET, founder=key().node_id, statements=LONG)
    messages = admit(admission)
    spoiled = messages[place][:-1] + bytes([messages[place][-1] ^ 1])
    later = messages[place % (len(messages) - 1) + 1]
    for other, why in (
        (spoiled, Why.STRANGER),
        (later, Why.STRANGER),
        (messages[0], Why.UNREADABLE),
        (b"", Why.UNREADABLE),
    ):
        last = told([*messages[:place], other])[1][-1]
        assert last.failed is not None
        assert last.failed.why is why


def test_a_fleet_with_more_than_anyone_takes_says_so() -> None:
    assert len(parts([entry()] * 10, entries=2)) == 5
    assert len(parts([entry()] * (PAIR_PARTS + 1), entries=1)) == PAIR_PARTS + 1
    with pytest.raises(TooLarge, match="no machine can join"):
        parts([entry()] * (PAIR_PARTS + 2), entries=1)


def test_the_longest_welcome_fits() -> None:
    """All hashes and a whole part in one message."""
    welcome = Welcome(fleet=FLEET, founder=key().node_id, port=7717)
    full = [(entry(),)] * (PAIR_PARTS + 1)
    (first, *_) = parts([entry(facts=bytes(16_000))] * 100)
    body, *more = bodies(welcome, [first, *full[1:]])
    assert len(body) + 65 <= FRAME_BYTES
    found, statements = read_welcome(body)
    assert (found.more, statements) == (tuple(sha256(one) for one in more), first)


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


def met() -> tuple[Minter, Joiner]:
    """Both sides when everything is proved."""
    first, second = minter(), joiner()
    step = second.heard(first.begin())
    assert step.stretch
    proof = first.heard(second.answer(quick(CODE, step.stretch))).send
    assert proof
    confirm = second.heard(proof).send
    assert confirm
    first.heard(confirm)
    return first, second


def admit(admission: Admission) -> list[bytes]:
    """What the first side says to it."""
    return met()[0].admit(admission)


def told(messages: list[bytes]) -> tuple[Joiner, list[Step]]:
    """The joining side, and how it takes each of these."""
    second = met()[1]
    return second, [second.heard(message) for message in messages]


def welcomed_by(admission: Admission) -> Why | None:
    """How the joining side takes this welcome."""
    last = told(admit(admission))[1][-1]
    return None if last.failed is None else last.failed.why


def test_statements_of_another_fleet_are_no_welcome() -> None:
    assert welcomed_by(ADMISSION) is None
    assert welcomed_by(changed_fleet()) is Why.UNREADABLE


def changed_fleet() -> Admission:
    return Admission(fleet=bytes(16), founder=key().node_id, statements=STATEMENTS)
