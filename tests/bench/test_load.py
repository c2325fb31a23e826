"""Two hundred asks and two thousand notes a second from fifty sessions for twenty seconds."""

import asyncio
import json
import time
from pathlib import Path

import aiohttp
import pytest

from node.bridge.paths import socket_path
from tests.bench.figures import commit_floor, percentile, report
from tests.bench.test_single import Bridge, lifted
from tests.running import RunningNode

pytestmark = [pytest.mark.bench, pytest.mark.timeout(300)]

SESSIONS = 50
SECONDS = 20
ASKS = 200
NOTES = 2_000


async def session_load(
    client: aiohttp.ClientSession, number: int, begun: float
) -> dict[str, list[float]]:
    """One session's schedule; each latency counts from when the call was due."""
    told: dict[str, list[float]] = {"ask": [], "note": []}
    every = SESSIONS / (ASKS + NOTES)
    who = {"agent": "bench", "session": f"s{number}", "project": "p", "cwd": "/"}
    share = (ASKS + NOTES) // ASKS
    for call in range((ASKS + NOTES) * SECONDS // SESSIONS):
        due = begun + call * every + number * every / SESSIONS
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        ask = call % share == 0
        arguments = {"kind": "question" if ask else "note", "title": f"Row {number}.{call}"}
        body = json.dumps({"who": who, "request": f"{number}.{call}", "arguments": arguments})
        headers = {"Content-Type": "application/json"}
        async with client.post("http://askmesh/agent/flag", data=body, headers=headers) as reply:
            assert reply.status == 200, await reply.text()
            await reply.read()
        told["ask" if ask else "note"].append((time.perf_counter() - due) * 1000)
    return told


async def test_fifty_sessions(node: RunningNode, tmp_path: Path) -> None:
    lifted(node)
    # What the node loads when it is first idle is not part of the load.
    bridge = Bridge(node.home)
    assert bridge.send("tools/list", {})["tools"]
    bridge.close()
    connector = aiohttp.UnixConnector(path=socket_path(str(node.home)), limit=SESSIONS)
    async with aiohttp.ClientSession(connector=connector) as client:
        begun = time.perf_counter() + 0.2
        told = await asyncio.gather(
            *(session_load(client, number, begun) for number in range(SESSIONS))
        )
        window = time.perf_counter() - begun
    floor = f"{commit_floor(tmp_path):.2f} ms a durable commit"
    for kind, rate in (("ask", ASKS), ("note", NOTES)):
        samples = [value for one in told for value in one[kind]]
        report(
            f"{rate} {kind}s/s from {SESSIONS} sessions, p99",
            percentile(samples, 0.99),
            100,
            "ms",
            samples=len(samples),
            window_s=window,
            floor=floor,
            more=f"p50 {percentile(samples, 0.5):.2f} ms, {len(samples) / window:.0f}/s done",
        )
