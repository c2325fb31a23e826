"""The routes of a real node: nothing that is not a person changes anything."""

import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.running import PASSPHRASE, Person, RunningNode, node_in, until
from tests.web.wire import BODIES
from web.routes import ANSWERING_AND_GRANTING, ROUTES, Access, Route

Headers = dict[str, str]
PERSONS = [route for route in ROUTES if route.access is not Access.PUBLIC]

FIRST = [(route.method, route.path) for route in ROUTES if route.access is Access.FIRST]
ALONE = {
    "set_standing": ((404, "not_found"), "no person"),
    "standing_word": ((400, "invalid"), "does not read"),
    "join": ((502, "pairing_failed"), "Nothing waits for a code"),
    "assign_machine": ((409, "conflict"), "speaks for Ann already"),
    "release_machine": ((409, "conflict"), "only owner"),
    "consent": ((404, "not_found"), "Nobody asks"),
    "end_sessions_on": ((409, "conflict"), "This is that machine"),
    "withdraw_invitation": ((404, "not_found"), "No such invitation"),
    "set_role": ((409, "conflict"), "only owner"),
    "remove_person": ((409, "conflict"), "only owner"),
    "remove_machine": ((403, "not_allowed"), "cannot remove itself"),
    "leave": ((403, "not_allowed"), "in no fleet with others"),
    "rejoin": ((409, "conflict"), "history is whole"),
    "propose_rule": ((400, "invalid"), "about no call"),
    "go_on": ((409, "conflict"), "not on hold"),
}
"""What a machine that is alone refuses its own person, and why."""


PROJECT = "example.org/team/app"
"""In which the agents of these tests work."""


class Scene:
    """A node with a person, an open ask, a note, a waiting sign-in and rules in force."""

    def __init__(self, node: RunningNode) -> None:
        self.node = node
        self.person = node.person()
        self.ended = node.person()
        self.ended.ok("DELETE", "/api/sessions/mine")
        self.ask = node.flag(kind="question", title="Which one?")["id"]
        self.note = node.flag(kind="note", title="Read me")["id"]
        words = {"to": ["claude"], "body": "The schema is merged."}
        self.message = node.agent("send", words)["id"]
        self.wish = Person(node.web_port).ok("POST", "/api/sign-ins")
        node.rules(self.person, '[[rule]]\nname = "r"\ntool = "Bash"\naction = "ask"\n')

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.node.web_port}"

    def target(self, route: Route) -> str:
        thing = self.ask if route.path.startswith("/api/asks") else self.wish["id"]
        thing = self.message if route.path.startswith("/api/messages") else thing
        thing = self.note if route.name == "mark" else thing
        thing = "6b" * 32 if route.name == "remove_operator" else thing
        thing = self.version() if route.name == "rules_version" else thing
        thing = self.own_session() if route.name == "end_session" else thing
        target = route.path.replace("{id}", thing).replace("{name}", "app.js")
        target = target.replace("{node}", "testbox").replace("{person}", "Ann")
        return target + ("?since=0" if route.name == "events" else "")

    def own_session(self) -> str:
        rows = self.person.ok("GET", "/api/sessions")["sessions"]
        return next(str(row["id"]) for row in rows if row["current"])

    def version(self) -> str:
        return str(self.person.ok("GET", "/api/rules")["rules"]["version"])

    def body(self, route: Route) -> Any:  # noqa: ANN401 -- JSON
        """A body that would be carried out for the person."""
        fitting = {
            "redact": {"confirm": self.ask},
            "write_message": {"project": PROJECT, "to": ["claude"], "body": "Use 8000."},
            "redact_message": {"confirm": self.message},
            "vote": {"decision": "answer", "seen": self.person.ask(self.ask)["seen"], "text": "x"},
            "approve_sign_in": {"digits": self.wish["digits"]},
            "collect_sign_in": {"digits": self.wish["digits"]},
            "sign_in": {"passphrase": PASSPHRASE},
            "set_passphrase": {"passphrase": PASSPHRASE, "old": PASSPHRASE},
            "apply_rules": {
                "name": "other",
                "source": "",
                "replaces": self.person.ok("GET", "/api/rules")["rules"]["version"],
            },
        }
        return fitting.get(route.name, BODIES[route.name])

    def everything(self) -> dict[str, Any]:
        """All that a person can see, without the clock."""
        state = self.person.state()
        sessions = self.person.ok("GET", "/api/sessions")["sessions"]
        return {
            "n": state["n"],
            "asks": [(ask["id"], ask["final"], ask["read"]) for ask in state["asks"]],
            "rules": state["rules"],
            "sessions": [row["id"] for row in sessions],
            "sign_ins": self.person.ok("GET", "/api/sign-ins"),
            "machines": [
                (row["machine"], row["persons"], row["given"], row["removed"])
                for row in self.person.ok("GET", "/api/fleet")["machines"]
            ],
            "pairing": self.person.ok("GET", "/api/pairing"),
            "people": self.person.ok("GET", "/api/people"),
            "standing": self.person.ok("GET", "/api/standing"),
            "history": self.person.ok("GET", f"/api/asks/{self.ask}")["history"],
        }

    def try_it(self, route: Route, headers: Headers) -> tuple[int, dict[str, Any], str | None]:
        """Send a request exactly as given; status, object, new cookie."""
        connection = http.client.HTTPConnection("127.0.0.1", self.node.web_port, timeout=60)
        body = None if route.method == "GET" else json.dumps(self.body(route)).encode()
        try:
            connection.putrequest(route.method, self.target(route), skip_host=True)
            for name, value in headers.items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read()), reply.headers.get("Set-Cookie")
        finally:
            connection.close()

    def headers(self, **changed: str | None) -> Headers:
        usual: dict[str, str | None] = {
            "Host": self.host,
            "Origin": f"http://{self.host}",
            "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/json",
            "X-Askmesh": "1",
            "Cookie": self.person.cookie,
        }
        usual |= {name.replace("_", "-"): value for name, value in changed.items()}
        return {name: value for name, value in usual.items() if value is not None}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with node_in(tmp_path_factory.mktemp("real")) as node:
        yield Scene(node.start())


