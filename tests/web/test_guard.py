"""The guard's decisions, one row for each header in each of its forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync.errors import CallerError, Invalid
from web.errors import Foreign, NotJson, WrongHost
from web.guard import cookie_name, decide, hosts, session_secret

PORT = 7718
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"
Refused = type[CallerError] | None


def decision(
    method: str,
    headers: list[tuple[str, str]],
    *,
    target: str = "/api/state",
    page: bool = False,
) -> Refused:
    """What `decide` says, as a class."""
    refusal = decide(method, target, headers, port=PORT, page=page)
    return None if refusal is None else type(refusal)


def change(**changed: str | None) -> list[tuple[str, str]]:
    """The headers of a change from the page, some of them changed or left out."""
    usual: dict[str, str | None] = {
        "Host": HOST,
        "Origin": ORIGIN,
        "Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/json",
        "X-Askmesh": "1",
    }
    usual |= {name.replace("_", "-"): value for name, value in changed.items()}
    return [(name, value) for name, value in usual.items() if value is not None]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1:7718", None),
        ("localhost:7718", None),
        ("LocalHost:7718", None),
        ("[::1]:7718", None),
        ("127.0.0.1", WrongHost),
        ("127.0.0.1:7719", WrongHost),
        ("127.0.0.1:07718", WrongHost),
        ("127.0.0.1:7718.", WrongHost),
        ("localhost.:7718", WrongHost),
        ("localhost", WrongHost),
        ("0.0.0.0:7718", WrongHost),
        ("127.1:7718", WrongHost),
        ("127.0.0.2:7718", WrongHost),
        ("[::ffff:127.0.0.1]:7718", WrongHost),
        ("evil.example:7718", WrongHost),
        ("localhost:7718.evil.example", WrongHost),
        ("localhost:7718@evil.example", WrongHost),
        ("evil.example,localhost:7718", WrongHost),
        ("", WrongHost),
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_host(host: str, method: str, expected: Refused) -> None:
    assert decision(method, [("Host", host)]) is expected
    assert decision(method, [("Host", host)], target="/", page=True) is expected


def test_a_missing_or_doubled_host_is_wrong() -> None:
    assert decision("GET", []) is WrongHost
    assert decision("GET", [("Host", HOST), ("host", HOST)]) is WrongHost
    assert decision("GET", [("Host", HOST), ("Host", "evil.example")]) is WrongHost


@pytest.mark.parametrize("target", ["http://evil.example/api/state", "*", "evil.example:443", ""])
def test_a_target_in_another_form_names_another_host(target: str) -> None:
    assert decision("GET", [("Host", HOST)], target=target) is WrongHost


def test_the_hosts_are_of_one_port() -> None:
    assert hosts(80) == {"127.0.0.1:80", "localhost:80", "[::1]:80"}


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (ORIGIN, None),
        (None, None),
        ("null", Foreign),
        ("NULL", Foreign),
        ("", Foreign),
        (f"https://{HOST}", Foreign),
        ("http://localhost:7718", Foreign),  # another origin than the one that was called
        ("http://127.0.0.1:7719", Foreign),
        ("http://127.0.0.1", Foreign),
        (f"{ORIGIN}/", Foreign),
        (f"{ORIGIN}.evil.example", Foreign),
        (f"http://evil@{HOST}", Foreign),
        (f"{ORIGIN} http://evil.example", Foreign),
        ("http://evil.example", Foreign),
        ("file://", Foreign),
        ("chrome-extension://abcdefgh", Foreign),
    ],
)
def test_origin(method: str, origin: str | None, expected: Refused) -> None:
    assert decision(method, change(Origin=origin)) is expected
    assert decision(method, change(Origin=origin), target="/", page=True) is expected


def test_the_origin_belongs_to_the_host_that_was_called() -> None:
    headers = change(Host="localhost:7718", Origin="http://localhost:7718")
    assert decision("POST", headers) is None
    assert decision("POST", [*headers, ("Origin", "http://localhost:7718")]) is Foreign


WINDOW = [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")]


@pytest.mark.parametrize(
    ("site", "api", "window", "part"),
    [
        (None, None, None, None),
        ("same-origin", None, None, None),
        ("none", None, None, None),
        ("same-site", Foreign, None, Foreign),
        ("cross-site", Foreign, None, Foreign),
        ("", Foreign, None, Foreign),
        ("something-new", Foreign, None, Foreign),
    ],
)
def test_where_a_request_began(
    site: str | None, api: Refused, window: Refused, part: Refused
) -> None:
    said = [] if site is None else [("Sec-Fetch-Site", site)]
    headers = [("Host", HOST), *said]
    assert decision("GET", [*headers, *WINDOW]) is api
    assert decision("GET", [*headers, *WINDOW], target="/", page=True) is window
    assert decision("GET", headers, target="/static/app.js", page=True) is part


@pytest.mark.parametrize("dest", ["iframe", "frame", "embed", "object", "script", "image", ""])
def test_other_sites_get_the_page_as_a_whole_window_only(dest: str) -> None:
    headers = [
        ("Host", HOST),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", dest),
    ]
    assert decision("GET", headers, target="/", page=True) is Foreign


@pytest.mark.parametrize("mode", ["cors", "no-cors", "same-origin", "websocket", ""])
def test_a_part_is_not_loaded_into_another_site(mode: str) -> None:
    headers = [
        ("Host", HOST),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", mode),
        ("Sec-Fetch-Dest", "document"),
    ]
    assert decision("GET", headers, target="/static/app.js", page=True) is Foreign


@pytest.mark.parametrize("method", ["HEAD", "POST"])
def test_only_a_get_opens_a_window(method: str) -> None:
    headers = change(Origin=None, Sec_Fetch_Site="cross-site")
    assert decision(method, [*headers, *WINDOW], target="/", page=True) is Foreign


def test_two_answers_to_where_it_began_are_none() -> None:
    headers = [("Host", HOST), ("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")]
    assert decision("GET", headers) is Foreign
    assert decision("GET", [*headers, *WINDOW], target="/", page=True) is Foreign


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("application/json", None),
        ("Application/JSON; charset=UTF-8", None),
        ('application/json;charset="utf-8"', None),
        ("application/json ", None),
        (None, NotJson),
        ("", NotJson),
        ("text/plain", NotJson),
        ("text/json", NotJson),
        ("application/x-www-form-urlencoded", NotJson),
        ("multipart/form-data; boundary=x", NotJson),
        ("application/json; charset=utf-16", NotJson),
        ("application/json, text/plain", NotJson),
        ("text/plain; application/json", NotJson),
        ("application/jsonp", NotJson),
        ("application/json;", NotJson),
    ],
)
def test_a_change_is_json(method: str, kind: str | None, expected: Refused) -> None:
    assert decision(method, change(Content_Type=kind)) is expected


def test_a_change_has_one_content_type() -> None:
    doubled = [*change(), ("Content-Type", "text/plain")]
    assert decision("POST", doubled) is NotJson


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [("1", None), (None, Foreign), ("0", Foreign), ("", Foreign), ("true", Foreign)],
)
def test_a_change_carries_the_header_no_form_can_set(
    method: str, value: str | None, expected: Refused
) -> None:
    assert decision(method, change(X_Askmesh=value)) is expected


def test_a_terminal_sends_neither_origin_nor_where_it_began() -> None:
    assert decision("POST", change(Origin=None, Sec_Fetch_Site=None)) is None


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("identity", None), ("gzip", NotJson), ("deflate", NotJson), ("br", NotJson), ("", NotJson)],
)
def test_nothing_compressed_is_read(method: str, encoding: str, expected: Refused) -> None:
    assert decision(method, [*change(), ("Content-Encoding", encoding)]) is expected


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("Content-Length", "0", None),
        ("Content-Length", "1", Invalid),
        ("Content-Length", "-1", Invalid),
        ("Transfer-Encoding", "chunked", Invalid),
    ],
)
def test_reading_takes_no_body(method: str, name: str, value: str, expected: Refused) -> None:
    assert decision(method, [("Host", HOST), (name, value)]) is expected


NAME = cookie_name("0123456789abcdef", PORT)
SECRET = "A-z_0" * 8


@pytest.mark.parametrize(
    ("cookie", "expected"),
    [
        ([f"{NAME}={SECRET}"], SECRET),
        ([f"other=1; {NAME}={SECRET}; more=2"], SECRET),
        ([f"other=1;{NAME}={SECRET}"], SECRET),
        (["other=1", f"{NAME}={SECRET}"], SECRET),
        ([], None),
        ([""], None),
        ([f"{NAME}="], None),
        ([NAME], None),
        ([f"{NAME}={SECRET}; {NAME}={SECRET}"], None),
        ([f"{NAME}={SECRET}", f"{NAME}=other-than-the-first"], None),
        ([f'{NAME}="{SECRET}"'], None),
        ([f"{NAME}={SECRET}!"], None),
        ([f"{NAME}={'a' * 129}"], None),
        ([f"{NAME}=short"], None),
        ([f"{NAME.upper()}={SECRET}"], None),
        ([f"x{NAME}={SECRET}"], None),
        ([f"askmesh_01234567_7719={SECRET}"], None),
    ],
)
def test_the_session_is_in_exactly_one_cookie(cookie: list[str], expected: str | None) -> None:
    assert session_secret([("Cookie", line) for line in cookie], NAME) == expected


def test_the_cookie_is_named_by_store_and_port() -> None:
    assert NAME == "askmesh_01234567_7718"


@pytest.mark.parametrize("store_id", ["", "a=b", "a;b", "a b", "ä"])
def test_a_store_id_that_would_break_the_cookie_is_refused(store_id: str) -> None:
    with pytest.raises(ValueError, match="cookie"):
        cookie_name(store_id, PORT)


VALUES = {
    "Host": [HOST, "localhost:7718", "evil.example", "evil.example:7718"],
    "Origin": [ORIGIN, "http://localhost:7718", "null", "http://evil.example"],
    "Sec-Fetch-Site": ["same-origin", "none", "same-site", "cross-site"],
    "Sec-Fetch-Mode": ["navigate", "cors", "no-cors"],
    "Sec-Fetch-Dest": ["document", "iframe", "empty"],
    "Content-Type": ["application/json", "text/plain"],
    "X-Askmesh": ["1", "0"],
    "Content-Encoding": ["identity", "gzip"],
}
LINES = st.lists(
    st.one_of([st.tuples(st.just(name), st.sampled_from(of)) for name, of in VALUES.items()]),
    max_size=10,
)


@given(given_lines=LINES, method=st.sampled_from(["POST", "PUT", "DELETE"]), page=st.booleans())
def test_every_change_that_passes_is_the_pages_own(
    given_lines: list[tuple[str, str]], method: str, page: bool
) -> None:
    headers = [*given_lines, ("Host", HOST), ("Content-Type", "application/json")]
    if decide(method, "/api/x", headers, port=PORT, page=page) is not None:
        return
    said = {name: [value for key, value in headers if key == name] for name in VALUES}
    assert said["Host"] == [HOST]
    assert said["Origin"] in ([], [ORIGIN])
    assert said["Sec-Fetch-Site"] in ([], ["same-origin"], ["none"])
    assert said["Content-Type"] == ["application/json"]
    assert said["X-Askmesh"] == ["1"]
    assert "gzip" not in said["Content-Encoding"]


@given(given_lines=LINES)
def test_everything_that_is_read_is_read_by_the_page(given_lines: list[tuple[str, str]]) -> None:
    headers = [*given_lines, ("Host", HOST)]
    if decide("GET", "/api/state", headers, port=PORT, page=False) is None:
        assert [value for name, value in headers if name == "Host"] == [HOST]
        assert {value for name, value in headers if name == "Origin"} <= {ORIGIN}
        sites = {value for name, value in headers if name == "Sec-Fetch-Site"}
        assert sites <= {"same-origin", "none"}
