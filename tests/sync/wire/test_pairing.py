"""Pairing without input or output: who proves what to whom, and what nobody can make of it."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.errors import BadFrame, IllegalStep
from sync.limits import FRAME_BYTES, PAIR_MESSAGE_BYTES
from sync.net.certificate import certificate_of
from sync.wire import pairing_words as words
from sync.wire.pairing import Joiner, Minter
from sync.wire.pairing_code import new_code
from sync.wire.pairing_failures import AT_JOINER, AT_MINTER, Why, at_joiner, at_minter
from sync.wire.pairing_steps import (
    JOINER_STEPS,
    MINTER_STEPS,
    Event,
    JoinerState,
    MinterState,
)
from sync.wire.pairing_words import Kind
from tests.sync.log.entries import FLEET, key
from tests.sync.wire.pairs import (
    ADMISSION,
    CODE,
    NONCE_A,
    STATEMENTS,
    Pair,
    changed,
    joiner,
    me,
    minter,
    quick,
)

OTHER = new_code(b"other789")
MESSAGES = ("OFFER", "ANSWER", "PROOF", "CONFIRM", "WELCOME", "JOINED")


def test_two_machines_pair() -> None:
    pair = Pair().run()
    assert [Kind(message[0]).name for message in pair.said] == list(MESSAGES)
    assert pair.first.state is MinterState.PAIRED
    assert pair.second.state is JoinerState.JOINED
    candidate = next(step.candidate for step in pair.at_first if step.candidate)
    welcomed = next(step.welcomed for step in pair.at_second if step.welcomed)
    assert (candidate.node, candidate.machine, candidate.port) == (
        key(2).node_id,
        "machine 2",
        7718,
    )
    assert candidate.certificate == certificate_of(key(2))
    assert (welcomed.node, welcomed.machine, welcomed.port) == (key(1).node_id, "machine 1", 7717)
    assert welcomed.certificate == certificate_of(key(1))
    assert (welcomed.fleet, welcomed.statements) == (FLEET, STATEMENTS)
    assert pair.at_first[-1].paired


def test_a_wrong_code_is_refused_and_spends_the_right_one() -> None:
    pair = Pair(typed=OTHER).run()
    assert pair.failures == ["wrong", "wrong"]
    assert pair.first.spent
    assert pair.stored == (False, False)
    # What proves that A knows the code is not shown to who does not.
    assert [message[0] for message in pair.said] == [Kind.OFFER, Kind.ANSWER, Kind.REFUSED]


@pytest.mark.parametrize("message", range(5), ids=MESSAGES[:5])
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_any_changed_bit_is_refused_before_anything_is_stored_behind_it(
    message: int, where: float, bit: int
) -> None:
    def spoil(raw: bytes) -> bytes:
        changed_ = bytearray(raw)
        changed_[int(where * len(raw))] ^= 1 << bit
        return bytes(changed_)

    pair = Pair(spoil={message: spoil}).run()
    assert pair.failures
    # CONFIRM is what A stores upon, WELCOME what B does.
    assert pair.stored == (message == 4, False)


@pytest.mark.parametrize("message", range(6), ids=MESSAGES)
@given(raw=st.binary(max_size=400))
def test_whatever_comes_instead_is_a_refusal(message: int, raw: bytes) -> None:
    pair = Pair(spoil={message: lambda _raw: raw}).run()
    assert pair.failures
    assert pair.stored == (message >= 4, message == 5)


@pytest.mark.parametrize("message", range(6), ids=MESSAGES)
@pytest.mark.parametrize("kind", list(Kind))
def test_a_message_out_of_turn_is_refused(message: int, kind: Kind) -> None:
    if message + 1 == kind:
        return
    honest = Pair().run().said
    other = honest[kind - 1] if kind <= 6 else bytes([kind]) + bytes(64) + b"{}"
    pair = Pair(spoil={message: lambda _raw: other}).run()
    assert pair.failures
    assert pair.stored == (message >= 4, message == 5)


def test_a_recorded_answer_does_not_open_the_next_connection() -> None:
    recorded = Pair().run().said[1]
    again = Pair(minter(nonce=b"c" * 32), spoil={1: lambda _raw: recorded}).run()
    assert again.failures[0] == "wrong"
    assert again.first.spent
    assert again.stored == (False, False)


def test_a_recorded_proof_and_welcome_do_not_fool_the_next_joiner() -> None:
    said = Pair().run().said
    pair = Pair(
        second=joiner(nonce=b"c" * 32), spoil={2: lambda _raw: said[2], 4: lambda _raw: said[4]}
    ).run()
    assert pair.failures[-1] == "stranger"
    assert pair.stored == (False, False)


# --- somebody in between, who ends TLS on both sides -------------------------------------------


def test_a_relay_with_a_certificate_of_its_own_is_seen_before_the_code_is_used() -> None:
    pair = Pair(second=joiner(seen=certificate_of(key(9)))).run()
    assert [step.failed.why for step in pair.at_second if step.failed] == [Why.STRANGER]
    assert not pair.first.spent
    assert pair.stored == (False, False)


def as_relay(raw: bytes, **values: object) -> bytes:
    kind, proof = words.unpack(raw)
    shape = words.Offer if kind is Kind.OFFER else words.Answer
    said = msgspec.structs.replace(words.read(shape, proof.body), **values)
    return words.pack(kind, tag=proof.tag, body=words.write(said))


def test_a_relay_that_puts_its_key_into_the_offer_is_refused_by_the_other_side() -> None:
    relay = key(9)
    pair = Pair(
        second=joiner(seen=certificate_of(relay)),
        spoil={0: lambda raw: as_relay(raw, key=relay.public)},
    ).run()
    assert pair.failures == ["wrong", "wrong"]
    assert pair.stored == (False, False)


def test_a_relay_that_puts_its_key_into_the_answer_is_refused() -> None:
    relay = key(9)
    pair = Pair(
        spoil={1: lambda raw: as_relay(raw, key=relay.public, certificate=certificate_of(relay))},
    ).run()
    assert pair.failures[0] == "wrong"
    assert pair.stored == (False, False)


def test_a_stranger_that_shows_a_code_of_its_own_is_refused() -> None:
    stranger = changed(me(9), machine="machine 1")
    pair = Pair(minter(OTHER, stranger), joiner(seen=stranger.certificate)).run()
    assert pair.failures == ["wrong", "wrong"]
    # It goes on as if the tag had been right.
    step = (second := joiner(seen=stranger.certificate)).heard(pair.said[0])
    assert step.stretch
    answer = second.answer(quick(CODE, step.stretch))
    body = words.unpack(answer)[1].body
    said = words.transcript(pair.said[0][1:], stranger.certificate, body)
    lying = words.pack(
        Kind.PROOF,
        tag=words.tag(quick(OTHER, step.stretch), b"A", said),
        signature=words.signature(stranger.key, words.CONFIRM_A, said),
    )
    failed = second.heard(lying).failed
    assert failed
    assert failed.why is Why.STRANGER


def test_the_tag_of_one_side_is_not_the_tag_of_the_other() -> None:
    pair = Pair().run()
    tag = words.unpack(pair.said[1])[1].tag
    mirrored = Pair(spoil={2: lambda raw: raw[:1] + tag + raw[33:]}).run()
    assert mirrored.failures[-1] == "stranger"
    assert mirrored.stored == (False, False)


def test_who_does_not_hold_the_key_it_names_is_refused() -> None:
    # Both know the code; B names the key of machine 3.
    liar = changed(me(2), certificate=certificate_of(key(3)))
    named = Pair(second=joiner(liar)).run()
    assert named.failures[0] == "stranger"
    holder = msgspec.structs.replace(me(3), key=_Signs(3, 2))
    signed = Pair(second=joiner(holder)).run()
    assert signed.failures[0] == "stranger"
    assert signed.stored == (False, False)
    minted = msgspec.structs.replace(me(1), key=_Signs(1, 2))
    assert Pair(minter(who=minted)).run().failures[-1] == "stranger"


class _Signs:
    """Names the key of one machine and signs with another's."""

    def __init__(self, named: int, held: int) -> None:
        self.public = key(named).public
        self.node_id = key(named).node_id
        self.sign = key(held).sign


