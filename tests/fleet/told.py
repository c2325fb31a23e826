"""What everyone tried in a storm, and what they were told of it.

Each try is one operation: `invoke`, and then `ok` (it was acknowledged), `fail` (it was
refused, so nothing may have come of it) or `info` (the node went away: perhaps it was done).
"""

import json
import threading
import time
from pathlib import Path
from typing import Any

import msgspec


class Op(msgspec.Struct, kw_only=True):
    """One try."""

    number: int
    what: str
    machine: str
    began: float
    facts: dict[str, Any]
    state: str = "info"
    ended: float | None = None

    def ok(self, **facts: Any) -> None:  # noqa: ANN401
        """It was acknowledged."""
        self.state = "ok"
        self._end(facts)

    def fail(self, **facts: Any) -> None:  # noqa: ANN401
        """It was refused."""
        self.state = "fail"
        self._end(facts)

    def _end(self, facts: dict[str, Any]) -> None:
        self.ended = time.monotonic()
        self.facts.update(facts)


class Told:
    """All operations of a run, from many threads."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.finals: dict[str, tuple[Any, ...]] = {}
        """Of each ask the one final that anybody has seen anywhere."""
        self.faults: list[BaseException | str] = []
        self._seen: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    def invoke(self, what: str, machine: str, **facts: Any) -> Op:  # noqa: ANN401
        """Somebody tries something."""
        with self._lock:
            op = Op(
                number=len(self.ops),
                what=what,
                machine=machine,
                began=time.monotonic(),
                facts=facts,
            )
            self.ops.append(op)
        return op

    def done(self, what: str) -> list[Op]:
        """What of a kind was acknowledged."""
        return [op for op in self.ops if op.what == what and op.state == "ok"]

    def saw(self, machine: str, ask: dict[str, Any]) -> None:
        """A page showed an ask. Nobody may ever see another final; nor a machine none again."""
        final = ask["final"]
        if final is None:
            if (machine, ask["id"]) in self._seen:
                self.faults.append(f"{machine} shows no final of {ask['id']} any more")
            return
        shown = (final["outcome"], final["by"], final["at"], final["text"], final["because"])
        with self._lock:
            self._seen.add((machine, ask["id"]))
            known = self.finals.setdefault(ask["id"], shown)
        if known != shown:
            self.faults.append(f"{machine} shows {shown} of {ask['id']}, where {known} was shown")

    def write(self, path: Path) -> None:
        """Keep it for whoever looks into a run that failed."""
        lines = [json.dumps(msgspec.to_builtins(op)) for op in self.ops]
        path.write_text("\n".join(lines) + "\n")

    def figures(self) -> dict[str, dict[str, int]]:
        """How often each thing was acknowledged, refused, and never heard of again."""
        made: dict[str, dict[str, int]] = {}
        for op in self.ops:
            row = made.setdefault(op.what, {"ok": 0, "fail": 0, "info": 0})
            row[op.state] += 1
        return made
