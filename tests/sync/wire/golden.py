"""What the golden vectors in `vectors/` stand for. `python -m tests.sync.wire.golden` writes them.

They are for ever: a changed vector is a changed protocol.
"""

import json
from pathlib import Path

import msgspec

from sync.decide.statements import rank
from sync.log import facts as say
from sync.log.chain import Head
from sync.log.entry import Entry, NodeKey, seal, sha256
from sync.log.fork import Evidence, evidence, side
from sync.log.kinds import EntryType
from sync.log.names import node_name
from sync.net.pair_key import stretched
from sync.wire import frames, letter, presence
from sync.wire import pairing_words as words
from sync.wire.frames import Frame, FrameType
from sync.wire.held import digest
from sync.wire.pairing_code import new_code
from sync.wire.pairing_welcome import bodies
from sync.wire.signed import Signed
from sync.wire.testimony import Said
from tests.sync.log.entries import key
from tests.sync.wire import golden_chatter as chatter
from tests.sync.wire import pairs

VECTORS = Path(__file__).parent / "vectors"
FLEET = bytes(range(16))
SALT = bytes(range(16))
AT = 1_800_000_000_000
FIRST, SECOND = key(1), key(2)


def note(author: NodeKey = FIRST) -> Entry:
    """The example of docs/protocol.md."""
    return seal(
        author,
        fleet=FLEET,
        seq=1,
        prev=bytes(32),
        hlc=AT << 16,
        entry_type=EntryType.NOTE,
        facts=b'{"number":1,"kind":"note","agent":"claude","session":"s-1",'
        b'"project":"example.org/team/app","created":1800000000000}',
        text=SALT + b'{"title":"Assumed UTC"}',
    )


def mark() -> Entry:
    """The next one, of a type that has no text but its salt."""
    before = note()
    return seal(
        FIRST,
        fleet=FLEET,
        seq=2,
        prev=before.hash,
        hlc=(AT << 16) + 1,
        entry_type=EntryType.MARK,
        facts=b'{"ask":"x-1","person":"p","read":true,"at":1800000000000}',
        text=SALT + b"{}",
    )


def erased() -> Entry:
    """The first one, its text gone."""
    return msgspec.structs.replace(note(), text=None)


def redacted() -> Entry:
    """An owner has the text of the first one erased."""
    gone = note()
    facts = say.RedactedFacts(
        ask=f"{node_name(FIRST.node_id)}-1",
        entries=[
            say.EntryPoint(
                author=FIRST.node_id, log=gone.header.log, seq=gone.header.seq, hash=gone.hash
            )
        ],
        by="ann",
        heads=[sha256(b"statement")],
        at=AT,
    )
    return seal(
        FIRST,
        fleet=FLEET,
        seq=259,
        prev=sha256(b"head"),
        hlc=AT << 16,
        entry_type=EntryType.REDACTED,
        facts=say.pack_facts(facts),
        text=say.pack_text(SALT, say.RedactedText(reason="a password")),
    )


def other_note() -> Entry:
    """Another in its place, as a copy of the directory writes it."""
    return seal(
        FIRST,
        fleet=FLEET,
        seq=1,
        prev=bytes(32),
        hlc=(AT << 16) + 2,
        entry_type=EntryType.NOTE,
        facts=b'{"number":1,"kind":"note","agent":"codex","session":"s-2",'
        b'"project":"example.org/team/app","created":1800000000000}',
        text=SALT + b'{"title":"Assumed CET"}',
    )


def proof() -> Evidence:
    """That the author has two histories."""
    return evidence(side(note()), side(other_note()))


def removal(seq: int) -> Entry:
    """A statement of a history that nobody else need hold."""
    facts = say.RemovedFacts(
        node=SECOND.node_id, cut=[], by="ann", heads=[sha256(b"statement")], at=AT
    )
    return seal(
        FIRST,
        fleet=FLEET,
        seq=seq,
        prev=sha256(b"history"),
        hlc=AT << 16,
        entry_type=EntryType.REMOVED,
        facts=say.pack_facts(facts),
        text=say.pack_text(SALT, say.NoText()),
    )


