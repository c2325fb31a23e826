"""Every limit of the page's listener, each with its reason."""

from typing import Final

BODY_BYTES: Final = 256 * 1024
"""A 64 KiB rules file or a 16,000-character answer, as JSON with escapes."""

STREAMS: Final = 100
"""Event streams at one time: many tabs, not a flood."""

BEAT_S: Final = 2.0
"""Heartbeat of a stream: a page greys within 5 s of silence."""

STREAM_SEND_S: Final = 10.0
"""A client that takes no byte for this long is cut; it reads the snapshot again."""

WAIT_MAX_S: Final = 30.0
"""The longest a vote's reply may wait for the home's ruling."""

SESSION_COOKIE_S: Final = 30 * 24 * 3600
"""As long as the node keeps an unused page session."""

WHERE_CHARACTERS: Final = 200
"""Of what a browser says about itself."""
