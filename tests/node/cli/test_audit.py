"""`askmesh audit`: beside a running node or offline, as text and as JSON lines."""

import json
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec
import pytest
from click.testing import CliRunner, Result

from node.cli.audit import OUTCOMES
from node.cli.audit_text import line_text
from node.cli.durations import Moment
from node.cli.main import askmesh
from tests.node.desk.fleets import fleet_of
from tests.web.audit_double import audit_line
from web.audit_views import AuditLine, Outcome

NAME = "A\u202eb\nnn"


def run(home: Path, *arguments: str) -> Result:
    return CliRunner().invoke(askmesh, ["--home", str(home), "audit", *arguments])


def objects(result: Result) -> list[AuditLine]:
    assert result.stdout.isascii()
    found = [json.loads(line) for line in result.stdout.splitlines()]
    return msgspec.convert(found, list[AuditLine])


async def test_beside_a_node_and_offline(tmp_path: Path) -> None:
    async with fleet_of(tmp_path, "box") as fleet:
        box = fleet["box"]
        ask = await box.ask("approval", title=NAME)
        await box.vote(fleet.ann, ask, "deny", because="no\x1b[2J")
        await box.ask("question", title="Open?")
        beside = run(box.home)
    assert beside.exit_code == 0
    assert beside.stdout == run(box.home).stdout
    assert "\x1b" not in beside.stdout
    assert "A⟨U+202E⟩b⟨U+000A⟩nn" in beside.stdout
    assert "Denied by Ann on box; the agent has not come for it." in beside.stdout
    assert "Ann (box, page x), " in beside.stdout
    assert beside.stdout.splitlines()[-1].endswith(": 5 as signed.")
    lines = objects(run(box.home, "--json"))
    assert [one.what for one in lines].count("ask") == 2
    assert {one.check for one in lines} == {"holds"}
    assert objects(run(box.home, "--json", "--limit", "3")) == lines[:3]
    (denied,) = objects(run(box.home, "--json", "--outcome", "denied", "--agent", "claude"))
    assert (denied.id, denied.by) == (ask, "Ann")
    assert run(box.home, "--since", "2100-01-01").stdout == "Nothing fits.\n"
    nobody = run(box.home, "--person", "Zoe")
    assert (nobody.exit_code, "nobody called 'Zoe'" in nobody.stderr) == (1, True)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run(empty).exit_code == 1
    shutil.rmtree(box.home)


def test_the_outcomes_are_those_of_the_route() -> None:
    assert Outcome.__args__ == OUTCOMES  # type: ignore[attr-defined]


def test_what_does_not_hold_is_marked() -> None:
    line = audit_line(check="fails", findings=["the entry is not in the log"])
    assert line_text(line)[-2].strip() == "NOT AS SIGNED: the entry is not in the log"


@pytest.mark.parametrize("at", [2**63 - 1, -(2**63), 0])
def test_a_moment_that_is_no_date_is_told_as_it_is(at: int) -> None:
    assert line_text(audit_line(at=at))[0].endswith("rules  on testbox")


def test_moments_as_people_type_them() -> None:
    read = Moment()
    now = time.time() * 1_000
    assert abs(read.convert("7d", None, None) - (now - 7 * 86_400_000)) < 60_000
    day = round(datetime(2026, 12, 1).astimezone().timestamp() * 1_000)
    assert read.convert("2026-12-01", None, None) == day
    assert Moment(end=True).convert("2026-12-01", None, None) == day + 86_400_000
    exact = round(datetime(2026, 12, 1, 10, 30, tzinfo=UTC).timestamp() * 1_000)
    for moment in (read, Moment(end=True)):
        assert moment.convert("2026-12-01T10:30Z", None, None) == exact
    for wrong in ("", "yesterday", "2026-13-01", "9" * 400 + "d"):
        with pytest.raises(click.UsageError):
            read.convert(wrong, None, None)
