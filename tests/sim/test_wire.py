"""The simulated network: a pipe that nothing damaged keeps the order of what was sent."""

import random

from aiohttp import WSMsgType

from tests.sim.loop import Life, SimLoop
from tests.sim.wire import Message, Net, SimSocket


async def order_kept(loop: SimLoop, net: Net, chance: random.Random) -> None:
    out, into = pair(net)
    sent = [b"%d" % number for number in range(40)]
    for frame in sent:
        # Noise on the same clock: a heap of timers is not stable for those due together.
        loop.call_later(chance.uniform(0, 0.02), lambda: None)
        await out.send_bytes(frame)
    assert [(await into.receive()).data for _ in sent] == sent


def pair(net: Net) -> tuple[SimSocket, SimSocket]:
    return net.connect("here", "there", Life("here"), Life("there"))


def test_a_healthy_pipe_never_turns_frames_around() -> None:
    loop, chance = SimLoop(), random.Random(4958)
    net = Net(loop, chance, lambda _line: None)
    try:
        for _ in range(50):
            loop.run_until_complete(order_kept(loop, net, chance))
    finally:
        loop.close()


def test_what_a_slow_host_takes_stays_in_order_too() -> None:
    loop, chance = SimLoop(), random.Random(1)
    net = Net(loop, chance, lambda _line: None)
    net.weather.slow["there"] = 1e12  # what a frame adds to the time is lost in rounding
    try:
        loop.run_until_complete(order_kept(loop, net, chance))
    finally:
        loop.close()


def test_a_close_comes_after_what_was_sent_before_it() -> None:
    async def closed() -> list[WSMsgType]:
        out, into = pair(net)
        for _ in range(9):
            await out.send_bytes(b"frame")
        await out.close(code=1000)
        got: list[Message] = [await into.receive() for _ in range(10)]
        return [message.type for message in got]

    loop = SimLoop()
    net = Net(loop, random.Random(2), lambda _line: None)
    try:
        for _ in range(20):
            kinds = loop.run_until_complete(closed())
            assert kinds == [WSMsgType.BINARY] * 9 + [WSMsgType.CLOSE]
    finally:
        loop.close()
