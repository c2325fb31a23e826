"""Whom a node of a large fleet links to, also where most of the others are away."""

from random import Random

from sync.limits import FULL_MESH, HOMES_DIALLED, LINKS_DIALLED, PASSED_SLOWLY_S
from sync.net.choosing import Choosing, lacking, surplus
from tests.sync.log.entries import chain, key


def nodes(count: int) -> list[bytes]:
    return [n.to_bytes(32, "big") for n in range(count)]


def choosing(count: int, seed: int = 1) -> Choosing:
    made = Choosing(Random(seed).random)
    made.keep(nodes(count))
    return made


# --- whom ----------------------------------------------------------------------------------


def test_a_small_fleet_is_a_full_mesh() -> None:
    made = choosing(FULL_MESH - 1)
    assert made.wanted([]) == set(nodes(FULL_MESH - 1))
    assert not made.pass_over(nodes(3), 0.0), "all are dialled anyway"


def test_a_large_fleet_dials_a_few_and_the_homes_of_open_asks() -> None:
    made = choosing(100)
    few = made.wanted([])
    assert len(few) == LINKS_DIALLED
    homes = [one for one in nodes(100) if one not in few][:2]
    assert made.wanted([*homes, b"stranger", homes[0]]) == few | set(homes)


def test_of_very_many_homes_the_first_are_dialled() -> None:
    made = choosing(200)
    homes = [one for one in nodes(200) if one not in made.drawn()]
    assert made.wanted(homes) == {*made.drawn(), *homes[:HOMES_DIALLED]}


def test_lots_stay_until_they_are_drawn_anew() -> None:
    made = choosing(100)
    before = made.drawn()
    made.keep(nodes(101))
    assert len(set(before) & set(made.drawn())) >= LINKS_DIALLED - 1
    made.redraw()
    assert made.drawn() != before


def test_who_is_away_goes_behind_all_others() -> None:
    made = choosing(100)
    there = set(nodes(100)[90:])
    for _ in range(100):
        if not made.pass_over(set(nodes(100)) - there, 0.0):
            break
    assert set(made.drawn()) <= there
    assert not made.pass_over(set(nodes(100)) - there, 1.0)


def test_who_reaches_nobody_goes_on_more_slowly() -> None:
    made = choosing(20)
    everyone = set(nodes(20))
    tried = set(made.drawn())
    for second in range(20):
        assert made.pass_over(everyone, float(second))
        tried |= set(made.drawn())
    assert tried == everyone, "everyone had a turn"
    assert not made.pass_over(everyone, 20.0)
    assert made.pass_over(everyone, 19.0 + PASSED_SLOWLY_S)
    assert not made.pass_over(everyone - set(made.drawn()), 35.0), "those it has are there"
    assert made.pass_over(everyone, 36.0), "and it tries as often as at first"


# --- what each link is sent ------------------------------------------------------------------


def test_our_own_go_to_everyone_and_others_where_they_are_not_heard() -> None:
    own, author, peer, source = (key(n) for n in (1, 2, 3, 4))
    ours, theirs = chain(2, by=own), chain(2, by=author)

    def sent(to: bytes, linked: tuple[bytes, ...] = ()) -> list[bytes]:
        rest = lacking(
            own.node_id,
            to,
            [*ours, *theirs],
            source=source.node_id,
            links_of=lambda node: linked if node == to else (),
        )
        return [one.header.author for one in rest]

    both = [own.node_id] * 2 + [author.node_id] * 2
    assert sent(peer.node_id) == both
    assert sent(peer.node_id, (author.node_id,)) == both[:2]
    assert sent(author.node_id) == both[:2]
    assert sent(source.node_id) == both[:2]


def test_links_that_nobody_wants_end_after_a_draw_or_when_they_are_too_many() -> None:
    most = LINKS_DIALLED + HOMES_DIALLED
    dialled = nodes(most + 2)
    wanted = set(dialled[:3])
    assert surplus(dialled[:most], wanted, redrawn=False) == []
    assert surplus(dialled, wanted, redrawn=False) == dialled[3:5], "the oldest"
    assert surplus(dialled, wanted, redrawn=True) == dialled[3:]
