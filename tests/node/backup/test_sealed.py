"""The form of a backup file: any change of any byte is found, and nothing opens without its key."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from node.backup.sealed import BackupUnsound, Opening, Sealing, WrongPassphrase
from node.limits import BACKUP_PIECE_BYTES
from sync.errors import AskmeshError

SALT = bytes(range(16))


def sealed(data: bytes, passphrase: str | None = None) -> bytes:
    file = io.BytesIO()
    sealing = Sealing(file, passphrase=passphrase, salt=SALT)
    sealing.write(data)
    sealing.close()
    return file.getvalue()


def opened(data: bytes, size: int, passphrase: str = "") -> bytes:
    opening = Opening(io.BytesIO(data), lambda: passphrase)
    read = opening.read(size)
    opening.end()
    return read


SMALL = sealed(b"what is kept " * 40)
"""Short, so that each of its bytes is a place that is likely tried."""
SIZE = 520


@given(sizes=st.lists(st.integers(0, 3 * BACKUP_PIECE_BYTES), max_size=3))
def test_what_was_written_is_read_in_pieces_of_any_size(sizes: list[int]) -> None:
    data = bytes(sum(sizes))
    opening = Opening(io.BytesIO(sealed(data)), lambda: "")
    assert [len(opening.read(size)) for size in sizes] == sizes
    opening.end()


@pytest.mark.parametrize("length", [0, 1, BACKUP_PIECE_BYTES, BACKUP_PIECE_BYTES + 1])
def test_the_edges_of_a_piece_are_none(length: int) -> None:
    assert opened(sealed(b"x" * length), length) == b"x" * length


def test_every_byte_counts() -> None:
    for place in range(len(SMALL)):
        for bit in (1, 128):
            changed = bytearray(SMALL)
            changed[place] ^= bit
            with pytest.raises(AskmeshError):
                opened(bytes(changed), SIZE)


def test_a_file_without_its_end_is_refused_wherever_it_ends() -> None:
    for length in range(len(SMALL)):
        with pytest.raises(BackupUnsound):
            opened(SMALL[:length], SIZE)


@given(more=st.binary(min_size=1, max_size=60))
def test_nothing_may_follow(more: bytes) -> None:
    with pytest.raises(BackupUnsound, match="more follows"):
        opened(SMALL + more, SIZE)


def test_pieces_cannot_change_places_and_none_can_be_left_out() -> None:
    whole = sealed(bytes([1]) * BACKUP_PIECE_BYTES + bytes([2]) * BACKUP_PIECE_BYTES + b"end")
    head = whole[: len(sealed(b"")) - 21]
    piece = BACKUP_PIECE_BYTES + 21
    first, second, last = (
        whole[len(head) :][:piece],
        whole[len(head) + piece :][:piece],
        whole[len(head) + 2 * piece :],
    )
    assert head + first + second + last == whole
    for other in (second + first + last, first + last, second + last, first + second, last):
        for size in (3, 2 * BACKUP_PIECE_BYTES + 3):
            with pytest.raises(BackupUnsound):
                opened(head + other, size)


@given(data=st.binary(max_size=300))
def test_arbitrary_bytes_are_no_backup(data: bytes) -> None:
    with pytest.raises(BackupUnsound):
        opened(data, 1)
    with pytest.raises(BackupUnsound):
        opened(SMALL[:16] + data, 1)


def test_it_opens_with_its_passphrase_alone_and_hides_what_is_in_it() -> None:
    data = b"a secret of the node"
    locked = sealed(data, "four words are enough")
    assert opened(locked, len(data), "four words are enough") == data
    assert data not in locked
    with pytest.raises(WrongPassphrase):
        opened(locked, len(data), "four words are not")
    # Taken for one without a passphrase, it does not open either.
    bare = locked[:17] + b"0" + locked[18:]
    with pytest.raises(BackupUnsound):
        opened(bare, len(data))


def test_a_newer_format_says_so() -> None:
    newer = SMALL.replace(b"askmesh backup 1\n", b"askmesh backup 2\n")
    with pytest.raises(BackupUnsound, match="a newer askmesh wrote"):
        opened(newer, SIZE)
    with pytest.raises(BackupUnsound, match="not a backup"):
        opened(b"SQLite format 3\0" + bytes(100), 1)
