"""What every part of a body is made of, and every statement about the fleet."""

import msgspec


class Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of every part of a body."""


class Statement(Part, frozen=True, kw_only=True):
    """Base of what is said about the fleet itself (`sync.log.kinds.STATEMENTS`).

    `heads` are the hashes of the newest statements its author knew: what it may say is
    judged as of these, so every node judges alike, whatever reached it first.
    """

    heads: list[bytes] = []
    at: int
