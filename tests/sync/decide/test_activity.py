"""A session ages in words."""

import pytest

from sync.decide.activity import Activity, activity
from sync.limits import NOT_SEEN_MS, QUIET_MS


@pytest.mark.parametrize(
    ("silent", "word"),
    [
        (-5, Activity.ACTIVE),
        (0, Activity.ACTIVE),
        (QUIET_MS - 1, Activity.ACTIVE),
        (QUIET_MS, Activity.QUIET),
        (NOT_SEEN_MS - 1, Activity.QUIET),
        (NOT_SEEN_MS, Activity.NOT_SEEN),
        (10**15, Activity.NOT_SEEN),
    ],
)
def test_silence_is_told_as_such(silent: int, word: Activity) -> None:
    assert activity(1_000, 1_000 + silent, ended=False) is word
    assert activity(1_000, 1_000 + silent, ended=True) is Activity.ENDED


def test_nothing_is_ever_said_to_have_stopped() -> None:
    assert {one.value for one in Activity} == {"active", "quiet", "not_seen", "ended"}
