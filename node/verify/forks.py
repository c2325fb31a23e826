"""The evidence of forks again: two entries that one author signed for one place."""

import sqlite3
from typing import Final

from node.store.rebuild import keys_of
from node.verify.names import Names
from node.verify.report import Checked, amount
from sync.errors import BadEntry
from sync.log.entry import sha256, unpack, verify_header

UNPROVEN: Final = (
    "The evidence was damaged or edited here. Stop the node, keep a copy of the folder, and"
    " restore a backup (`askmesh restore`); other machines keep the evidence as well."
)


def check(connection: sqlite3.Connection, names: Names) -> Checked:
    """Check every piece of evidence by itself; what it proves is noted."""
    found = Checked(kind="forks")
    keys = keys_of(connection)
    for fleet, author, log, seq, header, signature in connection.execute(
        "SELECT fleet, author, log, seq, header, signature FROM fork ORDER BY author, log, seq"
    ):
        found.count += 1
        where = f"entry {seq:,} of {names.log(author, log)}"
        try:
            said = unpack(header)
            verify_header(header, signature, keys.get(author, b""))
        except BadEntry as error:
            found.fault(
                f"The evidence that {where} forked proves nothing: {error.sentence}", UNPROVEN
            )
            continue
        if (said.fleet, said.author, said.log, said.seq) != (fleet, author, log, seq):
            found.fault(f"The evidence on {where} is of another place.", UNPROVEN)
        elif not _differs(connection, (fleet, author, log, seq), header + signature, said.prev):
            found.fault(f"The evidence on {where} is the very history that is here.", UNPROVEN)
        else:
            found.note(
                f"The history of {names.machine(author)} forked at {where}: a copied disk, a"
                " restored backup, or malice. Nothing after that is taken.",
                "On that machine, `askmesh node rejoin` gives it a new identity.",
            )
    found.what = f"{amount(found.count, 'fork')} on record." if found.count else "None on record."
    return found


def _differs(
    connection: sqlite3.Connection, place: tuple[bytes, bytes, int, int], other: bytes, prev: bytes
) -> bool:
    """Whether the other entry cannot stand in the history that is here."""
    of = "SELECT hash FROM entry WHERE fleet = ? AND author = ? AND log = ? AND seq = ?"
    here = connection.execute(of, place).fetchone()
    if here is not None:
        return bool(here[0] != sha256(other))
    *log, seq = place
    before = connection.execute(of, (*log, seq - 1)).fetchone()
    return before is not None and bool(before[0] != prev)
