"""What an agent can reach apart from the routes: environment, files, commands, other users."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mnemonic import Mnemonic

from node.agents.kits.wrapper import wrapper
from node.bridge.paths import socket_path
from node.identity import recovery_from_words
from node.store.connection import open_reader
from tests.fleet.history import granted
from tests.node.bridge.client_side import BridgeProcess
from tests.node.gate.hosts import (
    LAUNCHER,
    NodeDouble,
    event,
    hook_command,
    printing,
    run,
    verdict,
)
from tests.node.gate.sessions import Run, Session, allow, the_ask
from tests.running import PASSPHRASE, Person, RunningNode, free_port

DENY_PUSH = '[[rule]]\nname = "never"\ntool = "Bash"\naction = "deny"\n'
ALLOW_ALL = '[[rule]]\nname = "all"\ntool = "*"\naction = "allow"\n'
PUSH = {"command": "git push"}
READING = {
    *("flag", "await_answer", "pending", "claim", "resolve", "withdraw", "status", "whoami"),
    *("send", "inbox", "ack"),
    *("board_upsert", "board_row", "board_advance", "board_get", "board_archive"),
}
"""All tools of an agent: they ask, wait, report, and write to each other."""


def on_accounts(folder: Path) -> tuple[tuple[str, ...], ...]:
    """Commands that say how accounts stand, or who may."""
    key = folder / "key"
    key.write_text("A" * 43 + "=")
    return (
        ("standing", "set", "Ann", "active"),
        ("standing", "operator", "add", "mine", str(key)),
        ("standing", "operator", "remove", "mine"),
        ("standing", "show", "--details"),
    )


@pytest.fixture(autouse=True)
def hooks_end(node: RunningNode) -> Iterator[None]:
    yield
    Run.end_all()


def askmesh(
    node: RunningNode | Path, *words: str, environment: dict[str, str] | None = None, text: str = ""
) -> "subprocess.CompletedProcess[str]":
    """The command as an agent runs it: no terminal anywhere."""
    home = node if isinstance(node, Path) else node.home
    return subprocess.run(
        [sys.executable, "-I", str(LAUNCHER), "--home", str(home), *words],
        input=text,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(home.parent), **(environment or {})},
        start_new_session=True,
        timeout=60,
        check=False,
    )


# --- the command line -----------------------------------------------------------------


def test_no_command_answers_or_grants_without_a_terminal(
    running_node: RunningNode, person: Person, tmp_path: Path
) -> None:
    ask = running_node.flag(kind="approval", title="Go?", call={"tool": "deploy"})["id"]
    file = tmp_path / "rules.toml"
    file.write_text(ALLOW_ALL)
    before = granted(running_node.home)
    typed = f"y\n{PASSPHRASE}\n"
    for words in (
        ("answer", ask, "--allow"),
        ("answer", ask, "--deny"),
        ("answer", ask, "--take-back"),
        ("rules", "apply", str(file)),
        ("rules", "propose", ask, "--allow"),
        *on_accounts(tmp_path),
        ("sessions", "list"),
        ("sessions", "end", "--others"),
        ("backup", str(tmp_path / "copy")),
        ("backup", str(tmp_path / "copy"), "--no-passphrase", "--json"),
        ("restore", str(file), "--replace", "--json"),
        ("node", "pair", "--json"),
        ("node", "pair", "K7QF-9M2D-XW4T-X", "--yes"),
        ("node", "join", "K7QF-9M2D-XW4T-X", "--host", "127.0.0.1:9", "--yes"),
        ("node", "assign", "attic", "Ann", "--yes"),
        ("node", "remove", "attic", "--yes"),
        ("node", "leave", "--yes"),
        ("node", "rejoin", "--yes"),
        ("node", "go", "--yes"),
        ("node", "address", "add", "attic", "127.0.0.1:9"),
        ("node", "address", "drop", "attic", "127.0.0.1:9"),
    ):
        done = askmesh(running_node, *words, text=typed)
        assert done.returncode == 1, words
        assert done.stdout == "" or json.loads(done.stdout)["error"]["code"] == "no_terminal"
        assert "no terminal" in done.stderr, words
    assert not (tmp_path / "copy").exists()
    assert granted(running_node.home) == before
    assert person.ask(ask)["card"]["state"] == "waiting"


def test_starting_and_opening_without_a_terminal_gives_no_sign_in(tmp_path: Path) -> None:
    home = tmp_path / "home"
    ports = ("--web-port", str(free_port()), "--port", str(free_port()))
    # An agent can say that there is a desktop, but not where links are opened.
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    caught = tmp_path / "caught"
    for name in ("xdg-open", "browser"):
        (bin_ / name).write_text(f'#!/bin/sh\necho "$@" >> {caught}\n')
        (bin_ / name).chmod(0o700)
    environment = {
        "PATH": f"{bin_}:{os.environ['PATH']}",
        "BROWSER": str(bin_ / "browser"),
        "DISPLAY": ":77",
    }
    try:
        for words in (("up", *ports), ("up",), ("open",), ("open", "--print"), ("up", "--json")):
            done = askmesh(home, *words, environment=environment)
            assert done.returncode == 0, done.stderr
            assert "#t=" not in done.stdout + done.stderr, words
        assert not caught.exists()
        # A desktop's browser is led to the link by a private page that lies there for a minute.
        files = [file for file in home.rglob("*") if file.is_file() and file.suffix != ".html"]
        assert [file for file in files if b"#t=" in file.read_bytes()] == []
        pid = json.loads((home / "node.json").read_text())["pid"]
        assert b"#t=" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    finally:
        askmesh(home, "down")


def test_no_tool_of_an_agent_answers(running_node: RunningNode) -> None:
    with BridgeProcess(running_node.home) as bridge:
        bridge.ask(
            1,
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "agent", "version": "1"},
        )
        bridge.heard()
        bridge.say(method="notifications/initialized")
        bridge.ask(2, "tools/list")
        tools: list[dict[str, Any]] = bridge.heard()["result"]["tools"]
    assert {tool["name"] for tool in tools} == READING


# --- the environment and other directories --------------------------------------------


def test_no_variable_leads_the_gate_to_a_node_of_the_agents_own(
    running_node: RunningNode, person: Person, tmp_path: Path
) -> None:
    running_node.rules(person, DENY_PUSH)
    rogue = tmp_path / "rogue" / ".askmesh"
    rogue.mkdir(mode=0o700, parents=True)
    double = NodeDouble(rogue, lambda body: printing(verdict(body["stage"])))
    names = ("HOME", "DATA", "DIR", "SOCKET", "SOCK", "NODE", "URL", "PORT", "WEB_PORT", "RUNTIME")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(rogue.parent),
        "XDG_RUNTIME_DIR": str(rogue),
        "TMPDIR": str(rogue),
        "PYTHONPATH": str(rogue),
        **{f"ASKMESH_{name}": str(rogue) for name in names},
        "ASKMESH_SOCKET": str(rogue / "node.sock"),
    }
    script = tmp_path / "claude"
    script.write_text(wrapper(sys.executable, str(LAUNCHER), str(running_node.home)))
    script.chmod(0o700)
    given = event("PreToolUse", tool_input=PUSH)
    try:
        for command in (
            hook_command("PreToolUse", running_node.home),
            [str(script), "PreToolUse"],
        ):
            done = run(command, given, environment)
            assert b"never" in done.stdout, done.stdout
            assert b'"deny"' in done.stdout
    finally:
        double.close()
    assert double.raw == []


def test_a_second_directory_grants_nothing_on_the_first(
    running_node: RunningNode, person: Person, tmp_path: Path
) -> None:
    """An agent can begin a fleet of its own and be its owner: that is another fleet."""
    running_node.rules(person, DENY_PUSH)
    asked = running_node.flag(kind="approval", title="Go?", call={"tool": "deploy"})
    before = granted(running_node.home)
    own = RunningNode(tmp_path / "own")
    own.start()
    try:
        eve = own.person()
        own.rules(eve, ALLOW_ALL)
        seen = person.ask(asked["id"])["seen"]
        assert eve.vote(asked["full_id"], "allow", seen=seen)[0] == 404
        stranger = Person(running_node.web_port)
        value = (eve.cookie or "").partition("=")[2]
        for cookie in (eve.cookie, f"{(person.cookie or '').partition('=')[0]}={value}"):
            stranger.cookie = cookie
            assert stranger.vote(asked["id"], "allow", seen=seen)[0] == 401
        given = event("PreToolUse", tool_input=PUSH)
        done = run(
            hook_command("PreToolUse", running_node.home), given, {"ASKMESH_HOME": str(own.home)}
        )
        assert b'"deny"' in done.stdout
    finally:
        own.stop()
    assert granted(running_node.home) == before


def test_an_edited_rules_file_changes_nothing(
    running_node: RunningNode, person: Person, tmp_path: Path
) -> None:
    places = [tmp_path / "rules.toml", running_node.home / "rules.toml"]
    for file in places:
        file.write_text(DENY_PUSH)
    applied = running_node.rules(person, places[0].read_text(), "rules.toml")
    before = granted(running_node.home)
    for file in places:
        file.write_text(ALLOW_ALL)
    running_node.restart()
    session = Session(running_node, cwd=tmp_path)
    assert session.before("Bash", PUSH).word() == "deny"
    assert session.permission("Bash", PUSH).word() == "deny"
    shown = askmesh(running_node, "rules", "show", str(places[0]), "--json")
    assert json.loads(shown.stdout)["applied"] is False
    assert json.loads(shown.stdout)["rules"]["version"] == applied["version"]
    assert granted(running_node.home)["rules"] == before["rules"]


# --- files and processes --------------------------------------------------------------


def forms(secret: bytes) -> set[bytes]:
    """A secret as it may lie in a file."""
    return {
        secret,
        secret.hex().encode(),
        base64.b64encode(secret).rstrip(b"="),
        base64.urlsafe_b64encode(secret).rstrip(b"="),
    }


def test_no_secret_of_a_person_lies_where_an_agent_can_read(running_node: RunningNode) -> None:
    person = Person(running_node.web_port)
    body = {"token": running_node.token, "name": "Ann", "passphrase": PASSPHRASE}
    begun = person.ok("POST", "/api/session", body)
    words = begun["recovery_words"]
    recovery_from_words(" ".join(words))
    approved = Person(running_node.web_port)
    minted = approved.ok("POST", "/api/sign-ins")
    person.ok("POST", f"/api/sign-ins/{minted['id']}", {"digits": minted["digits"]})
    approved.ok("POST", f"/api/sign-ins/{minted['id']}/collect", {"digits": minted["digits"]})
    terminal = running_node.person()
    entropy = bytes(Mnemonic("english").to_entropy(" ".join(words)))
    secrets: dict[str, set[bytes]] = {
        "first-run token": {running_node.token.encode()},
        "passphrase": {PASSPHRASE.encode(), hashlib.sha256(PASSPHRASE.encode()).digest()},
        "recovery words": {" ".join(words).encode(), json.dumps(words).encode()},
        "recovery entropy": forms(entropy),
        "digits": {f"{minted['id']}{minted['digits']}".encode()},
    }
    for number, signed_in in enumerate((person, approved, terminal)):
        value = (signed_in.cookie or "").partition("=")[2]
        padded = value + "=" * (-len(value) % 4)
        secrets[f"session {number}"] = {value.encode(), *forms(base64.urlsafe_b64decode(padded))}
    found = [
        (what, str(place))
        for place, content in readable(running_node).items()
        for what, shapes in secrets.items()
        if any(shape in content for shape in shapes)
    ]
    assert found == []
    running_node.kill()
    running_node.start()
    assert not any(form in c for c in readable(running_node).values() for form in forms(entropy))


def test_a_reader_in_the_way_delays_the_erasing_and_does_not_prevent_it(
    running_node: RunningNode,
) -> None:
    """A backup that reads just then; the next commit after it erases what is left."""
    person = Person(running_node.web_port)
    body = {"token": running_node.token, "name": "Ann", "passphrase": PASSPHRASE}
    with closing(open_reader(running_node.home)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM entry").fetchone()
        words = person.ok("POST", "/api/session", body)["recovery_words"]
        # The words are let go of when the page that showed them is used.
        person.state()
        entropy = bytes(Mnemonic("english").to_entropy(" ".join(words)))
        assert any(entropy in content for content in readable(running_node).values())
    running_node.flag(kind="question", title="Which?")
    assert not any(entropy in content for content in readable(running_node).values())


def readable(node: RunningNode) -> dict[Path, bytes]:
    """Every file of the data directory, the log, and what the process shows of itself."""
    assert node.process is not None
    places = [path for path in node.home.rglob("*") if path.is_file()]
    process = Path(f"/proc/{node.process.pid}")
    places += [node.log, process / "environ", process / "cmdline"]
    return {place: place.read_bytes() for place in places}


@pytest.mark.root
def test_another_user_gets_neither_at_the_socket_nor_at_the_files() -> None:
    """The folder above is open to all, so it is the directory's own mode that keeps them out."""
    above = Path(tempfile.mkdtemp(prefix="open-"))
    above.chmod(0o755)
    try:
        for home in (above / "home", above / ("long" * 25) / "home"):
            home.parent.mkdir(exist_ok=True)
            check_other_user(RunningNode(home))
    finally:
        shutil.rmtree(above)


