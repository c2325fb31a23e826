"""How accounts stand: who may say it, which of several words counts, and what follows."""

from itertools import permutations

import msgspec
import pytest

from sync.decide import standing, word
from sync.decide.ask import AskState, Kind, Outcome
from sync.decide.card import card
from sync.decide.card_state import CardState
from sync.decide.membership import settle
from sync.decide.standing import EFFECTS, Level, Said
from sync.errors import Invalid, NotAllowed
from sync.log import facts as say
from tests.sync.decide.accounts import operator, private, public, raw_word, signed_by, stands, told
from tests.sync.decide.histories import (
    FOUNDER,
    Machine,
    founded,
    joined,
    person,
    removed,
)
from tests.sync.decide.test_card import AFTER, NOW, VIEWERS, closings, opened


def level(machine: Machine, who: str | None) -> Level:
    worst = standing.strictest(machine.fleet().said, who)
    return Level.ACTIVE if worst is None else worst.level


@pytest.fixture
def home() -> Machine:
    """A fleet of the owners ann and eve, the member bob, and the operator `billing`."""
    home = founded()
    home.say(person("bob", "member", by="ann"))
    home.say(person("eve", by="ann"))
    home.say(operator("billing"))
    return home


def test_an_operator_says_it_of_all_and_of_one(home: Machine) -> None:
    home.say(told("billing", 1, "on_hold"))
    assert (level(home, "ann"), level(home, "bob")) == (Level.ON_HOLD, Level.ON_HOLD)
    home.say(told("billing", 2, "active"))
    home.say(told("billing", 1, "suspended", "bob"))
    assert (level(home, "ann"), level(home, "bob")) == (Level.ACTIVE, Level.SUSPENDED)
    assert home.fleet().held("bob") is not None
    assert home.fleet().held("ann") is None


def test_an_older_word_that_comes_again_changes_nothing(home: Machine) -> None:
    home.say(told("billing", 7, "active"))
    home.say(told("billing", 9, "on_hold"))
    for serial, word_ in ((7, "active"), (8, "grace"), (1, "suspended")):
        home.say(told("billing", serial, word_))
        assert level(home, "bob") is Level.ON_HOLD


def test_of_two_words_with_one_serial_the_stricter_counts(home: Machine) -> None:
    for words in permutations(["active", "suspended", "grace"]):
        other = Machine("home")
        other.known, other.seq = dict(home.known), home.seq
        for one in words:
            other.say(told("billing", 5, one))
        assert level(other, "bob") is Level.SUSPENDED


@pytest.mark.parametrize(
    "spoilt",
    [
        told("stranger", 1, "on_hold"),
        told("billing", 1, "on_hold", fleet="00" * 16),
        told("billing", 0, "on_hold"),
        told("billing", 2**53 + 1, "on_hold"),
        told("billing", 1, "unheard of"),
        told("billing", 1, "on_hold", remedy="javascript:alert(1)"),
        told("billing", 1, "on_hold", reason="x" * 301),
        told("billing", 1, "on_hold", "p" * 65),
        signed_by("billing", b"{}"),
        signed_by("billing", b"[" * 4000),
        signed_by("billing", b"\xff"),
        signed_by("billing", raw_word(1, "on_hold") + b" " * 4096),
        msgspec.structs.replace(told("billing", 1, "on_hold"), signature=b"s" * 64),
        msgspec.structs.replace(told("billing", 1, "on_hold"), signature=b""),
        msgspec.structs.replace(told("billing", 1, "on_hold"), operator=b"short"),
        msgspec.structs.replace(told("billing", 1, "on_hold"), word=raw_word(1, "suspended")),
        msgspec.structs.replace(told("billing", 1, "on_hold"), operator=public("stranger")),
    ],
)
def test_what_no_registered_operator_said_counts_nowhere(
    home: Machine, spoilt: say.StandingFacts
) -> None:
    home.say(spoilt)
    assert home.fleet().said == ()


def test_a_signature_over_other_bytes_is_another_ones(home: Machine) -> None:
    raw = raw_word(1, "on_hold")
    sound = word.check(public("billing"), raw, private("billing").sign(word.PREFIX + raw))
    assert sound.serial == 1
    with pytest.raises(NotAllowed, match="not by that key"):
        word.check(public("billing"), raw, private("billing").sign(raw))


