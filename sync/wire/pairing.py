"""Pairing two machines by a code, without input or output: `pair/v1`.

    A shows the code                                       B: the code is typed
    OFFER    who A is, a nonce                        →
             ←   ANSWER   who B is, its certificate, a nonce; tag
    PROOF    tag, signature                           →
             ←   CONFIRM  signature
    WELCOME  the fleet, its statements; signature     →
    MORE     as many as WELCOME names: more of them   →
             ←   JOINED   signature

The tags prove that the other side knows the code and saw the same OFFER, ANSWER and TLS
certificate of A; the signatures, that it holds the key it names. The first ANSWER that
reads spends the code, whatever its tag says. Nothing is stored before CONFIRM at A and
before WELCOME at B. docs/protocol.md, "Pairing", has every byte.
"""

from collections.abc import Mapping
from typing import Generic, TypeVar

from msgspec.structs import replace

from sync.errors import BadFrame, IllegalStep
from sync.log.entry import Entry, sha256
from sync.log.kinds import EntryType
from sync.wire import pairing_words as words
from sync.wire.frames import PROTOCOL
from sync.wire.pairing_failures import Why, why_of
from sync.wire.pairing_steps import (
    JOINER_STEPS,
    MINTER_STEPS,
    Admission,
    Candidate,
    Event,
    Failure,
    Fits,
    JoinerState,
    Me,
    MinterState,
    Step,
    Welcomed,
)
from sync.wire.pairing_welcome import bodies, parts, read_part, read_welcome
from sync.wire.pairing_words import Answer, Kind, Offer, Proof, Refusal, Welcome

Steps = TypeVar("Steps", MinterState, JoinerState)


class _Side(Generic[Steps]):
    """What both sides have: a state with a table, a transcript once there is one, refusals."""

    def __init__(
        self, me: Me, steps: Mapping[tuple[Steps, Event], Steps], first: Steps, fits: Fits
    ) -> None:
        self.state: Steps = first
        self._me = me
        self._steps: Mapping[tuple[Steps, Event], Steps] = steps
        self._fits = fits
        self._said = b""
        """The transcript."""
        self._body = b""
        """The JSON of our own first message."""
        self._peer: Offer | Answer | None = None
        self._proved = False
        """Whether the peer has proved to know the code."""

    def refuse(self, why: Why, sentence: str | None = None) -> bytes:
        """End it; return the message that tells the other side why."""
        self._step(Event.FAILED)
        body = words.write(Refusal(reason=why.value, sentence=sentence and sentence[:300]))
        sign = words.NO_SIGNATURE
        if self._said:
            sign = words.signature(self._me.key, words.REFUSED, self._said, body)
        return words.pack(Kind.REFUSED, signature=sign, body=body)

    def _step(self, event: Event) -> None:
        after = self._steps.get((self.state, event))
        if after is None:
            raise IllegalStep(f"Pairing is {self.state.value}; {event.value} cannot follow.")
        self.state = after

    def _fail(self, why: Why, *, tell: bool = True, sentence: str | None = None) -> Step:
        """End it for a reason of ours (`tell`) or of theirs."""
        said = self.refuse(why) if tell else None
        if not tell:
            self._step(Event.FAILED)
        peer = self._peer
        return Step(
            send=said,
            failed=Failure(
                why=why,
                sentence=sentence,
                machine=peer.machine if peer else "",
                version=peer.version if peer else "",
            ),
        )

    def _expect(self, raw: bytes, wanted: Kind) -> Proof | Step:
        """Return the message that is due, else how it ended."""
        try:
            kind, proof = words.unpack(raw)
            if kind is Kind.REFUSED:
                return self._refused(proof)
        except BadFrame:
            return self._fail(Why.UNREADABLE)
        return proof if kind is wanted else self._fail(Why.UNREADABLE)

    def _refused(self, proof: Proof) -> Step:
        refusal = words.read(Refusal, proof.body)
        peer = self._peer
        # Words are shown to a person: only those of a machine that knows the code.
        sentence = None
        if self._proved and peer is not None and refusal.sentence:
            if not words.signed(peer.key, words.REFUSED, self._said, proof):
                return self._fail(Why.UNREADABLE)
            sentence = "".join(one for one in refusal.sentence if one.isprintable())
        return self._fail(why_of(refusal.reason), tell=False, sentence=sentence)

    def _signed(self, prefix: bytes, proof: Proof) -> bool:
        peer = self._peer
        return peer is not None and words.signed(peer.key, prefix, self._said, proof)


