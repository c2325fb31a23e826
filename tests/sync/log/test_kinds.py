"""Type numbers are for ever: the table as it was released."""

from sync.log.kinds import CHATTER_FROM, EntryType, Log, log_of

RELEASED = {
    "GENESIS": 1,
    "PERSON": 2,
    "RULES": 3,
    "SPEAKS_FOR": 4,
    "ASK": 16,
    "VOTE": 17,
    "RULING": 18,
    "FINAL": 19,
    "HANDOVER": 20,
    "RESOLVED": 21,
    "NOTE": 64,
    "MARK": 65,
    "SUBSCRIPTION": 66,
    "MESSAGE": 67,
    "RECEIPT": 68,
    "BOARD": 69,
}


def test_no_number_was_changed_or_used_again() -> None:
    now = {kind.name: kind.value for kind in EntryType}
    assert {name: now.get(name) for name in RELEASED} == RELEASED


def test_unknown_types_too_have_their_log() -> None:
    assert [log_of(kind) for kind in (0, CHATTER_FROM - 1, CHATTER_FROM, 255)] == [
        Log.DECISIONS,
        Log.DECISIONS,
        Log.CHATTER,
        Log.CHATTER,
    ]


def test_what_only_is_read_is_chatter() -> None:
    assert {kind for kind in EntryType if log_of(kind) is Log.CHATTER} == {
        EntryType.NOTE,
        EntryType.MARK,
        EntryType.SUBSCRIPTION,
        EntryType.MESSAGE,
        EntryType.RECEIPT,
        EntryType.BOARD,
    }
