"""Whether all that was acknowledged in a storm is in every log, once, and everywhere the same."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sync.limits import SALT_BYTES
from sync.log.kinds import EntryType
from tests.fleet.fleets import Machine, equal, linked
from tests.fleet.history import Entry, entries, rows
from tests.fleet.storm import Storm
from tests.running import ROOT, until

RULINGS = "SELECT hash, ruling FROM vote"
DECIDED = {"allowed", "denied", "answered", "declined", "expired", "withdrawn"}


def settle(machines: Sequence[Machine], seconds: float = 60.0) -> None:
    """Wait until all are linked, every vote has its ruling, and all hold the same."""
    linked(*machines, seconds=seconds)
    for machine in machines:
        until(lambda machine=machine: _ruled(machine.home), "every vote is ruled on", seconds)  # type: ignore[misc]
    equal(*machines, seconds=seconds)


def _ruled(home: Path) -> bool:
    return len(entries(home, EntryType.VOTE)) == len(entries(home, EntryType.RULING))


def check(storm: Storm) -> dict[str, Any]:
    """Hold every store against all that was told; what was counted."""
    assert storm.told.faults == [], storm.told.faults
    for machine in storm.machines:
        Held(machine.home).check(storm)
    cards = [
        {ask["id"]: (ask["card"]["state"], ask["final"]) for ask in one.person.state()["asks"]}
        for one in storm.machines
    ]
    for ask in set.intersection(*(set(shown) for shown in cards)):
        finals = [shown[ask][1] for shown in cards]
        assert all(final == finals[0] for final in finals), ask
    for machine in storm.machines:
        examine(machine.home)
    first = storm.machines[0].home
    kinds = (EntryType.ASK, EntryType.VOTE, EntryType.FINAL, EntryType.HANDOVER)
    return {kind.name.lower(): len(entries(first, kind)) for kind in kinds}


class Held:
    """What one store holds."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.asks = entries(home, EntryType.ASK)
        self.finals = entries(home, EntryType.FINAL)
        self.votes = entries(home, EntryType.VOTE)
        self.rulings = entries(home, EntryType.RULING)
        self.handed = entries(home, EntryType.HANDOVER)
        self.resolved = entries(home, EntryType.RESOLVED)
        self.final: dict[str, Entry] = {one.facts["ask"]: one for one in self.finals}

    def check(self, storm: Storm) -> None:
        """All of it."""
        self._asks(storm)
        self._votes(storm)
        self._finals(storm)
        self._handovers(storm)
        self._gates(storm)

    def _asks(self, storm: Storm) -> None:
        words = rows(
            self.home, "SELECT id, text FROM ask JOIN entry ON entry.hash = ask.entry_hash"
        )
        ids = {ask: json.loads(text[SALT_BYTES:])["title"] for ask, text in words}
        titles = Counter(ids.values())
        for op in storm.told.ops:
            if op.what == "ask":
                # Under one request id a call makes one ask, or none, however often it is sent.
                assert titles[op.facts["title"]] <= 1, op
        for op in storm.told.done("ask"):
            assert ids.get(op.facts["ask"]) == op.facts["title"], op

    def _votes(self, storm: Storm) -> None:
        there = {one.hash.hex() for one in self.votes}
        ruled = Counter(one.facts["vote"] for one in self.rulings)
        assert set(ruled.values()) <= {1}
        assert len(ruled) == len(self.votes)
        for what in ("vote", "take back"):
            for op in storm.told.done(what):
                assert op.facts["vote"] in there, op
        outcomes = {hash_.hex(): ruling for hash_, ruling in rows(self.home, RULINGS)}
        for op in storm.told.done("vote"):
            if op.facts["state"] != "recorded":
                assert outcomes[op.facts["vote"]] == op.facts["state"], op

    def _finals(self, storm: Storm) -> None:
        assert len(self.final) == len(self.finals)
        for ask, shown in storm.told.finals.items():
            assert self.final[ask].facts["outcome"] == shown[0], ask
        for op in storm.told.done("withdraw"):
            if op.facts["state"] in DECIDED:
                assert self.final[op.facts["ask"]].facts["outcome"] == op.facts["state"], op

    def _handovers(self, storm: Storm) -> None:
        given: dict[str, list[Entry]] = {}
        for one in self.handed:
            given.setdefault(one.facts["ask"], []).append(one)
        for ask, made in given.items():
            handed = [one for one in made if one.facts["status"] == "handed"]
            assert len(handed) <= 1, ask
            assert all(self.final[ask].n < one.n for one in made), ask
        for op in storm.told.done("hand-over"):
            ask, state, token = op.facts["ask"], op.facts["state"], op.facts["token"]
            if state in {"allowed", "answered"}:
                [one] = given[ask]
                assert (one.facts["status"], one.facts["token"]) == ("handed", token), op
                assert self.final[ask].facts["outcome"] == state, op
            elif state == "void":
                assert given[ask][-1].facts["status"] == "void", op
            elif state in DECIDED:
                assert self.final[ask].facts["outcome"] == state, op
        told = Counter(one.facts["ask"] for one in self.resolved)
        assert set(told.values()) <= {1}
        for op in storm.told.done("resolve"):
            assert told[op.facts["ask"]] == 1, op

    def _gates(self, storm: Storm) -> None:
        """No call was let through without its own final and its one hand-over."""
        by_session: dict[str, list[str]] = {}
        for ask, session in rows(self.home, "SELECT id, session FROM ask WHERE enforced"):
            by_session.setdefault(session, []).append(ask)
        handed = {
            one.facts["ask"]
            for one in self.handed
            if one.facts["status"] == "handed"
            and self.final[one.facts["ask"]].facts["outcome"] == "allowed"
        }
        for op in storm.told.done("gate"):
            allowed = op.facts["words"].count("allow")
            assert allowed <= 1, op
            released = [ask for ask in by_session.get(op.facts["session"], ()) if ask in handed]
            assert len(released) >= allowed, op


def examine(home: Path) -> None:
    """`askmesh verify` and the rebuilding of `askmesh doctor` must find nothing."""
    verified = command(home, "verify", "--json")
    assert verified["ok"], verified
    frozen = [kind for kind in verified["kinds"] if kind["kind"] == "forks" and kind["findings"]]
    assert not frozen, frozen
    doctor = command(home, "doctor", "--rebuild", "--json")
    wrong = [one for one in doctor["findings"] if one["about"] == "store" and one["level"] != "ok"]
    assert not wrong, wrong


def command(home: Path, *words: str) -> dict[str, Any]:
    """What a command of the product prints as JSON."""
    line = [sys.executable, "-I", str(ROOT / "askmesh"), "--home", str(home), *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=100, cwd="/")
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
