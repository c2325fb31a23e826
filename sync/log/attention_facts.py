"""What an entry says of when a person wants to be called (`sync.decide.attention`)."""

from sync.log.parts import Part


class QuietHours(Part, frozen=True, kw_only=True):
    """Hours of the wall clock in an IANA `zone`, beginning on these weekdays (Monday is 0).

    Minutes of the day; an `end` that is not after `start` lies on the next day.
    """

    zone: str
    days: list[int]
    start: int
    end: int


class SubscriptionFacts(Part, frozen=True, kw_only=True):
    """What `person` wants to be called for: one `field`, of which the last word counts.

    `agents`: whether what fits `agent`, `project` and `machine` calls (`on`; null: nothing
    is said of it). `mute`: nothing calls `until` then (null: not muted). `quiet`: nothing
    calls in the hours of `quiet` (null: none are quiet).
    """

    person: str
    field: str
    agent: str = ""
    project: str = ""
    machine: str = ""
    on: bool | None = None
    until: int | None = None
    quiet: QuietHours | None = None
    at: int