# --- what is refused although the code is right --------------------------------------------------


def test_a_machine_of_a_fleet_with_others_keeps_the_code() -> None:
    pair = Pair(second=joiner(me(2, alone=False))).run()
    assert pair.at_second[-1].failed
    assert pair.at_second[-1].failed.why is Why.NOT_ALONE
    assert not pair.first.spent


def test_a_machine_that_says_it_has_others_is_refused() -> None:
    first, second = minter(), joiner()
    step = second.heard(first.begin())
    assert step.stretch
    # It does not stop by itself, as an honest one does.
    second._me = changed(me(2), alone=False)
    step = first.heard(second.answer(quick(CODE, step.stretch)))
    assert step.failed
    assert step.failed.why is Why.NOT_ALONE
    assert first.spent


def test_a_machine_is_not_paired_with_itself() -> None:
    pair = Pair(second=joiner(me(1))).run()
    assert pair.at_second[-1].failed
    assert pair.at_second[-1].failed.why is Why.ITSELF
    assert not pair.first.spent


def test_machines_that_share_no_protocol_say_so_and_keep_the_code() -> None:
    pair = Pair(
        spoil={0: lambda raw: as_relay(raw, least=7, most=9, version="4.0")},
    ).run()
    failed = pair.at_second[-1].failed
    assert failed
    assert (failed.why, failed.version) == (Why.VERSION, "4.0")
    assert not pair.first.spent
    assert "4.0" in at_joiner(failed.why, version=failed.version).sentence


