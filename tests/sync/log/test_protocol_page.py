"""docs/protocol.md against the code: the header's layout, the example, every type and field."""

import re
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from sync import limits
from sync.decide.handover import Void
from sync.decide.vote import Decision, Ruling
from sync.log import facts as say
from sync.log.entry import HEADER_BYTES, SIGNATURE_BYTES, Header, NodeKey, decode, verify
from sync.log.kinds import EntryType
from sync.log.names import node_name

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "protocol.md").read_text("utf-8")
TEXTS: dict[EntryType, type[say.Part]] = {
    EntryType.RULES: say.RulesText,
    EntryType.ASK: say.AskText,
    EntryType.VOTE: say.VoteText,
    EntryType.FINAL: say.FinalText,
    EntryType.RESOLVED: say.ResolvedText,
    EntryType.NOTE: say.NoteText,
}


def section(kind: EntryType) -> str:
    """What the page says of a type."""
    found = re.search(rf"### `{kind.name}` \({kind.value}\)\n(.*?)(?=\n##)", PAGE, re.DOTALL)
    assert found, f"docs/protocol.md does not describe {kind.name} ({kind.value})"
    return found[1]


def fields(part: type[say.Part]) -> set[str]:
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
    described = dict(re.findall(r"### `([A-Z_]+)` \((\d+)\)", PAGE))
    assert described == {kind.name: str(kind.value) for kind in EntryType}


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
    for name in ("Entries", "Runs"):
        assert re.search(rf"^##+ {name}$", PAGE, re.MULTILINE)
