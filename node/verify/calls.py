"""Calls again: what a person was shown is what was signed, and no blob is another one."""

import hashlib
import hmac
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from node.gate.hiding import commitment
from node.store.blobs import FOLDER
from node.verify.report import Checked, Progress, amount
from sync.errors import BadEntry
from sync.limits import BLOB_BYTES, SALT_BYTES
from sync.log.entry import HASH_BYTES, sha256
from sync.log.facts import AskFacts, read
from sync.log.kinds import EntryType
from sync.log.names import ask_name

DAMAGED: Final = (
    "Move the file away and start the node: it is fetched again from a machine that has it;"
    " for a call of this machine, restore a backup (`askmesh restore`)."
)
EDITED: Final = (
    "The store was damaged or edited. Stop the node, keep a copy of the folder, and restore a"
    " backup (`askmesh restore`)."
)
MISLED: Final = (
    "Nobody can allow this call here. Run `askmesh verify` on the machine that asked; if nobody"
    " can explain it, take that machine out: `askmesh node remove`."
)
SUFFIX: Final = ".new-"
"""How the name of a file begins that is just being written (`node.store.blobs`)."""


# A digest of zeros was erased with the words of its ask (`node.store.erasing`).


def check(home: Path, connection: sqlite3.Connection, progress: Progress) -> Checked:
    """Check every file among the blobs, then every call against what was signed of it."""
    found = Checked(kind="calls")
    here = _files(home / FOLDER, found, progress)
    digests = {
        str(ask): bytes(one) for ask, one in connection.execute("SELECT ask, digest FROM call")
    }
    whole = {
        str(ask): (bytes(canonical), bytes(secret))
        for ask, canonical, secret in connection.execute(
            "SELECT ask, canonical, secret FROM hidden_call"
        )
        if any(canonical)
    }
    missing = 0
    for ask, facts, text in _asks(connection):
        path = here.get((facts.blob or b"").hex())
        content = None if path is None else _content(path)
        missing += facts.blob is not None and content is None
        if content is not None:
            _signed(ask, facts, text, content, found)
            digest = digests.get(ask, b"")
            kept = whole.get(ask)
            if kept is not None:
                _hidden(ask, content, kept, found)
            said = sha256(content if kept is None else kept[0])
            if (text is not None or any(digest)) and digest not in (b"", said):
                found.fault(f"The digest kept of the call of {ask} is not the call's.", EDITED)
    for ask, one, other in connection.execute(
        "SELECT ask, call.digest, gate_call.digest FROM call JOIN gate_call USING (ask)"
    ):
        if one != other and any(one) and any(other):
            found.fault(
                f"The gate knows another call of {ask} than the one that was asked.", EDITED
            )
    found.count = len(here)
    away = f"; {amount(missing, 'call')} not here (erased, or still to come)" if missing else ""
    found.what = f"{amount(found.count, 'blob')} against hash and signed digest{away}."
    return found


def _files(folder: Path, found: Checked, progress: Progress) -> dict[str, Path]:
    """Return the sound files by name."""
    here: dict[str, Path] = {}
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    for count, path in enumerate(paths):
        progress("calls", count, len(paths))
        if path.name.startswith(SUFFIX):
            continue
        if not _is_name(path.name):
            found.note(f"{path} is not of askmesh.", "The next start removes it.")
            continue
        try:
            size, data = path.stat().st_size, _read(path)
        except FileNotFoundError:
            # A running node may just have erased it.
            continue
        except OSError as error:
            found.fault(f"{path} cannot be read: {error.strerror}.", DAMAGED)
            continue
        if size > BLOB_BYTES + SALT_BYTES or hashlib.sha256(data).hexdigest() != path.name:
            found.fault(f"{path} does not hold what its name says.", DAMAGED)
            continue
        here[path.name] = path
    return here


def _is_name(name: str) -> bool:
    try:
        return len(bytes.fromhex(name)) == HASH_BYTES and name == name.lower()
    except ValueError:
        return False


def _read(path: Path) -> bytes:
    """The file, and one byte more than any blob has where it is larger."""
    with path.open("rb") as file:
        return file.read(BLOB_BYTES + SALT_BYTES + 1)


def _content(path: Path) -> bytes | None:
    try:
        return _read(path)[SALT_BYTES:]
    except OSError:
        return None


def _asks(connection: sqlite3.Connection) -> Iterator[tuple[str, AskFacts, bytes | None]]:
    """Every ask with a call, from the log."""
    for author, facts, text in connection.execute(
        "SELECT author, facts, text FROM entry WHERE type = ? ORDER BY n", (EntryType.ASK.value,)
    ):
        try:
            said = read(AskFacts, facts)
        except BadEntry:
            continue
        if said.blob is not None:
            yield ask_name(author, said.number), said, text


def _signed(ask: str, facts: AskFacts, text: bytes | None, content: bytes, found: Checked) -> None:
    """Whether a blob is the call that its home signed; without the text nobody can say."""
    if len(content) != facts.call_size:
        found.fault(f"The call of {ask} has another size than was signed.", MISLED)
    elif text is not None and facts.call_mac is not None:
        mac = hmac.digest(text[:SALT_BYTES], content, hashlib.sha256)
        if not hmac.compare_digest(mac, facts.call_mac):
            found.fault(f"The call of {ask} is not the one its digest was signed for.", MISLED)


def _hidden(ask: str, content: bytes, kept: tuple[bytes, bytes], found: Checked) -> None:
    """Whether the call that never left is the one that its home signed for."""
    try:
        signed = json.loads(content)["hidden"]["commitment"]
    except (ValueError, KeyError, TypeError):
        signed = None
    if signed != commitment(*kept):
        found.fault(f"The hidden arguments of {ask} are not those that were signed for.", EDITED)
