"""Pairing over real TLS: both sides, and what is said when it does not come about."""

import asyncio
import logging
import os
import socket

import pytest

from sync.errors import NotAllowed, PairingFailed, StoreError
from sync.net.certificate import certificate_of
from sync.net.pair_exchange import End
from sync.net.pair_listener import Times
from sync.wire import pairing_words as words
from sync.wire.pairing_code import new_code
from sync.wire.pairing_words import Kind
from tests.sync.log.entries import FLEET, key
from tests.sync.net.machines import HERE, until
from tests.sync.net.pairings import Shows, Types, relay, shows, stranger
from tests.sync.wire.pairs import CODE, STATEMENTS, me

OTHER = new_code(b"other789")


async def fails(types: Types, *ports: int, **how: object) -> str:
    """Dial, which must fail; return the sentence and the way on."""
    with pytest.raises(PairingFailed) as error:
        await types.dial(*ports, **how)  # type: ignore[arg-type]
    assert types.stored == []
    return f"{error.value.sentence} | {error.value.hint}"


async def test_two_machines_pair() -> None:
    async with shows() as (shown, port):
        types = Types()
        welcomed = await types.dial(port)
        ended = await shown.ended()
        assert types.stored == [welcomed]
        assert (welcomed.node, welcomed.machine) == (key(1).node_id, "machine 1")
        assert (welcomed.fleet, welcomed.statements) == (FLEET, STATEMENTS)
        assert (welcomed.host, welcomed.port) == (HERE, 7717)
        assert [one.node for one in shown.admitted] == [key(2).node_id]
        assert (shown.admitted[0].host, shown.admitted[0].port) == (HERE, 7718)
        assert shown.admitted[0].certificate == certificate_of(key(2))
        assert (ended.end, ended.confirmed) == (End.PAIRED, True)
        assert ended.candidate == shown.admitted[0]
        assert ended.sentence.startswith("machine 2 (")
        assert shown.listener.port is None
        assert "Nothing waits for a code" in await fails(Types(me(3)), port)


async def test_a_wrong_code_ends_it_and_the_right_one_comes_too_late() -> None:
    async with shows() as (shown, port):
        said = await fails(Types(), port, code=OTHER)
        assert "did not accept the code" in said
        ended = await shown.ended()
        assert ended.end is End.FAILED
        assert "a wrong code was typed, or someone interfered" in ended.sentence
        assert "Nothing waits for a code" in await fails(Types(), port)
        assert shown.admitted == []


async def test_a_code_runs_out() -> None:
    async with shows(times=Times(code_s=0.05)) as (shown, port):
        ended = await shown.ended()
        assert ended.end is End.EXPIRED
        assert "run out" in ended.sentence
        assert "run out" in await fails(Types(), port)


async def test_a_code_can_be_withdrawn() -> None:
    async with shows() as (shown, port):
        await shown.listener.close()
        assert shown.ends[0].end is End.STOPPED
        assert "was withdrawn" in await fails(Types(), port)
        with pytest.raises(RuntimeError, match="once"):
            await shown.listener.open()


async def test_of_two_that_join_at_once_one_gets_in() -> None:
    async with shows() as (shown, port):
        types = [Types(me(2)), Types(me(3))]
        results = await asyncio.gather(*(one.dial(port) for one in types), return_exceptions=True)
        failed = [one for one in results if isinstance(one, PairingFailed)]
        assert len(failed) == 1
        assert len(shown.admitted) == 1
        assert sum(len(one.stored) for one in types) == 1
        winner = next(one for one in types if one.stored)
        assert shown.admitted[0].node == winner.me.key.node_id
        assert (await shown.ended()).end is End.PAIRED


async def test_what_the_node_refuses_is_said_on_both_screens() -> None:
    async with shows() as (shown, port):
        shown.refuses = NotAllowed("Your session has ended.", hint="Sign in again.")
        said = await fails(Types(), port)
        assert "machine 1 refused: Your session has ended." in said
        ended = await shown.ended()
        assert (ended.end, ended.sentence) == (End.FAILED, "Your session has ended.")


