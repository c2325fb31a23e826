"""The README's story, typed as it stands there: three machines on a switch, found by mDNS.

A desk, a laptop and a server, each with its own `askmesh up` on the ports of the product.
Every step is a command on a terminal or a request of a page; nothing reaches into a store.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from node.limits import WEB_PORT
from tests.fleet.crashing import end_holder
from tests.fleet.lab import Host, Lab, lab
from tests.node.cli.screen import Screen
from tests.running import PASSPHRASE, ROOT, Person, until

pytestmark = [pytest.mark.netns, pytest.mark.slow]

SOON = 60.0
CALL = '{"tool":"deploy","arguments":{"target":"production"}}'


class Box:
    """One machine of the story, and the command `askmesh` on it."""

    def __init__(self, host: Host, name: str, folder: Path) -> None:
        self.host = host
        self.name = name
        self.folder = folder / name
        self.folder.mkdir()
        self.home = self.folder / ".askmesh"
        self.person = Person(WEB_PORT, host)
        launcher = str(ROOT / "askmesh" / "__main__.py")
        self.line = host.command(sys.executable, "-I", launcher, "--home", str(self.home))
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "ASKMESH_SESSION": f"session-{name}",
        }

    def begin(self, *words: str) -> "subprocess.Popen[str]":
        """Run a command without a terminal, as an agent does."""
        return subprocess.Popen(
            [*self.line, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
            cwd=self.folder,
            start_new_session=True,
        )

    def run(self, *words: str) -> str:
        """Run a command without a terminal; what it printed."""
        with self.begin(*words) as process:
            out, err = process.communicate(timeout=60)
        assert process.returncode == 0, (words, out, err)
        return out

    def typed(self, *words: str) -> Screen:
        """Type a command on a terminal."""
        return Screen([*self.line, *words], environment=self.environment, cwd=self.folder)

    def up(self) -> None:
        """`askmesh up`; the link for the first sign-in stays in a file."""
        link = self.folder / "link"
        self.run("up", "--name", self.name, "--first-sign-in", str(link))

    def sign_in_first(self) -> None:
        """What the page does with the link."""
        token = (self.folder / "link").read_text().strip().partition("#t=")[2]
        body = {"token": token, "name": "Ann", "passphrase": PASSPHRASE}
        assert self.person.ok("POST", "/api/session", body)["recovery_words"]

    def machines(self) -> dict[str, dict[str, Any]]:
        """`askmesh node list`."""
        fleet = json.loads(self.run("node", "list", "--json"))["fleet"]
        return {row["machine"]["name"]: row for row in fleet["machines"]}

    def linked(self, *names: str) -> bool:
        """Whether `askmesh node list` shows a link to each."""
        rows = self.machines()
        return all(rows.get(name, {}).get("state") == "connected" for name in names)


@pytest.fixture
def boxes(tmp_path: Path) -> Iterator[tuple[Lab, list[Box]]]:
    with lab(3) as hosts:
        names = ("desk", "laptop", "server")
        made = [Box(host, name, tmp_path) for host, name in zip(hosts.hosts, names, strict=True)]
        try:
            yield hosts, made
        finally:
            for box in made:
                end_holder(box.home)


def let_in(here: Box, new: Box) -> None:
    """`askmesh node pair` on one terminal, the code typed on the other."""
    with here.typed("node", "pair") as shows:
        shows.expect("Passphrase:")
        shows.type(PASSPHRASE)
        shows.expect("Code: ")
        code = shows.expect("\n").strip()
        assert re.fullmatch(r"[0-9A-Z-]{16}", code), code
        # Begun only now: it looks for two seconds, once, for machines that show a code.
        with new.typed("node", "join") as joins:
            joins.expect("Found " + here.name)
            joins.expect("[y/N]")
            joins.type("y")
            joins.expect("Code:")
            joins.type(code)
            ended, said = joins.end()
        assert (ended, f"belongs to the fleet of {here.name}" in said) == (0, True), said
        ended, said = shows.end()
        assert (ended, new.name in said, code in said) == (0, True, False), said


def becomes_anns(desk: Box, new: Box) -> None:
    """`askmesh node assign`, then six digits from the new machine's page."""
    with desk.typed("node", "assign", new.name, "Ann") as screen:
        screen.expect("Passphrase:")
        screen.type(PASSPHRASE)
        screen.expect("[y/N]")
        screen.type("y")
        ended, said = screen.end()
        assert (ended, "speaks for Ann now" in said) == (0, True), said
    until(lambda: new.person.ok("GET", "/api/hello")["has_person"], "Ann is known there", SOON)
    wish = new.person.ok("POST", "/api/sign-ins")

    def waits() -> str | None:
        found = desk.person.ok("GET", "/api/sign-ins")["sign_ins"]
        return next((one["id"] for one in found if one["machine"] == new.name), None)

    name = until(waits, f"the desk shows the sign-in on {new.name}", SOON)
    desk.person.ok("POST", f"/api/sign-ins/{name}", {"digits": wish["digits"]})
    path = f"/api/sign-ins/{wish['id']}/collect"
    until(lambda: new.person.send("POST", path, {"digits": wish["digits"]})[0] == 200, "she is in")
    new.person.ok("PUT", "/api/passphrase", {"passphrase": PASSPHRASE, "old": None})


