"""What is this machine's own and still can be checked: its key, and what waits for time."""

import sqlite3
from pathlib import Path
from typing import Final

from node.identity import NEXT_FILE, load_key
from node.store import derive
from node.store.receive import MERGED
from node.verify.report import Checked
from sync.errors import BadEntry, StoreError
from sync.log.entry import unpack
from sync.log.names import node_name

EDITED: Final = (
    "The store was damaged or edited. Stop the node, keep a copy of the folder, and restore a"
    " backup (`askmesh restore`)."
)


def check(home: Path, connection: sqlite3.Connection) -> Checked:
    """Check that key, store and fleet are of one node, and what is held out of merges."""
    found = Checked(kind="own", what="Key, store and fleet are of one node.")
    local = dict(connection.execute("SELECT name, value FROM local"))
    node, fleet = local.get(derive.NODE), local.get(derive.FLEET)
    try:
        key = load_key(home)
    except StoreError as error:
        found.fault(error.sentence, error.hint)
    else:
        if node != key.node_id and _follows(home, node):
            found.note("Taking on a new identity was cut off.", "The next start finishes it.")
        elif node != key.node_id:
            found.fault(
                "The store names another machine as its own than the key beside it.", EDITED
            )
    _belongs(connection, node, fleet, found)
    held = {kind.value for kind in MERGED}
    for n, stamp, header, kind in connection.execute(
        "SELECT held.n, held.hlc, header, type FROM held LEFT JOIN entry USING (n)"
    ):
        if header is None or kind not in held or _stamp(header) != stamp:
            found.fault(f"Entry {n} is held back, and is none that may be.", EDITED)
    for old, new in connection.execute(
        "SELECT old, new FROM ask_alias WHERE new NOT IN (SELECT id FROM ask)"
    ):
        found.fault(f"{old} was raised again as {new}, which is not here.", EDITED)
    return found


def _follows(home: Path, node: bytes | None) -> bool:
    """Whether the key that the store counts lies beside the one in use."""
    try:
        return load_key(home, NEXT_FILE).node_id == node
    except StoreError:
        return False


def _belongs(
    connection: sqlite3.Connection, node: bytes | None, fleet: bytes | None, found: Checked
) -> None:
    """Whether this machine's own log is of the fleet it says it belongs to."""
    genesis = connection.execute(
        "SELECT 1 FROM entry WHERE fleet = ? AND type = 1", (fleet,)
    ).fetchone()
    joining = connection.execute("SELECT 1 FROM local WHERE name = 'introduced'").fetchone()
    if node is None or fleet is None or (genesis is None and joining is None):
        found.fault("The store does not hold the beginning of the fleet it says it is of.", EDITED)
    elif found.faults == 0:
        found.what = f"Key, store and fleet are of one node, {node_name(node)[:8]}."


def _stamp(header: bytes) -> int | None:
    try:
        return unpack(header).hlc
    except BadEntry:
        return None
