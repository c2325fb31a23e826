"""The table of routes, and the two documents that are held against it."""

import json
import re
from typing import Any

import msgspec
import pytest

from sync.errors import AskmeshError, PairingFailed
from tests.machine import ROOT
from tests.web.double import DeskDouble
from tests.web.wire import BODIES, Served
from web import limits
from web.app import make_app
from web.errors import Foreign, NotJson, WrongHost, WrongMethod
from web.openapi import text
from web.routes import ROUTES, Access, Route

DOCUMENT = (ROOT / "docs" / "http.md").read_text()
OPENAPI: dict[str, Any] = json.loads((ROOT / "web" / "openapi.json").read_text())
SECURITY: dict[Access, list[dict[str, list[str]]]] = {
    Access.PUBLIC: [],
    Access.PERSON: [{"session": []}],
    Access.FIRST: [{"session": []}, {}],
    Access.LAST: [{"session": []}, {}],
}
ROW = re.compile(
    r"^\| `(GET|POST|PUT|DELETE) ([^`?]+)(\?[^`]*)?` \| (\w+) \| (yes|) *\|", re.MULTILINE
)


def test_the_openapi_file_is_the_routes() -> None:
    """To renew it: python -m web.openapi > web/openapi.json."""
    assert (ROOT / "web" / "openapi.json").read_text() == text()


def test_the_openapi_file_is_whole() -> None:
    assert OPENAPI["openapi"].startswith("3.1")
    operations = {
        (method.upper(), path): operation
        for path, methods in OPENAPI["paths"].items()
        for method, operation in methods.items()
    }
    assert set(operations) == {(route.method, route.path) for route in ROUTES}
    for route in ROUTES:
        operation = operations[route.method, route.path]
        assert operation["security"] == SECURITY[route.access]
        assert operation["x-answers-or-grants"] is route.grants
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(OPENAPI)):
        value: Any = OPENAPI
        for step in reference.split("/"):
            value = value[step]
        assert value


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
async def test_a_reply_is_what_the_table_says(served: Served, route: Route) -> None:
    if not route.gives or route.name == "hold_session":
        return
    reply = await served.call(route)
    assert reply.status == route.status
    record = msgspec.json.decode(reply.body, type=route.gives[0])
    assert msgspec.json.decode(msgspec.json.encode(record)) == reply.json()


def test_the_reference_has_every_route_and_no_other() -> None:
    rows = {(row[0], row[1]): (row[3], row[4] == "yes") for row in ROW.findall(DOCUMENT)}
    assert rows == {
        (route.method, route.path): (route.access.value, route.grants) for route in ROUTES
    }


@pytest.mark.parametrize("error", [Foreign, NotJson, WrongHost, WrongMethod, PairingFailed])
def test_the_reference_has_the_refusals(error: type[AskmeshError]) -> None:
    assert f"| {error.status} | `{error.code}` |" in DOCUMENT


@pytest.mark.parametrize(
    "number",
    [limits.STREAMS, limits.BEAT_S, limits.CONNECTIONS, limits.VOTE_WAIT_S, limits.SEND_S],
)
def test_the_reference_has_the_limits(number: float) -> None:
    assert re.search(rf"\b{number:g}\b", DOCUMENT.partition("## Limits")[2])


def test_names_and_addresses_are_told_apart() -> None:
    assert len({route.name for route in ROUTES}) == len(ROUTES)
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)
    assert set(BODIES) == {route.name for route in ROUTES}


def test_reading_never_changes_and_every_change_takes_a_record() -> None:
    for route in ROUTES:
        assert (route.takes is None) is (route.method == "GET"), route.name
        assert not (route.grants and route.method == "GET"), route.name


def test_what_is_public_is_a_short_list() -> None:
    assert {route.name for route in ROUTES if route.access is Access.PUBLIC} == {
        "page",
        "page_part",
        "health",
        "hello",
        "sign_in",
        "begin_sign_in",
        "collect_sign_in",
        "standing_word",
    }


def test_what_needs_no_session_before_anyone_signed_in_is_a_short_list() -> None:
    assert {route.name for route in ROUTES if route.access is Access.FIRST} == {
        "pairing_offers",
        "join_consequences",
        "join",
    }


def test_what_needs_no_session_once_nobody_can_sign_in_is_a_short_list() -> None:
    names = {route.name for route in ROUTES if route.access is Access.LAST}
    assert names == {"rejoin_consequences", "rejoin"}


async def test_the_application_serves_the_table_and_nothing_else() -> None:
    app = make_app(DeskDouble(), port=1)
    served = {
        (route.method, route.resource.canonical)
        for route in app.router.routes()
        if route.resource is not None and route.method != "HEAD"
    }
    assert served == {(route.method, route.path) for route in ROUTES}


def test_every_record_that_comes_in_refuses_what_it_does_not_know() -> None:
    for route in ROUTES:
        if route.takes is not None:
            assert route.takes.__struct_config__.forbid_unknown_fields, route.name
