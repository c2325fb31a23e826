"""Two hundred machines: what is written on one is on all of them within ten rounds of push."""

from collections import Counter

import pytest

from sync.log.kinds import EntryType
from tests.sync.net.crowds import Crowd, Node

MACHINES = 200
ROUNDS = 10


def crowd(seed: int, *, away: float = 0.0, says_links: bool = True) -> Crowd:
    made = Crowd(MACHINES, seed=seed, says_links=says_links)
    made.leave(away)
    made.dial()
    made.rest()
    return made


def spread(made: Crowd, writers: int) -> int:
    """Have some machines write, and return the rounds until all have everything."""
    for node in made.random.sample(made.there(), writers):
        node.write(made.random.choice([EntryType.ASK, EntryType.NOTE]))
    total = sum(len(log) for node in made.there() for log in node.logs.values())
    assert total == writers
    return made.rounds_until(lambda node: len(node.logs) == writers)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("away", [0.0, 0.1, 0.8])
def test_ten_rounds_reach_everyone(seed: int, away: float) -> None:
    made = crowd(seed, away=away)
    rounds = spread(made, 3)
    print(f"seed {seed}, {away:.0%} away: {rounds} rounds")
    assert rounds <= ROUNDS


def test_nobody_is_sent_what_its_neighbours_have_given_it() -> None:
    """What each machine takes in for one entry is bounded by its links, not by the fleet."""
    for says_links in (True, False):
        made = crowd(9, says_links=says_links)
        links = Counter(end.store.id for end in made.net.ends())
        before = {id(end): end.sent for end in made.net.ends()}
        made.nodes[0].write(EntryType.ASK)
        made.rounds_until(lambda node: bool(node.logs))
        made.rest()
        assert max(node.given for node in made.nodes) <= max(links.values())
        sent = sum(end.sent - before[id(end)] for end in made.net.ends())
        print(f"{sent / MACHINES:.0f} bytes sent by each for one entry, links said: {says_links}")


def test_who_was_away_has_it_as_soon_as_it_is_linked() -> None:
    made = crowd(10, away=0.1)
    gone = [node for node in made.nodes if node.away]
    assert spread(made, 3) <= ROUNDS
    made.rest()
    for node in gone:
        node.away = False
    made.dial()
    assert made.rounds_until(lambda node: len(node.logs) == 3) <= ROUNDS


def test_a_vote_is_one_hop_from_the_home_of_an_open_ask() -> None:
    made = crowd(11)
    home = made.nodes[0]

    def homes(node: Node) -> list[bytes]:
        return [home.id] if node in made.nodes[-40:] else []

    made.dial(homes)
    made.rest()
    made.nodes[-1].write(EntryType.VOTE)
    made.round()
    assert len(home.logs) == 1