def forged(scene: Scene) -> str:
    name = str(scene.person.cookie).partition("=")[0]
    return f"{name}={'f' * 43}"


NO_PERSON: dict[str, Callable[[Scene], Headers]] = {
    "no cookie": lambda scene: scene.headers(Cookie=None),
    "forged cookie": lambda scene: scene.headers(Cookie=forged(scene)),
    "ended session": lambda scene: scene.headers(Cookie=scene.ended.cookie),
}
NOT_THE_PAGE: dict[str, Callable[[Scene], Headers]] = {
    "foreign Origin": lambda scene: scene.headers(Origin="http://evil.example"),
    "null Origin": lambda scene: scene.headers(Origin="null"),
    "cross-site": lambda scene: scene.headers(Origin=None, Sec_Fetch_Site="cross-site"),
    "same-site": lambda scene: scene.headers(Origin=None, Sec_Fetch_Site="same-site"),
    "wrong Host": lambda scene: scene.headers(Host="evil.example", Origin=None),
    "a form": lambda scene: scene.headers(Content_Type="application/x-www-form-urlencoded"),
    "no X-Askmesh": lambda scene: scene.headers(X_Askmesh=None),
}


@pytest.mark.parametrize("route", PERSONS, ids=lambda route: route.name)
def test_without_a_person_nothing_is_read_or_changed(scene: Scene, route: Route) -> None:
    before = scene.everything()
    for how, headers in NO_PERSON.items():
        status, value, cookie = scene.try_it(route, headers(scene))
        assert (status, value["error"]["code"], cookie) == (401, "sign_in_needed", None), how
    assert scene.everything() == before


@pytest.mark.parametrize("route", ANSWERING_AND_GRANTING, ids=lambda route: route.name)
def test_what_answers_or_grants_comes_from_the_page_alone(scene: Scene, route: Route) -> None:
    before = scene.everything()
    for how, headers in NOT_THE_PAGE.items():
        status, value, cookie = scene.try_it(route, headers(scene))
        assert status in {403, 415, 421}, how
        assert set(value) == {"error"}, how
        assert cookie is None, how
    assert scene.everything() == before


@pytest.mark.parametrize("route", PERSONS, ids=lambda route: route.name)
def test_other_sites_read_nothing(scene: Scene, route: Route) -> None:
    for how in ("cross-site", "foreign Origin", "wrong Host"):
        status, value, _ = scene.try_it(route, NOT_THE_PAGE[how](scene))
        assert status in {403, 421}, how
        assert set(value) == {"error"}, how