def testimony() -> dict[bytes, frozenset[Said]]:
    """What is kept of it, and of another author nothing."""
    said = (rank(one.header.type, one.header.seq, one.hash) for one in map(removal, (2, 3)))
    return {FIRST.node_id: frozenset(said), SECOND.node_id: frozenset()}


def signed_presence() -> Signed:
    """What a machine says of itself."""
    said = presence.Presence(
        fleet=FLEET,
        node=FIRST.node_id,
        boot="b-1",
        started=AT - 60_000,
        counter=7,
        at=AT,
        version="0.1.0",
        machine="desk",
        sessions=[
            presence.SessionWord(
                id="s-1",
                agent="claude",
                project="example.org/team/app",
                started=AT - 5_000,
                last_heard=AT - 1_000,
                status="running the tests",
            )
        ],
        links=[SECOND.node_id],
        addresses=[presence.AddressWord(host="192.0.2.7", port=7717)],
        seen=[presence.SeenWord(node=SECOND.node_id, boot="b-9", counter=3, ago_ms=1_500)],
    )
    return presence.say(FIRST, said)


def signed_letter() -> Signed:
    """What a machine says to another."""
    said = letter.Letter(
        fleet=FLEET,
        id=SALT,
        sender=FIRST.node_id,
        to=SECOND.node_id,
        at=AT,
        kind="sign-in over",
        body=msgspec.Raw(b'{"id":"wish"}'),
    )
    return letter.write(FIRST, said)


def vector() -> dict[tuple[bytes, int], Head]:
    """Two logs of one author."""
    return {
        (FIRST.node_id, 1): Head(seq=2, hash=mark().hash),
        (FIRST.node_id, 0): Head(seq=258, hash=sha256(b"head")),
    }


def rows() -> list[frames.HeadRow]:
    """The vector, as it is told."""
    return [frames.HeadRow(*place, head.seq, head.hash) for place, head in vector().items()]


def cases() -> dict[str, Frame]:
    """Every type of frame, some in several ways."""
    me, name, both = FIRST.node_id, sha256(b"blob"), digest(vector())
    hello = frames.Hello(
        least=1,
        most=1,
        fleet=FLEET,
        node=me,
        boot="b-1",
        version="0.1.0",
        machine="desk",
        now=AT,
        port=7717,
        digest=both,
    )
    said, written = signed_presence(), signed_letter()
    return {
        "hello": hello,
        "hello, nobody can dial it, a newer minor": msgspec.structs.replace(
            hello, minor=3, port=None
        ),
        "have, the digest alone": frames.Have(digest=both),
        "have, all of it": frames.Have(digest=both, heads=rows(), whole=True),
        "have, all of it, and asks": frames.Have(digest=both, heads=rows(), whole=True, ask=True),
        "have, what moved": frames.Have(digest=both, heads=rows()[:1]),
        "want": frames.Want(runs=[frames.RunRow(me, 0, 1, 258), frames.RunRow(me, 1, 2, 2)]),
        "entries": frames.Entries(entries=(note(), mark())),
        "entries, a text erased": frames.Entries(entries=(erased(),)),
        "ack": frames.Ack(heads=rows()[:1]),
        "ack, refused": frames.Ack(trouble="Nobody has said yet who wrote this."),
        "presence": frames.Presence(signature=said.signature, raw=said.raw),
        "letter": frames.Letter(signature=written.signature, raw=written.raw),
        "blob wanted": frames.BlobWant(name=name, offset=262_144),
        "blob": frames.Blob(name=name, offset=1, total=4, chunk=b"lob"),
        "blob not here": frames.BlobNone(name=name),
        "ping": frames.Ping(number=1),
        "pong": frames.Pong(number=1, now=AT),
        "goodbye": frames.Goodbye(),
        "farewell": frames.Farewell(entries=(note(),)),
        **evidence_cases(),
    }


def evidence_cases() -> dict[str, Frame]:
    """Both ways to prove a fork."""
    breaks = evidence(side(other_note()), side(mark()))
    return {
        "evidence, twice the same number": frames.Proofs(evidence=(proof(),)),
        "evidence, a break": frames.Proofs(evidence=(breaks,)),
        "testimony": frames.Testimony(entries=(removal(2), removal(3))),
        "testified": frames.Testified(
            author=FIRST.node_id, hashes=tuple(sorted(removal(seq).hash for seq in (2, 3)))
        ),
        "testified, nothing": frames.Testified(author=FIRST.node_id, hashes=()),
    }


