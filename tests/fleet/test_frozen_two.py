"""A machine that is frozen for half a minute, with the times that nodes have in life."""

import signal
import time
from pathlib import Path

import pytest

from sync.log.kinds import EntryType
from tests.fleet.fleets import Machine, equal, fleet_of, linked
from tests.fleet.history import check_life, entries
from tests.running import until

FROZEN_S = 30.0
"""Less than the silence after which a link is given up (`sync.limits.DEAD_MS`)."""
YES_NO = [{"label": "yes"}, {"label": "no"}]


def question(machine: Machine, title: str) -> str:
    flagged = machine.node.flag(kind="question", title=title, options=YES_NO)
    return str(flagged["full_id"])


def released(machine: Machine, ask: str) -> str:
    told = machine.node.agent("await", {"ask_id": ask, "wait_s": 40})
    return str(told["choice"])


@pytest.mark.slow
def test_half_a_minute_of_freeze_loses_nothing_and_nothing_untrue_is_shown(tmp_path: Path) -> None:
    with fleet_of(tmp_path, "desk", "laptop", constants={}) as (desk, laptop):
        theirs = question(laptop, "Asked before the freeze?")
        desk.meets(theirs)
        assert laptop.node.process is not None
        laptop.node.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        try:
            ours = question(desk, "Asked meanwhile?")
            assert desk.person.vote(ours, "answer", choice="1")[1]["state"] == "accepted"
            assert desk.person.vote(theirs, "answer", choice="2")[1]["state"] == "recorded"
            shown = set()
            while time.monotonic() - began < FROZEN_S:
                shown.add(desk.card(theirs))
                time.sleep(0.5)
        finally:
            laptop.node.process.send_signal(signal.SIGCONT)
        assert shown <= {"sending", "kept"}
        assert released(laptop, theirs) == "no"
        assert released(desk, ours) == "yes"
        linked(desk, laptop)
        desk.becomes(theirs, "handed")
        laptop.becomes(ours, "handed")
        equal(desk, laptop)
        for ask in (ours, theirs):
            for one in (desk, laptop):
                check_life(one.home, ask, approval=False)
                assert len(entries(one.home, EntryType.FINAL, ask)) == 1
        until(lambda: not laptop.sees("desk").get("trouble"), "no trouble is left")
