"""Who is at the other end of a connection to the Unix socket."""

import os
import socket
import struct
import sys

from aiohttp import web

from node.agents.asker import Peer


def peer_of(request: web.Request) -> Peer:
    """The process at the other end, as the kernel states it."""
    link = request.transport.get_extra_info("socket") if request.transport else None
    if link is None:
        raise ConnectionResetError
    if not sys.platform.startswith("linux"):
        return Peer(pid=0, uid=os.getuid())  # only this user can open the socket (0600)
    size = struct.calcsize("3i")
    pid, uid, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return Peer(pid=pid, uid=uid)
