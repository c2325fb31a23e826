"""A final is applied only where it follows from votes of those who might vote."""

import pytest

from sync.log import facts as say
from sync.log.names import ask_name, node_name
from tests.node.store.histories import (
    ANN,
    ASKED,
    BOB,
    FOUNDING,
    HOME,
    LIFE,
    OTHER,
    RESOLVED,
    VOTES,
    Said,
    ask,
    changed,
    final,
    handover,
    holding,
    log,
    tables,
    vote,
)


def test_a_life_ends_as_its_home_said() -> None:
    with holding([*VOTES, *LIFE]) as connection:
        found = connection.execute(
            "SELECT state, outcome, closed_by, closed_on, handover FROM ask WHERE number = 1"
        )
        other = node_name(OTHER.node_id)
        assert found.fetchall() == [("resolved", "allowed", "ann", other, "handed")]


def test_a_final_waits_for_the_statements_it_names() -> None:
    """And so does what rests on it; with them it is as if it had come after."""
    with holding([*LIFE, *VOTES[:1]]) as connection:
        found = connection.execute("SELECT state, outcome FROM ask WHERE number = 1")
        assert found.fetchall() == [("waiting", None)]
        assert connection.execute("SELECT count(*) FROM unproven").fetchall() == [(3,)]
    assert tables([*LIFE, *VOTES]) == tables([*VOTES, *LIFE])


FORGED = say.EmbeddedVote(raw=ANN.raw, signature=bytes(64), facts=ANN.facts)
STRANGER = log([vote("ann", "allow")], by=3)[0]
VIEWER = log([vote("eve", "allow")], by=1, after=[*FOUNDING, ASKED])[0]
OTHER_ASK = log([vote("ann", "allow", ask_name(HOME.node_id, 2))], by=2, after=VOTES)[0]
OLD = log([changed(vote("ann", "allow"), seen=b"another revision".ljust(32))], by=2)[0]
OF_BOB = log([vote("bob", "allow")], by=1, after=[*FOUNDING, ASKED])[0]


@pytest.mark.parametrize(
    "said",
    [
        changed(final(ANN), votes=[FORGED]),
        changed(final(ANN), votes=[]),
        changed(final(ANN), people_heads=[]),
        changed(final(ANN), people_heads=[FOUNDING[0].hash]),
        changed(final(ANN), seen=b"another revision".ljust(32)),
        changed(final(ANN), choice="1"),
        final(ANN, "denied"),
        final(STRANGER),
        final(VIEWER),
        final(OTHER_ASK),
        final(OLD),
        final(OF_BOB),
        changed(final(BOB, "denied"), people_heads=[FOUNDING[-1].hash]),
    ],
    ids=[
        "signature", "no vote", "no heads", "before Ann", "another revision", "another choice",
        "another outcome", "no machine of ours", "nobody", "another ask", "an older revision",
        "not on Bob's machine", "before Bob",
    ],
)  # fmt: skip
def test_a_final_that_does_not_follow_from_votes_is_not_applied(said: Said) -> None:
    with holding([*VOTES, *log([ask(), said, handover("handed"), RESOLVED], by=1)]) as connection:
        found = connection.execute("SELECT state, outcome, token FROM ask")
        assert found.fetchall() == [("waiting", None, 0)]
        assert connection.execute("SELECT count(*) FROM unproven").fetchall() == [(0,)]
