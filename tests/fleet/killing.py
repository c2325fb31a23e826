"""kill -9 of machines at random moments of a storm, and starting them again at once.

Also a program: `python -m tests.fleet.killing --kills 200 [--seed S] [--machines 3]`
prints what was done, what was acknowledged meanwhile, and whether all of it is there.
"""

import argparse
import json
import random
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.fleet.fleets import Machine, fleet_of
from tests.fleet.promises import check, settle
from tests.fleet.storm import LIFTED, Storm, ready
from tests.node.gate.sessions import Run
from tests.running import START_S

NAMES = ("desk", "laptop", "server")
STEPS = (
    "flag",
    "vote",
    "rule",
    "receive",
    "hand_over",
    "resolve",
    "gate",
    "gate_find",
    "gate_hand_over",
    "take_back",
    "withdraw",
)
"""Jobs around whose commit a machine is killed, besides the moments that a clock picks."""
POINT_S = 2.0
"""A point that is not passed in this time is given up for a kill right then."""


class Killer:
    """Kills one machine after the other, each by its own process."""

    def __init__(self, storm: Storm, seed: int) -> None:
        self.storm = storm
        self.chance = random.Random(f"{seed} kills")
        self.kills: Counter[str] = Counter()

    def run(self, kills: int, *, say: bool = False) -> None:
        """Kill so often, or until somebody has found a fault."""
        while (done := self.kills.total()) < kills and not self.storm.told.faults:
            self._one(self.chance.choice(list(self.storm.machines)), kills - done)
            if say:
                print(f"{self.kills.total()} of {kills} kills", flush=True)
        for machine in self.storm.machines:
            machine.node.wait_ready()

    def _one(self, victim: Machine, left: int) -> None:
        chance = self.chance.random()
        if chance < 0.35:
            self._at_a_point(victim)
        elif chance < 0.5 and left > 1:
            self._while_it_starts(victim)
        elif chance < 0.65 and left > 1:
            self._both()
        else:
            time.sleep(self.chance.uniform(0.0, 1.0))
            self._kill(victim, "while it served")
        if self.chance.random() < 0.7:
            victim.node.wait_ready()

    def _kill(self, victim: Machine, how: str) -> None:
        victim.node.kill()
        self.kills[how] += 1
        self._start(victim)

    def _start(self, victim: Machine, stop: str | None = None, after: int = 0) -> None:
        victim.node.start(stop=stop, stop_after=after, limits=LIFTED, wait=False)

    def _at_a_point(self, victim: Machine) -> None:
        """Start it so that it kills itself right before or after some commit."""
        step = self.chance.choice(STEPS)
        when = self.chance.choice(["before", "after"])
        victim.node.kill()
        self.kills["while it served"] += 1
        self._start(victim, f"{step}:{when}-commit", self.chance.randrange(4))
        process = victim.node.process
        assert process is not None
        end = time.monotonic() + START_S
        ready_at = None
        while process.poll() is None and time.monotonic() < end:
            if ready_at is None and victim.node.answers():
                ready_at = time.monotonic()
                end = ready_at + POINT_S
            time.sleep(0.01)
        if process.poll() is None:
            victim.node.kill()
            self.kills["while it served"] += 1
        else:
            self.kills[f"{when} a commit"] += 1
        self._start(victim)

    def _while_it_starts(self, victim: Machine) -> None:
        self._kill(victim, "while it served")
        time.sleep(self.chance.uniform(0.0, 0.8))
        self._kill(victim, "while it started")

    def _both(self) -> None:
        """Two at one moment: nobody is left who holds what was just written."""
        time.sleep(self.chance.uniform(0.0, 1.0))
        victims = self.chance.sample(list(self.storm.machines), 2)
        for victim in victims:
            victim.node.kill()
            self.kills["two at once"] += 1
        for victim in victims:
            self._start(victim)


def storm_over_kills(
    machines: Sequence[Machine], *, kills: int, seed: int, folder: Path, say: bool = False
) -> dict[str, Any]:
    """Live through it; what was done and counted. Raises what was found wrong."""
    ready(machines)
    for machine in machines:
        machine.node.kill()
        machine.node.start(limits=LIFTED)
    storm = Storm(machines, seed)
    began = time.monotonic()
    storm.begin()
    killer = Killer(storm, seed)
    try:
        killer.run(kills, say=say)
        storm.end()
        settle(machines)
        held = check(storm)
    finally:
        storm.over.set()
        storm.quiet.set()
        storm.told.write(folder / "told.jsonl")
        for run in Run.started:
            # Its thread reads what it printed; here it only has to end.
            if run.process.returncode is None:
                run.process.kill()
        Run.started.clear()
    return {
        "seed": seed,
        "machines": len(machines),
        "seconds": round(time.monotonic() - began, 1),
        "kills": dict(killer.kills),
        "told": storm.told.figures(),
        "held": held,
    }


def main() -> int:
    """Read the command line, live through it, print the figures."""
    parser = argparse.ArgumentParser(prog="tests.fleet.killing", description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None, help="of the moments of the kills")
    parser.add_argument("--machines", type=int, default=2, choices=[2, 3])
    options = parser.parse_args()
    seed = secrets.randbelow(1_000_000) if options.seed is None else options.seed
    folder = Path(tempfile.mkdtemp(prefix="askmesh-kills-"))
    print(f"seed {seed}; logs and what everyone was told: {folder}", flush=True)
    with fleet_of(folder, *NAMES[: options.machines]) as machines:
        found = storm_over_kills(machines, kills=options.kills, seed=seed, folder=folder, say=True)
    print(json.dumps(found, indent=2))
    print("Nothing that was acknowledged is lost, and nothing is there twice.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
