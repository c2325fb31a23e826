"""Lines of a client, whatever it sends."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.bridge.lines import TooLong, outer_id, read_line

LIMIT = 2_000


def reply_id(line: bytes) -> str | int | None:
    """The id with which a line over the limit is answered."""
    source = io.BytesIO(line + b"next\n")
    with pytest.raises(TooLong) as raised:
        read_line(source, LIMIT)
    assert read_line(source, LIMIT) == b"next\n", "the rest of the long line was not dropped"
    return raised.value.request


def test_whole_lines_come_one_by_one_and_a_torn_last_one_not_at_all() -> None:
    source = io.BytesIO(b"one\n\ntwo\ntorn")
    assert [read_line(source) for _ in range(4)] == [b"one\n", b"\n", b"two\n", None]


def test_a_line_of_exactly_the_limit_passes() -> None:
    line = b"x" * (LIMIT - 1) + b"\n"
    assert read_line(io.BytesIO(line), LIMIT) == line


@pytest.mark.parametrize("request_id", [7, -1, "text", "with space", ""])
@pytest.mark.parametrize("order", ["first", "after_version", "last", "before_version"])
def test_a_line_too_long_is_answered_under_its_own_id(request_id: str | int, order: str) -> None:
    own, version = {"id": request_id}, {"jsonrpc": "2.0"}
    rest = {"method": "tools/call", "params": {"id": 99, "text": 'x "id": 98 ' * LIMIT}}
    message = {
        "first": own | version | rest,
        "after_version": version | own | rest,
        "last": rest | version | own,
        "before_version": rest | own | version,
    }[order]
    assert reply_id(json.dumps(message).encode() + b"\n") == request_id


def test_an_id_inside_the_message_is_never_taken_for_its_own() -> None:
    inside = json.dumps({"method": "m", "params": {"big": "x" * LIMIT, "id": 5}}).encode()
    assert reply_id(inside + b"\n") is None


@pytest.mark.parametrize("line", [b"x" * LIMIT * 3, b"\x00" * LIMIT * 3, b'{"id":' * LIMIT])
def test_a_long_line_of_garbage_has_no_id(line: bytes) -> None:
    assert reply_id(line + b"\n") is None


def test_a_long_line_that_never_ends_is_the_end() -> None:
    assert read_line(io.BytesIO(b"x" * LIMIT * 3), LIMIT) is None


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers(), max_size=4))
def test_the_ends_of_a_message_never_give_an_id_it_does_not_have(
    message: dict[str, object],
) -> None:
    line = json.dumps(message).encode() + b"\n"
    found = outer_id(line[:512], line[-512:])
    assert found is None or found == message.get("id")