class Minter(_Side[MinterState]):
    """The machine that shows the code, over one connection.

    `key` is what scrypt makes of the code and `sid`; `nonce` is new for each connection.
    """

    def __init__(self, me: Me, *, sid: bytes, key: bytes, nonce: bytes, fits: Fits) -> None:
        super().__init__(me, MINTER_STEPS, MinterState.NEW, fits)
        self._sid = sid
        self._key = key
        self._nonce = nonce
        self.spent = False
        """Whether an ANSWER came that reads: the code must not be used again."""

    def begin(self) -> bytes:
        """Return OFFER."""
        self._step(Event.BEGUN)
        offer = Offer(
            least=PROTOCOL,
            most=PROTOCOL,
            sid=self._sid,
            nonce=self._nonce,
            key=self._me.key.public,
            machine=self._me.machine,
            version=self._me.version,
        )
        self._body = words.write(offer)
        return words.pack(Kind.OFFER, body=self._body)

    def heard(self, raw: bytes) -> Step:
        """Take a message of the other side. Never raises for what it holds."""
        match self.state:
            case MinterState.OFFERING:
                found = self._expect(raw, Kind.ANSWER)
                return found if isinstance(found, Step) else self._answered(found)
            case MinterState.PROVING:
                found = self._expect(raw, Kind.CONFIRM)
                return found if isinstance(found, Step) else self._confirmed(found)
            case MinterState.WELCOMING:
                found = self._expect(raw, Kind.JOINED)
                return found if isinstance(found, Step) else self._has_joined(found)
            case _:
                raise IllegalStep(f"Pairing is {self.state.value}; no message is due.")

    def admit(self, admission: Admission) -> list[bytes]:
        """The candidate was let in: return WELCOME, and each MORE that follows it."""
        self._step(Event.ADMITTED)
        welcome = Welcome(
            fleet=admission.fleet,
            founder=admission.founder,
            port=admission.port,
            forks=admission.forks,
        )
        body, *more = bodies(welcome, parts(admission.statements))
        sign = words.signature(self._me.key, words.WELCOME, self._said, body)
        return [
            words.pack(Kind.WELCOME, signature=sign, body=body),
            *(words.pack(Kind.MORE, body=one) for one in more),
        ]

    def _answered(self, proof: Proof) -> Step:
        try:
            answer = words.read(Answer, proof.body)
        except BadFrame:
            return self._fail(Why.UNREADABLE)
        self.spent = True
        self._peer = answer
        self._said = words.transcript(self._body, self._me.certificate, proof.body)
        if not words.same(proof.tag, words.tag(self._key, b"B", self._said)):
            return self._fail(Why.WRONG)
        self._proved = True
        if not answer.least <= PROTOCOL <= answer.most:
            return self._fail(Why.VERSION)
        if answer.key == self._me.key.public:
            return self._fail(Why.ITSELF)
        if not self._fits(answer.certificate, answer.key):
            return self._fail(Why.STRANGER)
        if not answer.alone:
            return self._fail(Why.NOT_ALONE)
        self._step(Event.ANSWERED)
        tag = words.tag(self._key, b"A", self._said)
        sign = words.signature(self._me.key, words.CONFIRM_A, self._said)
        return Step(send=words.pack(Kind.PROOF, tag=tag, signature=sign))

    def _confirmed(self, proof: Proof) -> Step:
        answer = self._peer
        if not isinstance(answer, Answer) or not self._signed(words.CONFIRM_B, proof):
            return self._fail(Why.STRANGER)
        self._step(Event.CONFIRMED)
        candidate = Candidate(
            node_key=answer.key,
            certificate=answer.certificate,
            machine=answer.machine,
            version=answer.version,
            port=answer.port,
        )
        return Step(candidate=candidate)

    def _has_joined(self, proof: Proof) -> Step:
        if not self._signed(words.JOINED, proof):
            return self._fail(Why.UNREADABLE)
        self._step(Event.JOINED)
        return Step(paired=True)


