"""The code: what is typed is what was shown, and a slip is found before it costs anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.errors import Invalid
from sync.wire.pairing_code import ALPHABET, Code, new_code, read_code

RANDOM = st.binary(min_size=8, max_size=8)


@given(RANDOM)
def test_what_is_shown_can_be_typed(random: bytes) -> None:
    code = new_code(random)
    shown = code.shown()
    assert [len(part) for part in shown.split("-")] == [4, 4, 4, 1]
    for typed in (
        shown,
        shown.lower(),
        shown.replace("-", ""),
        shown.replace("-", " "),
        shown.replace("-", "\u2011"),
        shown.replace("1", "l").replace("0", "o"),
        shown.replace("1", "I").replace("0", "O"),
        f"  {shown}\n",
    ):
        assert read_code(typed).secret == code.secret


@given(RANDOM, st.integers(0, 12), st.integers(1, 31))
def test_any_one_mistyped_symbol_is_found(random: bytes, at: int, by: int) -> None:
    typed = list(new_code(random).shown().replace("-", ""))
    typed[at] = ALPHABET[(ALPHABET.index(typed[at]) + by) % 32]
    with pytest.raises(Invalid, match="mistyped"):
        read_code("".join(typed))


@given(RANDOM, st.integers(0, 12), st.integers(0, 12))
def test_any_two_swapped_symbols_are_found(random: bytes, one: int, two: int) -> None:
    typed = list(new_code(random).shown().replace("-", ""))
    if typed[one] == typed[two]:
        return
    typed[one], typed[two] = typed[two], typed[one]
    with pytest.raises(Invalid, match="mistyped"):
        read_code("".join(typed))


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "0 were typed"),
        ("K7QF", "4 were typed"),
        ("K7QF-9M2D-XW4T-HH", "14 were typed"),
        ("U7QF-9M2D-XW4T-H", "'U' is in no code"),
        ("K7QF-9M2D-XW4T-é", "'É' is in no code"),
        ("K7QF-9M2D-XW4T-\u0000", "is in no code"),
        ("9" * 100_000, "100000 were typed"),
    ],
)
def test_what_is_no_code_is_said(typed: str, says: str) -> None:
    with pytest.raises(Invalid, match=says) as error:
        read_code(typed)
    assert len(error.value.sentence) < 200


def test_each_of_the_sixty_bits_counts() -> None:
    codes = {new_code((1 << bit).to_bytes(8, "big")).secret for bit in range(60)}
    assert len(codes) == 60
    # The four above them do not, which keeps every code equally likely.
    assert new_code((1 << 60).to_bytes(8, "big")).secret == new_code(bytes(8)).secret
    with pytest.raises(ValueError, match="8 random bytes"):
        new_code(bytes(7))


def test_a_code_does_not_show_itself() -> None:
    code = new_code(bytes(range(8)))
    secret = code.secret.decode()
    for text in (repr(code), str(code), f"{code}", f"{[code]}"):
        assert secret not in text.replace("-", "")
    assert isinstance(code, Code)
