"""The client of the socket, against a node that says anything."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.bridge import client
from node.bridge.client import NodeAway, Refused, events
from tests.node.bridge.scripted_node import ScriptedNode, in_thread

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def reply(body: bytes, head: bytes = OK) -> bytes:
    return head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_a_call_carries_who_and_request_and_returns_the_object(
    node: ScriptedNode, home: Path
) -> None:
    seen: dict[str, object] = {}

    def script() -> None:
        side = node.take()
        head = side.head()
        seen.update(side.body(head), head=head.splitlines()[0])
        side.raw(reply(b'{"id": "k7qf-1"}'))

    with in_thread(script):
        assert client.call(str(home), "flag", {"agent": "a"}, {"x": 1}, "r-1") == {"id": "k7qf-1"}
    assert seen == {
        "head": b"POST /agent/flag HTTP/1.1",
        "who": {"agent": "a"},
        "request": "r-1",
        "arguments": {"x": 1},
    }


def test_a_chunked_reply_is_put_together(node: ScriptedNode, home: Path) -> None:
    def script() -> None:
        side = node.take()
        side.head()
        side.raw(
            OK + b'Transfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n6;x=y\r\n": [1,\r\n3\r\n2]}\r\n'
        )
        side.raw(b"0\r\n\r\n")

    with in_thread(script):
        assert client.get(str(home), "/agent/node") == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"error": {"code": "limit", "message": "Too many.", "hint": "Wait."}}',
         ("limit", "Too many.", "Wait.")),
        (b'{"error": {"code": "limit", "message": "Too many.", "hint": null}}',
         ("limit", "Too many.", "")),
        (b"<html>", ("failed", "The node replied with status 429.", "")),
        (b'{"error": "no"}', ("failed", "The node replied with status 429.", "")),
        (b"[]", ("failed", "The node replied with status 429.", "")),
    ],
)  # fmt: skip
def test_an_error_is_raised_as_the_node_words_it(
    node: ScriptedNode, home: Path, body: bytes, expected: tuple[str, str, str]
) -> None:
    def script() -> None:
        side = node.take()
        side.head()
        side.raw(reply(body, b"HTTP/1.1 429 Too Many\r\n"))

    with in_thread(script), pytest.raises(Refused) as raised:
        client.get(str(home), "/agent/node")
    error = raised.value
    assert (error.code, error.message, error.hint) == expected
    assert error.status == 429


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 200 OK",
        b"HTTP/1.1 xx OK\r\n\r\n",
        OK,
        OK + b"Content-Length: 10\r\n\r\n{}",
        OK + b"Content-Length: -1\r\n\r\n{}",
        OK + b"Content-Length: 999999999999\r\n\r\n{}",
        OK + b"Content-Length: x\r\n\r\n{}",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{}",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}xx",
        OK + b"X: " + b"y" * 20_000 + b"\r\n\r\n",
        OK + b"X: y\r\n" * 10_000 + b"\r\n",
        reply(b"not json"),
        reply(b"[1]"),
        reply(b"[" * 100_000),
    ],
)  # fmt: skip
def test_whatever_is_no_reply_counts_as_sent_and_unknown(
    node: ScriptedNode, home: Path, data: bytes
) -> None:
    def script() -> None:
        side = node.take()
        side.head()
        side.raw(data)
        side.die()

    with in_thread(script), pytest.raises(NodeAway) as raised:
        client.get(str(home), "/agent/node")
    assert raised.value.sent


def test_a_node_that_went_away_is_asked_again_under_the_same_id(
    node: ScriptedNode, home: Path
) -> None:
    requests = []

    def script() -> None:
        side = node.take()
        requests.append(side.body(side.head())["request"])
        node.kill()
        node.up()
        side = node.take()
        requests.append(side.body(side.head())["request"])
        side.raw(reply(b"{}"))

    with in_thread(script):
        client.call(str(home), "flag", {}, {}, patience=10.0)
    assert len(requests) == 2
    assert len(set(requests)) == 1


def test_without_patience_a_lost_node_is_told_at_once(node: ScriptedNode, home: Path) -> None:
    node.kill()
    with pytest.raises(NodeAway, match="is not running") as raised:
        client.call(str(home), "flag", {}, {})
    assert not raised.value.sent


def test_no_socket_at_all_is_a_node_that_does_not_run(home: Path) -> None:
    with pytest.raises(NodeAway, match="is not running"):
        client.connect(str(home))


@pytest.mark.root
def test_another_users_program_on_the_socket_is_not_our_node(
    node: ScriptedNode, home: Path
) -> None:
    os.chown(home, 12345, -1)
    with pytest.raises(NodeAway, match="another user"):
        client.connect(str(home))


def test_a_silent_node_is_given_up_after_the_time_allowed(node: ScriptedNode, home: Path) -> None:
    with pytest.raises(NodeAway) as raised:
        client.call(str(home), "flag", {}, {}, timeout=0.05)
    assert raised.value.sent


def test_a_number_json_does_not_have_is_not_sent(home: Path) -> None:
    for value in (float("nan"), float("inf"), "\udcff"):
        with pytest.raises(Refused, match="cannot be sent") as refused:
            client.call(str(home), "flag", {}, {"deadline_s": value})
        assert refused.value.code == "invalid"


def test_events_come_until_the_node_ends_them(node: ScriptedNode, home: Path) -> None:
    def script() -> None:
        side = node.take()
        assert side.head().startswith(b"GET /agent/watch?since=7 ")
        side.raw(OK + b"Transfer-Encoding: chunked\r\n\r\n")
        for text in (b"event: change\nid: 8\nda", b'ta: {"n": 8}\n\nevent: beat\ndata: {}\n\n'):
            side.raw(f"{len(text):x}\r\n".encode() + text + b"\r\n")
        side.raw(b"0\r\n\r\n")

    with in_thread(script):
        assert list(client.watch(str(home), 7)) == [("change", {"n": 8}), ("beat", {})]


def test_a_watched_node_that_dies_is_away(node: ScriptedNode, home: Path) -> None:
    def script() -> None:
        side = node.take()
        side.head()
        side.raw(OK + b"Transfer-Encoding: chunked\r\n\r\n")
        side.die()

    with in_thread(script), pytest.raises(NodeAway, match="while it was watched"):
        list(client.watch(str(home)))


@given(
    st.lists(st.tuples(st.sampled_from(["change", "beat"]), st.dictionaries(st.text(), st.text()))),
    st.data(),
)
def test_events_are_whole_wherever_the_text_is_cut(
    sent: list[tuple[str, dict[str, str]]], data: st.DataObject
) -> None:
    text = b"".join(
        f"event: {name}\ndata: {json.dumps(value)}\n\n".encode() for name, value in sent
    )

    def pieces() -> Iterator[bytes]:
        rest = text
        while rest:
            size = data.draw(st.integers(1, len(rest)))
            yield rest[:size]
            rest = rest[size:]

    assert list(events(pieces())) == sent
