"""The one route without a session that changes something: what is not signed does nothing."""

from base64 import b64encode

import pytest

from tests.web.wire import BODIES, Headers, Served
from web import accounts
from web.limits import WORD_BODY_BYTES
from web.routes import ROUTES

WORD = BODIES["standing_word"]
PATH = next(route.path for route in ROUTES if route.name == "standing_word")


def bare(served: Served) -> Headers:
    """What a billing system sends: no cookie, no browser."""
    return [
        (name, value)
        for name, value in served.headers()
        if name in {"Host", "Content-Type", "X-Askmesh"}
    ]


async def test_a_signed_word_needs_nothing_else(served: Served) -> None:
    reply = await served.send("POST", PATH, WORD, headers=bare(served))
    assert (reply.status, reply.json()) == (200, {"state": "recorded", "serial": 1})
    assert served.desk.done == [("standing_word", (b"k" * 32, b"{}"))]
    assert reply.header("Set-Cookie") is None


@pytest.mark.parametrize(
    ("changed", "status", "words"),
    [
        ({"signature": b64encode(b"forged").decode()}, 403, "not by that key"),
        ({"signature": ""}, 403, "not by that key"),
        ({"signature": "not base64!"}, 400, "signature is not base64"),
        ({"word": "é"}, 400, "word is not base64"),
        ({"operator": None}, 400, "`operator` must be text, not null."),
        ({"operator": "A" * 65}, 400, "`operator` is too long"),
        ({"word": ["e30="]}, 400, "`word` must be text, not a list."),
        ({"session": "mine"}, 400, "`session` is not asked for here."),
        ({"word": "A" * WORD_BODY_BYTES}, 413, "larger than"),
    ],
)
async def test_anything_else_does_nothing(
    served: Served, changed: dict[str, object], status: int, words: str
) -> None:
    for headers in (bare(served), served.headers()):
        reply = await served.send("POST", PATH, WORD | changed, headers=headers)
        assert (reply.status, words in reply.error["message"]) == (status, True), reply.body
    assert served.desk.done == []


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"[" * 8_000, b"\xff", b'{"word":1e999}'])
async def test_a_body_that_is_no_word_is_refused_in_words(served: Served, body: bytes) -> None:
    reply = await served.send("POST", PATH, body, headers=bare(served))
    assert (reply.status, reply.error["code"]) == (400, "invalid")
    assert served.desk.done == []


async def test_more_than_anyone_needs_is_refused_unread(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "WORDS_PER_SECOND", 0)
    reply = await served.send("POST", PATH, WORD, headers=bare(served))
    assert (reply.status, reply.error["code"]) == (429, "limit")
    assert served.desk.done == []


@pytest.mark.parametrize("key", ["", "AAAA", b64encode(b"k" * 33).decode(), "not base64!"])
async def test_what_is_no_key_is_not_registered(served: Served, key: str) -> None:
    body = {"name": "billing", "key": key}
    reply = await served.send("POST", "/api/standing/operators", body)
    assert reply.status == 400
    assert served.desk.done == []


async def test_an_operator_is_named_by_its_key(served: Served) -> None:
    reply = await served.send("DELETE", "/api/standing/operators/billing", {})
    assert reply.status == 404
    assert served.desk.done == []
