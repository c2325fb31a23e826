"""Start, stop and open: `up`, `down`, `open`, and the node's own command."""

import os
import secrets
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from node.bridge.paths import is_initialised
from node.cli import first_sign_in
from node.cli.output import json_option, print_json
from node.cli.page import has_person
from node.cli.place import Place, pass_place
from node.cli.running import (
    Facts,
    Launch,
    answers,
    facts,
    lock_holder,
    need_serving,
    read_object,
    serving,
    stop_node,
)
from node.cli.stop import Stop
from node.config import check_keep, check_machine
from node.limits import KEEP_TEXTS_DAYS, PEER_PORT, WEB_PORT
from node.version import VERSION
from sync.decide.visible import visible_line

PORT: Final = click.IntRange(1, 65_535)
TOKEN_BYTES: Final = 32
OWN_NAMES: Final = frozenset(
    {"node.key", "node.lock", "node.log", "store.db", "blobs", "hooks", "lost+found"}
)
"""One of them in a folder shows that it is askmesh's, or an empty disk."""
SETTLE_S: Final = 5.0
"""A node that holds its directory is ready, or gone, within this time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """What `up` was told about the node; None where it was told nothing."""

    port: int | None
    web_port: int | None
    bind: str | None
    no_mdns: bool
    name: str | None
    keep_texts: int | None

    def named(self) -> dict[str, int | str]:
        """The options with a value that were given, by their names."""
        values = {
            "--port": self.port,
            "--web-port": self.web_port,
            "--bind": self.bind,
            "--name": self.name,
            "--keep-texts": self.keep_texts,
        }
        return {name: value for name, value in values.items() if value is not None}

    def arguments(self) -> list[str]:
        """The same words for the node's own command."""
        words = [word for name, value in self.named().items() for word in (name, str(value))]
        return words + (["--no-mdns"] if self.no_mdns else [])

    def other_than(self, running: Facts, settings: dict[str, Any]) -> list[str]:
        """The options given that the running node does not have, but for its name."""
        has = {
            "--port": running.port,
            "--web-port": running.web_port,
            "--bind": settings.get("bind"),
            "--name": self.name,
            "--keep-texts": settings.get("keep_texts", KEEP_TEXTS_DAYS),
        }
        differ = [f"{name} {value}" for name, value in self.named().items() if value != has[name]]
        if self.no_mdns and settings.get("mdns") is not False:
            differ.append("--no-mdns")
        return differ


@click.command()
@click.option(
    "--detach/--foreground", default=True, help="Run in the background (default), or stay."
)
@click.option("--port", type=PORT, metavar="P", help=f"Port for other nodes ({PEER_PORT}).")
@click.option("--web-port", type=PORT, metavar="W", help=f"Port of the page ({WEB_PORT}).")
@click.option("--bind", metavar="ADDR", help="Address for other nodes; the page is on loopback.")
@click.option("--no-mdns", is_flag=True, help="Do not announce or look for nodes near by.")
@click.option(
    "--name", metavar="N", help="Name of this machine, on the first start. Default: the host's."
)
@click.option(
    "--keep-texts",
    type=int,
    metavar="DAYS",
    help=f"Erase texts this long after an ask is over ({KEEP_TEXTS_DAYS}; 0: never).",
)
@click.option(
    "--first-sign-in",
    "link_file",
    metavar="FILE",
    help="First start only: put the sign-in link into this new file (mode 0600).",
)
@json_option
@pass_place
def up(
    place: Place,
    *,
    detach: bool,
    port: int | None,
    web_port: int | None,
    bind: str | None,
    no_mdns: bool,
    name: str | None,
    keep_texts: int | None,
    link_file: str | None,
    as_json: bool,
) -> None:
    """Start the node; the first time, begin a fleet and sign you in.

    The link for the first sign-in opens in your browser, or is shown in this
    terminal. While nobody has signed in, each start makes a new one.

    Example: askmesh up

    Example: askmesh up --web-port 8000 --name workshop
    """
    if keep_texts is not None:
        check_keep(keep_texts)
    if name is not None:
        name = check_machine(name)
    given = Given(
        port=port,
        web_port=web_port,
        bind=bind,
        no_mdns=no_mdns,
        name=name,
        keep_texts=keep_texts,
    )
    running = _settled(place.home)
    if running is not None:
        _say_running(place, running, given, link_file, as_json=as_json)
    else:
        _start(place, given, link_file, detach=detach, as_json=as_json)