def test_fields_of_a_newer_askmesh_are_read_over_but_proved() -> None:
    def newer(raw: bytes) -> bytes:
        return raw[:-1] + b',"more":1}'

    pair = Pair(spoil={0: newer}).run()
    assert pair.failures[0] == "wrong"
    kind, proof = words.unpack(newer(minter().begin()))
    assert kind is Kind.OFFER
    assert words.read(words.Offer, proof.body).machine == "machine 1"


def test_a_reason_is_told_only_by_who_knows_the_code() -> None:
    first, second = minter(), joiner()
    pair = Pair(first, second)
    step = second.heard(first.begin())
    assert step.stretch
    proved = first.heard(second.answer(quick(CODE, step.stretch)))
    assert proved.send
    confirm = second.heard(proved.send).send
    assert confirm
    assert first.heard(confirm).candidate
    refusal = first.refuse(Why.REFUSED, "Only\u202e an owner\n may.")
    failed = second.heard(refusal).failed
    assert failed
    assert failed.sentence == "Only an owner may."
    assert not pair.stored[0]
    unsigned = Pair(spoil={2: lambda _raw: _refusal("Send me your passphrase.")}).run()
    told = unsigned.at_second[-1].failed
    assert told
    assert told.sentence is None
    forged = Pair(spoil={4: lambda _raw: _refusal("Send me your passphrase.")}).run()
    told = forged.at_second[-1].failed
    assert told
    assert (told.why, told.sentence) == (Why.UNREADABLE, None)


def _refusal(sentence: str, reason: str = "refused") -> bytes:
    body = words.write(words.Refusal(reason=reason, sentence=sentence))
    return words.pack(Kind.REFUSED, signature=words.NO_SIGNATURE, body=body)


