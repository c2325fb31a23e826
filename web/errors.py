"""Why the page's listener turns a request away before anything looks at what it wants."""

from typing import ClassVar

from sync.errors import AskmeshError, CallerError


class WrongHost(CallerError):
    """This address is not the page's own."""

    code: ClassVar[str] = "wrong_host"
    status: ClassVar[int] = 421


class Foreign(CallerError):
    """This request comes from another web site."""

    code: ClassVar[str] = "foreign"
    status: ClassVar[int] = 403


class NotJson(CallerError):
    """A change must be sent as application/json, and uncompressed."""

    code: ClassVar[str] = "not_json"
    status: ClassVar[int] = 415


class WrongMethod(CallerError):
    """This address does not take that method."""

    code: ClassVar[str] = "wrong_method"
    status: ClassVar[int] = 405


class TooSlow(CallerError):
    """The request did not arrive in time; nothing was recorded."""

    code: ClassVar[str] = "too_slow"
    status: ClassVar[int] = 408


class PortTaken(AskmeshError):
    """Another program listens on the page's port."""

    code: ClassVar[str] = "port_taken"
    status: ClassVar[int] = 503
