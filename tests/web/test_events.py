"""The stream of changes: bounded, beating, and over when the session is."""

import asyncio

import pytest

from tests.web.double import NOW, change
from tests.web.wire import Served, Stream, serving, until
from web.events import Pace

QUICK = Pace(beat_s=0.02)


async def follow(served: Served, since: str = "?since=5", **headers: str) -> Stream:
    return await served.open("GET", f"/api/events{since}", served.headers(**headers))


async def test_it_beats_at_once_and_then_again() -> None:
    async with serving(pace=QUICK) as served:
        stream = await follow(served)
        assert stream.reply.status == 200
        assert stream.reply.header("Content-Type") == "text/event-stream"
        for _ in range(3):
            assert await stream.event() == ("beat", {"n": 5, "now": NOW})


async def test_a_beat_says_that_nothing_can_be_recorded_and_again_that_it_can() -> None:
    async with serving(pace=QUICK) as served:
        served.desk.hindered = "The disk is full."
        stream = await follow(served)
        hindered = ("beat", {"n": 5, "now": NOW, "trouble": "The disk is full."})
        assert await stream.event() == hindered
        served.desk.hindered = None
        while (heard := await stream.event()) == hindered:
            pass
        assert heard == ("beat", {"n": 5, "now": NOW})


async def test_changes_are_numbered_and_the_beat_follows_them() -> None:
    async with serving(pace=QUICK) as served:
        stream = await follow(served)
        served.desk.changes_to_send.put_nowait(change(6))
        served.desk.changes_to_send.put_nowait(change(8))
        seen: list[tuple[int, str, str]] = []
        while len(seen) < 2:
            name, data = await stream.event()
            if name == "change":
                seen.append((data["n"], data["id"], data["topic"]))
        assert seen == [(6, "6", "ask"), (8, "8", "ask")]
        assert await stream.event() == ("beat", {"n": 8, "now": NOW})


async def test_out_of_range_is_reset_and_over(served: Served) -> None:
    served.desk.changes_to_send.put_nowait(None)
    stream = await follow(served)
    assert (await stream.event())[0] == "beat"
    assert (await stream.event())[0] == "reset"
    assert await stream.ended()
    assert served.desk.streams == 0


async def test_it_ends_with_the_session(served: Served) -> None:
    stream = await follow(served)
    await stream.event()
    served.desk.changes_to_send.put_nowait(StopAsyncIteration())
    assert await stream.ended()


async def test_a_fault_ends_it_without_a_word(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    stream = await follow(served)
    await stream.event()
    served.desk.changes_to_send.put_nowait(KeyError("hush hush"))
    assert await stream.ended()
    assert "events failed inside: KeyError" in caplog.text
    assert "hush" not in caplog.text
    assert served.desk.streams == 0


@pytest.mark.parametrize(
    "since",
    ["", "?since=", "?since=-1", "?since=x", "?since=1.5", "?since=٣", "?since=" + "9" * 16],
)
async def test_since_is_a_number(served: Served, since: str) -> None:
    target = f"/api/events{since}".encode().decode("latin-1")
    reply = await served.send("GET", target)
    assert (reply.status, reply.error["code"]) == (400, "invalid")


async def test_a_browsers_own_retry_goes_on_where_it_was(served: Served) -> None:
    stream = await follow(served, Last_Event_ID="7")
    assert (await stream.event())[1]["n"] == 7


async def test_streams_are_bounded_and_places_come_free() -> None:
    async with serving(pace=Pace(beat_s=0.02, streams=2)) as served:
        first, second = await follow(served), await follow(served)
        await second.event()
        reply = await served.send("GET", "/api/events?since=5")
        assert (reply.status, reply.error["code"]) == (429, "limit")
        first.writer.transport.abort()
        await until(lambda: served.desk.streams == 1)
        third = await follow(served)
        assert (await third.event())[0] == "beat"


async def test_who_goes_away_is_let_go_at_once(served: Served) -> None:
    stream = await follow(served)
    await stream.event()
    await until(lambda: served.desk.streams == 1)
    stream.writer.transport.abort()
    await until(lambda: served.desk.streams == 0)


async def test_who_does_not_read_is_cut() -> None:
    async with serving(pace=Pace(send_s=0.05)) as served:
        stream = await follow(served)
        await until(lambda: served.desk.streams == 1)
        stream.reader._transport.pause_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(20):
            n = 5
            while served.desk.streams:
                n += 1
                served.desk.changes_to_send.put_nowait(change(n))
                await asyncio.sleep(0)
        assert n > 100  # what fits into the buffers was sent


async def test_streams_end_when_the_node_stops() -> None:
    async with serving() as served:
        stream = await follow(served)
        await stream.event()
        async with asyncio.timeout(10):
            await served.listener.close()
        assert served.desk.streams == 0
        assert await stream.reader.read() in {b"", b"0\r\n\r\n"}


async def test_a_stream_needs_a_session(served: Served) -> None:
    reply = await served.send("GET", "/api/events?since=1", headers=served.headers(Cookie=None))
    assert reply.status == 401
    assert served.desk.streams == 0
