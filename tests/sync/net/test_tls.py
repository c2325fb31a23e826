"""Who can link to whom: real TLS over loopback, each side held to the other's certificate."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from sync.net.certificate import NOT_AFTER, NOT_BEFORE
from sync.net.ledger import Member
from sync.net.tls import Keyring, Trust, _file_of, peer_certificate, peer_pin
from tests.sync.log.entries import key
from tests.sync.net.machines import HERE, keyring, member


@asynccontextmanager
async def serving(trust: Trust) -> AsyncIterator[int]:
    """A TLS server that says who called, or `nobody`."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found = trust.who(writer.get_extra_info("ssl_object"))
        writer.write((found.name if found else "nobody").encode())
        writer.close()
        del reader

    server = await asyncio.start_server(answer, HERE, 0, ssl=trust.context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        await server.wait_closed()


async def call(context: ssl.SSLContext, port: int, name: str | None = None) -> str:
    """What the server says; raises what TLS raises."""
    reader, writer = await asyncio.open_connection(
        HERE, port, ssl=context, server_hostname=name or HERE
    )
    try:
        said = await asyncio.wait_for(reader.read(), 5)
        if not said:
            raise ConnectionResetError
        return said.decode()
    finally:
        writer.close()


def letting_in(*members: Member, number: int = 1) -> Trust:
    trust = Trust(keyring(number))
    trust.set(members)
    return trust


async def test_the_pinned_ones_get_in_and_nobody_else() -> None:
    async with serving(letting_in(member(2), member(3))) as port:
        pinned = keyring(1).certificate
        assert await call(keyring(2).client(pinned), port) == "m2"
        assert await call(keyring(3).client(pinned), port, "any.name") == "m3"
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await call(keyring(4).client(pinned), port)


async def test_a_client_without_a_certificate_is_refused() -> None:
    async with serving(letting_in(member(2))) as port:
        bare = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        bare.check_hostname = False
        bare.verify_mode = ssl.CERT_NONE
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await call(bare, port)


async def test_tls_below_1_3_is_refused_on_both_sides() -> None:
    async with serving(letting_in(member(2))) as port:
        old = keyring(2).client(keyring(1).certificate)
        old.minimum_version = ssl.TLSVersion.TLSv1_2
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await call(old, port)
    trust = letting_in(member(2))
    trust.context.minimum_version = ssl.TLSVersion.TLSv1_2
    trust.context.maximum_version = ssl.TLSVersion.TLSv1_2
    async with serving(trust) as port:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await call(keyring(2).client(keyring(1).certificate), port)


async def test_a_server_that_shows_another_certificate_is_refused() -> None:
    async with serving(letting_in(member(2))) as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await call(keyring(2).client(keyring(3).certificate), port)


class Issued(Keyring):
    """A key whose certificate another key has signed as an authority would."""

    def __init__(self, number: int, issuer: int, *, authority: bool) -> None:
        super().__init__(key(number))
        mine, signer = (load_pem_private_key(key(n).pem(), None) for n in (number, issuer))
        assert isinstance(mine, Ed25519PrivateKey)
        assert isinstance(signer, Ed25519PrivateKey)
        above = x509.load_der_x509_certificate(keyring(issuer).certificate)
        made = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(above.subject)
            .public_key(mine.public_key())
            .serial_number(5)
            .not_valid_before(NOT_BEFORE)
            .not_valid_after(NOT_AFTER)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
                critical=False,
            )
            .sign(signer, None)
        )
        secret = mine.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        self.certificate = made.public_bytes(Encoding.DER)
        self._pair = secret + made.public_bytes(Encoding.PEM)


@pytest.mark.parametrize("authority", [True, False])
async def test_a_member_cannot_vouch_for_another(*, authority: bool) -> None:
    """A certificate signed by a pinned member's key is not that member's."""
    async with serving(letting_in(member(2))) as port:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await call(Issued(9, 2, authority=authority).client(keyring(1).certificate), port)


async def test_a_pinned_authority_s_child_is_refused_too() -> None:
    """Even where a pin was an authority's by mistake, only the pinned bytes count."""
    above = Issued(2, 2, authority=True)
    trust = letting_in(Member(node=above.node, certificate=above.certificate, name="authority"))
    async with serving(trust) as port:
        child = Issued(9, 2, authority=False)
        try:
            said = await call(child.client(keyring(1).certificate), port)
        except (ssl.SSLError, ConnectionError):
            said = "nobody"
        assert said == "nobody"


async def test_a_new_member_gets_in_at_once_and_a_removed_one_no_more() -> None:
    trust = letting_in()
    context = keyring(2).client(keyring(1).certificate)
    async with serving(trust) as port:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await call(context, port)
        trust.set([member(2)])
        assert await call(context, port) == "m2"
        trust.set([])
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await call(context, port)


async def test_no_session_is_ever_resumed() -> None:
    """A ticket kept by a removed machine would let it in again."""
    trust = letting_in(member(2))
    context = keyring(2).client(keyring(1).certificate)
    async with serving(trust) as port:
        first = await asyncio.to_thread(_session_of, context, port, None)
        assert first is None or not first.has_ticket
        trust.set([])
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.to_thread(_session_of, context, port, first)


def _session_of(
    context: ssl.SSLContext, port: int, session: ssl.SSLSession | None
) -> ssl.SSLSession | None:
    import socket

    with (
        socket.create_connection((HERE, port), timeout=5) as plain,
        context.wrap_socket(plain, session=session) as wrapped,
    ):
        if not wrapped.recv(100):
            raise ConnectionResetError
        assert not wrapped.session_reused
        return wrapped.session


async def test_who_was_removed_after_the_handshake_is_nobody() -> None:
    """The list is asked at every request, not only when the link was made."""
    trust = letting_in(member(2))
    seen: list[str] = []
    go = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("ssl_object")
        for _ in range(2):
            await go.wait()
            found = trust.who(connection)
            seen.append(found.name if found else "nobody")
            trust.set([])
        writer.close()
        del reader

    server = await asyncio.start_server(answer, HERE, 0, ssl=trust.context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection(
            HERE, port, ssl=keyring(2).client(keyring(1).certificate)
        )
        go.set()
        await reader.read()
        writer.close()
    assert seen == ["m2", "nobody"]


async def test_many_members_are_told_apart() -> None:
    async with serving(letting_in(*(member(n) for n in range(2, 14)))) as port:
        for n in (2, 7, 13):
            assert await call(keyring(n).client(keyring(1).certificate), port) == f"m{n}"


def test_a_stored_certificate_that_does_not_load_locks_out_its_holder_only() -> None:
    broken = Member(node=b"x", certificate=b"no certificate", name="broken")
    trust = letting_in(broken, member(2))
    assert trust._current.cert_store_stats()["x509"] == 1


def test_what_is_no_tls_connection_is_nobody() -> None:
    assert letting_in(member(2)).who(None) is None
    assert peer_certificate(object()) is None
    assert peer_pin(None) is None


@pytest.mark.parametrize("in_memory", [True, False])
def test_the_key_lies_in_no_file_afterwards(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object, *, in_memory: bool
) -> None:
    import os
    import tempfile

    if not in_memory:
        monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with _file_of(b"secret") as path:
        assert os.stat(path).st_mode & 0o077 == 0 or in_memory  # noqa: PTH116
        with open(path, "rb") as file:  # noqa: PTH123
            assert file.read() == b"secret"
        assert bool(os.listdir(str(tmp_path))) is not in_memory  # noqa: PTH208
    assert os.listdir(str(tmp_path)) == []  # noqa: PTH208
