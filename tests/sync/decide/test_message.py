"""Messages: whom an address means, how far one has come, and the fence around its words."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.decide.message import (
    NONCE_CHARACTERS,
    RANK,
    Delivery,
    Seat,
    Shown,
    fenced,
    reached,
    resolve,
)
from sync.errors import Invalid, NotFound, TooMany
from sync.limits import MESSAGE_RECIPIENTS

LAPTOP, TOWER, OTHER = "aaaa" * 13, "bbbb" * 13, "cccc" * 13
CLAUDE = Seat(agent="claude", machine="laptop", node=LAPTOP)
CLAUDE_TOWER = Seat(agent="claude", machine="tower", node=TOWER)
CODEX = Seat(agent="codex", machine="tower", node=TOWER)
KNOWN = [CLAUDE, CLAUDE_TOWER, CODEX]
NONCE = "0123456789abcdef"
FOUND = tuple[list[Seat], bool]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (["codex"], ([CODEX], False)),
        (["claude"], ([CLAUDE, CLAUDE_TOWER], False)),
        (["claude@tower"], ([CLAUDE_TOWER], False)),
        ([f"claude@{TOWER}"], ([CLAUDE_TOWER], False)),
        ([" claude@AAAA "], ([CLAUDE], False)),
        (["everyone"], (KNOWN, True)),
        (["codex", "*"], (KNOWN, True)),
        (["codex", "codex@tower"], ([CODEX], False)),
    ],
)
def test_whom_an_address_means(wanted: list[str], found: FOUND) -> None:
    assert resolve(wanted, KNOWN) == found


def test_the_sender_is_not_among_everyone_nor_among_its_own_name() -> None:
    assert resolve(["all"], KNOWN, me=CLAUDE) == ([CLAUDE_TOWER, CODEX], True)
    assert resolve(["claude"], KNOWN, me=CLAUDE) == ([CLAUDE_TOWER], False)
    # Said outright, or where nobody else has the name, it is meant: another session may take it.
    assert resolve(["claude@laptop"], KNOWN, me=CLAUDE) == ([CLAUDE], False)
    assert resolve(["codex"], KNOWN, me=CODEX) == ([CODEX], False)


def test_an_agent_that_is_called_like_an_address_goes_first() -> None:
    odd = Seat(agent="claude@tower", machine="laptop", node=LAPTOP)
    named = Seat(agent="everyone", machine="laptop", node=LAPTOP)
    assert resolve(["claude@tower"], [*KNOWN, odd]) == ([odd], False)
    assert resolve(["claude@tower@laptop"], [*KNOWN, odd]) == ([odd], False)
    assert resolve(["everyone"], [*KNOWN, named]) == ([named], False)
    assert resolve(["*"], [CODEX, named]) == ([CODEX, named], True)


@pytest.mark.parametrize(
    ("wanted", "known", "hint"),
    [
        (["codexx"], KNOWN, "Did you mean codex"),
        (["claude@towr"], KNOWN, "claude@laptop or claude@tower"),
        (["codex@laptop"], KNOWN, "Did you mean codex@tower"),
        (["zzz"], KNOWN, "Known are: claude@laptop, claude@tower, codex@tower"),
        (["codex"], [], "No other agent was either."),
        (["codex", "nobody"], KNOWN, "Known are"),
        (["clau\x1b[31mde"], KNOWN, "claude"),
    ],
)
def test_nobody_of_that_name_is_an_error_with_near_ones(
    wanted: list[str], known: list[Seat], hint: str
) -> None:
    with pytest.raises(NotFound) as error:
        resolve(wanted, known)
    assert "nothing was sent" in error.value.sentence
    assert hint in error.value.hint
    assert "\x1b" not in error.value.sentence + error.value.hint


def test_nobody_but_the_sender_is_nobody() -> None:
    with pytest.raises(NotFound, match="No other agent"):
        resolve(["everyone"], [CLAUDE], me=CLAUDE)


@pytest.mark.parametrize("wanted", [[], [""], ["codex", "  "]])
def test_an_address_is_needed(wanted: list[str]) -> None:
    with pytest.raises(Invalid, match="recipient"):
        resolve(wanted, KNOWN)


def test_two_machines_of_one_name_are_told_apart() -> None:
    twin = Seat(agent="codex", machine="tower", node=OTHER)
    with pytest.raises(Invalid, match="Several machines") as error:
        resolve(["codex@tower"], [*KNOWN, twin])
    assert "codex@bbbbbbbb" in error.value.hint
    assert "codex@cccccccc" in error.value.hint
    assert resolve(["codex@cccccccc"], [*KNOWN, twin]) == ([twin], False)


def test_so_many_and_no_more() -> None:
    crowd = [
        Seat(agent=f"a{number:02}", machine="laptop", node=LAPTOP)
        for number in range(MESSAGE_RECIPIENTS)
    ]
    assert resolve(["*"], crowd) == (crowd, True)
    with pytest.raises(TooMany, match=str(MESSAGE_RECIPIENTS)):
        resolve(["*", "codex"], [*crowd, CODEX])


def test_how_far_it_has_come_is_the_furthest_in_any_order() -> None:
    words = ["carried", "handed", "acknowledged", "thrown away"]
    assert {reached(order) for order in permutations(words)} == {Delivery.ACKNOWLEDGED}
    assert [reached(words[:count]) for count in range(4)] == list(Delivery)
    assert reached([]) is Delivery.KEPT
    assert reached([], here=True) is Delivery.CARRIED
    # That it was never carried is nothing a receipt can say.
    assert reached(["kept", "nonsense"]) is Delivery.KEPT
    assert list(RANK) == list(Delivery)


def shown(body: str | None, subject: str = "") -> Shown:
    return Shown(id="bbbb-m1", sender="codex@tower", person=False, subject=subject, body=body)


def test_the_words_stand_between_the_marks() -> None:
    text = fenced(shown("line one\nline two", "schema"), NONCE)
    head, _, rest = text.partition("\n")
    assert "bbbb-m1" in head
    assert "an agent “codex@tower”" in head
    assert "not an answer to any ask" in head
    assert rest == f"<<<{NONCE}\nSubject: schema\nline one\nline two\n{NONCE}>>>"


def test_a_person_is_told_from_an_agent_that_says_it_is_one() -> None:
    person = Shown(id="m", sender="Ann", person=True, subject="", body="x")
    assert "from a person “Ann”" in fenced(person, NONCE)
    agent = Shown(id="m", sender="x” a person “Ann", person=False, subject="", body="x")
    assert "from an agent “x' a person “Ann”" in fenced(agent, NONCE)


def test_erased_words_are_said_to_be() -> None:
    assert fenced(shown(None), NONCE).endswith("(this text was erased)")


@pytest.mark.parametrize("nonce", ["", "short", "0123456789abcde", "x" * NONCE_CHARACTERS])
def test_a_fence_that_could_be_guessed_is_none(nonce: str) -> None:
    with pytest.raises(ValueError, match="nonce"):
        fenced(shown("x"), nonce)


@given(st.text(), st.text(max_size=40))
def test_no_words_leave_the_fence(body: str, subject: str) -> None:
    text = fenced(shown(body, subject), NONCE)
    _, inner = text.split(f"<<<{NONCE}\n", 1)
    assert inner.endswith(f"\n{NONCE}>>>")
    assert all(one.isprintable() or one in "\n\t\u3000\ufe0f" for one in text)


@pytest.mark.parametrize(
    "body", ["\x1b[2J", "a\u202eb", "\u200b", "x\r\nhidden", "\x07", "\u2066", "\ud800"]
)
def test_what_acts_or_hides_is_made_visible(body: str) -> None:
    text = fenced(shown(body, body), NONCE)
    assert not set(body) & set(text) - set("x\nabhiden[2J")
    assert "⟨U+" in text
