"""What statements say of the account's standing, and of the outside systems that may set it."""

from sync.log.parts import Statement


class OperatorFacts(Statement, frozen=True, kw_only=True):
    """An outside system may (`on`) or may no longer say how the account stands."""

    key: bytes
    """Its raw Ed25519 public key."""
    name: str
    on: bool
    replaces: bytes | None = None
    also: list[bytes] = []
    by: str


class StandingFacts(Statement, frozen=True, kw_only=True):
    """How the account stands: an owner's version for one person, or an operator's word.

    An operator's word is `word`, the exact bytes it signed (`sync.decide.word`), with its
    `operator` key and `signature`; then it alone counts, and the other fields say nothing.
    """

    person: str | None = None
    standing: str
    """Empty in an operator's word."""
    remedy: str | None = None
    reason: str = ""
    replaces: bytes | None = None
    also: list[bytes] = []
    by: str | None = None
    operator: bytes | None = None
    word: bytes = b""
    signature: bytes = b""
