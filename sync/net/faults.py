"""Why there is no link, in words for the person who looks at the machine's row."""

import errno
import socket
import ssl
from enum import Enum

import aiohttp
import msgspec


class Fault(Enum):
    """What went wrong with an attempt; the later, the more it tells."""

    NO_ADDRESS = 0
    NO_NAME = 1
    TIME_OUT = 2
    NO_ROUTE = 3
    BROKEN = 4
    REFUSED = 5
    NOT_ASKMESH = 6
    OTHER_MACHINE = 7
    BUSY = 8
    SILENT = 9
    NOT_KNOWN = 10


_SENTENCES = {
    Fault.NO_ADDRESS: "No address of {name} is known, and nothing announces it on this network.",
    Fault.NO_NAME: "The name in {where} is not found.",
    Fault.TIME_OUT: "{where} does not answer: it is off, cut off, or behind a firewall.",
    Fault.NO_ROUTE: "There is no way to {where} from here: another network, or none.",
    Fault.BROKEN: "The connection to {where} broke while it was made.",
    Fault.REFUSED: "{where} refuses connections: askmesh does not run there, or at another port.",
    Fault.NOT_ASKMESH: "Something other than askmesh answers at {where}.",
    Fault.OTHER_MACHINE: "{where} is answered by another machine than {name} (its certificate"
    " is another one).",
    Fault.BUSY: "{where} takes no more links at the moment.",
    Fault.SILENT: "{where} answers but does not speak as askmesh does.",
    Fault.NOT_KNOWN: "{where} does not know this machine (removed there, or never paired).",
}
_UNREACHABLE = frozenset(
    {
        errno.EHOSTUNREACH,
        errno.ENETUNREACH,
        errno.ENETDOWN,
        errno.EHOSTDOWN,
        errno.EADDRNOTAVAIL,
        errno.EACCES,
        errno.EPERM,
        errno.EINVAL,
    }
)
"""EPERM and EACCES are what a firewall on this side gives; EINVAL a link-local address
without its interface."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt that did not become a link."""

    fault: Fault
    sentence: str


class AttemptFailed(Exception):
    """An attempt to link failed."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(_SENTENCES[fault])
        self.fault = fault


def failure(fault: Fault, *, where: str = "", name: str = "this machine") -> Failure:
    """Say a fault in words."""
    return Failure(fault=fault, sentence=_SENTENCES[fault].format(where=where, name=name))


def most_telling(failures: list[Failure]) -> Failure | None:
    """Return the one to show when several addresses failed."""
    return max(failures, key=lambda one: one.fault.value, default=None)


def fault_of(error: BaseException) -> Fault:
    """Return what an exception of aiohttp, ssl, socket or asyncio means."""
    if isinstance(error, AttemptFailed):
        return error.fault
    if isinstance(error, aiohttp.WSServerHandshakeError):
        return {403: Fault.NOT_KNOWN, 503: Fault.BUSY}.get(error.status, Fault.NOT_ASKMESH)
    if isinstance(error, TimeoutError):
        return Fault.TIME_OUT
    for part in _chain(error):
        found = _fault_of_part(part)
        if found is not None:
            return found
    if isinstance(error, aiohttp.ServerDisconnectedError):
        # TLS 1.3: our side is done before the other has refused our certificate.
        return Fault.NOT_KNOWN
    if isinstance(error, aiohttp.ClientResponseError | aiohttp.ClientPayloadError):
        return Fault.NOT_ASKMESH
    return Fault.BROKEN


def _chain(error: BaseException) -> list[BaseException]:
    """The exceptions behind one, outermost first; a chain may not be endless."""
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and len(found) < 8:
        found.append(current)
        inner = current.os_error if isinstance(current, aiohttp.ClientConnectorError) else None
        current = inner or current.__cause__ or current.__context__
    return found


def _fault_of_part(error: BaseException) -> Fault | None:
    if isinstance(error, aiohttp.ClientConnectorError):
        return None  # what is inside tells
    if isinstance(error, ssl.SSLError):
        return _fault_of_tls(error)
    if isinstance(error, socket.gaierror):
        return Fault.NO_NAME
    if isinstance(error, ConnectionRefusedError):
        return Fault.REFUSED
    if isinstance(error, TimeoutError):
        return Fault.TIME_OUT
    if isinstance(error, OSError) and error.errno in _UNREACHABLE:
        return Fault.NO_ROUTE
    return None


def _fault_of_tls(error: ssl.SSLError) -> Fault:
    if isinstance(error, ssl.SSLCertVerificationError):
        return Fault.OTHER_MACHINE
    reason = error.reason or ""
    if "ALERT_UNKNOWN_CA" in reason or "ALERT_BAD_CERTIFICATE" in reason:
        return Fault.NOT_KNOWN
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return Fault.BROKEN
    return Fault.NOT_ASKMESH
