"""What does not fit in a request is told in words, never as a schema tells it."""

from typing import Annotated, Literal

import msgspec
import pytest

from sync.misfits import misfit


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    ask: str


class Outer(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=3)] = "a"
    code: Annotated[str, msgspec.Meta(pattern="^a$")] = "a"
    votes: Annotated[list[Inner], msgspec.Meta(max_length=2)] = []
    days: Annotated[int, msgspec.Meta(ge=1, le=3)] | None = 1
    wait: float = 0.0
    on: bool = True
    kind: Literal["a", "b"] = "a"
    key: bytes = b""


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"[", "it must be an object, not a list"),
        (b"", "it is no JSON"),
        (b"{", "it is no JSON"),
        (b'{"name": 1}', "`name` must be a text, not a whole number"),
        (b'{"name": null}', "`name` must be a text, not null"),
        (b'{"name": ""}', "`name` is empty"),
        (b'{"name": "abcd"}', "`name` has more than 3 characters"),
        (b'{"name": "\xff"}', "it is no UTF-8 text"),
        (b'{"code": "b"}', "`code` is not of the form it must have"),
        (b'{"votes": [{}]}', "`votes[0].ask` is missing"),
        (b'{"votes": [{"ask": "a", "b": 1}]}', "`votes[0].b` means nothing here"),
        (b'{"votes": [{"ask": 1.5}]}', "`votes[0].ask` must be a text, not a number"),
        (b'{"votes": [{"ask":"a"},{"ask":"a"},{"ask":"a"}]}', "`votes` has more than 2 entries"),
        (b'{"days": 0}', "`days` must be at least 1"),
        (b'{"days": 9}', "`days` must be at most 3"),
        (b'{"days": "x"}', "`days` must be a whole number or null, not a text"),
        (b'{"wait": "x"}', "`wait` must be a number, not a text"),
        (b'{"on": 1}', "`on` must be true or false, not a whole number"),
        (b'{"kind": "c"}', "`kind` cannot be 'c'"),
        (b'{"key": "!"}', "`key` is not of the form it must have"),
        (b'{"titel": 1}', "`titel` means nothing here"),
    ],
)
def test_in_words(raw: bytes, words: str) -> None:
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError, RecursionError)) as error:
        msgspec.json.decode(raw, type=Outer)
    told = misfit(error.value)
    assert told == words
    assert not any(mark in told for mark in ("$", "`str`", "`int`", "Expected"))


def test_too_deep_is_said_so() -> None:
    with pytest.raises(RecursionError) as error:
        msgspec.json.decode(b"[" * 50_000)
    assert misfit(error.value) == "it is nested too deeply"
