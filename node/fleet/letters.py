"""Letters of this node over the links: written, opened, passed on."""

import json
import logging
from collections.abc import Callable, Collection
from typing import Any, Protocol

import msgspec

from node.desk.context import Context
from sync.errors import BadFrame, Invalid
from sync.log.names import node_bytes, node_name
from sync.net.keeper import LinkStatus
from sync.wire.letter import LETTER_ID_BYTES, Letter, Postbox, Way, write
from sync.wire.signed import Signed

Receive = Callable[[str, str, Any], None]
"""Given sender, kind and body of a letter to us; returns at once."""

_log = logging.getLogger("askmesh.link")


class Carriers(Protocol):
    """What the mesh does with letters."""

    def linked(self) -> list[bytes]:
        """The nodes with a live link now."""
        ...

    def status(self, node: bytes) -> LinkStatus | None:
        """How the link to a node stands."""
        ...

    def send_letter(self, to: bytes, raw: bytes, signature: bytes, *, relay: bool = True) -> bool:
        """Send a signed letter to a node, or to all linked ones to pass on."""
        ...


class Letters:
    """Implements `node.desk.post.Post`; `members` are the public keys of the others."""

    def __init__(
        self,
        context: Context,
        mesh: Carriers,
        postbox: Postbox,
        *,
        members: Callable[[], Collection[bytes]],
        key_of: Callable[[bytes], bytes | None],
    ) -> None:
        self._context = context
        self._mesh = mesh
        self._postbox = postbox
        self._members = members
        self._key_of = key_of

    async def send(self, to: str | None, kind: str, body: dict[str, Any]) -> bool:
        """Send a letter to a machine by its full id, or (None) to every other one."""
        try:
            receivers = list(self._members()) if to is None else [node_bytes(to)]
        except Invalid:
            return False
        # Every one of them gets it: `any` would stop at the first that took it.
        took = [self._send(node, kind, body) for node in receivers]
        return any(took)

    def _send(self, to: bytes, kind: str, body: dict[str, Any]) -> bool:
        identity = self._context.identity
        letter = Letter(
            fleet=identity.fleet,
            id=self._context.random(LETTER_ID_BYTES),
            sender=identity.key.node_id,
            to=to,
            at=self._context.clock.now(),
            kind=kind,
            body=msgspec.Raw(msgspec.json.encode(body)),
        )
        try:
            signed = write(identity.key, letter)
        except BadFrame as error:
            _log.warning("a letter was not sent: %s", error.sentence)
            return False
        return self._mesh.send_letter(to, signed.raw, signed.signature)

    def carried(self, signed: Signed, source: bytes, receive: Receive) -> None:
        """Open a letter that came over a link: it is for us, or goes on. Raises `BadFrame`."""
        letter, way = self._postbox.open(
            signed,
            source=source,
            linked=self._mesh.linked(),
            key_of=self._key_of,
            now=self._context.clock.now(),
            skew_ms=self._skew(source),
        )
        if way is Way.ON:
            self._mesh.send_letter(letter.to, signed.raw, signed.signature, relay=False)
        elif way is Way.HERE:
            try:
                body = json.loads(bytes(letter.body))
            except (ValueError, RecursionError):
                raise BadFrame("What a letter says does not read.") from None
            receive(node_name(letter.sender), letter.kind, body)

    def _skew(self, source: bytes) -> int:
        """How far the clock of who brings it is ahead: mostly the sender's own."""
        status = self._mesh.status(source)
        return 0 if status is None or status.skew_ms is None else status.skew_ms
