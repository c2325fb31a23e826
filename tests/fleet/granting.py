"""The one list of routes that answer or grant, with what an agent would send to each."""

import base64
from typing import Any, NamedTuple

from sync.wire.pairing_code import new_code
from web.routes import ANSWERING_AND_GRANTING, ROUTES, Access, Route


class Ground(NamedTuple):
    """What a person has on a node, and an agent wants to get at."""

    approval: str
    seen: str
    note: str
    session: str
    sign_in: str
    digits: str
    rules: str | None


class Attempt(NamedTuple):
    """A route as it is asked for, with ids filled in."""

    method: str
    path: str
    body: dict[str, Any]
    public: bool


def key(route: Route) -> tuple[str, str]:
    """A route's name in these tests."""
    return route.method, route.path


CHANGING = {key(route) for route in ROUTES if route.method != "GET"}
GRANTING = {key(route) for route in ANSWERING_AND_GRANTING}
ASKING = {
    ("POST", "/api/sign-ins"),
    ("POST", "/api/sign-ins/{id}/collect"),
    ("POST", "/api/rules/check"),
    ("POST", "/api/asks/{id}/rule"),
}
"""They grant nothing: they begin, check, propose, or fetch what a person granted by its digits."""

MACHINE = "/api/machines/testbox"
CODE = new_code(b"not real").shown()
ZEROS = base64.b64encode(bytes(32)).decode()
OPERATOR = {"name": "mine", "key": ZEROS}
WORD = {
    "operator": ZEROS,
    "word": base64.b64encode(
        b'{"fleet":"' + b"00" * 16 + b'","standing":"active","serial":1,"at":1}'
    ).decode(),
    "signature": base64.b64encode(bytes(64)).decode(),
}
"""A word as nobody signed it who may."""
ALONE = {
    "PUT /api/standing": (403, "his own account"),
    "POST /api/joining": (502, "Nothing waits for a code"),
    f"PUT {MACHINE}/person": (409, "speaks for Ann already"),
    f"PUT {MACHINE}/name": (409, "is called testbox already"),
    f"DELETE {MACHINE}/person": (409, "only owner"),
    f"DELETE {MACHINE}/sessions": (409, "This is that machine"),
    f"PUT {MACHINE}/consent": (404, "Nobody asks whether"),
    "DELETE /api/invitations/abcd": (404, "No such invitation"),
    "PUT /api/people/Ann/role": (409, "only owner"),
    "DELETE /api/people/Ann": (409, "only owner"),
    f"DELETE {MACHINE}": (403, "cannot remove itself"),
    "POST /api/leaving": (403, "in no fleet with others"),
    "POST /api/hold": (409, "not on hold"),
    "POST /api/messages": (404, "No agent"),
    "POST /api/messages/abcd-m1/erasing": (404, "no message"),
    "POST /api/rejoining": (409, "history is whole"),
}
"""What a person is refused on a machine that is alone: for its own reason, not for who asks."""
FIXED: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
    ("POST", "/api/leaving"): ("/api/leaving", {}),
    ("DELETE", "/api/restored"): ("/api/restored", {}),
    ("POST", "/api/hold"): ("/api/hold", {}),
    ("POST", "/api/rejoining"): ("/api/rejoining", {}),
    ("DELETE", "/api/machines/{node}/person"): (f"{MACHINE}/person", {"person": "Ann"}),
    ("PUT", "/api/machines/{node}/name"): (f"{MACHINE}/name", {"name": "testbox"}),
    ("DELETE", "/api/machines/{node}/sessions"): (f"{MACHINE}/sessions", {}),
    ("PUT", "/api/machines/{node}/consent"): (f"{MACHINE}/consent", {"accept": True}),
    ("POST", "/api/invitations"): ("/api/invitations", {"name": "Eve", "role": "owner"}),
    ("DELETE", "/api/invitations/{id}"): ("/api/invitations/abcd", {}),
    ("PUT", "/api/people/{person}/role"): ("/api/people/Ann/role", {"role": "viewer"}),
    ("DELETE", "/api/people/{person}"): ("/api/people/Ann", {}),
    ("PUT", "/api/attention/subscriptions"): (
        "/api/attention/subscriptions",
        {"agent": "*", "on": False},
    ),
    ("PUT", "/api/attention/mute"): ("/api/attention/mute", {"until": None}),
    ("PUT", "/api/attention/quiet"): ("/api/attention/quiet", {"quiet": None}),
    ("POST", "/api/messages"): (
        "/api/messages",
        {"project": "nowhere", "to": ["codex"], "body": "Ann says yes."},
    ),
    ("POST", "/api/messages/{id}/erasing"): (
        "/api/messages/abcd-m1/erasing",
        {"confirm": "abcd-m1"},
    ),
    ("PUT", "/api/standing"): ("/api/standing", {"person": "Ann", "standing": "on_hold"}),
    ("POST", "/api/standing/word"): ("/api/standing/word", WORD),
    ("POST", "/api/standing/operators"): ("/api/standing/operators", OPERATOR),
    ("DELETE", "/api/standing/operators/{id}"): (f"/api/standing/operators/{'00' * 32}", {}),
}
"""What an agent would do to people, accounts and the machine, if it could: the same everywhere."""


