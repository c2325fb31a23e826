"""What the bridge keeps, so that the next node is asked the same."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from node.bridge.traffic import LIST_CHANGED, REPLAY, Traffic

SERVER = {"name": "askmesh", "version": "1"}


def line(**fields: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n"


def request(number: str | int, method: str = "tools/call", **params: object) -> bytes:
    return line(id=number, method=method, params=params)


def result(number: str | int, **fields: object) -> bytes:
    return line(id=number, result=fields)


def begun(*, server: dict[str, str] = SERVER) -> Traffic:
    """A client of the handshake era that has been greeted."""
    traffic = fresh()
    send(traffic, request(0, "initialize"))
    assert traffic.from_node(result(0, serverInfo=server)) is not None
    send(traffic, line(method="notifications/initialized"))
    return traffic


def fresh() -> Traffic:
    numbers = itertools.count(1)
    return Traffic(lambda: {"askmesh/request": f"r{next(numbers)}"})


def send(traffic: Traffic, text: bytes) -> bytes:
    """A line that the client sends while there is a node."""
    forward = traffic.from_client(text).forward
    assert forward is not None
    traffic.sent(forward)
    return forward


def told(lines: bytes) -> list[dict[str, Any]]:
    return [json.loads(text) for text in lines.splitlines()]


def meta(text: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)["params"]["_meta"]
    return found


def test_a_call_gets_one_id_and_keeps_it_for_every_telling() -> None:
    traffic = fresh()
    forward = send(traffic, request(1, name="flag", _meta={"progressToken": 5}))
    assert meta(forward) == {"progressToken": 5, "askmesh/request": "r1"}
    assert traffic.again() == [forward]
    assert traffic.again() == [forward]


def test_a_client_cannot_choose_the_id() -> None:
    forward = send(fresh(), request(1, name="flag", _meta={"askmesh/request": "another's"}))
    assert meta(forward) == {"askmesh/request": "r1"}


def test_other_requests_go_through_as_they_are() -> None:
    text = b'{"id": 1,  "jsonrpc":"2.0", "method":"tools/list"}\r\n'
    assert send(fresh(), text) == text


def test_a_reply_ends_the_telling_and_a_second_one_is_dropped() -> None:
    traffic = fresh()
    send(traffic, request(1))
    send(traffic, request("1"))
    assert traffic.from_node(result(1)) == result(1)
    assert traffic.from_node(result(1)) is None
    assert [json.loads(text)["id"] for text in traffic.again()] == ["1"]


def test_a_cancelled_request_is_not_told_again() -> None:
    traffic = fresh()
    send(traffic, request(1))
    send(traffic, line(method="notifications/cancelled", params={"requestId": 1}))
    assert traffic.again() == []
    assert traffic.from_node(result(1)) is None


def test_the_handshake_is_replayed_under_an_id_of_our_own() -> None:
    traffic = begun()
    call = send(traffic, request(1))
    handshake = traffic.connected()
    assert handshake is not None
    assert json.loads(handshake)["id"] == REPLAY
    assert traffic.replayed(line(method="notifications/message", params={})) == (False, b"")
    assert traffic.replayed(result(REPLAY, serverInfo=SERVER)) == (True, b"")
    assert traffic.again() == [line(method="notifications/initialized"), call]


def test_an_upgraded_node_makes_the_client_list_its_tools_again() -> None:
    traffic = begun()
    traffic.connected()
    newer = result(REPLAY, serverInfo=SERVER | {"version": "2"})
    assert traffic.replayed(newer) == (True, LIST_CHANGED)
    traffic.connected()
    assert traffic.replayed(newer) == (True, b"")


def test_a_handshake_without_a_reply_is_sent_again_and_not_swallowed() -> None:
    traffic = fresh()
    text = send(traffic, request(0, "initialize"))
    assert traffic.connected() is None
    assert traffic.again() == [text]
    assert traffic.from_node(result(0, serverInfo=SERVER)) is not None


def test_a_refused_handshake_is_not_replayed() -> None:
    traffic = fresh()
    send(traffic, request(0, "initialize"))
    traffic.from_node(line(id=0, error={"code": -32602, "message": "no"}))
    assert traffic.connected() is None


def test_a_node_that_refuses_the_replay_is_not_taken() -> None:
    traffic = begun()
    traffic.connected()
    with pytest.raises(ValueError, match="refuses the handshake"):
        traffic.replayed(line(id=REPLAY, error={"code": 1, "message": "no"}))


def test_a_handshake_after_a_probe_takes_a_connection_of_its_own() -> None:
    traffic = fresh()
    send(traffic, request("probe", "server/discover"))
    taken = traffic.from_client(request(0, "initialize"))
    assert taken.anew
    assert [reply["id"] for reply in told(taken.reply)] == ["probe"]
    assert traffic.again() == [request(0, "initialize")]


def test_a_probe_that_never_left_does_not_cost_a_connection() -> None:
    traffic = fresh()
    traffic.from_client(request("probe", "server/discover"))
    taken = traffic.from_client(request(0, "initialize"))
    assert not taken.anew
    assert [reply["id"] for reply in told(taken.reply)] == ["probe"]


def test_a_reply_to_a_dead_nodes_request_goes_nowhere() -> None:
    traffic = fresh()
    assert traffic.from_node(line(id=4, method="ping")) is not None
    assert traffic.from_client(result(4)).forward == result(4)
    traffic.connected()
    assert traffic.from_client(result(4)).forward is None


def test_without_a_node_everyone_who_waits_is_told_what_became_of_it() -> None:
    traffic = fresh()
    send(traffic, request(1))
    traffic.from_client(request(2))
    traffic.from_client(request(3, "tools/list"))
    replies = {
        reply["id"]: reply["error"]["message"] for reply in told(traffic.give_up("Gone.", "Do x."))
    }
    assert replies == {
        1: "Gone. Whether this call was recorded is not known: look with `pending` when it runs"
        " again. Do x.",
        2: "Gone. Nothing was recorded. Do x.",
        3: "Gone. Do x.",
    }
    assert traffic.again() == []


@pytest.mark.parametrize(
    "text",
    [
        b"garbage\n",
        b"\xff\xfe\x00\n",
        b"[]\n",
        b"1\n",
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n',
        b"[" * 100_000 + b"\n",
        b'{"method":"m","id":true}\n',
        b'{"method":"m","id":null}\n',
        b'{"method":"m","id":1.5}\n',
        b'{"method":"m","id":{}}\n',
        b'{"id":[]}\n',
        b'{"method":"tools/call","id":1,"params":{"x":NaN}}\n',
        b'{"method":"tools/call","id":1,"params":{"x":1e999}}\n',
    ],
)
def test_what_is_no_message_is_answered_and_goes_no_further(text: bytes) -> None:
    traffic = fresh()
    taken = traffic.from_client(text)
    assert taken.forward is None
    assert traffic.again() == []
    replies = told(taken.reply)
    assert [sorted(reply) for reply in replies] == [["error", "id", "jsonrpc"]]


def test_a_number_json_does_not_have_is_refused_under_the_calls_id() -> None:
    (reply,) = told(
        fresh().from_client(b'{"method":"tools/call","id":9,"params":{"x":NaN}}\n').reply
    )
    assert reply["id"] == 9


@pytest.mark.parametrize("params", [b"[]", b"1", b"null", b'{"_meta":5}', b'{"_meta":null}'])
def test_odd_parameters_reach_the_node_which_says_what_is_wrong(params: bytes) -> None:
    text = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + params + b"}\n"
    assert send(fresh(), text)


class AnyOrder(RuleBasedStateMachine):
    """Clients, nodes and losses in any order: each request gets exactly one reply."""

    def __init__(self) -> None:
        super().__init__()
        self.traffic = fresh()
        self.numbers = itertools.count()
        self.open: dict[int, bytes] = {}
        self.at_node: list[bytes] = []
        self.replies: dict[int, int] = {}
        self.connected = False

    @rule()
    def ask(self) -> None:
        number = next(self.numbers)
        forward = self.traffic.from_client(request(number)).forward
        assert forward is not None
        self.open[number] = forward
        if self.connected:
            self.traffic.sent(forward)
            self.at_node.append(forward)

    @rule()
    def lose_the_node(self) -> None:
        self.connected, self.at_node = False, []

    @precondition(lambda self: not self.connected)
    @rule()
    def meet_a_node(self) -> None:
        assert self.traffic.connected() is None
        self.at_node = self.traffic.again()
        for text in self.at_node:
            self.traffic.sent(text)
        self.connected = True

    @precondition(lambda self: self.at_node)
    @rule(data=st.data(), twice=st.booleans())
    def reply(self, data: st.DataObject, twice: bool) -> None:
        text = data.draw(st.sampled_from(self.at_node))
        number = json.loads(text)["id"]
        for _ in range(1 + twice):
            if self.traffic.from_node(result(number)) is not None:
                self.replies[number] = self.replies.get(number, 0) + 1
        self.at_node.remove(text)
        self.open.pop(number, None)

    @precondition(lambda self: not self.connected)
    @rule()
    def give_up(self) -> None:
        for reply in told(self.traffic.give_up("Gone.", "")):
            self.replies[reply["id"]] = self.replies.get(reply["id"], 0) + 1
            del self.open[reply["id"]]

    @invariant()
    def nothing_is_lost_or_answered_twice(self) -> None:
        assert self.traffic.again() == list(self.open.values())
        assert set(self.replies.values()) <= {1}
        assert not set(self.replies) & set(self.open)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
