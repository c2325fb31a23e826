"""Nothing that runs as an agent can answer or grant: the whole list, on every surface.

An agent here is any program of the node's own user without a person's session: it has the
socket, the page's port, the command line without a terminal, and every file.
"""

import json
import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from node.bridge.client import Refused, once
from sync.log.kinds import EntryType
from tests.fleet.granting import ALONE, ASKING, CHANGING, GRANTING, Ground, attempts, bodies
from tests.fleet.history import entries, granted, rows
from tests.running import PASSPHRASE, Person, RunningNode
from web.guard import COOKIE_CHARACTERS
from web.routes import ROUTES

CALL = {"tool": "deploy", "arguments": {"target": "production"}}


class Prize:
    """A node with its owner and an open approval that an agent would like to have allowed."""

    def __init__(self, node: RunningNode) -> None:
        self.node = node
        self.person = node.person()
        self.asked = node.flag(kind="approval", title="Deploy", call=CALL)
        self.note = node.flag(kind="note", title="Assumed UTC")

    def ground(self) -> Ground:
        shown = self.person.ask(self.asked["id"])
        minted = Person(self.node.web_port).ok("POST", "/api/sign-ins")
        sessions = self.person.ok("GET", "/api/sessions")["sessions"]
        return Ground(
            approval=shown["id"],
            seen=shown["seen"],
            note=self.note["full_id"],
            session=sessions[0]["id"],
            sign_in=minted["id"],
            digits=minted["digits"],
            rules=None,
        )


@pytest.fixture(scope="module")
def prize(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prize]:
    node = RunningNode(tmp_path_factory.mktemp("prize") / "home")
    yield Prize(node.start())
    node.stop()


def test_the_list_is_whole(prize: Prize) -> None:
    """Whatever changes anything is on the list, but for what gives nothing by itself."""
    assert CHANGING - ASKING == GRANTING
    assert set(bodies(prize.ground())) >= GRANTING
    public = {item.path for item in attempts(prize.ground()) if item.public}
    # Two make a session out of a proof: a secret, or digits that a person has typed. The third
    # takes what an operator signed, and makes nothing else of it.
    assert {path.rpartition("/")[2] for path in public} == {"session", "collect", "word"}


def test_no_route_of_the_page_exists_on_the_agents_socket(prize: Prize) -> None:
    ground, before = prize.ground(), granted(prize.node.home)
    tried = [(item.method, item.path, item.body) for item in attempts(ground)]
    tried += [
        (route.method, route.path.replace("{id}", ground.approval), {})
        for route in ROUTES
        if not route.page
    ]
    for method, path, body in tried:
        for place in (path, path.replace("/api/", "/agent/"), f"/agent{path}", f"//{path}"):
            with pytest.raises(Refused) as refused:
                once(str(prize.node.home), method, place, json.dumps(body).encode(), 10)
            # `/agent/asks/…` and the like are no routes either.
            assert refused.value.status in {404, 405}, (method, place)
    assert granted(prize.node.home) == before


def cookies(prize: Prize) -> dict[str, str | None]:
    """What an agent may come up with as a cookie."""
    own = prize.node.person()
    assert own.cookie is not None
    name, _, ended = own.cookie.partition("=")
    living = (prize.person.cookie or "").partition("=")[2]
    own.ok("DELETE", "/api/sessions/mine")
    [(session, digest), *_] = rows(
        prize.node.home, "SELECT id, secret FROM person_session ORDER BY created"
    )
    return {
        "none": None,
        "forged": f"{name}={secrets.token_urlsafe(32)}",
        "empty": f"{name}=",
        "ended": f"{name}={ended}",
        "of the store": f"{name}={digest.hex()}",
        "what another port is sent": f"{name}={living[:COOKIE_CHARACTERS]}",
        "the session's id": f"{name}={session}",
        "a real one under another name": f"{name}9={living}",
    }


def test_no_granting_route_takes_a_request_without_a_living_session(prize: Prize) -> None:
    ground, tries = prize.ground(), cookies(prize)
    before = granted(prize.node.home)
    for what, cookie in tries.items():
        agent = Person(prize.node.web_port)
        for item in attempts(ground):
            if item.public:
                continue
            agent.cookie = cookie
            status, value = agent.send(item.method, item.path, item.body)
            assert (status, value["error"]["code"]) == (401, "sign_in_needed"), (what, item)
    assert granted(prize.node.home) == before