class Joiner(_Side[JoinerState]):
    """The machine on which the code was typed. `certificate` is what TLS showed of A."""

    def __init__(self, me: Me, *, certificate: bytes, nonce: bytes, fits: Fits) -> None:
        super().__init__(me, JOINER_STEPS, JoinerState.WAITING, fits)
        self._certificate = certificate
        self._nonce = nonce
        self._offer = b""
        self._key = b""
        self._welcomed: Welcomed | None = None
        self._due: list[bytes] = []
        """Hashes of the `MORE` that have not come yet."""

    def heard(self, raw: bytes) -> Step:
        """Take a message of the other side. Never raises for what it holds."""
        match self.state:
            case JoinerState.WAITING:
                found = self._expect(raw, Kind.OFFER)
                return found if isinstance(found, Step) else self._offered(found)
            case JoinerState.ANSWERED:
                found = self._expect(raw, Kind.PROOF)
                return found if isinstance(found, Step) else self._proof(found)
            case JoinerState.CONFIRMED:
                found = self._expect(raw, Kind.WELCOME)
                return found if isinstance(found, Step) else self._welcome(found)
            case JoinerState.GATHERING:
                found = self._expect(raw, Kind.MORE)
                return found if isinstance(found, Step) else self._more(found)
            case _:
                raise IllegalStep(f"Pairing is {self.state.value}; no message is due.")

    def answer(self, key: bytes) -> bytes:
        """Return ANSWER. `key` is what scrypt makes of the code and the sid."""
        self._step(Event.ANSWERED)
        me = self._me
        answer = Answer(
            least=PROTOCOL,
            most=PROTOCOL,
            nonce=self._nonce,
            key=me.key.public,
            certificate=me.certificate,
            machine=me.machine,
            version=me.version,
            port=me.port,
            alone=me.alone,
        )
        self._key = key
        self._body = words.write(answer)
        self._said = words.transcript(self._offer, self._certificate, self._body)
        return words.pack(Kind.ANSWER, tag=words.tag(key, b"B", self._said), body=self._body)

    def joined(self) -> bytes:
        """It is stored here: return JOINED."""
        self._step(Event.JOINED)
        sign = words.signature(self._me.key, words.JOINED, self._said)
        return words.pack(Kind.JOINED, signature=sign)

    def _offered(self, proof: Proof) -> Step:
        try:
            offer = words.read(Offer, proof.body)
        except BadFrame:
            return self._fail(Why.UNREADABLE)
        self._peer = offer
        self._offer = proof.body
        # Before ANSWER: what stops here leaves the code unspent.
        if not offer.least <= PROTOCOL <= offer.most:
            return self._fail(Why.VERSION)
        if offer.key == self._me.key.public:
            return self._fail(Why.ITSELF)
        if not self._fits(self._certificate, offer.key):
            return self._fail(Why.STRANGER)
        if not self._me.alone:
            return self._fail(Why.NOT_ALONE)
        self._step(Event.OFFERED)
        return Step(stretch=offer.sid)

    def _proof(self, proof: Proof) -> Step:
        if not words.same(proof.tag, words.tag(self._key, b"A", self._said)):
            return self._fail(Why.STRANGER)
        self._proved = True
        if not self._signed(words.CONFIRM_A, proof):
            return self._fail(Why.STRANGER)
        self._step(Event.PROVED)
        sign = words.signature(self._me.key, words.CONFIRM_B, self._said)
        return Step(send=words.pack(Kind.CONFIRM, signature=sign))

    def _welcome(self, proof: Proof) -> Step:
        offer = self._peer
        if not isinstance(offer, Offer) or not self._signed(words.WELCOME, proof):
            return self._fail(Why.STRANGER)
        try:
            welcome, statements = read_welcome(proof.body)
        except BadFrame:
            return self._fail(Why.UNREADABLE)
        self._step(Event.ADMITTED)
        self._due = list(welcome.more)
        welcomed = Welcomed(
            node_key=offer.key,
            certificate=self._certificate,
            machine=offer.machine,
            version=offer.version,
            fleet=welcome.fleet,
            founder=welcome.founder,
            statements=statements,
            forks=welcome.forks,
            port=welcome.port,
        )
        return self._gathered(welcomed)

    def _more(self, proof: Proof) -> Step:
        welcomed = self._welcomed
        if welcomed is None or sha256(proof.body) != self._due.pop(0):
            return self._fail(Why.STRANGER)
        try:
            part = read_part(proof.body)
        except BadFrame:
            return self._fail(Why.UNREADABLE)
        return self._gathered(replace(welcomed, statements=welcomed.statements + part))

    def _gathered(self, welcomed: Welcomed) -> Step:
        """Wait for more, or hand over what has come."""
        self._welcomed = welcomed
        if self._due:
            return Step()
        if not _begins(welcomed.statements, welcomed.founder) or any(
            entry.header.fleet != welcomed.fleet for entry in welcomed.statements
        ):
            return self._fail(Why.UNREADABLE)
        self._step(Event.GATHERED)
        return Step(welcomed=welcomed)


def _begins(statements: tuple[Entry, ...], founder: bytes) -> bool:
    """Whether the first of the statements is the genesis of this founder."""
    if not statements:
        return False
    first = statements[0].header
    return first.author == founder and first.type == EntryType.GENESIS and first.seq == 1
