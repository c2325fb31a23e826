"""A certificate is made of the key alone, always the same bytes."""

import ssl

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from sync.errors import BadEntry
from sync.log.entry import sha256
from sync.log.names import node_name
from sync.net.certificate import NOT_AFTER, NOT_BEFORE, certificate_of, fits, node_of
from tests.sync.log.entries import key

GOLDEN = "2f993a6c655b8c2f410d906c61d3c14acd0e333492fc8a1bee6529b638968f86"
"""SHA-256 of the certificate of key 1: pinned by others, so no version may make another."""


def test_the_bytes_never_change() -> None:
    assert certificate_of(key()) == certificate_of(key())
    assert sha256(certificate_of(key())).hex() == GOLDEN


def test_it_carries_the_key_and_no_authority() -> None:
    made = x509.load_der_x509_certificate(certificate_of(key(2)))
    assert node_of(certificate_of(key(2))) == key(2).node_id
    assert made.subject.rfc4514_string() == f"CN={node_name(key(2).node_id)}"
    assert made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    mine = made.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    above = made.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    assert mine == above.key_identifier
    assert (made.not_valid_before_utc, made.not_valid_after_utc) == (NOT_BEFORE, NOT_AFTER)
    assert (NOT_BEFORE.year, NOT_AFTER.year) == (2000, 9999)


def test_each_key_has_its_own_serial_number() -> None:
    numbers = {
        x509.load_der_x509_certificate(certificate_of(key(n))).serial_number for n in range(1, 6)
    }
    assert len(numbers) == 5
    assert all(0 < number < 1 << 159 for number in numbers)


def test_openssl_reads_it() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=certificate_of(key()))
    assert len(context.get_ca_certs()) == 0, "not an authority"
    assert context.cert_store_stats()["x509"] == 1


def other_kind() -> bytes:
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(1)
        .not_valid_before(NOT_BEFORE)
        .not_valid_after(NOT_AFTER)
        .sign(private, SHA256())
        .public_bytes(Encoding.DER)
    )


@pytest.mark.parametrize(
    "certificate",
    [
        b"",
        b"\x30\x82",
        bytes(500),
        b"\x30" * 100_000,
        certificate_of(key())[:-1],
        certificate_of(key()) + b"x",
        other_kind(),
    ],
    ids=["empty", "begun", "zeros", "large", "cut", "longer", "other key"],
)
def test_what_is_no_node_s_certificate_is_refused(certificate: bytes) -> None:
    with pytest.raises(BadEntry):
        node_of(certificate)
    assert not fits(certificate, key().public)


def test_it_fits_its_own_key_only() -> None:
    assert fits(certificate_of(key(3)), key(3).public)
    assert not fits(certificate_of(key(3)), key(4).public)
