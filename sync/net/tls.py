"""TLS for links: mutual, 1.3 only, each certificate pinned, nothing ever resumed.

A store of trusted certificates cannot forget, so `Trust` builds a new context whenever
the members change, and every handshake is given the newest one (`sni_callback` is called
for clients without a server name too). Session tickets would outlive a removal: there
are none.
"""

import contextlib
import os
import ssl
import tempfile
from collections.abc import Iterable, Iterator
from typing import Final

from sync.log.entry import NodeKey, sha256
from sync.net.certificate import certificate_of, pem_pair
from sync.net.ledger import Member

NO_CHECK_TIME: Final = ssl.VerifyFlags(0x200000)
"""X509_V_FLAG_NO_CHECK_TIME: pins do not age, and a machine may start with its clock in 1970."""


class Keyring:
    """This node's key and certificate as TLS contexts need them."""

    def __init__(self, key: NodeKey) -> None:
        self.node = key.node_id
        self.certificate = certificate_of(key)
        self._pair = pem_pair(key)

    def server(self, trusted: Iterable[bytes] = ()) -> ssl.SSLContext:
        """Return a context that takes links from the holders of these certificates (DER)."""
        context = self._context(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = ssl.CERT_REQUIRED
        _trust(context, trusted)
        return context

    def client(self, pinned: bytes) -> ssl.SSLContext:
        """Return a context that links to the holder of one certificate (DER) only."""
        context = self._context(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        _trust(context, [pinned])
        return context

    def one_way_server(self) -> ssl.SSLContext:
        """Return a context that shows our certificate and asks for none (pairing)."""
        return self._context(ssl.PROTOCOL_TLS_SERVER)

    def _context(self, protocol: int) -> ssl.SSLContext:
        # Not `create_default_context`: that trusts the system's authorities.
        context = ssl.SSLContext(protocol)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        if protocol == ssl.PROTOCOL_TLS_SERVER:
            context.num_tickets = 0
        context.options |= ssl.OP_NO_TICKET
        context.verify_flags |= NO_CHECK_TIME
        with _file_of(self._pair) as path:
            context.load_cert_chain(path)
        return context


class Trust:
    """Whom the listener lets in: swapped whole, in force from the next handshake on."""

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring
        self._members: dict[bytes, Member] = {}
        self._current = keyring.server()
        self.context = keyring.server()
        """What a listening socket is opened with, once."""
        self.context.sni_callback = self._swap

    def set(self, members: Iterable[Member]) -> None:
        """Let exactly these in (removed ones too: they are told so)."""
        known = {sha256(member.certificate): member for member in members}
        if known.keys() != self._members.keys():
            self._current = self._keyring.server(member.certificate for member in known.values())
        self._members = known

    def who(self, connection: object) -> Member | None:
        """Return the member at the other end of a TLS connection; None: not one now.

        Asked at every request: a handshake proves only who was a member then.
        """
        pin = peer_pin(connection)
        return None if pin is None else self._members.get(pin)

    def _swap(self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._current


def peer_certificate(connection: object) -> bytes | None:
    """Return the certificate (DER) that the other end of a TLS connection showed."""
    if not isinstance(connection, ssl.SSLObject | ssl.SSLSocket):
        return None
    return connection.getpeercert(binary_form=True)


def peer_pin(connection: object) -> bytes | None:
    """Return the SHA-256 of the certificate that the other end showed."""
    shown = peer_certificate(connection)
    return None if shown is None else sha256(shown)


def _trust(context: ssl.SSLContext, certificates: Iterable[bytes]) -> None:
    for certificate in certificates:
        # A stored certificate that does not load locks out its holder, nobody else.
        with contextlib.suppress(ssl.SSLError, ValueError):
            context.load_verify_locations(cadata=certificate)


@contextlib.contextmanager
def _file_of(secret: bytes) -> Iterator[str]:
    """A file for `load_cert_chain`, which takes only paths: in memory, else gone at once."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("askmesh", os.MFD_CLOEXEC)
        path, named = f"/proc/self/fd/{descriptor}", False
        if not os.path.exists(path):  # noqa: PTH110 -- /proc may be hidden from a service
            os.close(descriptor)
            descriptor, path = tempfile.mkstemp(prefix="askmesh-")
            named = True
    else:
        descriptor, path = tempfile.mkstemp(prefix="askmesh-")
        named = True
    try:
        os.write(descriptor, secret)
        yield path
    finally:
        os.close(descriptor)
        if named:
            os.unlink(path)  # noqa: PTH108 -- mkstemp gives a string