def test_an_owner_says_it_of_others_only(home: Machine) -> None:
    home.say(stands("bob", "on_hold", "ann"))
    assert level(home, "bob") is Level.ON_HOLD
    for facts in (
        stands("ann", "grace", "ann"),
        stands(None, "on_hold", "ann"),
        stands("nobody", "on_hold", "ann"),
        stands("eve", "on_hold", "bob"),
        stands("ann", "on_hold", "eve"),  # eve has no machine: this one does not speak for her
    ):
        before = home.fleet().said
        home.say(facts)
        assert home.fleet().said == before


@pytest.mark.parametrize("role", ["admin", "member", "viewer"])
def test_who_is_no_owner_says_nothing_of_accounts(home: Machine, role: str) -> None:
    home.say(person("joe", role, by="ann"))
    lap = joined(home, "lap", for_person="joe")
    lap.say(stands("bob", "on_hold", "joe"))
    lap.say(operator("own", "joe"))
    lap.say(told("own", 1, "on_hold"))
    fleet = lap.fleet()
    assert fleet.said == ()
    assert [one.name for one in fleet.operators] == ["billing"]


def test_each_source_has_a_word_of_its_own_and_the_strictest_counts(home: Machine) -> None:
    home.say(operator("audit"))
    held = home.say(stands("bob", "on_hold", "ann"))
    home.say(told("audit", 1, "grace"))
    home.say(told("billing", 9, "active", "bob"))
    assert (level(home, "bob"), level(home, "ann")) == (Level.ON_HOLD, Level.GRACE)
    home.say(stands("bob", "active", "ann", replaces=[held]))
    assert level(home, "bob") is Level.GRACE


def test_who_is_held_can_lift_nothing(home: Machine) -> None:
    known = home.fleet().operators[0].heads[0]
    home.say(told("billing", 1, "on_hold"))
    off = msgspec.structs.replace(operator("billing", on=False), replaces=known)
    for facts in (off, operator("own"), stands("bob", "active", "ann")):
        home.say(facts)
    home.say(told("own", 1, "active"))
    assert [one.name for one in home.fleet().operators if one.live] == ["billing"]
    assert level(home, "ann") is Level.ON_HOLD
    assert [one.source for one in home.fleet().said] == [public("billing")]


def test_owners_that_are_held_do_not_lift_each_other(home: Machine) -> None:
    lap = joined(home, "lap", for_person="eve")
    home.say(told("billing", 1, "on_hold", "eve"))
    lap.hear(home)
    home.say(stands("bob", "on_hold", "ann"))
    lap.say(stands("bob", "suspended", "eve"))
    home.hear(lap)
    assert level(home, "bob") is Level.ON_HOLD


def test_a_removed_operator_says_nothing_any_more_and_again_once_it_is_back(home: Machine) -> None:
    home.say(told("billing", 3, "grace"))
    known = home.fleet().operators[0]
    off = home.say(msgspec.structs.replace(operator("billing", on=False), replaces=known.heads[0]))
    assert level(home, "bob") is Level.ACTIVE
    home.say(told("billing", 4, "suspended"))
    home.say(operator("billing", replaces=off))
    assert level(home, "bob") is Level.GRACE
    assert home.fleet().said[0].serial == 3


def apart(home: Machine) -> tuple[Machine, Machine]:
    """Two owners on two machines that do not meet."""
    lap = joined(home, "lap", for_person="eve")
    return home, lap


def test_siblings_of_owners_count_as_the_stricter_until_one_names_both(home: Machine) -> None:
    home, lap = apart(home)
    one, two = home.say(stands("bob", "grace", "ann")), lap.say(stands("bob", "on_hold", "eve"))
    home.hear(lap)
    (said,) = home.fleet().said
    assert (said.level, set(said.heads)) == (Level.ON_HOLD, {one.hash, two.hash})
    home.say(stands("bob", "active", "ann", replaces=[one]))
    assert level(home, "bob") is Level.ON_HOLD
    heads = [home.known[head] for head in home.fleet().said[0].heads]
    home.say(stands("bob", "active", "ann", replaces=heads))
    assert (level(home, "bob"), len(home.fleet().said[0].heads)) == (Level.ACTIVE, 1)


def test_siblings_of_a_key_count_only_if_all_let_it(home: Machine) -> None:
    first = home.known[home.fleet().operators[0].heads[0]]
    home, lap = apart(home)
    home.say(operator("billing", replaces=first))
    lap.say(operator("billing", "eve", on=False, replaces=first))
    home.hear(lap)
    (known,) = home.fleet().operators
    assert (known.live, len(known.heads)) == (False, 2)


