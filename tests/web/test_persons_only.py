"""What is not a signed-in person gets nothing changed and nothing read, on any route.

A test tries a route in every way there is: one server for each pair would take minutes.
"""

from collections.abc import Callable

import pytest

from tests.web.wire import BODIES, Headers, Served, address
from web.guard import cookie_name
from web.routes import ANSWERING_AND_GRANTING, ROUTES, Access, Route

PERSONS = [route for route in ROUTES if route.access is not Access.PUBLIC]
"""Those of `FIRST` among them: the double's fleet has a person unless a test says otherwise."""
FIRST = [route for route in ROUTES if route.access is Access.FIRST]
LAST = [route for route in ROUTES if route.access is Access.LAST]
CHANGES = [route for route in ROUTES if route.method != "GET"]

NO_SESSION: dict[str, Callable[[Served], Headers]] = {
    "no cookie": lambda served: served.headers(Cookie=None),
    "forged cookie": lambda served: served.headers(
        Cookie=f"{cookie_name(served.desk.store_id, served.port)}={'f' * 43}"
    ),
    "cookie of another store": lambda served: served.headers(
        Cookie=served.cookie.replace("01234567", "76543210")
    ),
    "cookie of another port": lambda served: served.headers(
        Cookie=served.cookie.replace(str(served.port), str(served.port + 1))
    ),
    "two cookies": lambda served: served.headers(Cookie=f"{served.cookie}; {served.cookie}"),
    "secret in another header": lambda served: [
        *served.headers(Cookie=None),
        ("Authorization", f"Bearer {served.cookie.partition('=')[2]}"),
    ],
}
FOREIGN: dict[str, tuple[int, Callable[[Served], Headers]]] = {
    "foreign Origin": (403, lambda served: served.headers(Origin="http://evil.example")),
    "Origin of a sandbox": (403, lambda served: served.headers(Origin="null")),
    "Origin of another port": (403, lambda served: served.headers(Origin="http://127.0.0.1:80")),
    "cross-site": (403, lambda served: served.headers(Origin=None, Sec_Fetch_Site="cross-site")),
    "same-site": (403, lambda served: served.headers(Origin=None, Sec_Fetch_Site="same-site")),
    "wrong Host": (421, lambda served: served.headers(Host="evil.example", Origin=None)),
    "rebound Host": (
        421,
        lambda served: served.headers(
            Host=f"evil.example:{served.port}", Origin=f"http://evil.example:{served.port}"
        ),
    ),
    "compressed": (415, lambda served: [*served.headers(), ("Content-Encoding", "gzip")]),
}
NOT_FROM_THE_PAGE: dict[str, tuple[int, Callable[[Served], Headers]]] = {
    "a form": (
        415,
        lambda served: served.headers(Content_Type="application/x-www-form-urlencoded"),
    ),
    "a plain text form": (415, lambda served: served.headers(Content_Type="text/plain")),
    "no content type": (415, lambda served: served.headers(Content_Type=None)),
    "no X-Askmesh": (403, lambda served: served.headers(X_Askmesh=None)),
}

JOIN = BODIES["join"]


def name(route: Route) -> str:
    return route.name


def test_the_list_of_answering_and_granting_routes() -> None:
    assert {route.name for route in ANSWERING_AND_GRANTING} == {
        "sign_in",
        "approve_sign_in",
        "set_passphrase",
        "vote",
        "take_back",
        "apply_rules",
        "set_standing",
        "standing_word",
        "add_operator",
        "remove_operator",
        *("end_session", "end_other_sessions", "end_sessions_on"),
        "vote_together",
        "mark",
        "needless",
        "subscribe",
        "mute",
        "set_quiet",
        *("write_message", "redact_message"),
        "put_away_restored",
        "redact",
        "begin_pairing",
        "stop_pairing",
        "join",
        "assign_machine",
        "release_machine",
        "consent",
        "invite",
        "withdraw_invitation",
        "set_role",
        "remove_person",
        "rename_machine",
        "remove_machine",
        "add_address",
        "drop_address",
        "leave",
        "rejoin",
        "go_on",
    }


@pytest.mark.parametrize("route", PERSONS, ids=name)
async def test_without_a_session(served: Served, route: Route) -> None:
    for how, headers in NO_SESSION.items():
        reply = await served.call(route, headers(served))
        assert (reply.status, reply.error["code"]) == (401, "sign_in_needed"), how
        assert served.desk.done == [], how


@pytest.mark.parametrize("route", PERSONS, ids=name)
async def test_with_an_ended_session(served: Served, route: Route) -> None:
    served.desk.known.clear()
    reply = await served.call(route)
    assert reply.status == 401
    assert served.desk.done == []


@pytest.mark.parametrize("route", PERSONS, ids=name)
async def test_before_anyone_signed_in_only_joining_needs_no_session(
    served: Served, route: Route
) -> None:
    served.desk.people = False
    for how, headers in NO_SESSION.items():
        reply = await served.call(route, headers(served))
        if route in FIRST:
            assert reply.status == 200, how
            continue
        assert (reply.status, reply.error["code"]) == (401, "sign_in_needed"), how
        assert (served.desk.done, served.desk.read) == ([], []), how


