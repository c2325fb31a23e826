"""kill -9 at random moments under load: a few of them here, 200 by `deploy/test --kills 200`."""

import secrets
from pathlib import Path

from tests.fleet.fleets import fleet_of
from tests.fleet.killing import storm_over_kills

KILLS = 12


def test_kills_at_random_moments_lose_and_double_nothing(tmp_path: Path) -> None:
    seed = secrets.randbelow(1_000_000)
    print(f"seed {seed}")
    with fleet_of(tmp_path, "desk", "laptop") as machines:
        found = storm_over_kills(machines, kills=KILLS, seed=seed, folder=tmp_path)
    print(found)
    assert sum(found["kills"].values()) >= KILLS
    for what in ("ask", "vote", "hand-over", "gate", "resolve"):
        assert found["told"][what]["ok"], what
