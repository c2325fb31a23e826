"""A node's TLS certificate: made from its key alone, the same bytes every time.

It carries the node's key and nothing that ages: trust is the pin of its SHA-256, and ends
when the pin is taken away. CA:FALSE, so that no peer can vouch for others; the key
identifiers tell certificates apart while OpenSSL looks for the one to trust.
"""

import datetime as dt
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sync.errors import BadEntry
from sync.log.entry import NodeKey, sha256
from sync.log.names import node_name

NOT_BEFORE: Final = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
NOT_AFTER: Final = dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC)
SERIAL_BYTES: Final = 16
"""Of the node id: the same key has the same serial number."""
SERIAL_BIT: Final = 1 << 127
"""Set, so that the number is positive and always equally long."""
CERTIFICATE_BYTES: Final = 4096
"""Ours have some 500; more is not one of ours."""


def certificate_of(key: NodeKey) -> bytes:
    """Return the self-signed certificate of a node's key, as DER."""
    private = _private(key)
    public = private.public_key()
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, node_name(key.node_id))])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(public)
        .serial_number(int.from_bytes(key.node_id[:SERIAL_BYTES], "big") | SERIAL_BIT)
        .not_valid_before(NOT_BEFORE)
        .not_valid_after(NOT_AFTER)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_signing_only(), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage(
                [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
            ),
            critical=False,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(public), critical=False)
    )
    return builder.sign(private, None).public_bytes(Encoding.DER)


def pem_pair(key: NodeKey) -> bytes:
    """Return private key and certificate as the PEM text that an SSLContext loads.

    Secret: it goes to `sync.net.tls` and nowhere else.
    """
    certificate = x509.load_der_x509_certificate(certificate_of(key))
    return key.pem() + certificate.public_bytes(Encoding.PEM)


def node_of(certificate: bytes) -> bytes:
    """Return the node id whose key a certificate (DER) carries. Raises `BadEntry`."""
    if len(certificate) > CERTIFICATE_BYTES:
        raise BadEntry("A certificate is larger than a node's can be.")
    try:
        public = x509.load_der_x509_certificate(certificate).public_key()
    except Exception:  # noqa: BLE001 -- hostile bytes, and the library lists no errors
        raise BadEntry("A certificate does not decode.") from None
    if not isinstance(public, Ed25519PublicKey):
        raise BadEntry("A certificate carries another kind of key than a node's.")
    return sha256(public.public_bytes_raw())


def fits(certificate: bytes, public_key: bytes) -> bool:
    """Whether a certificate is one that this node itself would show: right key, no CA."""
    try:
        read = x509.load_der_x509_certificate(certificate)
        constraints = read.extensions.get_extension_for_class(x509.BasicConstraints).value
        return node_of(certificate) == sha256(public_key) and not constraints.ca
    except Exception:  # noqa: BLE001 -- hostile bytes: whatever is wrong, it does not fit
        return False


def _private(key: NodeKey) -> Ed25519PrivateKey:
    private = load_pem_private_key(key.pem(), None)
    assert isinstance(private, Ed25519PrivateKey)  # noqa: S101 -- a NodeKey holds no other
    return private


def _signing_only() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