def entry_vector(made: Entry) -> dict[str, object]:
    """One entry, piece by piece."""
    fields = {
        name: value.hex() if isinstance(value, bytes) else value
        for name, value in msgspec.structs.asdict(made.header).items()
    }
    return {
        "fields": fields,
        "header": made.raw.hex(),
        "signature": made.signature.hex(),
        "facts": made.facts.hex(),
        "text": None if made.text is None else made.text.hex(),
        "hash": made.hash.hex(),
    }


def signed_vector(signed: Signed, prefix: bytes) -> dict[str, str]:
    """One signed message."""
    return {
        "prefix": prefix.hex(),
        "raw": signed.raw.decode(),
        "signature": signed.signature.hex(),
        "public_key": FIRST.public.hex(),
    }


def files() -> dict[str, object]:
    """What each file holds."""
    shown: dict[str, object] = {}
    for name, frame in cases().items():
        raw = frames.encode(frame)
        shown[name] = {"type": FrameType(raw[0]).name, "hex": raw.hex()}
    return {
        "frames.json": shown,
        "entries.json": {
            "note": entry_vector(note()),
            "mark": entry_vector(mark()),
            "note, its text erased": entry_vector(erased()),
            "redacted": entry_vector(redacted()),
            "message": entry_vector(chatter.message(FIRST, mark(), SECOND)),
            "receipt": entry_vector(chatter.receipt(SECOND, FIRST)),
            "board": entry_vector(chatter.board(FIRST, chatter.message(FIRST, mark(), SECOND))),
        },
        "vector.json": {
            "heads": [
                {"author": row.author.hex(), "log": row.log, "seq": row.seq, "hash": row.hash.hex()}
                for row in rows()
            ],
            "digest": digest(vector()).hex(),
            "digest, a fork known": digest(vector(), {(FIRST.node_id, 1): 3}).hex(),
            "digest, something stated beyond a fork": digest(
                vector(), {(FIRST.node_id, 0): 2}, testimony()
            ).hex(),
        },
        "signed.json": {
            "presence": signed_vector(signed_presence(), presence.PREFIX),
            "letter": signed_vector(signed_letter(), letter.PREFIX),
        },
        "pairing.json": pairing(),
    }


def pairing() -> dict[str, object]:
    """Codes, the key of one, and a whole pairing with fixed keys, nonces and statements."""
    pair = pairs.Pair(key_of=stretched).run()
    offer, answer = (words.unpack(pair.said[at])[1] for at in (0, 1))
    said = words.transcript(offer.body, pairs.me(1).certificate, answer.body)
    secret = stretched(pairs.CODE, pairs.SID)
    return {
        "codes": {
            random.hex(): new_code(random).shown()
            for random in (bytes(8), bytes(range(8)), b"\xff" * 8, b"askmesh!")
        },
        "code": pairs.CODE.shown(),
        "sid": pairs.SID.hex(),
        "key": secret.hex(),
        "certificate of A": pairs.me(1).certificate.hex(),
        "transcript": said.hex(),
        "tag of B": words.tag(secret, b"B", said).hex(),
        "tag of A": words.tag(secret, b"A", said).hex(),
        "messages": {words.Kind(raw[0]).name: raw.hex() for raw in pair.said},
        "a welcome in two messages": in_parts(said),
    }


def in_parts(said: bytes) -> dict[str, str]:
    """The same statements, told in both messages."""
    told = pairs.ADMISSION
    welcome = words.Welcome(fleet=told.fleet, founder=told.founder, port=told.port)
    body, more = bodies(welcome, [told.statements, told.statements])
    sign = words.signature(pairs.me(1).key, words.WELCOME, said, body)
    return {
        "WELCOME": words.pack(words.Kind.WELCOME, signature=sign, body=body).hex(),
        "MORE": words.pack(words.Kind.MORE, body=more).hex(),
    }


if __name__ == "__main__":
    for name, content in files().items():
        (VECTORS / name).write_text(json.dumps(content, indent=1) + "\n", "utf-8")
