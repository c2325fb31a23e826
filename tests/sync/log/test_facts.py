"""Bodies of entries: every type round-trips, newer fields are ignored, junk is refused."""

import json
from typing import Any, get_args, get_origin

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sync.errors import BadEntry
from sync.limits import SALT_BYTES
from sync.log import facts as say
from sync.log.kinds import EntryType

SALT = b"s" * SALT_BYTES
TYPES = sorted(say.FACTS, key=int)
TEXTS: list[type[say.Part]] = [
    say.RulesText,
    say.AskText,
    say.VoteText,
    say.FinalText,
    say.ResolvedText,
    say.NoteText,
    say.MessageText,
    say.BoardText,
    say.NoText,
]
# What JSON and the store can hold: 64-bit numbers, text without lone surrogates.
NUMBERS = st.integers(-(2**63), 2**63 - 1)
WORDS = st.text(max_size=12)


def strategy(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Any value of a part, field by field."""
    return st.builds(kind, **{field.name: value_of(field.type) for field in fields(kind)})


def fields(kind: type[Any]) -> tuple[Any, ...]:
    return msgspec.structs.fields(kind)


def value_of(kind: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 -- a type's annotation
    plain: dict[Any, st.SearchStrategy[Any]] = {
        int: NUMBERS,
        str: WORDS,
        bool: st.booleans(),
        bytes: st.binary(max_size=12),
        type(None): st.none(),
    }
    if kind in plain:
        return plain[kind]
    if isinstance(kind, type) and issubclass(kind, say.Part):
        return strategy(kind)
    inner = [value_of(argument) for argument in get_args(kind)]
    return st.lists(inner[0], max_size=3) if get_origin(kind) is list else st.one_of(inner)


def test_every_type_has_facts() -> None:
    assert set(say.FACTS) == set(EntryType)


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
@settings(max_examples=25)
@given(data=st.data())
def test_facts_round_trip(kind: EntryType, data: st.DataObject) -> None:
    facts = data.draw(strategy(say.FACTS[kind]))
    packed = say.pack_facts(facts)
    assert say.read(say.FACTS[kind], packed) == facts
    assert say.pack_facts(say.read(say.FACTS[kind], packed)) == packed


@pytest.mark.parametrize("kind", TEXTS, ids=lambda kind: kind.__name__)
@settings(max_examples=25)
@given(data=st.data())
def test_texts_round_trip_behind_their_salt(kind: type[say.Part], data: st.DataObject) -> None:
    text = data.draw(strategy(kind))
    packed = say.pack_text(SALT, text)
    assert packed[:SALT_BYTES] == SALT
    assert say.read_text(kind, packed) == text
    assert say.read_text(kind, None) is None


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
@settings(max_examples=25)
@given(data=st.data())
def test_a_newer_field_is_ignored(kind: EntryType, data: st.DataObject) -> None:
    facts = data.draw(strategy(say.FACTS[kind]))
    wider = {**json.loads(say.pack_facts(facts)), "of_a_newer_node": [1, {"x": None}]}
    assert say.read(say.FACTS[kind], json.dumps(wider).encode()) == facts


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
@settings(max_examples=25)
@given(junk=st.binary(max_size=80))
@example(junk=b"")
@example(junk=b"null")
@example(junk=b"[" * 16_000)
@example(junk=b'{"number":1e999}')
@example(junk=b'{"at":123456789012345678901234567890}')
@example(junk=b'"\xed\xa0\x80"')
def test_junk_is_refused_in_words(kind: EntryType, junk: bytes) -> None:
    with pytest.raises(BadEntry, match="does not read as"):
        say.read(say.FACTS[kind], junk)


@pytest.mark.parametrize("text", [b"", SALT[:5], SALT])
def test_a_text_without_a_body_is_refused(text: bytes) -> None:
    with pytest.raises(BadEntry):
        say.read_text(say.NoteText, text)
