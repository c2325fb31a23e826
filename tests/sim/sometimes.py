"""Paths so rare that a simulation could miss them for ever: each must run now and then.

A check that nothing ever reached proves nothing; these are what the 300 seeds of
`deploy/test` must have lived through together.
"""

from collections.abc import Mapping

REQUIRED = (
    # faults
    "crash at an await",
    "crash before commit",
    "crash between commit and reply",
    "torn tail",
    "reply lost",
    "frame lose",
    "frame double",
    "frame swap",
    "one-way cut",
    "partition",
    "slow peer",
    "suspended",
    "all slept",
    "clock set",
    "reboot under a wrong clock",
    "days later",
    # who may decide
    "made admin",
    "made member",
    "made viewer",
    "person removed",
    "changed midway",
    "account held",
    "account of all held",
    "vote that nobody checked",
    "vote counted",
    "vote on_hold",
    "final by several persons",
    "sent back as unclear",
    "an allow is held back",
    "card counted",
    "card unclear",
    "card account_on_hold",
    "card suspended",
    # copies and ends of machines
    "cloned",
    "restored",
    "copy that can be seen",
    "copy that cannot be seen",
    "fork seen",
    "machine removed",
    "machine lost for good",
    # the lives of asks
    "entry delivered by a third machine",
    "kept vote delivered after a week",
    "answered after another",
    "vote accepted",
    "vote superseded",
    "vote late",
    "vote not_allowed",
    "vote taken_back",
    "vote by a machine that does not speak",
    "hand-over handed",
    "hand-over void taken back",
    "hand-over void use-by passed",
    "taken over",
    "resolved",
    "session fell silent",
    "withdrawn",
    "final allowed",
    "final denied",
    "final answered",
    "final declined",
    "final expired",
    "final withdrawn",
    "approval released",
    "gated call released",
    "gated call resolved",
    "gate vanished",
    # what somebody saw
    "card kept",
    "card sending",
    "card taking_back",
    "card lost",
    "card not_picked_up",
    "card outcome_unknown",
    "card not_seen",
    "card deadline_passed",
    "card machine_removed",
    "card must_rejoin",
    "card on_hold",
    "card disputed",
)


def missing(ran: Mapping[str, int]) -> list[str]:
    """Return what never ran."""
    return [name for name in REQUIRED if not ran.get(name)]
