"""The node's key, kept from others; the recovery words, typed back."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.identity import (
    KEY_FILE,
    RECOVERY_BYTES,
    create_key,
    load_key,
    recovery_from_words,
    recovery_key,
    recovery_words,
)
from sync.errors import Invalid, StoreError
from sync.log.entry import sha256
from tests.node.store.stores import mode

RELEASED = "2c2ae5bba4bf348f248aaea59e6c230eb80ce63916ca4c8069751f81b9b468a8"
ENTROPY = st.binary(min_size=RECOVERY_BYTES, max_size=RECOVERY_BYTES)


def test_a_key_is_made_once_and_read_back(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        made = create_key(tmp_path)
    finally:
        os.umask(before)
    assert load_key(tmp_path).public == made.public
    assert made.node_id == sha256(made.public)
    assert mode(tmp_path / KEY_FILE) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


def test_a_second_key_is_never_made(tmp_path: Path) -> None:
    made = create_key(tmp_path)
    with pytest.raises(StoreError, match="never made"):
        create_key(tmp_path)
    assert load_key(tmp_path).public == made.public


def test_a_key_begun_before_a_crash_is_not_the_key(tmp_path: Path) -> None:
    begun = tmp_path / f".{KEY_FILE}.new"
    begun.write_bytes(b"half")
    begun.chmod(0o644)
    made = create_key(tmp_path)
    assert load_key(tmp_path).public == made.public
    assert mode(tmp_path / KEY_FILE) == 0o600
    assert not begun.exists()


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o660, 0o644])
def test_a_key_open_to_others_is_refused_with_the_way_out(tmp_path: Path, bits: int) -> None:
    create_key(tmp_path)
    (tmp_path / KEY_FILE).chmod(bits)
    with pytest.raises(StoreError, match="Others can read") as told:
        load_key(tmp_path)
    assert "chmod 600" in told.value.hint


@pytest.mark.parametrize("content", [b"", b"x" * 31, b"x" * 33])
def test_what_is_no_key_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / KEY_FILE
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(StoreError, match="does not hold a key"):
        load_key(tmp_path)


def test_a_missing_key_is_told_in_words(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        load_key(tmp_path)


@given(entropy=ENTROPY)
def test_words_stand_for_one_key(entropy: bytes) -> None:
    words = recovery_words(entropy)
    assert len(words) == 12
    assert recovery_from_words(" ".join(words)).public == recovery_key(entropy).public
    typed = "\n " + "  ".join(words).upper() + "\t"
    assert recovery_from_words(typed).public == recovery_key(entropy).public


def test_the_key_of_the_words_is_fixed_for_ever() -> None:
    """The words on paper must open the fleet in ten years: HKDF-SHA256, this label."""
    words = recovery_words(bytes(RECOVERY_BYTES))
    assert words == ["abandon"] * 11 + ["about"]
    assert recovery_key(bytes(RECOVERY_BYTES)).public.hex() == RELEASED


@given(entropy=ENTROPY, place=st.integers(0, 11), other=ENTROPY)
def test_a_wrong_word_gives_no_key_or_another(entropy: bytes, place: int, other: bytes) -> None:
    words = recovery_words(entropy)
    changed = [*words]
    changed[place] = recovery_words(other)[place]
    if changed == words:
        return
    typed = " ".join(changed)
    if told(typed):
        # The same words for every mistake: which one it was would be an oracle.
        assert told(typed) == told("x")
    else:
        assert recovery_from_words(typed).public != recovery_key(entropy).public


def told(typed: str) -> str:
    """How these words are refused; empty when they stand for a key."""
    try:
        recovery_from_words(typed)
    except Invalid as error:
        return f"{error.sentence} {error.hint}"
    return ""


@pytest.mark.parametrize(
    "typed", ["", "abandon", "abandon " * 12, "abandon " * 11, "not words at all", "é" * 9]
)
def test_what_are_no_words_is_refused(typed: str) -> None:
    with pytest.raises(Invalid, match="not recovery words"):
        recovery_from_words(typed)
