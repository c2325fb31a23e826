"""What all parts of a body have in common."""

import msgspec


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of every part of a body."""
