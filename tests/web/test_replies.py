"""What every reply has, what every refusal looks like, and what is never said."""

import asyncio
import logging
import re

import pytest

from sync.errors import Conflict, SignInNeeded, StoreFull, TooMany
from tests.web.double import ASK, NOW, SECRET, ask_view
from tests.web.wire import Served, address, until
from web.desk import AskClosed
from web.guard import REPLY_HEADERS
from web.limits import ANSWER_BODY_BYTES, SMALL_BODY_BYTES
from web.routes import ROUTES, Route
from web.views import FinalView

VOTE = {"decision": "allow", "seen": "0" * 64}
FINAL = FinalView(outcome="allowed", at=NOW, by="Ben", machine="laptop")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
async def test_every_reply_has_the_headers_of_safety(served: Served, route: Route) -> None:
    if route.name == "events":
        reply = (await served.open("GET", "/api/events?since=1", served.headers())).reply
    else:
        reply = await served.call(route)
    for name, value in REPLY_HEADERS.items():
        assert reply.header(name) == value
    assert reply.header("Cache-Control") == ("no-cache" if route.page else "no-store")
    assert not [name for name, _ in reply.headers if name.lower().startswith("access-control")]
    kind = (reply.header("Content-Type") or "").partition(";")[0]
    assert route.media in {kind, "*/*"}
    if route.name == "hold_session":
        assert reply.error["message"] == "Only a terminal's session ends with its connection."
    elif route.media == "application/json":
        assert reply.json() or route.name in ("stop_pairing", "put_away_restored")


async def test_refusals_have_them_too(served: Served) -> None:
    for target, headers in (("/nowhere", None), ("/api/state", served.headers(Host="x"))):
        reply = await served.send("GET", target, headers=headers)
        assert reply.header("Content-Security-Policy") == REPLY_HEADERS["Content-Security-Policy"]
        assert reply.header("Cache-Control") == "no-store"


def test_the_policy_of_content_lets_nothing_in() -> None:
    policy = REPLY_HEADERS["Content-Security-Policy"]
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert rules["frame-ancestors"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize(
    "target",
    ["/nowhere", "/api", "/api/", "/api/nowhere", "/api/asks", "/api/asks/a/b", "/static/", "//",
     "/static/../app.py", "/static/%2e%2e/app.py", "/static/%2Fetc%2Fpasswd", "/api%2Fstate",
     "/api/asks/%00", "/api/asks/kkkk-1%2Fvotes", "/api/asks/" + "a" * 200],
)  # fmt: skip
async def test_what_is_not_there(served: Served, target: str) -> None:
    reply = await served.send("GET", target)
    assert (reply.status, reply.error["code"]) == (404, "not_found")


async def test_a_wrong_method_is_told_the_right_ones(served: Served) -> None:
    reply = await served.send("PUT", "/api/sessions", {})
    assert (reply.status, reply.error["code"]) == (405, "wrong_method")
    assert reply.header("Allow") == "DELETE, GET"


async def test_a_vote_that_came_too_late_is_told_the_final(served: Served) -> None:
    served.desk.failing = AskClosed("It was answered before.", final=FINAL, ask=ask_view())
    reply = await served.send("POST", "/api/asks/kkkk-1/votes", VOTE)
    assert reply.status == 409
    assert reply.error["code"] == "closed"
    assert reply.error["final"]["by"] == "Ben"
    assert reply.error["ask"]["id"] == ASK


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Conflict("No.", hint="Look."), 409),
        (TooMany("Slower."), 429),
        (StoreFull(), 503),
        (SignInNeeded(), 401),
    ],
)
async def test_errors_of_the_desk_keep_code_and_status(
    served: Served, error: Exception, status: int
) -> None:
    served.desk.failing = error
    reply = await served.send("POST", "/api/asks/kkkk-1/votes", VOTE)
    assert reply.status == status
    assert reply.error["code"] == getattr(error, "code")  # noqa: B009 -- of several classes
    assert reply.error["message"] == str(error)
    assert set(reply.error) == {"code", "message", "hint"}


class RulesWrong(Conflict):
    """Some rules are wrong."""

    code = "rules_wrong_in_test"
    problems = [{"line": 3, "reason": "Bad.", "fix": "Better."}]  # noqa: RUF012 -- a test's


async def test_problems_of_rules_are_all_told(served: Served) -> None:
    served.desk.failing = RulesWrong()
    body = {"name": "team", "source": "x", "replaces": None}
    reply = await served.send("PUT", "/api/rules", body)
    assert reply.error["problems"] == RulesWrong.problems


