"""Every limit of the shared history, each with its reason.

Sizes are bytes, times are milliseconds unless the name says otherwise.
"""

from typing import Final

SECOND_MS: Final = 1_000
MINUTE_MS: Final = 60 * SECOND_MS
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS

FACTS_BYTES: Final = 16 * 1024
"""Facts are kept for ever and copied into finals, so they must stay small."""

TEXT_BYTES: Final = 64 * 1024
"""One entry fits a frame many times over; longer content travels as a blob."""

BLOB_BYTES: Final = 4 * 1024 * 1024
"""A call or a long context a person can still be expected to open and read."""

SALT_BYTES: Final = 16
"""Random bytes before every text and blob: equal content must not show as equal."""

TITLE_CHARACTERS: Final = 200
"""A title is read at a glance, on a phone, in a notification."""

DETAIL_CHARACTERS: Final = 32_000
"""With options and an answer beside it this stays below `TEXT_BYTES`."""

OPTIONS: Final = 20
"""More choices than this are not read, they are scrolled past."""

LABEL_CHARACTERS: Final = 120
"""An option's label becomes a button."""

NAME_CHARACTERS: Final = 64
"""Names of agents, sessions, people, machines and rules."""

PROJECT_CHARACTERS: Final = 300
"""A canonical repository id or a path."""

ANSWER_CHARACTERS: Final = 16_000
"""A person's free text; it returns to the agent whole."""

KEY_CHARACTERS: Final = 200
"""An idempotency key is an identifier, not content."""

APPROVAL_DEADLINE_MS: Final = DAY_MS
"""The default: a day covers a night's sleep."""

APPROVAL_DEADLINE_MAX_MS: Final = 7 * DAY_MS
"""A call approved later than a week after it was shown is a different call."""

QUESTION_DEADLINE_MAX_MS: Final = 90 * DAY_MS
"""Beyond the retention of its text a question could not be read any more."""

DEADLINE_MIN_MS: Final = SECOND_MS
"""A shorter deadline can pass before any person has seen the ask."""

USE_BY_MS: Final = HOUR_MS
"""An allow nobody picked up for an hour is about a situation that has passed."""

LEASE_MS: Final = 10 * MINUTE_MS
"""A session that has been silent this long after a hand-over counts as gone."""

CLOCK_AHEAD_MS: Final = 5 * MINUTE_MS
"""An entry stamped further ahead than this is held out of last-writer merges."""
