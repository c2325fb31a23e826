"""Words on accounts, of owners and of operators with real keys."""

from collections.abc import Iterable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sync.decide import word
from sync.decide.statements import Stated
from sync.log import facts as say
from sync.log.entry import sha256
from tests.sync.decide.histories import FLEET


def private(name: str) -> Ed25519PrivateKey:
    """The private key of an operator."""
    return Ed25519PrivateKey.from_private_bytes(sha256(b"operator " + name.encode()))


def public(name: str) -> bytes:
    return private(name).public_key().public_bytes_raw()


def operator(
    name: str,
    by: str = "ann",
    *,
    on: bool = True,
    replaces: Stated | None = None,
    also: Iterable[Stated] = (),
) -> say.OperatorFacts:
    return say.OperatorFacts(
        key=public(name),
        name=name,
        on=on,
        replaces=None if replaces is None else replaces.hash,
        also=[one.hash for one in also],
        by=by,
        at=7,
    )


def stands(
    person: str | None, standing: str, by: str, *, replaces: Iterable[Stated] = ()
) -> say.StandingFacts:
    named = [one.hash for one in replaces]
    return say.StandingFacts(
        person=person,
        standing=standing,
        replaces=named[0] if named else None,
        also=named[1:],
        by=by,
        at=8,
    )


def raw_word(serial: int, standing: str, person: str | None = None, **more: object) -> bytes:
    fields = {"fleet": FLEET.hex(), "at": 9, "reason": "", "remedy": None, **more}
    return word.pack(word.Word(serial=serial, standing=standing, person=person, **fields))  # type: ignore[arg-type]


def signed_by(name: str, raw: bytes) -> say.StandingFacts:
    return say.StandingFacts(
        standing="",
        operator=public(name),
        word=raw,
        signature=private(name).sign(word.PREFIX + raw),
        at=9,
    )


def told(
    name: str, serial: int, standing: str, person: str | None = None, **more: object
) -> say.StandingFacts:
    """An operator's word as a node states it."""
    return signed_by(name, raw_word(serial, standing, person, **more))