@pytest.mark.parametrize("error", [StoreError("disk at /secret/place"), KeyError("/secret/place")])
async def test_faults_of_our_own_are_not_told_to_others(error: Exception) -> None:
    async with shows() as (shown, port):
        shown.refuses = error
        said = await fails(Types(), port)
        assert "refused" in said
        assert "secret" not in said
        assert (await shown.ended()).end is End.FAILED


async def test_who_cannot_store_it_says_so_and_stands_as_let_in() -> None:
    async with shows() as (shown, port):
        types = Types()
        types.fails = StoreError("The disk is full.")
        with pytest.raises(StoreError, match="disk is full"):
            await types.dial(port)
        ended = await shown.ended()
        assert (ended.end, ended.confirmed) == (End.PAIRED, False)
        assert "has not said that it stored" in ended.sentence


async def test_a_machine_with_others_in_its_fleet_is_sent_away() -> None:
    async with shows() as (shown, port):
        assert "Leave that fleet first" in await fails(Types(me(2, alone=False)), port)
        assert shown.admitted == []
        # It stopped before it said anything that the code is good for.
        assert (await Types().dial(port)).machine == "machine 1"


async def test_a_machine_does_not_join_itself_and_the_code_stays() -> None:
    async with shows() as (shown, port):
        assert "this very machine" in await fails(Types(me(1)), port)
        assert shown.ends == []
        await Types().dial(port)
        assert (await shown.ended()).end is End.PAIRED


async def test_what_is_opened_once_the_code_is_spent_can_be_watched() -> None:
    # It is given the number of the descriptor that the listener let go.
    async with shows() as (shown, port):
        shown.hold = asyncio.Event()
        dialling = asyncio.create_task(Types().dial(port))
        await shown.deciding.wait()
        await until(lambda: shown.listener.port is None, "the listener is shut")
        loop = asyncio.get_running_loop()
        opened = [socket.socket() for _ in range(4)]
        try:
            for one in opened:
                loop.add_reader(one, lambda: None)
            shown.hold.set()
            await dialling
            await shown.ended()
            assert [loop.remove_reader(one) for one in opened] == [True] * 4
        finally:
            for one in opened:
                one.close()


# --- somebody in between, with the right code typed -------------------------------------------


async def test_a_relay_is_seen_and_the_code_may_be_used_without_it() -> None:
    async with shows() as (shown, port), relay(port) as (_, between):
        assert "stands in between" in await fails(Types(), between)
        assert shown.admitted == []
        await Types().dial(port)
        assert (await shown.ended()).end is End.PAIRED


async def puts_its_key(at: int, raw: bytes) -> bytes:
    if at != 0:
        return raw
    offer = words.read(words.Offer, words.unpack(raw)[1].body)
    fields = {name: getattr(offer, name) for name in offer.__struct_fields__}
    made = words.Offer(**(fields | {"key": key(9).public}))
    return words.pack(Kind.OFFER, body=words.write(made))


async def test_a_relay_that_names_its_own_key_is_refused_on_both_sides() -> None:
    async with shows() as (shown, port), relay(port, puts_its_key) as (between, its_port):
        assert "someone interfered" in await fails(Types(), its_port)
        assert "someone interfered" in (await shown.ended()).sentence
        assert shown.admitted == []
        assert Kind.ANSWER in {raw[0] for raw in between.seen}


async def test_a_recorded_answer_burns_the_code_and_lets_nobody_in() -> None:
    recorded: list[bytes] = []

    async def records(at: int, raw: bytes) -> bytes:
        recorded.append(raw)
        return await puts_its_key(at, raw)

    async with shows() as (_, port), relay(port, records) as (_, its_port):
        await fails(Types(), its_port)
    answer = next(raw for raw in recorded if raw[0] == Kind.ANSWER)
    async with shows() as (shown, port), stranger(port) as web_socket:
        await web_socket.receive_bytes()
        await web_socket.send_bytes(answer)
        assert (await web_socket.receive_bytes())[0] == Kind.REFUSED
        assert "wrong code" in (await shown.ended()).sentence
        assert shown.admitted == []


