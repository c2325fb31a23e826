"""docs/protocol.md on pairing against the code: every message, field, prefix and limit."""

import re

import pytest

from sync import limits
from sync.net import pair_key
from sync.net.pair_talk import PATH
from sync.wire import pairing_code
from sync.wire import pairing_words as words
from tests.sync.log.test_protocol_page import chapter

PAGE = chapter("Pairing")


@pytest.mark.parametrize("kind", list(words.Kind))
def test_every_message_is_described(kind: words.Kind) -> None:
    rows = re.findall(rf"^\| .* \| {kind.value} `{kind.name}` \| .*$", PAGE, re.MULTILINE)
    assert len(rows) == 1
    shape = {
        words.Kind.OFFER: words.Offer,
        words.Kind.ANSWER: words.Answer,
        words.Kind.WELCOME: words.Welcome,
        words.Kind.REFUSED: words.Refusal,
    }.get(kind)
    fields = shape.__struct_encode_fields__ if shape else ()
    assert [name for name in fields if f"`{name}`" not in rows[0]] == []


@pytest.mark.parametrize(
    "prefix", [words.CONFIRM_A, words.CONFIRM_B, words.WELCOME, words.JOINED, words.REFUSED]
)
def test_every_prefix_is_described(prefix: bytes) -> None:
    assert f"`{prefix.rstrip(bytes(1)).decode()}\\0`" in PAGE


def test_numbers_are_those_of_the_code() -> None:
    assert PATH in PAGE
    assert pairing_code.ALPHABET in PAGE
    assert f"N {pair_key.COST:,}, r {pair_key.BLOCKS}, p 1, {pair_key.KEY_BYTES} bytes" in PAGE
    assert f"{limits.PAIRING_S / 60:.0f} min" in PAGE
    assert f"{limits.PAIR_MESSAGE_S:.0f} s a message" in PAGE
    assert f"{limits.PAIR_MESSAGE_BYTES // 1024} KiB each" in PAGE
    assert f"more than {limits.PAIR_CONNECTIONS} connections" in PAGE
