"""One POST of an agent as it was read."""

from typing import Any, TypeVar

import msgspec

from node.desk.requests import Asker
from sync.misfit import misfit

Arguments = TypeVar("Arguments", bound=msgspec.Struct)


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """One POST as read: who, under which request id, and what for."""

    who: Asker
    request: str
    raw: dict[str, Any]

    def read(self, record: type[Arguments]) -> Arguments:
        """The arguments as a record. Raises `Invalid`."""
        return as_record(self.raw, record)


def as_record(value: dict[str, Any], record: type[Arguments]) -> Arguments:
    """An object as a record. Raises `Invalid` with what is wrong in it."""
    try:
        return msgspec.convert(value, record)
    except msgspec.ValidationError as error:
        raise misfit(error, record) from None
