"""The host that a URL names, read so that no spelling of it hides another."""

import ipaddress
import re
import socket
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import urlsplit

from node.gate.truth import Truth

HOST_CHARACTERS: Final = 253
URL_CHARACTERS: Final = 16 * 1024
SCHEMES: Final = frozenset({"http", "https", "ws", "wss", "ftp"})

AMBIGUOUS: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029]")
"""Some readers drop these from a URL, others end the host there."""

DIFFERS: Final = re.compile("[ßςẞ\u200c\u200d\u00ad]")
"""Of these the two standards of names in other scripts make different hosts."""

LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?")
NUMERIC: Final = re.compile(r"(?:0[xX][0-9a-fA-F]*|[0-9]+)")


@dataclass(frozen=True, kw_only=True)
class Target:
    """A URL and where it leads."""

    text: str

    @cached_property
    def _parts(self) -> tuple[str, bool] | None:
        """The host in its one spelling, and whether it was written plainly; None: unreadable."""
        text = self.text
        if len(text) > URL_CHARACTERS or AMBIGUOUS.search(text):
            return None
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://[^/]", text) is None:
            return None
        try:
            split = urlsplit(text)
            port = split.port
        except ValueError:
            return None
        authority = split.netloc
        if split.scheme not in SCHEMES or "%" in authority or port == 0:
            return None
        shown = authority.rpartition("@")[2]
        bare = shown if shown.endswith("]") else re.sub(r":[0-9]*$", "", shown)
        host = one_spelling(bare)
        return None if host is None else (host, bare.lower() == host and "@" not in authority)

    @property
    def host(self) -> str | None:
        """The host in its one spelling; None when readers may differ about it."""
        return None if self._parts is None else self._parts[0]

    @property
    def plain(self) -> bool:
        """Whether nothing about the host could be taken for another: what `allow` asks for."""
        return self._parts is not None and self._parts[1]


def one_spelling(host: str) -> str | None:
    """A host in small letters, in ASCII, without a last dot; None for what is no host."""
    if host.startswith("["):
        return _address6(host[1:-1]) if host.endswith("]") else None
    if DIFFERS.search(host):
        return None
    try:
        name = host.encode("idna").decode() if not host.isascii() else host
    except UnicodeError:
        return None
    name = name.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > HOST_CHARACTERS or not all(LABEL.fullmatch(label) for label in labels):
        return None
    return _address4(name) if NUMERIC.fullmatch(labels[-1]) else name


def _address4(text: str) -> str | None:
    """An address as systems read it, also as one number, octal or hexadecimal."""
    try:
        return socket.inet_ntoa(socket.inet_aton(text))
    except OSError:
        return None


def _address6(text: str) -> str | None:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        return None
    if address.scope_id is not None:
        return None
    return str(address.ipv4_mapped) if address.ipv4_mapped else f"[{address}]"


def spellings(host: str) -> list[str]:
    """The patterns that stand for a host: its own name, and `*.` before each that ends it."""
    labels = host.split(".")
    return [host, *(f"*.{'.'.join(labels[n:])}" for n in range(1, len(labels)))]


@dataclass(frozen=True, kw_only=True, slots=True)
class HostPattern:
    """One host; with `*.` before it, every host below it."""

    text: str

    def has(self, host: str) -> bool:
        """Whether it stands for this host."""
        return host.endswith(self.text[1:]) if self.text.startswith("*.") else host == self.text

    def allows(self, target: Target) -> bool:
        """As an `allow` rule asks: the URL is written plainly and leads there."""
        return target.plain and target.host is not None and self.has(target.host)

    def guards(self, target: Target) -> Truth:
        """As `ask` and `deny` ask: what cannot be read may lead there."""
        if target.host is None:
            return Truth.UNSURE
        return Truth.YES if self.has(target.host) else Truth.NO
