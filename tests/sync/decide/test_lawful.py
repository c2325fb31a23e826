"""What homes said of their asks: each broken rule is named, and lawful lives are silent."""

from collections.abc import Callable, Iterable, Sequence

import msgspec
import pytest

from sync.decide.lawful import Lawful
from sync.decide.membership import Membership, as_of
from sync.decide.statements import stated
from sync.log import facts as say
from sync.log.entry import Entry
from sync.log.kinds import EntryType
from tests.node.store.histories import (
    ANN,
    ASK,
    BOB,
    FOUNDING,
    LIFE,
    RESOLVED,
    VOTES,
    Said,
    ask,
    changed,
    final,
    handover,
    log,
    ruling,
)


def fleet(_fleet: bytes, heads: Iterable[bytes]) -> Membership | None:
    statements = [
        one
        for made in (*FOUNDING, *VOTES)
        if (
            one := stated(
                hash=made.hash,
                author=made.header.author,
                seq=made.header.seq,
                type=made.header.type,
                facts=made.facts,
            )
        )
    ]
    return as_of(statements, heads)


def heard(entries: Sequence[Entry]) -> tuple[Lawful, list[str]]:
    lawful = Lawful(fleet)
    said = [what for one in entries if (what := lawful.hear(one))]
    return lawful, said


def of_home(*said: Said, kind: str = "approval") -> list[str]:
    """What is wrong with a life of the home's first ask."""
    made = log([changed(ask(), kind=kind), *said], by=1)
    return heard([*FOUNDING, *VOTES, *made])[1]


def test_a_lawful_life_is_silent_and_counted() -> None:
    lawful, said = heard([*FOUNDING, *VOTES, *LIFE])
    assert said == []
    assert (lawful.finals, lawful.handovers, lawful.waiting) == (1, 1, 0)


def foreign(said: Said) -> Said:
    return changed(said, ask="a" * 52 + "-1")


def unvoted(said: Said) -> Said:
    return changed(said, votes=[])


def by_nobody(said: Said) -> Said:
    """Bob may not speak from where the fleet of then knows only Ann."""
    return changed(said, people_heads=[FOUNDING[2].hash])


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ([final(ANN), final(ANN)], "second final"),
        ([final(ANN), final(BOB, "denied")], "second final"),
        ([foreign(final(ANN))], "another machine"),
        ([changed(final(ANN), ask=ASK[:-1] + "7")], "never raised"),
        ([unvoted(final(ANN))], "fewer votes"),
        ([final(ANN, "denied")], "something else than the votes"),
        ([changed(final(ANN), seen=b"x" * 32)], "another revision"),
        ([by_nobody(final(ANN))], "no machine"),
        ([changed(final(ANN), choice="1")], "chooses something else"),
        ([handover("handed")], "waiting"),
        ([final(ANN), handover("handed"), handover("handed", 2)], "a second time"),
        ([final(ANN), handover("handed", 0)], "token 0"),
        ([final(ANN), handover("handed"), handover("void")], "handed"),
        ([final(ANN), handover("void"), handover("handed")], "void"),
        ([RESOLVED], "waiting"),
        ([final(ANN), RESOLVED], "closed"),
        ([final(ANN), handover("handed", 2), RESOLVED], "another hand-over"),
        ([ask()], "Two asks"),
        ([changed(ask(), number=0)], "no ask can have"),
        ([ruling(ANN, "accepted"), ruling(ANN, "accepted")], "second ruling"),
        ([foreign(ruling(ANN, "accepted"))], "another machine"),
    ],
)
def test_each_broken_rule_is_named_once(said: list[Said], words: str) -> None:
    (what,) = of_home(*said)
    assert words in what


def test_a_final_on_another_hand_over_is_named() -> None:
    made = log([ask(), final(ANN), handover("handed")], by=1)
    facts = say.read(say.HandoverFacts, made[-1].facts)
    other = say.pack_facts(msgspec.structs.replace(facts, final=b"o" * 32))
    spoilt = msgspec.structs.replace(made[-1], facts=other)
    (what,) = heard([*FOUNDING, *VOTES, *made[:-1], spoilt])[1]
    assert "another final" in what


def test_a_forged_vote_in_a_final_is_named() -> None:
    forged = msgspec.structs.replace(ANN, signature=ANN.signature[::-1])
    (what,) = of_home(final(forged))
    assert "signature" in what


def test_what_rests_on_statements_that_are_not_here_waits_and_is_no_fault() -> None:
    waiting = changed(final(ANN), people_heads=[b"h" * 32])
    made = log([ask(), waiting, handover("handed"), RESOLVED], by=1)
    lawful, said = heard([*FOUNDING, *made])
    assert (said, lawful.waiting) == ([], 1)


@pytest.mark.parametrize(
    "said",
    [
        lambda: [changed(final(ANN), outcome="postponed")],
        lambda: [final(ANN), handover("lent")],
        lambda: [Said(EntryType.MARK, say.MarkFacts(ask="n-1", person="a", read=True, at=1))],
    ],
)
def test_words_of_a_newer_askmesh_are_no_fault(said: Callable[[], list[Said]]) -> None:
    assert of_home(*said()) == []


def test_what_does_not_read_is_named_and_raises_nothing() -> None:
    for made in (*VOTES, *LIFE):
        for facts in (b"", b"[]", b"{}", b"\xff", b"{" * 2000):
            spoilt = msgspec.structs.replace(made, facts=facts)
            lawful = Lawful(fleet)
            lawful.hear(spoilt)
