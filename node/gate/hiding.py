"""Arguments that never leave the machine that asks: what the others get in their place.

The call that travels has a marker for each, and a commitment to the whole call under a secret
that stays at home. So what is signed covers every hidden letter, and nobody can try guesses.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import rfc8785

from node.gate.call import EDITED, Call, summary

SECRET_BYTES: Final = 32
"""Of the key of one commitment."""

SAID_NOTHING: Final = "[hidden]"


@dataclass(frozen=True, kw_only=True, slots=True)
class Travelling:
    """A call as other machines get it."""

    canonical: bytes
    summary: str
    hidden: int
    """How many arguments are not in it."""


def hide(call: Call, paths: Sequence[str], secret: bytes) -> Travelling | None:
    """The call without these arguments (dotted paths); None when it has none of them."""
    arguments, count = call.arguments, 0
    for path in sorted(paths, key=len):  # what holds another comes first
        arguments, found = _without(arguments, path.split("."))
        count += found
    if not count:
        return None
    edits = call.tool in EDITED
    whole = {
        "tool": call.tool,
        "arguments": arguments,
        "cwd": call.cwd,
        # The file's path is an argument, and its hash lets somebody try out what is in it.
        "files": [
            {
                "path": _path(call, arguments) if edits else file.path,
                "sha256": SAID_NOTHING if edits and file.sha256 else file.sha256,
            }
            for file in call.files
        ],
        "hidden": {"count": count, "commitment": commitment(call.canonical, secret)},
    }
    return Travelling(
        canonical=rfc8785.dumps(whole),
        summary=summary(call.tool, arguments),
        hidden=count,
    )


def commitment(canonical: bytes, secret: bytes) -> str:
    """What stands for a whole call where some of it is hidden."""
    return hmac.digest(secret, canonical, hashlib.sha256).hex()


def _path(call: Call, arguments: Any) -> str:  # noqa: ANN401 - any JSON value
    """The file's path, or the marker where the argument that names it is hidden."""
    name = EDITED[call.tool]
    given, left = call.arguments, arguments
    if not isinstance(left, Mapping) or left.get(name) != given.get(name):
        return SAID_NOTHING
    return call.files[0].path


def _without(value: Any, path: list[str]) -> tuple[Any, int]:  # noqa: ANN401 - any JSON value
    """A copy with a marker in the place of what the path names, and how many there are.

    In a list the path goes on in each of its items.
    """
    if not path:
        return (value, 0) if _is_marker(value) else (_marker(value), 1)
    if isinstance(value, list):
        pairs = [_without(item, path) for item in value]
        return [item for item, _ in pairs], sum(count for _, count in pairs)
    if not isinstance(value, Mapping) or path[0] not in value:
        return value, 0
    inner, count = _without(value[path[0]], path[1:])
    return {**value, path[0]: inner}, count


class _Marker(str):
    """A marker of ours, not an agent's text that looks like one."""

    __slots__ = ()


def _is_marker(value: object) -> bool:
    return isinstance(value, _Marker)


def _marker(value: object) -> _Marker:
    if isinstance(value, str):
        return _Marker(f"[hidden: {len(value)} characters]")
    return _Marker(f"[hidden: {len(rfc8785.dumps(value))} bytes of JSON]")  # type: ignore[arg-type]
