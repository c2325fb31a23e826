"""The messages of a pairing over a WebSocket, for either side: each in time, or it is over."""

import asyncio
from typing import Final

from aiohttp import ClientError, WSMsgType

from sync.net.reach import Socket
from sync.wire.pairing_failures import Why

PATH: Final = "/askmesh/pair/v1"


class TalkEnded(Exception):
    """A pairing ended without a last word of the other side."""

    def __init__(self, why: Why) -> None:
        super().__init__(why.value)
        self.why = why


class Talk:
    """Says and hears messages. Raises `TalkEnded`, and nothing else, for what a peer does."""

    def __init__(self, socket: Socket, message_s: float) -> None:
        self._socket = socket
        self._message_s = message_s

    async def say(self, message: bytes) -> None:
        """Send a message."""
        try:
            async with asyncio.timeout(self._message_s):
                await self._socket.send_bytes(message)
        except TimeoutError:
            raise TalkEnded(Why.SLOW) from None
        except (ClientError, OSError, RuntimeError):
            raise TalkEnded(Why.CLOSED) from None

    async def hear(self, seconds: float | None = None) -> bytes:
        """Return the next message; waits for `seconds`, or as long as any may take."""
        try:
            async with asyncio.timeout(self._message_s if seconds is None else seconds):
                message = await self._socket.receive()
        except TimeoutError:
            raise TalkEnded(Why.SLOW) from None
        except (ClientError, OSError, RuntimeError):
            raise TalkEnded(Why.CLOSED) from None
        if message.type is WSMsgType.BINARY:
            return bytes(message.data)
        if message.type in (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED):
            raise TalkEnded(Why.CLOSED)
        raise TalkEnded(Why.UNREADABLE)