@click.command()
@json_option
@pass_place
def down(place: Place, *, as_json: bool) -> None:
    """Stop the node. Open asks stay recorded and wait for the next start.

    Example: askmesh down
    """
    pid = lock_holder(place.home)
    if pid == 0:
        raise Stop(
            f"The data directory {place.home} is in use, but its lock does not say by whom.",
            hint="A node may just be starting: try again in a moment.",
        )
    if pid is not None:
        stop_node(place.home, pid)
    first_sign_in.remove_left_over(place.home)
    if as_json:
        print_json({"was_running": pid is not None, "pid": pid, "home": place.home})
    elif pid is None:
        click.echo(f"No node is running on {place.home}.")
    else:
        click.echo(f"The node (pid {pid}) has stopped.")


@click.command("open", short_help="Open the page, or print its address.")
@click.option("--print", "only_print", is_flag=True, help="Print the address, open nothing.")
@pass_place
def open_page(place: Place, *, only_print: bool) -> None:
    """Open the page in the browser; without a desktop, print its address.

    The address holds no sign-in: the page asks for your passphrase.

    Example: askmesh open
    """
    page = need_serving(place.home).page
    program = None if only_print else first_sign_in.opener(os.environ)
    if program is None or not first_sign_in.open_in_browser(page, program, os.environ):
        click.echo(page)
    else:
        click.echo(f"Opened {page}")


@click.command("_node", hidden=True)
@click.option("--home", required=True)
@click.option("--port", type=PORT)
@click.option("--web-port", type=PORT)
@click.option("--bind")
@click.option("--no-mdns", is_flag=True)
@click.option("--name")
@click.option("--keep-texts", type=int)
@click.option("--create", is_flag=True)
@click.option("--sign-in-fd", type=click.IntRange(min=3))
def run_node(**options: object) -> None:
    """Run the node in this process (`askmesh up` starts it).

    Example: askmesh up
    """
    from node.process import main

    raise SystemExit(main(options))


def _settled(home: str) -> Facts | None:
    """The facts of the running node, once a starting or stopping one has made up its mind."""
    until = time.monotonic() + SETTLE_S
    while lock_holder(home) is not None:
        found = serving(home)
        if found is not None:
            return found
        if time.monotonic() >= until:
            raise Stop(
                f"A node holds {home} but does not answer (pid {lock_holder(home)}).",
                hint="Stop it with `askmesh down`, then start again.",
            )
        time.sleep(0.05)
    return None


def _say_running(
    place: Place, running: Facts, given: Given, link_file: str | None, *, as_json: bool
) -> None:
    if link_file:
        raise Stop(
            "The node runs already; --first-sign-in is for the first start only.",
            hint=f"Sign in on {running.page}",
        )
    ignored = given.other_than(running, read_object(Path(place.home, "settings.json")))
    signed_in = has_person(running.web_port)
    renamed = _other_name(place, given)
    if as_json:
        names = [f"--name {given.name}"] if renamed else []
        print_json(_as_object(place, running, started=False) | {"ignored": ignored + names})
    else:
        click.echo(f"askmesh runs: {running.page}  (pid {running.pid}, data in {place.home})")
    if running.version != VERSION:
        click.echo(f"It still runs version {running.version}; this is {VERSION}.", err=True)
        click.echo("To change over: `askmesh down`, then `askmesh up`.", err=True)
    for option in ignored:
        click.echo(f"{option} is ignored: the running node keeps its own.", err=True)
    if ignored:
        click.echo("To change it: `askmesh down`, then `askmesh up` with it.", err=True)
    if renamed:
        click.echo(renamed, err=True)
    if not signed_in:
        click.echo(
            "Nobody has signed in yet. For a new sign-in link: `askmesh down`, then `askmesh up`.",
            err=True,
        )


