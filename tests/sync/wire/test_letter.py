"""Letters: each counts once, while it is fresh, where it is for, and over one node at most."""

import msgspec
import pytest

from sync.errors import BadFrame
from sync.limits import LETTER_AGE_MS, LETTER_BYTES, LETTERS_REMEMBERED
from sync.log.entry import NodeKey
from sync.wire.letter import Letter, Postbox, Way, write
from sync.wire.signed import Signed
from tests.sync.log.entries import FLEET, key

ME, DESK, LAPTOP = (key(number) for number in range(1, 4))
KEYS = {one.node_id: one.public for one in (ME, DESK, LAPTOP)}
NOW = 1_800_000_000_000


def letter(number: int = 1, *, by: NodeKey = DESK, to: NodeKey = ME, **changes: object) -> Letter:
    made = Letter(
        fleet=FLEET,
        id=number.to_bytes(16, "big"),
        sender=by.node_id,
        to=to.node_id,
        at=NOW,
        kind="sign-in wish",
        body=msgspec.Raw(b'{"a":1}'),
    )
    return msgspec.structs.replace(made, **changes)


class Box:
    def __init__(self) -> None:
        self.box = Postbox(FLEET, ME.node_id)

    def open(
        self,
        made: Letter | Signed,
        *,
        by: NodeKey = DESK,
        source: NodeKey = DESK,
        linked: tuple[NodeKey, ...] = (DESK, LAPTOP),
        now: int = NOW,
        skew_ms: int = 0,
    ) -> tuple[Letter, Way]:
        return self.box.open(
            write(by, made) if isinstance(made, Letter) else made,
            source=source.node_id,
            linked=[one.node_id for one in linked],
            key_of=KEYS.get,
            now=now,
            skew_ms=skew_ms,
        )


def test_a_letter_arrives_as_it_was_written() -> None:
    made = letter()
    assert Box().open(made) == (made, Way.HERE)
    assert Box().open(made, source=LAPTOP) == (made, Way.HERE), "over another node"


def test_it_is_passed_on_once() -> None:
    made = letter(to=LAPTOP)
    assert Box().open(made)[1] is Way.ON
    assert Box().open(made, linked=(DESK,))[1] is Way.NOWHERE
    assert Box().open(made, source=LAPTOP)[1] is Way.NOWHERE
    back = letter(by=LAPTOP, to=DESK)
    assert Box().open(back, by=LAPTOP, source=DESK)[1] is Way.NOWHERE


def test_the_same_letter_counts_once_while_it_is_fresh_and_is_old_then() -> None:
    box, made = Box(), letter()
    box.open(made)
    for later in (0, LETTER_AGE_MS, LETTER_AGE_MS + 1, 10 * LETTER_AGE_MS):
        with pytest.raises(BadFrame):
            box.open(made, now=NOW + later)
    assert box.open(letter(2))[0].id == letter(2).id
    other = letter(by=LAPTOP)
    assert box.open(other, by=LAPTOP, source=LAPTOP)[0] == other, "an id is its sender's"


@pytest.mark.parametrize("at", [NOW - LETTER_AGE_MS - 1, NOW + LETTER_AGE_MS + 1])
def test_one_that_is_not_of_now_is_refused(at: int) -> None:
    with pytest.raises(BadFrame):
        Box().open(letter(at=at))


def test_a_clock_that_is_known_to_be_wrong_does_not_matter() -> None:
    day = 86_400_000
    assert Box().open(letter(at=NOW + day), skew_ms=day)[1] is Way.HERE
    with pytest.raises(BadFrame):
        Box().open(letter(at=NOW), skew_ms=day)


def test_one_from_ahead_counts_once_for_as_long_as_it_is_fresh() -> None:
    box, made = Box(), letter(at=NOW + LETTER_AGE_MS)
    box.open(made)
    for later in (LETTER_AGE_MS, 2 * LETTER_AGE_MS):
        with pytest.raises(BadFrame, match="twice"):
            box.open(made, now=NOW + later)


@pytest.mark.parametrize(
    "made",
    [
        write(LAPTOP, letter()),
        write(key(9), letter(by=key(9))),
        write(ME, letter(by=ME)),
        write(DESK, letter(fleet=bytes(16))),
        msgspec.structs.replace(write(DESK, letter()), signature=b""),
        Signed(raw=b"{}", signature=bytes(64)),
        Signed(raw=b" " * (LETTER_BYTES + 1), signature=bytes(64)),
    ],
    ids=["another's", "a stranger's", "our own", "another fleet", "unsigned", "empty", "long"],
)
def test_what_is_not_what_it_claims_is_refused(made: Signed) -> None:
    with pytest.raises(BadFrame):
        Box().open(made)


def test_a_letter_too_large_is_not_written() -> None:
    with pytest.raises(BadFrame):
        write(DESK, letter(body=msgspec.Raw(b'"' + b"x" * LETTER_BYTES + b'"')))


def test_what_is_remembered_is_bounded_and_ends() -> None:
    box = Box()
    for number in range(LETTERS_REMEMBERED):
        box.open(letter(number))
    with pytest.raises(BadFrame):
        box.open(letter(1 << 60))
    other = letter(by=LAPTOP)
    assert box.open(other, by=LAPTOP, source=LAPTOP)[1] is Way.HERE, "others are not in its way"
    later = NOW + 2 * LETTER_AGE_MS + 1
    assert box.open(letter(1 << 60, at=later), now=later)[1] is Way.HERE
    assert len(box.box._seen[DESK.node_id]) == 1
