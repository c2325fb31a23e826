"""docs/protocol.md against the code: the header's layout, the example, every type and field."""

import re
from collections.abc import Iterable
from enum import IntEnum
from itertools import chain
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sync import limits
from sync.decide.handover import Void
from sync.decide.vote import Decision, Ruling
from sync.log import facts as say
from sync.log.entry import HEADER_BYTES, SIGNATURE_BYTES, Header, NodeKey, decode, verify
from sync.log.kinds import STATEMENTS, EntryType
from sync.log.names import node_name
from sync.net import link, listener, mesh
from sync.wire import frames, held, letter, presence, session

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "protocol.md").read_text("utf-8")
TEXTS: dict[EntryType, type[say.Part]] = {
    EntryType.RULES: say.RulesText,
    EntryType.ASK: say.AskText,
    EntryType.VOTE: say.VoteText,
    EntryType.FINAL: say.FinalText,
    EntryType.RESOLVED: say.ResolvedText,
    EntryType.REDACTED: say.RedactedText,
    EntryType.NOTE: say.NoteText,
    EntryType.MESSAGE: say.MessageText,
    EntryType.BOARD: say.BoardText,
}


def chapter(title: str) -> str:
    """What stands under a heading of the second level."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found, title
    return found[1]


def described(kind: IntEnum, where: str) -> str:
    """What a chapter says of a type of entry or of frame."""
    heading = rf"### `{kind.name}` \({kind.value}\)\n(.*?)(?=\n##|\Z)"
    found = re.search(heading, chapter(where), re.DOTALL)
    assert found, f"docs/protocol.md does not describe {kind.name} ({kind.value})"
    return found[1]


def section(kind: EntryType) -> str:
    """What the page says of a type."""
    return described(kind, "Types")


def fields(part: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(part)}


def words(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_]+)`", text))


@pytest.mark.parametrize("kind", EntryType, ids=lambda kind: kind.name)
def test_every_type_and_field_is_described(kind: EntryType) -> None:
    told = section(kind)
    facts, _, rest = told.partition("Text:")
    assert fields(say.FACTS[kind]) - words(facts) == set()
    if kind in TEXTS:
        assert fields(TEXTS[kind]) - words(rest) == set()
    else:
        assert "Text:" not in told


def test_no_type_is_described_that_is_not_there() -> None:
    for where, kinds in (("Types", EntryType), ("Frames", frames.FrameType)):
        shown = dict(re.findall(r"### `([A-Z_]+)` \((\d+)\)", chapter(where)))
        assert shown == {kind.name: str(kind.value) for kind in kinds}


def test_the_layout_of_the_header() -> None:
    rows = re.findall(r"^\| (\d+) \| (\d+) \| `?([a-z_]+)`? \|", PAGE, re.MULTILINE)
    at = 0
    for offset, size, _ in rows:
        assert int(offset) == at
        at += int(size)
    assert at == HEADER_BYTES + SIGNATURE_BYTES
    names = [name for _, _, name in rows]
    assert names == ["proto", *Header.__struct_fields__, "signature"]


def test_the_example() -> None:
    shown = PAGE.split("```")[1]
    found = dict(re.findall(r"^([a-z ]+?) {2,}(\S.*)$", shown, re.MULTILINE))
    key = NodeKey(Ed25519PrivateKey.from_private_bytes(bytes(31) + b"\1"))
    entry = decode(
        bytes.fromhex(found["header"]),
        bytes.fromhex(found["signature"]),
        found["facts"].encode(),
        bytes.fromhex(found["text"]),
    )
    verify(entry, key.public)
    assert entry.hash.hex() == found["hash"]
    assert node_name(key.node_id) == found["node id"]
    assert entry.header.fleet == bytes(range(16))
    assert say.read(say.NoteFacts, entry.facts).created == entry.header.hlc >> 16
    note = say.read_text(say.NoteText, entry.text)
    assert note is not None
    assert note.title == "Assumed UTC"


def test_the_limits_on_it_are_the_limits() -> None:
    assert f"at most {limits.FACTS_BYTES:,}" in PAGE
    assert f"at most {limits.TEXT_BYTES + limits.SALT_BYTES:,}" in PAGE
    assert limits.CLOCK_AHEAD_MS == 5 * 60_000
    assert limits.USE_BY_MS == 3_600_000
    assert "more than 5 minutes ahead" in PAGE
    assert "one hour after it" in PAGE


def test_every_word_of_votes_and_finals_is_on_it() -> None:
    assert {one.value for one in Decision} <= words(section(EntryType.VOTE))
    finals = PAGE.partition("\n## Finals\n")[2]
    assert {one.value for one in Ruling} <= words(finals)
    for one in Void:
        assert f"`{one.value}`" in re.sub(r"\s+", " ", section(EntryType.HANDOVER))


def test_sections_that_the_code_names_exist() -> None:
    for name in ("Entries", "Runs", "Frames", "Sessions"):
        assert re.search(rf"^##+ {name}$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("kind", frames.FrameType, ids=lambda kind: kind.name)
def test_every_frame_and_field_is_described(kind: frames.FrameType) -> None:
    told = described(kind, "Frames")
    record = frames._JSON.get(kind)
    assert told.strip().startswith("Binary" if record is None else "JSON")
    if record is not None:
        assert fields(record) - words(told) == set()


def test_the_lists_in_frames_are_described() -> None:
    for row, name in ((frames.HeadRow, "head"), (frames.RunRow, "run")):
        listed = ", ".join(field.name for field in msgspec.structs.fields(row))
        assert f"A *{name}* is `[{listed}]`" in one_line("Frames") or (
            f"a *{name}* is `[{listed}]`" in one_line("Frames")
        )


def one_line(title: str) -> str:
    return re.sub(r"\s+", " ", chapter(title))


def within(told: str, *parts: type[msgspec.Struct]) -> Iterable[str]:
    """Fields of these that are not told of."""
    return sorted(set(chain.from_iterable(map(fields, parts))) - words(told))


def test_presence_and_letters_are_described() -> None:
    said = (presence.Presence, presence.SessionWord, presence.AddressWord, presence.SeenWord)
    assert within(chapter("Presence"), *said) == []
    assert within(chapter("Letters"), letter.Letter) == []
    for prefix, title in (
        (presence.PREFIX, "Presence"),
        (letter.PREFIX, "Letters"),
        (held.PREFIX, "Sessions"),
    ):
        assert f"`{prefix[:-1].decode()}\\0`" in chapter(title)


def test_every_close_code_is_in_the_table() -> None:
    told = {int(code) for code in re.findall(r"^\| (\d{4}) \|", chapter("Links"), re.MULTILINE)}
    ours = {int(code) for code in session.Code}
    theirs = {link.STOPPING, link.DUPLICATE, link.TOO_SLOW, link.UNREADABLE, link.NOT_A_MEMBER}
    assert told == ours | theirs | {link.NOT_NEEDED, link.SPARED, mesh.ENDED_HERE, link.SILENT}


def test_the_limits_of_frames_are_the_limits() -> None:
    frame, pulled = one_line("Frames"), one_line("Sessions")
    assert f"at most {limits.FRAME_BYTES:,} bytes" in one_line("Links")
    assert f"at most {limits.PLACES:,}" in frame
    assert f"at most {limits.RUNS_WANTED}, in the order" in frame
    assert f"at most {limits.FRAME_ENTRIES:,}, to the end" in frame
    assert f"at most {limits.BLOB_CHUNK_BYTES:,} bytes" in frame
    assert f"may have {limits.WINDOW} frames of `ENTRIES` out" in pulled
    assert f"at most {limits.BLOB_REQUESTS} pieces" in pulled
    assert f"{limits.OFFENCES_PER_MINUTE} runs asked" in pulled
    assert f"{limits.FRAMES_PER_MINUTE:,} other frames" in pulled
    assert f"about {limits.SERVED_BYTES // 1024} KiB" in pulled
    assert f"every {limits.PING_MS // 1000} s" in pulled
    assert f"nothing for {limits.DEAD_MS // 1000} s" in pulled
    assert f"every {limits.HAVE_MS // 1000} s, give or take half" in pulled
    assert f"After {limits.STALLED_MS // 1000} s" in pulled
    assert f"or {limits.PULL_MAX_MS // 60_000} min" in pulled
    assert f"given up for {limits.LEFT_MAX_MS // 1000} s" in pulled
    assert 2 * limits.LEFT_FIRST_MS == 2_000
    assert "for 2 s, doubling to 30 s" in pulled
    assert f"At most {presence.SEEN_TOLD}" in one_line("Presence")
    assert f"at most {limits.PRESENCE_BYTES // 1024} KiB" in one_line("Presence")
    assert f"at most {limits.LETTER_BYTES // 1024} KiB" in one_line("Letters")
    assert f"within {limits.LETTER_AGE_MS // 60_000} min" in one_line("Letters")
    assert f"may send {limits.LETTERS_REMEMBERED} within" in one_line("Letters")


def test_where_links_are_taken() -> None:
    assert listener.PATH in chapter("Links")


def test_every_statement_has_a_right() -> None:
    table = chapter("Membership, conflicts, removal")
    rows = re.findall(r"^\| `([A-Z_]+)`", table, re.MULTILINE)
    assert set(rows) == {EntryType(kind).name for kind in STATEMENTS}
