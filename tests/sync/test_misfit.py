"""Whoever sends what does not fit is told so in words, and is sent nothing of it back."""

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from sync.misfit import misfit


class Part(msgspec.Struct, forbid_unknown_fields=True):
    ask: Annotated[str, Meta(max_length=3)]


class Record(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(max_length=5, min_length=1)] = "x"
    role: Literal["owner", "on_hold"] = "owner"
    count: Annotated[int, Meta(ge=1, le=9)] | None = 1
    digits: Annotated[str, Meta(pattern="^[0-9]{2}$")] = "12"
    parts: Annotated[list[Part], Meta(max_length=2)] = []
    open: bool = False
    some: Any = None


class Needs(msgspec.Struct):
    name: str


DEEP = b'{"some":' + b"[" * 100_000


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b'{"name":"secret"}', "`name` is too long: at most 5 characters fit."),
        (b'{"name":""}', "`name` is empty."),
        (b'{"name":7}', "`name` must be text, not a whole number."),
        (b'{"name":null}', "`name` must be text, not null."),
        (b'{"role":"secret"}', "`role` is none of what it can be."),
        (b'{"count":0}', "`count` must be at least 1."),
        (b'{"count":10}', "`count` must be at most 9."),
        (b'{"count":"secret"}', "`count` must be a whole number or null, not text."),
        (b'{"digits":"secret"}', "`digits` does not have the form it must have."),
        (b'{"parts":[{"ask":"secret"}]}', "`ask in parts` is too long: at most 3 characters fit."),
        (b'{"parts":[{}]}', "`ask` in `parts` is missing."),
        (b'{"parts":[{"ask":"a","x":1}]}', "`x` in `parts` is not asked for here."),
        (b'{"parts":[{"ask":"a"},{"ask":"a"},{"ask":"a"}]}', "`parts` holds too many: at most 2"),
        (b'{"open":1}', "`open` must be true or false, not a whole number."),
        (b'{"a`\\u202e`":1}', "`a`⟨U+202E⟩`` is not asked for here."),
        (b"[]", "What was sent must be an object, not a list."),
        (b"{", "This is no JSON that can be read; nothing was recorded."),
        (b"secret", "This is no JSON that can be read; nothing was recorded."),
        (b'{"name":"\xff"}', "This is no JSON that can be read; nothing was recorded."),
        (DEEP, "This is nested too deeply to be read; nothing was recorded."),
    ],
)
def test_what_does_not_fit_is_said_in_words(raw: bytes, said: str) -> None:
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError, RecursionError)) as caught:
        msgspec.json.decode(raw, type=Record)
    error = misfit(caught.value, Record)
    assert error.sentence.startswith(said)
    assert "secret" not in error.sentence
    assert "$" not in error.sentence
    assert "Expected" not in error.sentence
    assert error.hint == ("It is one of: owner, on hold." if b"role" in raw else "")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b"{}", type=Needs)
    assert misfit(caught.value, Needs).sentence == "`name` is missing."