def bodies(ground: Ground) -> dict[tuple[str, str], tuple[str, dict[str, Any]]]:
    """For each the real path, and a body that would do it for a person."""
    vote = {"decision": "allow", "seen": ground.seen}
    rules = {"name": "mine", "source": "", "replaces": ground.rules}
    ask, note = f"/api/asks/{ground.approval}", f"/api/asks/{ground.note}"
    sign_in = f"/api/sign-ins/{ground.sign_in}"
    digits = {"digits": ground.digits}
    where = {"address": "192.0.2.1:7717"}
    return {
        ("POST", "/api/session"): ("/api/session", {"passphrase": "guess guess guess"}),
        ("DELETE", "/api/sessions"): ("/api/sessions", {}),
        ("DELETE", "/api/sessions/{id}"): (f"/api/sessions/{ground.session}", {}),
        ("PUT", "/api/passphrase"): ("/api/passphrase", {"passphrase": "words of an agent"}),
        ("POST", "/api/sign-ins/{id}"): (sign_in, digits),
        ("POST", "/api/sign-ins/{id}/collect"): (f"{sign_in}/collect", digits),
        ("POST", "/api/asks/{id}/votes"): (f"{ask}/votes", vote),
        ("DELETE", "/api/asks/{id}/votes/mine"): (f"{ask}/votes/mine", {}),
        ("POST", "/api/votes"): ("/api/votes", {"votes": [{"ask": ground.approval, **vote}]}),
        ("PUT", "/api/asks/{id}/needless"): (f"{ask}/needless", {"needless": True}),
        ("PUT", "/api/asks/{id}/read"): (f"{note}/read", {"read": True}),
        ("POST", "/api/asks/{id}/erasing"): (f"{note}/erasing", {"confirm": ground.note}),
        ("PUT", "/api/rules"): ("/api/rules", rules),
        ("POST", "/api/asks/{id}/rule"): (f"{ask}/rule", {"action": "deny"}),
        ("POST", "/api/pairing"): ("/api/pairing", {}),
        ("DELETE", "/api/pairing"): ("/api/pairing", {}),
        ("POST", "/api/joining"): ("/api/joining", {"code": CODE, "address": "127.0.0.1:9"}),
        ("PUT", "/api/machines/{node}/person"): (f"{MACHINE}/person", {"person": "Ann"}),
        **FIXED,
        ("DELETE", "/api/machines/{node}"): (MACHINE, {}),
        ("POST", "/api/machines/{node}/addresses"): (f"{MACHINE}/addresses", where),
        ("DELETE", "/api/machines/{node}/addresses"): (f"{MACHINE}/addresses", where),
    }


def attempts(ground: Ground) -> list[Attempt]:
    """The whole list and the rest of what changes anything, ready to be tried."""
    public = {key(route) for route in ROUTES if route.access is Access.PUBLIC}
    return [
        Attempt(route[0], path, body, route in public)
        for route, (path, body) in bodies(ground).items()
    ]
