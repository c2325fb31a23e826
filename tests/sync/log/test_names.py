"""How ids are written: one text for one id, and what people type finds it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.errors import Invalid
from sync.log.names import ask_name, node_bytes, node_name, split_ask

IDS = st.binary(min_size=32, max_size=32)


@given(node=IDS)
def test_a_name_stands_for_its_bytes(node: bytes) -> None:
    name = node_name(node)
    assert len(name) == 52
    assert name == name.lower()
    assert node_bytes(name) == node


@given(text=st.text(max_size=60) | st.text("abcdefghijklmnopqrstuvwxyz234567", min_size=52))
def test_only_the_one_spelling_is_a_name(text: str) -> None:
    try:
        node = node_bytes(text)
    except Invalid:
        return
    assert node_name(node) == text


@pytest.mark.parametrize(
    "change",
    [
        str.upper,
        lambda name: name[:-1] + "7",
        lambda name: "\u0131" + name[1:],
        lambda name: name + "=",
    ],
    ids=["upper case", "spare bits", "a letter that upper() makes one", "padding"],
)
def test_another_spelling_is_refused(change: object) -> None:
    assert callable(change)
    with pytest.raises(Invalid):
        node_bytes(change(node_name(b"\x40" + bytes(31))))


@given(node=IDS, number=st.integers(1, 10**17), cut=st.integers(1, 52))
def test_an_ask_is_found_by_full_and_short_id(node: bytes, number: int, cut: int) -> None:
    full = ask_name(node, number)
    home = node_name(node)
    assert split_ask(full) == (home, number)
    assert split_ask(f" {home[:cut].upper()}-{number}\n") == (home[:cut], number)
    assert split_ask(str(number)) == ("", number)


@given(text=st.text(max_size=20))
def test_what_is_typed_parses_or_is_refused(text: str) -> None:
    try:
        prefix, number = split_ask(text)
    except Invalid:
        return
    assert number > 0
    assert not set(prefix) - set("abcdefghijklmnopqrstuvwxyz234567")


@pytest.mark.parametrize(
    "text", ["", "-", "k7qf", "k7qf-", "k7qf-0", "k7qf-01", "k7qf--1", "k7q1-1", "a%-1", "1\n2"]
)
def test_what_is_no_id_is_refused_in_words(text: str) -> None:
    with pytest.raises(Invalid, match="is not an ask's id"):
        split_ask(text)