async def test_a_fault_tells_the_client_nothing_and_the_log_no_content(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        raise ValueError("inner: hush hush")
    except ValueError as inner:
        served.desk.failing = KeyError("hush hush")
        served.desk.failing.__cause__ = inner
    reply = await served.send("POST", "/api/asks/kkkk-1/votes", VOTE | {"text": "hush hush"})
    assert (reply.status, reply.error["code"]) == (500, "failed")
    assert b"KeyError" not in reply.body
    assert b"Traceback" not in reply.body
    assert "vote failed inside: KeyError from ValueError" in caplog.text
    assert "double.py" in caplog.text
    for secret in ("hush", SECRET, "kkkk"):
        assert secret not in caplog.text


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"null", b"1", b'"x"', b"{", b"\xff", b'{"read":true}{}', b'{"read":1}',
        b'{"read":"true"}', b'{"read":null}', b'{"read":true,"more":1}', b"[" * 5000,
        b'{"read":' + b"[" * 5000, b'{"READ":true}',
    ],
)  # fmt: skip
async def test_a_body_that_does_not_fit_is_refused(served: Served, body: bytes) -> None:
    reply = await served.send("PUT", "/api/asks/kkkk-1/read", body)
    assert (reply.status, reply.error["code"]) == (400, "invalid")
    assert served.desk.done == []


@pytest.mark.parametrize("wait", [-0.1, 30.1, 1e300])
async def test_a_vote_waits_for_a_bounded_time(served: Served, wait: float) -> None:
    reply = await served.send("POST", "/api/asks/kkkk-1/votes", VOTE | {"wait_s": wait})
    assert reply.status == 400
    assert served.desk.done == []


@pytest.mark.parametrize(
    ("target", "method", "limit"),
    [
        ("/api/asks/kkkk-1/votes", "POST", ANSWER_BODY_BYTES),
        ("/api/asks/kkkk-1/read", "PUT", SMALL_BODY_BYTES),
        ("/api/session", "POST", SMALL_BODY_BYTES),
    ],
)
@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_over_the_limit_of_its_route(
    served: Served, target: str, method: str, limit: int, chunked: bool
) -> None:
    body = b'{"x":"' + b"y" * limit + b'"}'
    headers = served.headers()
    if chunked:
        headers.append(("Transfer-Encoding", "chunked"))
        content = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    else:
        headers.append(("Content-Length", str(len(body))))
        content = body
    stream = await served.open(method, target, headers, content)
    assert stream.reply.status == 413
    assert served.desk.done == []


async def test_a_body_is_refused_before_it_is_sent(served: Served) -> None:
    headers = [*served.headers(), ("Content-Length", "999999999")]
    stream = await served.open("POST", "/api/session", headers)
    assert stream.reply.status == 413


async def test_a_body_that_never_comes_is_not_waited_for(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.replies.ARRIVE_S", 0.05)
    headers = [*served.headers(), ("Content-Length", "20")]
    stream = await served.open("POST", "/api/session", headers, b'{"to')
    assert stream.reply.status == 408


async def test_the_longest_answer_fits(served: Served) -> None:
    text = "\U0001f600" * 16_000
    reply = await served.send(
        "POST", "/api/asks/kkkk-1/votes", VOTE | {"text": text, "because": text}
    )
    assert reply.status == 202


async def test_a_vote_is_carried_through_when_the_browser_goes_away(served: Served) -> None:
    served.desk.hold.clear()
    _, writer = await asyncio.open_connection("127.0.0.1", served.port)
    body = b'{"decision":"allow","seen":"0"}'
    head = "".join(f"{name}: {value}\r\n" for name, value in served.headers())
    request = f"POST /api/asks/kkkk-1/votes HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n"
    writer.write(request.encode() + body)
    server = served.listener._runner.server
    assert server is not None
    await until(lambda: served.desk.at_once)
    writer.transport.abort()
    await until(lambda: not server.connections)
    served.desk.hold.set()
    await until(lambda: served.desk.done)
    assert served.desk.done[0][0] == "vote"


async def test_hello_says_no_more_than_that_somebody_is_known(served: Served) -> None:
    stranger = served.headers(Cookie=None)
    hello = (await served.send("GET", "/api/hello", headers=stranger)).json()
    assert set(hello) == {
        "store_id", "has_person", "machine", "version", "signed_in", "person", "persons"
    }  # fmt: skip
    assert (hello["has_person"], hello["signed_in"], hello["person"]) == (True, False, None)
    served.desk.people = False
    assert (await served.send("GET", "/api/hello", headers=stranger)).json()["person"]
    assert (await served.send("GET", "/api/hello")).json()["signed_in"]


async def test_health_says_nothing_else(served: Served) -> None:
    reply = await served.send("GET", "/healthz", headers=served.headers(Cookie=None))
    assert reply.json() == {"ok": True, "version": "0.0.1"}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
async def test_the_head_is_to_be_had_of_the_page_alone(served: Served, route: Route) -> None:
    reply = await served.send("HEAD", address(route))
    open_to_it = route.page or route.name == "health"
    assert reply.status == (200 if open_to_it else 405)


async def test_what_reads_the_log_sees_no_requests(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await served.send("POST", "/api/session", {"passphrase": "four words are enough"})
    await served.send("GET", "/api/asks/kkkk-1")
    assert not re.search(rf"{SECRET}|four words|kkkk|n{{43}}", caplog.text)
