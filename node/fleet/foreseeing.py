"""Checks the signatures of a run before its turn with the writer comes, beside the writer.

A check takes longer than all else that is done with an entry, needs no store, and lets other
threads run meanwhile. Its result is remembered (`sync.log.entry.verify_header`), so that the
writer, who checks everything itself, finds it known. Nothing depends on any of this.
"""

import contextlib
import sqlite3
from collections.abc import Iterable, Mapping

from node.store.receive import SIGNED_EACH
from sync.errors import BadEntry
from sync.log.entry import Entry, sha256, unpack, verify_header
from sync.log.facts import FinalFacts, read
from sync.log.kinds import EntryType

Keys = Mapping[bytes, bytes]
"""The public key of each node, by its id."""


def public_keys(connection: sqlite3.Connection) -> dict[bytes, bytes]:
    """Return the public key of every node that is or was a member."""
    found = connection.execute("SELECT public_key FROM node")
    return {sha256(key): key for (key,) in found}


def check(run: Iterable[Entry], keys: Keys) -> None:
    """Check what the store is going to check of this run. Never raises for what is in it."""
    last: dict[tuple[bytes, int], Entry] = {}
    for entry in run:
        last[entry.header.author, entry.header.log] = entry
        if entry.header.type in SIGNED_EACH:
            _check(entry.header.author, entry.raw, entry.signature, keys)
        if entry.header.type == EntryType.FINAL:
            _check_votes(entry, keys)
    for (author, _), entry in last.items():
        _check(author, entry.raw, entry.signature, keys)


def _check_votes(final: Entry, keys: Keys) -> None:
    with contextlib.suppress(BadEntry):
        for vote in read(FinalFacts, final.facts).votes:
            _check(unpack(vote.raw).author, vote.raw, vote.signature, keys)


def _check(author: bytes, raw: bytes, signature: bytes, keys: Keys) -> None:
    key = keys.get(author)
    if key is not None:
        with contextlib.suppress(BadEntry):
            verify_header(raw, signature, key)