def test_every_order_of_arrival_gives_the_same(home: Machine) -> None:
    home, lap = apart(home)
    home.say(told("billing", 2, "on_hold"))
    lap.say(told("billing", 3, "grace", remedy="https://pay.example/x"))
    lap.say(told("billing", 3, "active"))
    lap.say(stands("bob", "suspended", "eve"))
    home.hear(lap)
    everything = list(home.known.values())
    fleet = home.fleet()
    assert standing.strictest(fleet.said, "bob") is not None
    for turn in range(len(everything)):
        assert settle(everything[turn:] + everything[:turn], founder=FOUNDER) == fleet
    assert settle(everything[::-1], founder=FOUNDER) == fleet


def test_a_word_beyond_the_cut_of_its_bringer_counts_nowhere(home: Machine) -> None:
    home, lap = apart(home)
    last = home.say(told("billing", 1, "grace"))
    lap.say(told("billing", 2, "on_hold"))
    home.say(removed("lap", "ann", {0: 0}))
    home.hear(lap)
    (said,) = home.fleet().said
    assert (said.serial, said.heads) == (1, (last.hash,))
    home.say(told("billing", 2, "on_hold"))
    assert level(home, "bob") is Level.ON_HOLD


def test_a_level_of_a_newer_askmesh_holds_answers_back() -> None:
    assert standing.level_of("frozen") is Level.ON_HOLD


@pytest.mark.parametrize("one", Level)
def test_what_a_level_does(one: Level) -> None:
    said = Said(person=None, source=b"k", level=one)
    held = one in (Level.ON_HOLD, Level.SUSPENDED)
    assert (standing.refuses([said], "bob") is not None) == held
    assert EFFECTS[one].answers is not held
    assert EFFECTS[one].banner is (one is not Level.ACTIVE)
    assert EFFECTS[one].remedy is (one in (Level.GRACE, Level.ON_HOLD))


def test_severities_differ_so_that_one_is_the_strictest() -> None:
    assert len({effect.severity for effect in EFFECTS.values()}) == len(Level)


@pytest.mark.parametrize(
    "remedy",
    [
        "http://pay.example/",
        "javascript:alert(1)",
        "https:pay.example",
        "https:///x",
        "https://pay.example@evil.example/",
        "https://evil.example\\@pay.example",
        "https://pay.example/\u202etxt",
        "https://pay.example/a b",
        "https://pay.example/\n",
        "https://[::1",
        "https://pay.example:99999999/",
        "https://pay.example/" + "x" * 500,
        "",
    ],
)
def test_what_is_no_link_to_show(remedy: str) -> None:
    assert standing.remedy_host(remedy) is None
    with pytest.raises(Invalid, match="no link"):
        standing.check_words("grace", remedy, "")


def test_the_host_of_a_remedy_is_shown_with_its_port() -> None:
    assert standing.remedy_host("https://Pay.example:8443/in?x=1") == "pay.example:8443"


@pytest.mark.parametrize("account", [Level.ON_HOLD, Level.SUSPENDED])
@pytest.mark.parametrize("kind", [Kind.APPROVAL, Kind.QUESTION])
def test_a_card_says_how_the_account_stands_and_has_no_button(kind: Kind, account: Level) -> None:
    state = CardState.ACCOUNT_ON_HOLD if account is Level.ON_HOLD else CardState.SUSPENDED
    for viewer in VIEWERS:
        facts = msgspec.structs.replace(opened(kind, "nothing", None, AFTER), account=account)
        shown = card(facts, viewer, NOW)
        assert (shown.state, shown.actions, shown.open, shown.needs_me) == (state, (), True, False)
        own = msgspec.structs.replace(facts, account_whole=False)
        assert card(own, viewer, NOW).sentence.startswith("Your account is ")
    assert "pay" not in shown.sentence


def test_an_allow_that_is_held_back_says_so_and_nothing_else_changes() -> None:
    for facts in closings():
        held = msgspec.structs.replace(facts, allow_held=Level.ON_HOLD, allow_held_of="Bob")
        shown, before = card(held, VIEWERS[1], NOW), card(facts, VIEWERS[1], NOW)
        waits = facts.state is AskState.CLOSED and facts.outcome is Outcome.ALLOWED
        if waits and (facts.use_by is None or facts.use_by > NOW):
            assert (shown.state, shown.actions) == (CardState.ACCOUNT_ON_HOLD, ())
            assert "not handed over while the account of Bob is on hold" in shown.sentence
        else:
            assert shown == before


def test_a_person_whom_nobody_speaks_for_can_be_held_as_well(home: Machine) -> None:
    home.say(told("billing", 1, "on_hold", "eve"))
    assert home.fleet().held("eve") is not None
