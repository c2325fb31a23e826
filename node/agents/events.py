"""The event stream of `askmesh watch`, in the form of the page's."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from aiohttp import web

from node.limits import EVENT_BEAT_S


async def send_events(
    request: web.Request, changes: AsyncIterator[dict[str, Any] | None]
) -> web.StreamResponse:
    """Send changes as they come and a beat between them, until one side ends it."""
    response = web.StreamResponse(
        headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
    )
    response.force_close()
    await response.prepare(request)
    following = asyncio.ensure_future(anext(changes, None))
    try:
        while True:
            done, _ = await asyncio.wait({following}, timeout=EVENT_BEAT_S)
            if not done:
                await response.write(event("beat", {}))
                continue
            change = following.result()
            if change is None:
                await response.write(event("reset", {}))
                return response
            await response.write(event("change", change, number=change.get("n")))
            following = asyncio.ensure_future(anext(changes, None))
    finally:
        following.cancel()


def event(name: str, data: dict[str, Any], *, number: int | None = None) -> bytes:
    """One server-sent event."""
    head = f"id: {number}\n" if number is not None else ""
    return f"event: {name}\n{head}data: {json.dumps(data)}\n\n".encode()
