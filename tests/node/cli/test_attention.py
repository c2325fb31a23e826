"""A person says at a terminal what calls them; nobody does without one."""

import click
import pytest

from node.cli.attention import clock, days_of, local_zone, moment_of
from tests.node.cli.conftest import Command
from tests.running import PASSPHRASE

HOUR = 3_600_000


def say(command: Command, *words: str) -> tuple[int, str]:
    with command.on_screen(*words) as screen:
        screen.expect("Passphrase:")
        screen.type(PASSPHRASE)
        return screen.end()


def test_muting_shows_in_status_and_ends_when_told(signed_in: Command) -> None:
    code, output = say(signed_in, "mute", "2h")
    assert (code, "You are muted until " in output) == (0, True)
    status = signed_in.run("status")
    assert " is muted until " in status.out
    (view,) = signed_in.run("status", "--json").object["attention"]
    assert view["state"] == "muted"
    assert say(signed_in, "mute", "0s")[0] != 0
    code, output = say(signed_in, "unsubscribe", "ci-*", "--project", "shop")
    assert code == 0
    assert "ci-*" in output
    code, output = say(signed_in, "unmute")
    assert (code, "You are called for what you may answer, but for what" in output) == (0, True)
    code, output = say(signed_in, "subscribe", "ci-*", "--project", "shop", "--forget")
    assert (code, "You are called for everything you may answer." in output) == (0, True)
    assert signed_in.run("status", "--json").object["attention"] == []
    for words in (("mute",), ("unmute",), ("quiet", "--off"), ("subscribe", "x")):
        refused = signed_in.run(*words, text=f"{PASSPHRASE}\n")
        assert (refused.code, "there is no terminal here" in refused.err) == (1, True)


def test_times_as_people_say_them(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_800_000_000_000
    for typed in ("00:00", "9:30", "tomorrow", "23:59"):
        assert now < moment_of(typed, now) <= now + 40 * HOUR
    assert clock(moment_of("9:30", now), moment_of("9:30", now)) == "09:30"
    assert moment_of("2027-01-20 09:00", now) == moment_of("2027-01-20T09:00:00", now)
    for wrong in ("soon", "25:00", "", "2027-13-01"):
        with pytest.raises(click.UsageError, match="is no time"):
            moment_of(wrong, now)
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    assert local_zone() == "Asia/Kolkata"


def test_days_as_people_say_them() -> None:
    assert days_of("mon-fri") == [0, 1, 2, 3, 4]
    assert days_of("sat-mon, wed") == [0, 2, 5, 6]
    assert days_of("mon-sun") == list(range(7))
    for wrong in ("", "monday", "fri-mon-sat"):
        with pytest.raises(click.UsageError, match="are no days"):
            days_of(wrong)
