"""Becoming a signed-in person over HTTP: the proof, the cookie, the turn."""

import asyncio

import msgspec
import pytest

from tests.web.double import PASSPHRASE, SECRET, STORE_ID, WORDS
from tests.web.wire import Headers, Reply, Served, serving, until
from web.guard import cookie_name
from web.limits import SIGN_INS_AT_ONCE, TYPED_CHARACTERS

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


async def sign_in(served: Served, body: object, headers: Headers | None = None) -> Reply:
    stranger = headers or [*served.headers(Cookie=None), ("User-Agent", FIREFOX)]
    return await served.send("POST", "/api/session", body, headers=stranger)


async def test_the_first_person(served: Served) -> None:
    reply = await sign_in(served, {"token": "right", "name": "Ann", "passphrase": "long enough"})
    assert reply.status == 200
    value = reply.json()
    assert value["recovery_words"] == WORDS
    assert value["recovery_qr"].startswith("data:image/svg+xml")
    assert value["passphrase_set"] is True
    assert value["me"] == {"person": "p1", "name": "Ann", "role": "owner", "session": "session2"}
    assert served.desk.done == [("sign_in_first", ("Ann", "long enough", "Firefox on Linux"))]


async def test_the_passphrase_may_be_skipped(served: Served) -> None:
    reply = await sign_in(served, {"token": "right", "name": "Ann", "passphrase": None})
    assert reply.json()["passphrase_set"] is False


async def test_half_of_a_pages_secret_is_in_the_cookie_and_half_with_the_page(
    served: Served,
) -> None:
    reply = await sign_in(served, {"passphrase": PASSPHRASE})
    cookie = reply.header("Set-Cookie") or ""
    pair, *attributes = [part.strip() for part in cookie.split(";")]
    assert pair == f"{cookie_name(STORE_ID, served.port)}={'n' * 22}"
    assert reply.json()["key"] == "n" * 21
    assert {"HttpOnly", "Path=/", "SameSite=Strict"} <= set(attributes)
    assert not [part for part in attributes if part.startswith("Domain")]
    assert "n" * 43 not in reply.body.decode()
    assert reply.json()["recovery_words"] is None


async def test_a_terminals_cookie_ends_with_it(served: Served) -> None:
    body = {"passphrase": PASSPHRASE, "kind": "terminal", "where": "askmesh on box (tty\x1b1)"}
    reply = await sign_in(served, body)
    assert "Max-Age" not in (reply.header("Set-Cookie") or "")
    assert f"={'n' * 43};" in (reply.header("Set-Cookie") or "")
    assert reply.json()["key"] is None
    assert served.desk.done == [("sign_in_passphrase", ("terminal", "askmesh on box (tty?1)"))]
    page = await sign_in(served, {"passphrase": PASSPHRASE})
    assert "Max-Age" in (page.header("Set-Cookie") or "")


async def test_a_terminals_session_ends_with_its_connection(served: Served) -> None:
    person = served.desk.known[SECRET]
    served.desk.known[SECRET] = msgspec.structs.replace(person, kind="terminal")
    head = "".join(f"{name}: {value}\r\n" for name, value in served.headers())
    _, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(f"GET /api/sessions/mine/line HTTP/1.1\r\n{head}\r\n".encode())
    await writer.drain()
    # What was asked meanwhile is answered, and changes nothing.
    assert (await served.send("GET", "/api/sessions")).status == 200
    assert served.desk.done == []
    writer.close()
    await until(lambda: served.desk.done)
    assert served.desk.done == [("end_session", "session1")]


async def test_a_node_that_stops_lets_go_of_terminals() -> None:
    async with serving() as served:
        person = served.desk.known[SECRET]
        served.desk.known[SECRET] = msgspec.structs.replace(person, kind="terminal")
        head = "".join(f"{name}: {value}\r\n" for name, value in served.headers())
        _, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(f"GET /api/sessions/mine/line HTTP/1.1\r\n{head}\r\n".encode())
        await writer.drain()
        assert (await served.send("GET", "/api/sessions")).status == 200
        async with asyncio.timeout(5):
            await served.listener.close()
        writer.close()
    assert served.desk.done == [("end_session", "session1")]