def test_an_agent_can_begin_a_sign_in_and_get_nothing_from_it(scene: Scene) -> None:
    before = scene.everything()["sessions"]
    stranger = Person(scene.node.web_port)
    wish = stranger.ok("POST", "/api/sign-ins")
    digits = {"digits": wish["digits"]}
    status, value = stranger.send("POST", f"/api/sign-ins/{wish['id']}", digits)
    assert (status, value["error"]["code"]) == (401, "sign_in_needed")
    status, value = stranger.send("POST", f"/api/sign-ins/{wish['id']}/collect", digits)
    assert (status, value) == (202, {"state": "waiting"})
    assert stranger.cookie is None
    assert scene.everything()["sessions"] == before


# --- a person, over a real node -----------------------------------------------------------


def test_every_change_of_a_person_is_carried_out(running_node: RunningNode) -> None:
    """Else the refusals above would prove nothing."""
    scene = Scene(running_node)
    first = {"vote": 0, "take_back": 1, "approve_sign_in": 2, "collect_sign_in": 3}
    last = {"rename_machine": 7, "end_other_sessions": 8, "end_session": 9}
    changes = [route for route in ROUTES if route.method != "GET"]
    changes.sort(key=lambda route: first.get(route.name, last.get(route.name, 5)))
    for route in changes:
        status, value, _ = scene.try_it(route, scene.headers())
        if route.name in ALONE:
            refusal, words = ALONE[route.name]
            assert (status, value["error"]["code"]) == refusal
            assert words in value["error"]["message"]
        else:
            assert status < 300, (route.name, value)
    assert "Traceback" not in running_node.log.read_text()


def test_a_new_machine_is_joined_to_a_fleet_without_a_session(
    running_node: RunningNode, person: Person, tmp_path: Path
) -> None:
    """And from then on, or once somebody signed in, no more."""
    folder = tmp_path / "new"
    folder.mkdir()
    with node_in(folder) as new:
        anyone = Person(new.start().web_port)
        assert anyone.ok("GET", "/api/joining")["allowed"]
        assert anyone.ok("GET", "/api/pairing/offers") == {"offers": []}
        for method, path in (("GET", "/api/fleet"), ("POST", "/api/pairing")):
            assert anyone.send(method, path)[0] == 401
        status, value = anyone.send("POST", "/api/joining", BODIES["join"])
        assert (status, value["error"]["code"]) == (502, "pairing_failed")
        shown = person.ok("POST", "/api/pairing")["pairing"]
        port = shown["addresses"][0].rpartition(":")[2]
        body = {"code": shown["code"], "address": f"127.0.0.1:{port}"}
        joined = anyone.ok("POST", "/api/joining", body)
        assert joined["machines"] == 2
        check_joined(new, anyone, body)
        last = person.ok("GET", "/api/pairing")["pairing"]
        assert (last["state"], last["code"]) == ("paired", None)
        assert len(person.ok("GET", "/api/fleet")["machines"]) == 2
        for node in (running_node, new):
            assert shown["code"] not in node.log.read_text()
            assert "Traceback" not in node.log.read_text()


def check_joined(new: RunningNode, anyone: Person, body: dict[str, str]) -> None:
    """It takes no other fleet from anyone now, also after a restart."""
    for _ in range(2):
        for method, path in FIRST:
            status, value = anyone.send(method, path, body)
            assert (status, value["error"]["code"]) == (401, "sign_in_needed")
        new.restart()


def test_whoever_signed_in_first_ends_joining_without_a_session(running_node: RunningNode) -> None:
    anyone = Person(running_node.web_port)
    assert anyone.send("GET", "/api/joining")[0] == 200
    running_node.person()
    for method, path in FIRST:
        status, value = anyone.send(method, path, BODIES["join"])
        assert (status, value["error"]["code"]) == (401, "sign_in_needed")


def test_signing_out_ends_the_stream(running_node: RunningNode) -> None:
    person = running_node.person()
    n = person.state()["n"]
    connection = http.client.HTTPConnection("127.0.0.1", running_node.web_port, timeout=60)
    connection.request("GET", f"/api/events?since={n}", headers={"Cookie": str(person.cookie)})
    stream = connection.getresponse()
    assert stream.readline() == b"event: beat\n"
    other = running_node.person()
    other.ok("DELETE", "/api/sessions")
    stream.read()  # to its end: it is over
    connection.close()
    assert person.send("GET", "/api/state")[0] == 401