def answer(box: Box, title: str, *words: str) -> tuple[int, str]:
    """`askmesh list`, then `askmesh answer` on a terminal; how it ended."""

    def found() -> str | None:
        rows = json.loads(box.run("list", "--json"))["asks"]
        return next((row["short"] for row in rows if row["title"] == title), None)

    short = until(found, f"{box.name} lists {title!r}", SOON)
    with box.typed("answer", short, *words) as screen:
        screen.expect("[y/N]")
        screen.type("y")
        screen.expect("Passphrase:")
        screen.type(PASSPHRASE)
        return screen.end()


def asks(box: Box, title: str) -> "subprocess.Popen[str]":
    """An agent on a machine asks for a call and waits."""
    words = ("--kind", "approval", "--title", title, "--call", CALL, "--wait", "90s", "--json")
    return box.begin("ask", *words)


def told(process: "subprocess.Popen[str]", *, code: int = 0) -> dict[str, Any]:
    """What the agent's command printed."""
    with process:
        out, err = process.communicate(timeout=90)
    assert process.returncode == code, (out, err)
    value: dict[str, Any] = json.loads(out)
    return value


@pytest.mark.timeout(300)
def test_the_story(boxes: tuple[Lab, list[Box]]) -> None:
    hosts, (desk, laptop, server) = boxes
    for box in (desk, laptop, server):
        box.up()
    desk.sign_in_first()
    three_become_one_fleet(desk, laptop, server)
    an_answer_from_another_machine_releases_the_agent(desk, laptop, server)
    the_cable_between_them_is_out(hosts, desk, laptop, server)
    the_laptop_is_closed_for_a_while(desk, laptop)
    privacy = desk.run("status", "--privacy")
    assert "laptop" in privacy
    assert "server" in privacy
    the_laptop_is_sold(desk, laptop, server)


def three_become_one_fleet(desk: Box, laptop: Box, server: Box) -> None:
    let_in(desk, laptop)
    becomes_anns(desk, laptop)
    let_in(laptop, server)
    for box, others in (
        (desk, ("laptop", "server")),
        (laptop, ("desk", "server")),
        (server, ("desk", "laptop")),
    ):
        until(lambda b=box, o=others: b.linked(*o), f"{box.name} is linked", SOON)  # type: ignore[misc]
    assert laptop.machines()["server"]["persons"] == []
    assert desk.machines()["laptop"]["persons"] == ["Ann"]


def an_answer_from_another_machine_releases_the_agent(desk: Box, laptop: Box, server: Box) -> None:
    waiting = asks(server, "Deploy?")
    ended, said = answer(laptop, "Deploy?", "--allow", "--because", "tested")
    assert (ended, "Allowed" in said) == (0, True), said
    reply = told(waiting)
    assert (reply["state"], reply["by"], reply["because"]) == ("allowed", "Ann", "tested")
    server.run("resolve", reply["id"], "--outcome", "deployed")
    until(lambda: "deployed" in desk.run("show", reply["id"]), "the desk shows it", SOON)


def the_cable_between_them_is_out(hosts: Lab, desk: Box, laptop: Box, server: Box) -> None:
    """What they say to each other goes by the desk."""
    hosts.cut(laptop.host, server.host)
    waiting = asks(server, "Roll back?")
    ended, said = answer(laptop, "Roll back?", "--deny")
    assert ended in (0, 4), said
    reply = told(waiting, code=1)
    assert reply["state"] == "denied"
    until(lambda: "Denied" in desk.run("show", reply["id"]), "the desk shows it", SOON)
    hosts.heal()


def the_laptop_is_closed_for_a_while(desk: Box, laptop: Box) -> None:
    """It is a row like any other, and what its agent asked is answered meanwhile."""
    late = json.loads(laptop.run("ask", "--kind", "question", "--title", "Later?", "--json"))
    until(lambda: "Later?" in desk.run("list", "--all"), "the desk lists it", SOON)
    laptop.run("down")
    until(lambda: desk.machines()["laptop"]["state"] == "away", "it is away", SOON)
    ended, said = answer(desk, "Later?", "--text", "yes")
    assert (ended, "kept until laptop is back" in said) == (4, True), said
    laptop.run("up")
    until(lambda: laptop.machines()["desk"]["state"] == "connected", "it is back", SOON)
    until(lambda: "yes" in laptop.run("show", late["id"]), "the answer has come", SOON)


def the_laptop_is_sold(desk: Box, laptop: Box, server: Box) -> None:
    """It was away when it was removed; when it is switched on, it is told."""
    laptop.run("down")
    with desk.typed("node", "remove", "laptop") as screen:
        screen.expect("Type its name")
        screen.type("laptop")
        screen.expect("Passphrase:")
        screen.type(PASSPHRASE)
        ended, said = screen.end()
        assert (ended, "is removed" in said) == (0, True), said
    until(lambda: server.machines()["laptop"]["state"] == "removed", "the server knows", SOON)
    laptop.run("up")
    until(lambda: "removed from the fleet by Ann" in laptop.run("node", "list"), "it knows", SOON)
    assert not laptop.linked("desk")
    assert not laptop.linked("server")