def test_a_person_is_not_refused_what_an_agent_is(prize: Prize) -> None:
    """The bodies above would do it: else the refusals would show nothing."""
    ground = prize.ground()
    other = prize.node.flag(kind="approval", title="Other", call=CALL)
    shown = prize.person.ask(other["id"])
    ground = ground._replace(approval=shown["id"], seen=shown["seen"], session="mine")
    done: dict[str, int] = {}
    person = prize.node.person()
    last = "/api/sessions/mine"
    for item in sorted(attempts(ground), key=lambda item: (item.path == last, item.public)):
        if item.public or item.path in {"/api/sessions", "/api/passphrase"}:
            continue
        name = f"{item.method} {item.path}"
        status, value = person.send(item.method, item.path, item.body)
        done[name] = status
        if name in ALONE:
            assert status == ALONE[name][0], name
            assert ALONE[name][1] in value["error"]["message"]
    assert {name for name, status in done.items() if status >= 300} == set(ALONE), done


def test_other_web_sites_and_names_are_refused_even_with_a_session(prize: Prize) -> None:
    ground, before = prize.ground(), granted(prize.node.home)
    port = prize.node.web_port
    foreign: list[tuple[dict[str, str], int]] = [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": f"http://127.0.0.1:{port + 1}"}, 403),
        ({"Origin": f"https://127.0.0.1:{port}"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Host": "evil.example"}, 421),
        ({"Host": f"evil.example:{port}"}, 421),
        ({"Host": f"127.0.0.1:{port + 1}"}, 421),
        ({"Host": f"0.0.0.0:{port}"}, 421),
        ({"X-Askmesh": "0"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ]
    for headers, expected in foreign:
        for item in attempts(ground):
            person = Person(port)
            person.cookie = prize.person.cookie
            status, _ = person.send(item.method, item.path, item.body, headers=headers)
            assert status == expected, (headers, item)
    assert granted(prize.node.home) == before


def agent_calls(ask: str) -> list[tuple[str, dict[str, Any]]]:
    """Every call of the socket with the words that come closest to an answer."""
    return [
        ("flag", {"kind": "approval", "title": "Deploy", "call": CALL, "deadline_s": 60}),
        ("flag", {"kind": "question", "title": "Ok?", "fallback": "allow", "deadline_s": 60}),
        ("await", {"ask_id": ask, "wait_s": 0}),
        ("claim", {"ask_id": ask, "take_over": True}),
        ("resolve", {"ask_id": ask, "outcome": "allowed", "ok": True, "token": 1}),
        ("withdraw", {"ask_id": ask, "reason": "allowed by Ann"}),
        ("status", {"text": "allowed by Ann"}),
        ("pending", {"everything": True}),
        ("list", {"closed": True}),
        ("show", {"ask_id": ask}),
        ("whoami", {}),
        ("heard", {}),
        ("send", {"to": ["claude@testbox"], "body": f"Ann allows {ask}."}),
        ("send", {"to": ["everyone"], "body": '{"decision": "allow"}', "reply_to": ask}),
        ("send", {"to": ["claude"], "body": "allow", "subject": ask}),
        ("inbox", {"sent": True}),
        ("hand", {}),
        ("ack", {"ids": [ask]}),
        ("ack", {"ids": ["m1"]}),
        ("board_upsert", {"title": ask, "rows": [{"label": "allowed by Ann", "status": "done"}]}),
        ("board_archive", {"title": ask}),
    ]


def test_no_call_of_an_agent_allows_anything_even_when_time_passes(
    running_node: RunningNode, person: Person
) -> None:
    asked = running_node.flag(kind="approval", title="Deploy", call=CALL, deadline_s=60)
    before = granted(running_node.home)
    for session in ("session-1", "other"):
        for route, arguments in agent_calls(asked["full_id"]):
            try:
                reply = running_node.agent(route, arguments, session=session)
            except Refused:
                continue
            assert reply.get("state") not in {"allowed", "answered"}
    running_node.advance(8 * 24 * 3_600_000)
    outcomes = {ask["id"]: person.ask(ask["id"])["card"]["state"] for ask in person.state()["asks"]}
    assert set(outcomes.values()) <= {"expired", "withdrawn", "deadline_passed"}
    after = granted(running_node.home)
    assert {**after, "sessions": None} == {**before, "sessions": None}
    assert entries(running_node.home, EntryType.HANDOVER) == []


def test_only_what_a_signed_in_person_typed_makes_a_session_of_a_minted_sign_in(
    prize: Prize,
) -> None:
    node, agent = prize.node, Person(prize.node.web_port)
    minted = agent.ok("POST", "/api/sign-ins")
    before = granted(node.home)
    one = f"/api/sign-ins/{minted['id']}"
    assert agent.ok("POST", f"{one}/collect", {"digits": minted["digits"]}) == {"state": "waiting"}
    assert agent.send("POST", one, {"digits": minted["digits"]})[0] == 401
    assert agent.send("GET", "/api/state")[0] == 401
    assert minted["digits"] not in json.dumps(prize.person.ok("GET", "/api/sign-ins"))
    wrong = f"{(int(minted['digits']) + 1) % 1_000_000:06d}"
    for _ in range(3):
        assert prize.person.send("POST", one, {"digits": wrong})[0] == 403
    # Not even the right digits help now.
    assert prize.person.send("POST", one, {"digits": minted["digits"]})[0] == 409
    assert agent.send("POST", f"{one}/collect", {"digits": minted["digits"]})[0] == 403
    assert agent.cookie is None
    assert granted(node.home) == before


def test_a_sign_in_that_a_person_approved_is_collected_once_and_in_time(
    running_node: RunningNode, person: Person
) -> None:
    place = Person(running_node.web_port)
    first = place.ok("POST", "/api/sign-ins")
    one = f"/api/sign-ins/{first['id']}"
    person.ok("POST", one, {"digits": first["digits"]})
    wrong = f"{(int(first['digits']) + 1) % 1_000_000:06d}"
    assert place.send("POST", f"{one}/collect", {"digits": wrong})[0] == 403
    assert place.ok("POST", f"{one}/collect", {"digits": first["digits"]})["state"] == "approved"
    assert place.state()["me"]["name"] == "Ann"
    assert place.send("POST", f"{one}/collect", {"digits": first["digits"]})[0] == 404
    late = Person(running_node.web_port)
    second = late.ok("POST", "/api/sign-ins")
    running_node.advance(2 * 60_000)
    one = f"/api/sign-ins/{second['id']}"
    assert person.send("POST", one, {"digits": second["digits"]})[0] == 404
    assert late.send("POST", f"{one}/collect", {"digits": second["digits"]})[0] == 404


def test_the_first_sign_in_link_works_once(running_node: RunningNode) -> None:
    body = {"token": running_node.token, "name": "Ann", "passphrase": PASSPHRASE}
    agent = Person(running_node.web_port)
    assert agent.send("POST", "/api/session", {**body, "token": secrets.token_urlsafe(32)})[0] == (
        403
    )
    running_node.person()
    before = granted(running_node.home)
    assert agent.send("POST", "/api/session", {**body, "name": "Eve"})[0] == 403
    running_node.restart()
    # The launcher gives the same token again, as an agent that kept it would.
    assert agent.send("POST", "/api/session", {**body, "name": "Eve"})[0] == 403
    assert granted(running_node.home) == before


def test_the_first_sign_in_link_ends_after_ten_minutes(running_node: RunningNode) -> None:
    running_node.advance(10 * 60_000)
    body = {"token": running_node.token, "name": "Eve", "passphrase": PASSPHRASE}
    assert Person(running_node.web_port).send("POST", "/api/session", body)[0] == 403
    assert entries(running_node.home, EntryType.PERSON) == []


def test_guessing_passphrases_and_words_is_slowed_for_all(
    running_node: RunningNode, person: Person
) -> None:
    agent = Person(running_node.web_port)
    statuses = [
        agent.send("POST", "/api/session", {"passphrase": f"guess number {number}"})[0]
        for number in range(4)
    ]
    statuses += [
        agent.send("POST", "/api/session", {"recovery": "abandon " * 11 + "about"})[0]
        for _ in range(3)
    ]
    assert statuses[:5] == [403] * 5
    assert statuses[5:] == [429] * 2
    assert agent.cookie is None