def test_a_change_comes_over_the_stream_by_its_number(
    running_node: RunningNode, person: Person
) -> None:
    n = person.state()["n"]
    connection = http.client.HTTPConnection("127.0.0.1", running_node.web_port, timeout=60)
    connection.request("GET", f"/api/events?since={n}", headers={"Cookie": str(person.cookie)})
    stream = connection.getresponse()
    flagged = running_node.flag(kind="question", title="Now?")
    numbers: list[int] = []
    while True:
        line = stream.readline().decode().strip()
        if line.startswith("id: "):
            numbers.append(int(line.removeprefix("id: ")))
        if line.startswith("data: ") and flagged["full_id"] in line:
            break
    connection.close()
    assert numbers == sorted(set(numbers))
    assert numbers[0] > n


def test_a_number_out_of_range_is_reset(running_node: RunningNode, person: Person) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", running_node.web_port, timeout=60)
    headers = {"Cookie": str(person.cookie)}
    connection.request("GET", "/api/events?since=999999", headers=headers)
    assert b"event: reset\n" in connection.getresponse().read()
    connection.close()


def test_wrong_passphrases_are_few_and_all_alike(running_node: RunningNode, person: Person) -> None:
    stranger = Person(running_node.web_port)
    told = [
        stranger.send("POST", "/api/session", {"passphrase": wrong})
        for wrong in ("wrong", "x" * 500, "four words are enougH", "", "\x00")
    ]
    assert {status for status, _ in told} == {403}
    assert len({json.dumps(value) for _, value in told}) == 1
    status, value = stranger.send("POST", "/api/session", {"passphrase": PASSPHRASE})
    assert (status, value["error"]["code"]) == (429, "limit")
    assert stranger.cookie is None


def test_before_anyone_signed_in_a_passphrase_is_refused_alike(running_node: RunningNode) -> None:
    stranger = Person(running_node.web_port)
    status, value = stranger.send("POST", "/api/session", {"passphrase": PASSPHRASE})
    assert (status, value["error"]["code"]) == (403, "not_allowed")
    assert stranger.ok("GET", "/api/hello")["has_person"] is False


def test_the_first_token_works_once(running_node: RunningNode, person: Person) -> None:
    stranger = Person(running_node.web_port)
    body = {"token": running_node.token, "name": "Eve", "passphrase": None}
    status, value = stranger.send("POST", "/api/session", body)
    assert (status, value["error"]["code"]) == (403, "not_allowed")
    assert stranger.cookie is None


def test_two_votes_get_one_final_and_the_second_is_told_it(
    running_node: RunningNode, person: Person
) -> None:
    ask = running_node.flag(kind="question", title="Which one?")["id"]
    seen = person.ask(ask)["seen"]
    assert person.vote(ask, "answer", text="This one.")[0] == 202
    assert running_node.agent("await", {"ask_id": ask, "wait_s": 20})["text"] == "This one."
    status, value = person.vote(ask, "decline", seen=seen)
    assert (status, value["error"]["code"]) == (409, "closed")
    assert value["error"]["final"]["text"] == "This one."


def test_bad_rules_are_refused_with_every_problem(
    running_node: RunningNode, person: Person
) -> None:
    source = '[[rule]]\nnam = "r"\n\n[[rule]]\nname = "s"\ntool = "Bash"\naction = "maybe"\n'
    checked = person.ok("POST", "/api/rules/check", {"source": source})
    assert not checked["ok"]
    body = {"name": "team", "source": source, "replaces": None}
    status, value = person.send("PUT", "/api/rules", body)
    assert (status, value["error"]["code"]) == (400, "rules_refused")
    assert value["error"]["problems"] == checked["errors"]
    assert person.ok("GET", "/api/rules") == {"rules": None}


def test_no_secret_is_in_the_log(running_node: RunningNode, person: Person) -> None:
    ask = running_node.flag(kind="question", title="hush title")["id"]
    person.vote(ask, "answer", text="hush text")
    person.send("POST", "/api/session", {"passphrase": "hush passphrase"})
    person.send("POST", "/api/asks/hush/votes", {"decision": "hush"})
    running_node.stop()
    log = running_node.log.read_text()
    secret = str(person.cookie).partition("=")[2]
    until(lambda: "stopping" in log, "the log is written")
    for word in ("hush", secret, running_node.token, PASSPHRASE, ask):
        assert word not in log