def check_other_user(node: RunningNode) -> None:
    node.start()
    try:
        person = node.person()
        node.flag(kind="approval", title="Go?", call={"tool": "deploy"})
        before = granted(node.home)
        tried = [
            f"import os; os.listdir({str(node.home)!r})",
            f"open({str(node.home / 'store.db')!r}, 'rb')",
            f"open({str(node.home / 'node.key')!r}, 'rb')",
            f"import socket as s; s.socket(s.AF_UNIX).connect({socket_path(str(node.home))!r})",
        ]
        for program in tried:
            done = as_nobody(program)
            assert "PermissionError" in done.stderr, (program, done.stderr)
        page = (
            "import http.client; c = http.client.HTTPConnection('127.0.0.1',"
            f" {node.web_port}); c.request('GET', '/api/state'); print(c.getresponse().status)"
        )
        assert as_nobody(page).stdout.strip() == "401"
        assert granted(node.home) == before
        assert person.state()["counts"]["needs_me"] == 1
    finally:
        node.stop()


def as_nobody(program: str) -> "subprocess.CompletedProcess[str]":
    """Run a program as another user, with an interpreter that every user may run."""
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    return subprocess.run(
        [*command, interpreter_of_all(), "-I", "-c", program],
        capture_output=True,
        text=True,
        cwd="/",
        timeout=60,
        check=False,
    )


def interpreter_of_all() -> str:
    """A Python outside everyone's home."""
    for path in ("/usr/bin/python3", "/usr/local/bin/python3"):
        if Path(path).exists():
            return path
    return os.path.realpath(sys.executable)


def test_an_allow_of_a_person_still_works_where_agents_were_refused(
    running_node: RunningNode, person: Person
) -> None:
    """The same hook, the same node: so what is refused above is refused for its reason."""
    running_node.rules(person, DENY_PUSH.replace("deny", "ask"))
    hook = Session(running_node).before("Bash", PUSH)
    allow(person, the_ask(person))
    assert hook.word() == "allow"
