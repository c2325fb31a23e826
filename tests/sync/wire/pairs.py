"""Two machines that pair in memory: machine 1 shows the code, machine 2 types it."""

import hashlib
from collections.abc import Callable

import msgspec

from sync.log.kinds import EntryType
from sync.net.certificate import certificate_of, fits
from sync.wire.pairing import Joiner, Minter
from sync.wire.pairing_code import Code, new_code
from sync.wire.pairing_steps import Admission, JoinerState, Me, Step
from tests.sync.log.entries import FLEET, chain, key

CODE = new_code(bytes(range(8)))
SID = b"8 bytes!"
NONCE_A, NONCE_B = b"a" * 32, b"b" * 32
STATEMENTS = tuple(chain(3, kind=EntryType.GENESIS))
ADMISSION = Admission(
    fleet=FLEET, founder=STATEMENTS[0].header.author, statements=STATEMENTS, port=7717
)

Spoil = Callable[[bytes], bytes]


def quick(code: Code, sid: bytes) -> bytes:
    """A key of the code without the waiting."""
    return hashlib.sha256(code.secret + sid).digest()


def me(number: int, *, alone: bool = True) -> Me:
    """One of the machines with fixed keys."""
    return Me(
        key=key(number),
        certificate=certificate_of(key(number)),
        machine=f"machine {number}",
        version="0.1.0",
        port=7716 + number,
        alone=alone,
    )


def minter(
    code: Code = CODE,
    who: Me | None = None,
    nonce: bytes = NONCE_A,
    key_of: Callable[[Code, bytes], bytes] = quick,
) -> Minter:
    """The side that shows the code."""
    return Minter(who or me(1), sid=SID, key=key_of(code, SID), nonce=nonce, fits=fits)


def joiner(who: Me | None = None, seen: bytes | None = None, nonce: bytes = NONCE_B) -> Joiner:
    """The side on which it is typed, and the certificate that TLS showed it."""
    shown = certificate_of(key(1)) if seen is None else seen
    return Joiner(who or me(2), certificate=shown, nonce=nonce, fits=fits)


class Pair:
    """Carries messages between the two until one has nothing to say."""

    def __init__(
        self,
        first: Minter | None = None,
        second: Joiner | None = None,
        *,
        typed: Code = CODE,
        key_of: Callable[[Code, bytes], bytes] = quick,
        spoil: dict[int, Spoil] | None = None,
    ) -> None:
        self.first = first or minter(key_of=key_of)
        self.second = second or joiner()
        self.said: list[bytes] = []
        self.at_first: list[Step] = []
        self.at_second: list[Step] = []
        self._typed = typed
        self._key_of = key_of
        self._spoil = spoil or {}

    def run(self) -> "Pair":
        """Pair as far as it goes."""
        message: bytes | None = self._over(self.first.begin())
        while message is not None:
            message = self._second(message)
            if message is not None:
                message = self._first(message)
        return self

    def _over(self, message: bytes) -> bytes:
        spoil = self._spoil.get(len(self.said))
        message = spoil(message) if spoil else message
        self.said.append(message)
        return message

    def _second(self, message: bytes) -> bytes | None:
        if self.second.state is JoinerState.JOINED:
            # It has hung up.
            return None
        step = self.second.heard(message)
        self.at_second.append(step)
        send = step.send
        if step.stretch is not None:
            send = self.second.answer(self._key_of(self._typed, step.stretch))
        elif step.welcomed is not None:
            send = self.second.joined()
        return None if send is None else self._over(send)

    def _first(self, message: bytes) -> bytes | None:
        step = self.first.heard(message)
        self.at_first.append(step)
        send = step.send
        if step.candidate is not None:
            (send,) = self.first.admit(ADMISSION)
        return None if send is None else self._over(send)

    @property
    def stored(self) -> tuple[bool, bool]:
        """Whether either side stored the other."""
        return (
            any(step.candidate for step in self.at_first),
            any(step.welcomed for step in self.at_second),
        )

    @property
    def failures(self) -> list[str]:
        """Why it ended, at the first and at the second side."""
        return [step.failed.why.value for step in (*self.at_first, *self.at_second) if step.failed]


def changed(who: Me, **values: object) -> Me:
    """A machine that says something else of itself."""
    return msgspec.structs.replace(who, **values)