def _start(
    place: Place, given: Given, link_file: str | None, *, detach: bool, as_json: bool
) -> None:
    create = not is_initialised(place.home)
    if link_file and not create:
        raise Stop(
            "A fleet was begun here before; --first-sign-in is for the first start only.",
            hint="Start with `askmesh up` alone: a desktop or a terminal shows the link.",
        )
    if create:
        check_free(place.home)
    Path(place.home).mkdir(mode=0o700, parents=True, exist_ok=True)
    first_sign_in.remove_left_over(place.home)
    link = first_sign_in.LinkFile(link_file) if link_file else None
    token = secrets.token_urlsafe(TOKEN_BYTES)
    arguments = given.arguments() + (["--create"] if create else [])
    try:
        launch = Launch(place.home, arguments, token, detached=detach)
        running = launch.wait()
    except BaseException:
        if link is not None:
            link.discard()
        raise
    renamed = "" if create else _other_name(place, given)
    if as_json:
        ignored = [f"--name {given.name}"] if renamed else []
        print_json(
            _as_object(place, running, started=True) | {"created": create, "ignored": ignored}
        )
    else:
        begun = "A new fleet was begun" if create else "askmesh runs"
        click.echo(f"{begun}: {running.page}  (pid {running.pid}, data in {place.home})")
    if renamed:
        click.echo(renamed, err=True)
    _show_link(place.home, running, token, link)
    if not detach:
        raise SystemExit(launch.stay())


def _other_name(place: Place, given: Given) -> str:
    """What to say where a name was given that this machine does not have; "": nothing.

    Its name is known on every machine, so a person changes it, and not who starts it.
    """
    if given.name is None:
        return ""
    now = str(place.node()["machine"]["name"])
    if now == given.name:
        return ""
    return (
        f"This machine is called {visible_line(now)}; --name counts on the first start only.\n"
        f"To rename it, everywhere: askmesh node rename {shlex.quote(given.name)}"
    )


def check_free(home: str) -> None:
    """Raise `Stop` where a fleet would be begun among somebody's other files.

    The folder would be closed to other users: of a home or a project that is damage. What
    a killed first start, an installed hook or a file system of its own left is no obstacle.
    """
    hint = "Name an empty or a new folder: `askmesh --home DIR up`, or ASKMESH_HOME."
    folder = Path(home)
    if folder.exists() and not folder.is_dir():
        raise Stop(f"{home} is a file, not a folder, so no data can lie in it.", hint=hint)
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if names and not names & OWN_NAMES:
        raise Stop(
            f"{home} holds other things (such as {min(names)}) and no askmesh data;"
            " nothing was changed.",
            hint=hint,
        )


def _as_object(place: Place, running: Facts, *, started: bool) -> dict[str, Any]:
    return {
        "started": started,
        "pid": running.pid,
        "page": running.page,
        "port": running.port,
        "web_port": running.web_port,
        "version": running.version,
        "home": place.home,
    }


def _show_link(
    home: str, running: Facts, token: str, file: "first_sign_in.LinkFile | None"
) -> None:
    """Show the sign-in link where a person is, unless somebody has signed in before."""
    if has_person(running.web_port):
        if file is not None:
            file.discard()
        return
    link = first_sign_in.sign_in_link(running.page, token)
    if file is not None:
        file.write(link)
        click.echo(f"The link for the first sign-in is in {file.path}.", err=True)
        return
    terminal = first_sign_in.terminal_path()
    program = first_sign_in.opener(os.environ)
    if program and first_sign_in.show_in_browser(home, link, program, os.environ):
        if terminal and _wanted_here(terminal, home, running):
            first_sign_in.show_on_terminal(link, terminal)
    elif terminal:
        first_sign_in.show_on_terminal(link, terminal)
    else:
        click.echo(
            "The link for the first sign-in could not be shown: there is no desktop and no"
            " terminal here. Until someone signs in, asks are kept and nobody can answer them."
            "\n  In a terminal, run `askmesh down`, then `askmesh up`.",
            err=True,
        )


def _wanted_here(terminal: str, home: str, running: Facts) -> bool:
    def settled() -> bool:
        return not answers(home) or facts(home) != running or has_person(running.web_port)

    try:
        return first_sign_in.wait_for_opening(terminal, until=settled)
    except KeyboardInterrupt:
        return False
