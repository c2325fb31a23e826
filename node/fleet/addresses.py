"""Where other nodes were, and are said to be: kept beside the log, of no authority.

Whoever answers at an address must still prove, by its certificate, which node it is.
"""

import re
import sqlite3
from collections.abc import Sequence

from node.limits import ADDRESSES_KEPT
from node.store.transaction import Transaction
from sync.decide.visible import quoted
from sync.errors import Invalid, NotFound
from sync.net.ledger import Address

_PORT_MAX = 65_535
_HOST = re.compile(r"[A-Za-z0-9._:%-]{1,253}\Z")
_ORDER = "CASE source WHEN 'good' THEN 0 WHEN 'given' THEN 1 ELSE 2 END"


def parse(text: str) -> tuple[str, int]:
    """Read `host:port` or `[v6]:port`. Raises `Invalid`."""
    host, colon, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else host
    if (
        not colon
        or not port.isascii()
        or not port.isdigit()
        or not 0 < int(port[:6]) <= _PORT_MAX
        or _HOST.match(host) is None
        or (":" in host) != bracketed
    ):
        raise Invalid(
            f"{quoted(text)} is not an address.",
            hint="An address looks like 192.168.1.20:7717, box.local:7717 or [fe80::1]:7717.",
        )
    return host, int(port)


def written(host: str, port: int) -> str:
    """Return an address as it is typed."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def known(connection: sqlite3.Connection, node: str) -> list[Address]:
    """Return where a node may be: where it was last first."""
    return [
        Address(host=host, port=port, source=source, good_at=good_at or 0)
        for host, port, source, good_at in connection.execute(
            "SELECT host, port, source, good_at FROM address WHERE node = ?"  # noqa: S608 -- ours
            f" ORDER BY good_at IS NULL, good_at DESC, {_ORDER} LIMIT ?",
            (node, ADDRESSES_KEPT),
        )
    ]


def given(connection: sqlite3.Connection, node: str) -> list[str]:
    """Return the addresses that a person gave."""
    return [
        written(host, port)
        for host, port in connection.execute(
            "SELECT host, port FROM address WHERE node = ? AND source = 'given'"
            " ORDER BY host, port",
            (node,),
        )
    ]


def give(transaction: Transaction, node: str, address: str) -> None:
    """Remember an address that a person gave. Raises `Invalid`."""
    host, port = parse(address)
    if len(given(transaction.connection, node)) >= ADDRESSES_KEPT:
        raise Invalid(f"A machine may have {ADDRESSES_KEPT} given addresses; drop one first.")
    transaction.run(
        "INSERT INTO address VALUES (?, ?, ?, 'given', NULL)"
        " ON CONFLICT (node, host, port) DO UPDATE SET source = 'given'",
        node,
        host,
        port,
    )
    transaction.change("fleet", node)


def drop(transaction: Transaction, node: str, address: str) -> None:
    """Forget an address. Raises `NotFound`."""
    host, port = parse(address)
    gone = transaction.run(
        "DELETE FROM address WHERE node = ? AND host = ? AND port = ?", node, host, port
    )
    if not gone:
        raise NotFound(f"{address[:80]} is not an address known of this machine.")
    transaction.change("fleet", node)


def reached(
    transaction: Transaction, node: str, address: Address | None, *, version: str, by: str
) -> None:
    """A link lives: remember when, and where it was dialled."""
    transaction.run(
        "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?)", node, transaction.now, by, version
    )
    if address is not None:
        transaction.run(
            "INSERT INTO address VALUES (?, ?, ?, 'good', ?)"
            " ON CONFLICT (node, host, port) DO UPDATE SET good_at = excluded.good_at",
            node,
            address.host,
            address.port,
            transaction.now,
        )
        _trim(transaction, node)


def sighted(transaction: Transaction, node: str, at: int, *, by: str, version: str) -> None:
    """Remember when a machine was known to be running, and by whom; the latest counts."""
    transaction.run(
        "INSERT INTO seen VALUES (?, ?, ?, ?) ON CONFLICT (node) DO UPDATE SET"
        " at = excluded.at, by = excluded.by,"
        " version = CASE WHEN excluded.version = '' THEN version ELSE excluded.version END"
        " WHERE excluded.at > at",
        node,
        at,
        by,
        version,
    )


def fresh(connection: sqlite3.Connection, node: str, told: Sequence[Address]) -> list[Address]:
    """Return those of the told addresses that are well-formed and new."""
    have = {
        (host, port)
        for host, port in connection.execute(
            "SELECT host, port FROM address WHERE node = ?", (node,)
        )
    }
    return [
        address
        for address in told[:ADDRESSES_KEPT]
        if (address.host, address.port) not in have
        and _HOST.match(address.host)
        and 0 < address.port <= _PORT_MAX
    ]


def told(transaction: Transaction, node: str, addresses: Sequence[Address]) -> None:
    """Remember where another node says that this one is."""
    for address in addresses:
        transaction.run(
            "INSERT OR IGNORE INTO address VALUES (?, ?, ?, 'told', NULL)",
            node,
            address.host,
            address.port,
        )
    _trim(transaction, node)


def _trim(transaction: Transaction, node: str) -> None:
    """Keep what was given and the latest of the rest: addresses come and go for years."""
    transaction.run(
        "DELETE FROM address WHERE node = ?1 AND source != 'given' AND (host, port) NOT IN"
        " (SELECT host, port FROM address WHERE node = ?1 AND source != 'given'"
        "  ORDER BY good_at IS NULL, good_at DESC, host LIMIT ?2)",
        node,
        ADDRESSES_KEPT,
    )
