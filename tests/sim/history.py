"""What the outside saw of one run: only what was replied may be counted on."""

import hashlib
from collections import Counter

import msgspec


class Asked(msgspec.Struct, kw_only=True):
    """An ask whose raising was acknowledged."""

    ask: str
    kind: str
    home: str
    """Name of the machine."""
    session: str
    request: str
    gate: bool = False


class Voted(msgspec.Struct, kw_only=True):
    """A vote (or a taking back) that was acknowledged."""

    ask: str
    vote: str
    person: str
    on: str
    at: float


class Given(msgspec.Struct, kw_only=True):
    """A verdict that reached an agent or a gate."""

    ask: str
    to: str
    """Session, and for a gate its invocation."""
    state: str
    token: int | None
    at: float


class Reached(msgspec.Struct, kw_only=True):
    """How far one viewer on one machine has seen an ask."""

    step: int
    outcome: str | None
    machine_starts: int


class History(msgspec.Struct, kw_only=True):
    """One run."""

    asked: dict[str, Asked] = {}
    voted: list[Voted] = []
    given: list[Given] = []
    released: dict[str, set[str]] = {}
    """Approval: the invocations that were told to go on."""
    seen: dict[tuple[str, str, str], Reached] = {}
    faults: list[str] = []
    """What must never be, in words."""
    sometimes: Counter[str] = msgspec.field(default_factory=Counter)

    def wrong(self, sentence: str) -> None:
        """Record a violation."""
        if sentence not in self.faults:
            self.faults.append(sentence)


class Trace:
    """Everything that happened, hashed; kept as text when somebody wants to read it."""

    def __init__(self, *, keep: bool) -> None:
        self._hash = hashlib.sha256()
        self._keep = keep
        self.lines: list[str] = []

    def add(self, at: float, *words: object) -> None:
        """Add a line."""
        line = f"{at - 1000:12.6f} " + " ".join(map(str, words))
        self._hash.update(line.encode())
        if self._keep:
            self.lines.append(line)

    def digest(self) -> str:
        """Equal digests mean equal runs."""
        return self._hash.hexdigest()[:16]