# --- the connection ends in the middle ---------------------------------------------------------


@pytest.mark.parametrize("last", [1, 2, 3, 4, 5])
async def test_a_cable_that_is_pulled_after_any_message(last: int) -> None:
    async def pulls(at: int, raw: bytes) -> bytes:
        if at >= last:
            raise ConnectionResetError
        return raw

    # A relay with machine 1's own certificate carries as a cable does.
    async with shows() as (shown, port), relay(port, pulls, number=1) as (_, its_port):
        types = Types()
        if last == 5:
            await types.dial(its_port)
        else:
            with pytest.raises(PairingFailed):
                await types.dial(its_port)
        if last > 1:
            ended = await shown.ended()
            assert ended.confirmed is False
            assert ended.end is (End.PAIRED if last >= 4 else End.FAILED)
        assert len(shown.admitted) == (1 if last >= 4 else 0)
        assert len(types.stored) == (1 if last == 5 else 0)
        if last == 1:
            # Before ANSWER had arrived the code was not spent.
            await Types(me(3)).dial(port)


async def test_a_listener_that_is_closed_while_it_lets_in_tells_that_it_did() -> None:
    async with shows() as (shown, port):
        shown.hold = asyncio.Event()
        dialling = asyncio.create_task(Types().dial(port))
        await shown.deciding.wait()
        closing = asyncio.create_task(shown.listener.close())
        await asyncio.sleep(0)
        shown.hold.set()
        await closing
        assert len(shown.admitted) == 1
        assert shown.ends[0].end is End.PAIRED
        await asyncio.gather(dialling, return_exceptions=True)


async def test_the_code_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with shows() as (shown, port):
        await fails(Types(), port, code=OTHER)
        shown.refuses = KeyError("x")
    async with shows() as (shown, port):
        shown.refuses = KeyError("x")
        await fails(Types(), port)
    logged = caplog.text.replace("-", "")
    assert "could not be let in" in logged
    for code in (CODE, OTHER):
        assert code.secret.decode() not in logged
        assert code.secret.hex() not in logged


# --- what answers is something else -------------------------------------------------------------


async def test_where_nothing_listens_the_next_address_is_tried() -> None:
    closed = Shows()
    nothing = await closed.listener.open()
    await closed.listener.close()
    async with shows() as (_, port):
        welcomed = await Types().dial(nothing, port)
        assert welcomed.node == key(1).node_id
    assert "Nothing waits for a code" in await fails(Types(), nothing)
    assert "Nothing waits" in await fails(Types())


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "does not speak as askmesh does"),
        (b"220 mail.example ESMTP\r\n", "does not speak as askmesh does"),
        (b"", "broke off before it said anything"),
        (os.urandom(2000), "does not speak as askmesh does"),
    ],
)
async def test_something_else_answers(reply: bytes, says: str) -> None:
    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(reply)
        writer.close()

    server = await asyncio.start_server(serve, HERE, 0)
    async with server:
        said = await fails(Types(), server.sockets[0].getsockname()[1])
        assert says in said


async def test_what_answers_and_stays_silent_is_given_up() -> None:
    held: list[asyncio.StreamWriter] = []

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)

    server = await asyncio.start_server(serve, HERE, 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert "does not answer" in await fails(Types(), port, queue_s=0.2)
        for writer in held:
            writer.close()


async def test_a_machine_that_shows_a_code_and_then_says_nothing_is_given_up() -> None:
    async def mute(at: int, raw: bytes) -> bytes:
        await asyncio.Event().wait()
        return raw

    async with shows() as (shown, port), relay(port, mute, number=1) as (_, its_port):
        assert "stopped answering" in await fails(Types(), its_port, queue_s=0.2)
        assert shown.ends == []