@pytest.mark.parametrize("route", PERSONS, ids=name)
async def test_once_nobody_can_sign_in_only_a_new_identity_needs_no_session(
    served: Served, route: Route
) -> None:
    served.desk.left_alone = True
    reply = await served.call(route, served.headers(Cookie=None))
    if route in LAST:
        assert reply.status == 200
        return
    assert (reply.status, reply.error["code"]) == (401, "sign_in_needed")
    assert (served.desk.done, served.desk.read) == ([], [])


async def test_a_new_identity_without_a_session_shows_no_recovery_words(served: Served) -> None:
    served.desk.left_alone = True
    for headers, person in ((served.headers(Cookie=None), None), (served.headers(), "p1")):
        for route in LAST:
            reply = await served.call(route, headers)
            assert reply.status == 200
        assert served.desk.done.pop() == ("rejoin", person)


async def test_joining_without_a_session_is_told_to_the_desk_as_such(served: Served) -> None:
    for people, headers, person in (
        (False, served.headers(Cookie=None), None),
        (False, served.headers(), "p1"),
        (True, served.headers(), "p1"),
    ):
        served.desk.people = people
        for route in FIRST:
            assert (await served.call(route, headers)).status == 200
        assert served.desk.done.pop() == ("join", (person, JOIN["code"], JOIN["address"]))
        assert served.desk.read == [f"pairing_offers {person}", f"join_consequences {person}"]
        served.desk.read.clear()


@pytest.mark.parametrize("route", FIRST, ids=name)
@pytest.mark.parametrize("how", FOREIGN)
async def test_other_sites_join_nothing_before_anyone_signed_in(
    served: Served, route: Route, how: str
) -> None:
    served.desk.people = False
    status, headers = FOREIGN[how]
    bare = [(key, value) for key, value in headers(served) if key != "Cookie"]
    assert (await served.call(route, bare)).status == status
    assert (served.desk.done, served.desk.read) == ([], [])


@pytest.mark.parametrize("how", NOT_FROM_THE_PAGE)
async def test_no_form_joins_before_anyone_signed_in(served: Served, how: str) -> None:
    served.desk.people = False
    status, headers = NOT_FROM_THE_PAGE[how]
    bare = [(key, value) for key, value in headers(served) if key != "Cookie"]
    assert (await served.send("POST", "/api/joining", JOIN, headers=bare)).status == status
    assert served.desk.done == []


@pytest.mark.parametrize("route", ROUTES, ids=name)
async def test_from_elsewhere(served: Served, route: Route) -> None:
    for how, (status, headers) in FOREIGN.items():
        reply = await served.call(route, headers(served))
        assert reply.status == status, how
        assert set(reply.json()) == {"error"}, how
        assert (served.desk.done, served.desk.read) == ([], []), how


@pytest.mark.parametrize("route", CHANGES, ids=name)
async def test_not_as_the_page_sends_it(served: Served, route: Route) -> None:
    for how, (status, headers) in NOT_FROM_THE_PAGE.items():
        reply = await served.call(route, headers(served))
        assert reply.status == status, how
        assert set(reply.json()) == {"error"}, how
        assert (served.desk.done, served.desk.read) == ([], []), how


@pytest.mark.parametrize("route", CHANGES, ids=name)
async def test_nothing_is_changed_by_another_method(served: Served, route: Route) -> None:
    path = "/api/asks/kkkk-1/votes" if route.name == "vote" else address(route)
    for method in ("GET", "HEAD", "PATCH", "OPTIONS", "TRACE"):
        await served.send(method, path, headers=served.headers())
        assert served.desk.done == [], method


@pytest.mark.parametrize(
    "body",
    [
        {"token": "wrong", "name": "Eve", "passphrase": None},
        {"passphrase": "wrong wrong wrong"},
        {"passphrase": "wrong wrong wrong", "kind": "terminal"},
        {"recovery": "wrong wrong wrong"},
    ],
)
@pytest.mark.parametrize("people", [True, False])
async def test_a_wrong_proof_makes_no_session_and_tells_nothing(
    served: Served, body: dict[str, object], people: bool
) -> None:
    served.desk.people = people
    reply = await served.send("POST", "/api/session", body, headers=served.headers(Cookie=None))
    assert (reply.status, reply.error["code"]) == (403, "not_allowed")
    assert reply.header("Set-Cookie") is None
    assert served.desk.done == []


async def test_digits_that_were_not_approved_make_no_session(served: Served) -> None:
    headers = served.headers(Cookie=None)
    for wish in ("wish1", "wish3"):
        reply = await served.send(
            "POST", f"/api/sign-ins/{wish}/collect", {"digits": "000000"}, headers=headers
        )
        assert reply.status in {202, 403}
        assert reply.header("Set-Cookie") is None
    assert served.desk.done == []


@pytest.mark.parametrize("route", CHANGES, ids=name)
async def test_a_person_is_let_through(served: Served, route: Route) -> None:
    """Else the refusals above would prove nothing."""
    reply = await served.call(route)
    assert reply.status < 300
    harmless = {"check_rules", "propose_rule", "begin_sign_in"}
    assert [what for what, _ in served.desk.done] != [] or route.name in harmless
