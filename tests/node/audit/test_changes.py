"""Who changed people, machines, rules and accounts, and what had no right to."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from node.store.transaction import Transaction
from sync.decide import word
from sync.log.facts import PersonFacts, RulesFacts, RulesText, StandingFacts
from sync.log.kinds import EntryType
from tests.node.audit.reading import lines, some
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.gates import Gate
from tests.sync.decide.accounts import operator, private, public


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    async with fleet_of(tmp_path, "box", "bobs", own="box") as made:
        await made.person("bob", "member", "bobs")
        yield made


async def test_what_was_said_of_the_fleet_in_its_order(fleet: Fleet, tmp_path: Path) -> None:
    box = fleet["box"]
    fleet.advance(1_000)
    await Gate(fleet, box, tmp_path).apply('[[rule]]\nname = "a"\ntool = "Bash"\naction = "ask"\n')
    fleet.advance(1_000)
    await fleet.state((EntryType.OPERATOR, operator("billing", fleet.ann)))
    fleet.advance(1_000)
    await fleet.remove("bobs")
    found = await lines(box, only="changes")
    assert {one.check for one in found} == {"holds"}
    said = [one.summary for one in found]
    assert "Ann said that billing may say how accounts stand." in said
    assert any(one.startswith("Ann applied the rules r, version ") for one in said)
    assert "Ann removed bobs." in said
    assert "Ann made Bob member." in said
    assert "Ann said that bobs is Bob's." in said
    assert "Ann let bobs into the fleet." in said
    assert "box began the fleet with box." in said
    rules = next(one for one in found if one.what == "rules")
    assert rules.change is not None
    assert (rules.by, rules.machine, rules.counts) == ("Ann", "box", True)
    assert {one.what for one in await lines(box, only="changes", machine="bobs")} == {
        "member", "speaks_for", "removed",
    }  # fmt: skip
    assert {one.what for one in await lines(box, only="changes", person="bob")} >= {"person"}
    assert await lines(box, only="changes", rule="a") == []


async def test_an_outside_system_is_named_and_a_forged_word_says_nothing(fleet: Fleet) -> None:
    box = fleet["box"]
    raw = word.pack(word.Word(fleet=box.identity.fleet.hex(), standing="on_hold", serial=1, at=9))
    signature = private("billing").sign(word.PREFIX + raw)
    said = StandingFacts(
        standing="", operator=public("billing"), word=raw, signature=signature, at=1
    )
    forged = msgspec.structs.replace(said, signature=bytes(64))
    await fleet.state(
        (EntryType.OPERATOR, operator("billing", fleet.ann)),
        (EntryType.STANDING, said),
        (EntryType.STANDING, forged),
    )
    found = [one for one in await lines(box, only="changes") if one.what == "standing"]
    assert {(one.by, one.by_id) for one in found} == {("billing", None)}
    assert {one.summary for one in found} == {
        "billing set the account of everyone to on hold.",
        "billing said what nobody signed; it counts for nothing: nobody might say so.",
    }


async def test_the_recovery_words_leave_a_line(fleet: Fleet) -> None:
    box = fleet["box"]
    await box.sign_ins.by_recovery(fleet.words, where="test")
    (used,) = [one for one in await lines(box, only="changes") if "recovery" in one.summary]
    assert used.summary == "Ann came in by the recovery words; all sessions ended."
    assert (used.by_id, used.check, used.counts) == (fleet.ann, "holds", True)


async def test_what_nobody_might_say_is_told_as_such(fleet: Fleet) -> None:
    """A member makes himself an owner on his own machine, and applies rules."""
    bobs = fleet["bobs"]

    def job(transaction: Transaction) -> None:
        append = transaction.append
        append(
            EntryType.PERSON,
            PersonFacts(person="bob", name="Bob", role="owner", by="bob", at=5),
        )
        append(
            EntryType.RULES,
            RulesFacts(name="mine", version="0", source_hash=bytes(32), by="bob", at=6),
            RulesText(source=""),
        )

    await bobs.writer.run("usurp", job)
    await fleet.meet_all()
    found = {one.summary: one for one in await lines(fleet["box"], only="changes")}
    tail = "; it counts for nothing: nobody might say so."
    for sentence in (
        f"Bob is owner, by the name of Bob{tail}",
        f"Bob applied the rules mine, version 0{tail}",
    ):
        line = found[sentence]
        assert (line.check, line.counts, line.machine) == ("holds", False, "bobs")


async def test_hostile_moments_and_names_end_no_page(fleet: Fleet) -> None:
    bobs = fleet["bobs"]
    name = "\u202e\x00\x1b]0;" + "x" * 500

    def job(transaction: Transaction) -> None:
        append = transaction.append
        for at in (2**63 - 1, 2**70, -(2**63), 0):
            facts = PersonFacts(person=name, name=name, role=name, by=name, at=at)
            append(EntryType.PERSON, facts)

    await bobs.writer.run("hostile", job)
    await fleet.meet_all()
    page = await some(fleet["box"])
    assert page.more is None
    hostile = [one for one in page.lines if one.by_id == name]
    assert {one.at for one in hostile} == {2**63 - 1, -(2**63), 0}
    assert len(hostile) == 4
    assert {one.counts for one in hostile} == {False}
    assert [one.at_utc for one in hostile] == [None, None, "1970-01-01T00:00:00.000Z", None]