def test_an_unknown_reason_of_a_newer_askmesh_is_a_plain_refusal() -> None:
    pair = Pair(spoil={0: lambda _raw: _refusal("", "moon phase")}).run()
    assert pair.at_second[-1].failed
    assert pair.at_second[-1].failed.why is Why.REFUSED


# --- sizes --------------------------------------------------------------------------------


def test_messages_have_their_sizes() -> None:
    said = Pair().run().said
    assert all(len(message) < 2048 for message in said[:4])
    for kind in Kind:
        limit = FRAME_BYTES if kind in (Kind.WELCOME, Kind.MORE) else PAIR_MESSAGE_BYTES
        if kind not in words._EMPTY:
            words.unpack(bytes([kind]) + bytes(limit - 1))
        with pytest.raises(BadFrame):
            words.unpack(bytes([kind]) + bytes(limit))


@pytest.mark.parametrize(
    "values",
    [
        {"machine": "x" * 65},
        {"nonce": b"short"},
        {"key": b""},
    ],
)
def test_an_answer_that_does_not_read_spends_nothing(values: dict[str, object]) -> None:
    pair = Pair(spoil={1: lambda raw: as_relay(raw, **values)}).run()
    assert pair.failures[0] == "unreadable"
    assert not pair.first.spent


@pytest.mark.parametrize(
    ("name", "shown"),
    [("", "unnamed"), (" ", "unnamed"), ("a\x1b[2J", "a[2J"), ("la\u202ep\u200btop", "laptop")],
)
def test_a_machine_with_a_name_that_hides_joins_by_what_can_be_shown_of_it(
    name: str, shown: str
) -> None:
    body = words.write(
        words.Answer(
            least=1,
            most=1,
            nonce=bytes(32),
            key=key(2).public,
            certificate=b"",
            machine=name,
            version="1.0\n",
            alone=True,
        )
    )
    read = words.read(words.Answer, body)
    assert (read.machine, read.version) == (shown, "1.0")


# --- the tables ---------------------------------------------------------------------------


def test_what_the_tables_do_not_have_raises_and_changes_nothing() -> None:
    mint = minter()
    admission = ADMISSION
    refuses(mint, lambda: mint.heard(b""), lambda: mint.admit(admission))
    mint.begin()
    refuses(mint, mint.begin, lambda: mint.admit(admission))
    join = joiner()
    refuses(join, join.joined, lambda: join.answer(NONCE_A))
    over = Pair().run()
    refuses(over.first, lambda: over.first.heard(over.said[5]), lambda: over.first.refuse(Why.SLOW))
    refuses(over.second, lambda: over.second.heard(over.said[4]), over.second.joined)


def refuses(side: Minter | Joiner, *steps: Callable[[], object]) -> None:
    before = side.state
    for step in steps:
        with pytest.raises(IllegalStep):
            step()
        assert side.state is before


def test_from_every_state_but_the_last_it_can_fail_and_nothing_leads_on_from_the_last() -> None:
    ends = {MinterState.PAIRED, MinterState.FAILED}
    for state in MinterState:
        fails = (state, Event.FAILED) in MINTER_STEPS
        assert fails == (state not in ends | {MinterState.NEW})
    assert not any(state in ends for state, _ in MINTER_STEPS)
    ends_b = {JoinerState.JOINED, JoinerState.FAILED}
    for other in JoinerState:
        assert ((other, Event.FAILED) in JOINER_STEPS) == (other not in ends_b)
    assert not any(state in ends_b for state, _ in JOINER_STEPS)


@pytest.mark.parametrize("why", list(Why))
def test_every_failure_has_a_sentence_and_a_way_on_at_both_sides(why: Why) -> None:
    for said in (at_joiner(why), at_minter(why)):
        assert said.sentence
        assert said.hint.endswith(".")
        assert "{" not in said.sentence + said.hint
    assert why in AT_JOINER or why is Why.EXPIRED
    assert why in AT_MINTER or why in {Why.UNREACHED, Why.BUSY, Why.NOBODY}
