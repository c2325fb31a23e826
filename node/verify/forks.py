"""The evidence of forks again: two signed headers that no single history of an author has."""

import sqlite3
from collections.abc import Mapping
from typing import Final

from node.store.rebuild import keys_of
from node.verify.names import Names
from node.verify.report import Checked, amount
from sync.errors import BadEntry
from sync.log.entry import decode, verify
from sync.log.fork import Side, evidence
from sync.log.kinds import Log

UNPROVEN: Final = (
    "The evidence was damaged or edited here. Stop the node, keep a copy of the folder, and"
    " restore a backup (`askmesh restore`); other machines keep the evidence as well."
)
UNSOUND: Final = (
    "What was stated beyond a fork was damaged or edited here. Stop the node, keep a copy of the"
    " folder, and restore a backup (`askmesh restore`); other machines keep it as well."
)


def check(connection: sqlite3.Connection, names: Names) -> Checked:
    """Check every piece of evidence by itself; what it proves is noted."""
    found = Checked(kind="forks")
    keys = keys_of(connection)
    for fleet, author, log, seq, *sides in connection.execute(
        "SELECT fleet, author, log, seq, at_header, at_signature, header, signature FROM fork"
        " ORDER BY author, log, seq"
    ):
        found.count += 1
        where = f"entry {seq:,} of {names.log(author, log)}"
        try:
            first, second = (
                Side(raw=raw, signature=signature)
                for raw, signature in zip(sides[::2], sides[1::2], strict=True)
            )
            proof = evidence(first, second)
            proof.verify(keys.get(proof.author, b""))
        except BadEntry as error:
            what = f"The evidence that {where} forked proves nothing: {error.sentence}"
            found.fault(what, UNPROVEN)
            continue
        if (proof.fleet, proof.author, proof.log, proof.seq) != (fleet, author, log, seq):
            found.fault(f"The evidence on {where} is of another place.", UNPROVEN)
            continue
        found.note(
            f"The history of {names.machine(author)} forked at {where}: a copied disk, a"
            " restored backup, or malice. What comes after that is disputed.",
            "On that machine, `askmesh node rejoin` gives it a new identity.",
        )
    found.what = f"{amount(found.count, 'fork')} on record." if found.count else "None on record."
    _testimony(connection, names, found, keys)
    return found


def _testimony(
    connection: sqlite3.Connection, names: Names, found: Checked, keys: Mapping[bytes, bytes]
) -> None:
    """Check each statement from beyond a fork by itself: no chain holds them."""
    for stored, *copied, header, signature, facts, text in connection.execute(
        "SELECT hash, fleet, author, seq, type, header, signature, facts, text FROM testimony"
        " ORDER BY author, seq, hash"
    ):
        _, author, seq, kind = copied
        where = names.entry(author, Log.DECISIONS.value, seq, kind)
        try:
            entry = decode(header, signature, facts, text)
            verify(entry, keys.get(entry.header.author, b""))
        except BadEntry as error:
            found.fault(f"The copy of {where}, from beyond a fork: {error.sentence}", UNSOUND)
            continue
        said = entry.header
        if [said.fleet, said.author, said.seq, said.type] != copied or entry.hash != stored:
            found.fault(f"The copy of {where} is of another place.", UNSOUND)