async def test_the_recovery_words(served: Served) -> None:
    reply = await sign_in(served, {"recovery": " ".join(WORDS)})
    assert reply.status == 200
    assert served.desk.done == [("sign_in_recovery", "Firefox on Linux")]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "Ann"},
        {"passphrase": None},
        {"token": "right", "recovery": "x"},
        {"passphrase": PASSPHRASE, "recovery": "x"},
        {"passphrase": PASSPHRASE, "name": "Ann"},
        {"token": "right", "kind": "terminal", "name": "Ann"},
        {"recovery": "x", "kind": "terminal"},
        {"passphrase": PASSPHRASE, "kind": "agent"},
        {"passphrase": "x" * 513},
        {"token": "right", "name": "x" * (TYPED_CHARACTERS + 1)},
        {"passphrase": PASSPHRASE, "where": "x" * 201},
        {"passphrase": PASSPHRASE, "role": "owner"},
    ],
)
async def test_what_is_not_one_proof_is_refused(served: Served, body: dict[str, object]) -> None:
    reply = await sign_in(served, body)
    assert (reply.status, reply.error["code"]) == (400, "invalid")
    assert served.desk.done == []
    assert reply.header("Set-Cookie") is None


async def test_tries_are_made_one_after_the_other(served: Served) -> None:
    served.desk.hold.clear()
    body = {"passphrase": PASSPHRASE}
    tries = [asyncio.create_task(sign_in(served, body)) for _ in range(SIGN_INS_AT_ONCE + 1)]
    done, waiting = await asyncio.wait(tries, timeout=20, return_when=asyncio.FIRST_COMPLETED)
    assert [task.result().status for task in done] == [429]
    served.desk.hold.set()
    assert {reply.status for reply in await asyncio.gather(*waiting)} == {200}
    assert len(waiting) == SIGN_INS_AT_ONCE
    assert served.desk.at_once_most == 1


async def test_six_digits_are_shown_to_the_new_place_only(served: Served) -> None:
    stranger = [*served.headers(Cookie=None), ("User-Agent", FIREFOX)]
    begun = (await served.send("POST", "/api/sign-ins", {}, headers=stranger)).json()
    assert (begun["digits"], begun["where"]) == ("123456", "Firefox on Linux")
    listed = (await served.send("GET", "/api/sign-ins")).json()["sign_ins"]
    assert [wish["digits"] for wish in listed] == [None]


async def test_the_new_place_waits_and_then_has_its_session(served: Served) -> None:
    stranger = served.headers(Cookie=None)
    digits = {"digits": "123456"}
    waiting = await served.send("POST", "/api/sign-ins/wish1/collect", digits, headers=stranger)
    assert (waiting.status, waiting.json()) == (202, {"state": "waiting"})
    done = await served.send("POST", "/api/sign-ins/wish2/collect", digits, headers=stranger)
    assert done.json()["state"] == "approved"
    assert done.header("Set-Cookie")


@pytest.mark.parametrize(
    "digits", ["", "12345", "1234567", "12345x", "١٢٣٤٥٦", " 123456", "123456\n"]
)
async def test_digits_are_six(served: Served, digits: str) -> None:
    reply = await served.send("POST", "/api/sign-ins/wish2", {"digits": digits})
    assert reply.status == 400
    assert served.desk.done == []


@pytest.mark.parametrize("named", ["a%2Fb", "%00", "a" * 101, "..", "a-b", "%F0%9F%98%80"])
async def test_what_is_no_id_is_not_found(served: Served, named: str) -> None:
    for target in (f"/api/sessions/{named}", f"/api/sign-ins/{named}/collect"):
        method = "DELETE" if "sessions" in target else "POST"
        body = {} if method == "DELETE" else {"digits": "123456"}
        assert (await served.send(method, target, body)).status == 404
    assert served.desk.done == []


@pytest.mark.parametrize("named", ["mine", "session1"])
async def test_signing_out_takes_the_cookie_away(served: Served, named: str) -> None:
    reply = await served.send("DELETE", f"/api/sessions/{named}", {})
    assert served.desk.done == [("end_session", "session1")]
    cookie = reply.header("Set-Cookie") or ""
    assert cookie.startswith(f'{cookie_name(STORE_ID, served.port)}=""')
    assert "Max-Age=0" in cookie
    assert "Path=/" in cookie


async def test_ending_another_session_leaves_the_cookie(served: Served) -> None:
    reply = await served.send("DELETE", "/api/sessions/session9", {})
    assert reply.json() == {"ended": 1}
    assert reply.header("Set-Cookie") is None
    await served.send("DELETE", "/api/sessions", {})
    assert served.desk.done == [("end_session", "session9"), ("end_session", None)]
