"""What a route is: who it is for, what it takes, what it gives."""

from enum import Enum
from typing import Any, Literal

import msgspec

from web.limits import SMALL_BODY_BYTES


class Access(Enum):
    """Who may call a route."""

    PUBLIC = "public"
    """No session: the page itself, and what makes a session out of a proof."""
    PERSON = "person"
    """A session of a person."""
    LAST = "last"
    """A session of a person; anyone on this machine once nobody can sign in on it any more and
    its old identity is used up."""
    FIRST = "first"
    """A session of a person; anyone on this machine while nobody ever signed in on it."""


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One route."""

    name: str
    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    summary: str
    access: Access = Access.PERSON
    grants: bool = False
    """It answers an ask, or gives or takes a right: what no agent may ever reach."""
    page: bool = False
    """The page or a part of it: other sites may link to it as a whole window."""
    takes: type[Any] | None = None
    body_bytes: int = SMALL_BODY_BYTES
    gives: tuple[type[Any], ...] = ()
    """One record, or several of which one comes; none: a file or a stream."""
    status: int = 200
    media: str = "application/json"
    query: tuple[str, ...] = ()
    """What may stand behind the `?`; all of it may be left out."""
