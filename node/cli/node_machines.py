"""The machines one by one: `node list`, `assign`, `remove`, `leave`, `address`."""

import contextlib
from typing import Any

import click

from node.cli.fleet_text import fleet_of, named, print_machines
from node.cli.node_join import check_allowed
from node.cli.output import json_option, print_json
from node.cli.place import Place, pass_place
from node.cli.stop import KEPT, Stop
from node.cli.terminal import Terminal, signed_in
from node.cli.whose import assign_to, check_typed, member
from node.fleet.addresses import parse
from sync.decide.name import checked
from sync.decide.visible import visible_line


@click.command("list")
@json_option
@pass_place
def list_machines(place: Place, *, as_json: bool) -> None:
    """List the machines of the fleet, as this one sees them.

    Example: askmesh node list
    """
    node = place.node()
    fleet = fleet_of(node)
    if as_json:
        print_json({"fleet": fleet, "now": node["now"]})
    else:
        print_machines(fleet, node["now"])


@click.command(short_help="Say whose machine it is.")
@click.argument("name")
@click.argument("person")
@click.option("--yes", is_flag=True, help="Do it without asking y/N.")
@json_option
@pass_place
def assign(place: Place, *, name: str, person: str, yes: bool, as_json: bool) -> None:
    """Say whose machine it is: what PERSON answers there will count. For owners.

    NAME is the machine's name or id; PERSON is a name or an id. Somebody who has a
    machine already has to agree from it: askmesh people agree. Until then it waits, and
    this ends with 4.

    Example: askmesh node assign studio Ann
    """
    with Terminal() as terminal:
        check_typed("person", person)
        machine = member(place, name)
        with signed_in(place, terminal) as page:
            fleet, _, sentence, waits = assign_to(terminal, page, machine, person, yes=yes)
    if as_json:
        print_json({"fleet": fleet, "waits": waits})
    else:
        click.echo(sentence)
    if waits is not None:
        click.get_current_context().exit(KEPT)


@click.command(short_help="Give this machine another name.")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do it without asking y/N.")
@json_option
@pass_place
def rename(place: Place, *, name: str, yes: bool, as_json: bool) -> None:
    """Call this machine NAME from now on, on every machine of the fleet.

    For whoever's machine it is. Its ids stay; agents address it by the new name. Another
    machine is renamed on itself.

    Example: askmesh node rename workshop
    """
    with Terminal() as terminal:
        machines = fleet_of(place.node())["machines"]
        here = next(one for one in machines if one["here"])
        others = [one for one in machines if not one["here"] and one["state"] != "removed"]
        name = checked("machine's name", name, taken=[one["machine"]["name"] for one in others])
        if name == here["machine"]["name"]:
            raise Stop(f"This machine is called {name} already.", code="conflict")
        with signed_in(place, terminal) as page:
            terminal.show(["", f"{named(here)} is called {name} from now on, everywhere.", ""])
            _confirm(terminal, "Rename it?", yes=yes)
            fleet = page.put("machines", here["machine"]["id"], "name", body={"name": name})
    _report(fleet, f"This machine is called {name} now.", as_json=as_json)


@click.command(short_help="Remove a machine for good.")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do it without asking for its name again.")
@json_option
@pass_place
def remove(place: Place, *, name: str, yes: bool, as_json: bool) -> None:
    """Remove a machine from the fleet, for good: a lost, sold or hostile one.

    Says what that means and asks you to type its name. For owners and admins.

    Example: askmesh node remove old-laptop
    """
    with Terminal() as terminal:
        machine = member(place, name)
        if machine["here"]:
            raise Stop(
                "A machine cannot remove itself.",
                hint="To take it out of the fleet, run: askmesh node leave",
                code="not_allowed",
            )
        terminal.show(_removal(machine))
        if not yes:
            _type_name(terminal, machine)
        with signed_in(place, terminal) as page:
            fleet = page.delete("machines", machine["machine"]["id"])
    _report(fleet, f"{named(machine)} is removed.", as_json=as_json)


@click.command(short_help="Take this machine out of its fleet.")
@click.option("--yes", is_flag=True, help="Do it without asking y/N.")
@json_option
@pass_place
def leave(place: Place, *, yes: bool, as_json: bool) -> None:
    """Leave: this machine becomes a fleet of its own again. For owners.

    Says what will happen and asks y/N. The recovery words of the new fleet are shown on
    the terminal, once.

    Example: askmesh node leave
    """
    with Terminal() as terminal, signed_in(place, terminal) as page:
        consequences = page.get("leaving")
        check_allowed(consequences)
        lines = [f"- {visible_line(line)}" for line in consequences["sentences"]]
        terminal.show(["", *lines, ""])
        _confirm(terminal, "Leave the fleet?", yes=yes)
        left = page.post("leaving", body={})
        if left["recovery_words"]:
            show_words(terminal, left["recovery_words"])
    _report(left["fleet"], "This machine has left; it is a fleet of its own now.", as_json=as_json)


def show_words(terminal: Terminal, words: list[str]) -> None:
    """Show the words that get a lost fleet back; never on standard output or in JSON."""
    numbered = [f"{number:>4}. {visible_line(word)}" for number, word in enumerate(words, 1)]
    terminal.show(
        [
            "",
            "Recovery words of this machine's new fleet. They are shown this once:",
            "",
            *numbered,
            "",
            "Write them down on paper and keep them away from this machine. Whoever has them",
            "can sign in as you: clear this window afterwards.",
        ]
    )
    with contextlib.suppress(Stop):  # the terminal was closed, and the machine has left by now
        terminal.ask("Enter when they are written down:")


@click.group(short_help="Give or take back a machine's address.")
def address() -> None:
    """Addresses of machines that do not find each other. Need your passphrase.

    Whoever answers there must still prove to be that machine.

    Example: askmesh node address add studio 100.64.0.7:7717
    """


@address.command(short_help="Give an address of a machine.")
@click.argument("name")
@click.argument("where", metavar="HOST:PORT")
@json_option
@pass_place
def add(place: Place, *, name: str, where: str, as_json: bool) -> None:
    """Say where a machine can be reached; it is tried from now on.

    Example: askmesh node address add studio 100.64.0.7:7717
    """
    with Terminal() as terminal:
        machine = member(place, name)
        parse(where)
        with signed_in(place, terminal) as page:
            path = ("machines", machine["machine"]["id"], "addresses")
            fleet = page.post(*path, body={"address": where})
    _report(fleet, f"{named(machine)} is tried at {visible_line(where)}, too.", as_json=as_json)


@address.command(short_help="Take a given address back.")
@click.argument("name")
@click.argument("where", metavar="HOST:PORT")
@json_option
@pass_place
def drop(place: Place, *, name: str, where: str, as_json: bool) -> None:
    """Take an address of a machine back. A link that lives is not cut.

    Example: askmesh node address drop studio 100.64.0.7:7717
    """
    with Terminal() as terminal:
        machine = member(place, name)
        parse(where)
        with signed_in(place, terminal) as page:
            path = ("machines", machine["machine"]["id"], "addresses")
            fleet = page.delete(*path, body={"address": where})
    _report(fleet, f"{visible_line(where)} is no address of {named(machine)} now.", as_json=as_json)


def _removal(machine: dict[str, Any]) -> list[str]:
    """What removing means."""
    persons = visible_line(", ".join(machine["persons"]))
    lines = [
        f"Removing {named(machine)}:",
        "- its links are cut at once, and no machine of the fleet takes anything from it;",
        "- open asks of its agents end here: they show 'machine removed';",
        "- it keeps what it has received so far;",
        "- this is for good: with this key it never comes back, not even by pairing it again.",
    ]
    if persons:
        lines.append(f"- {persons} can no longer answer from it.")
    return ["", *lines, ""]


def _type_name(terminal: Terminal, machine: dict[str, Any]) -> None:
    name = visible_line(machine["machine"]["name"])
    typed = terminal.ask(f"Type its name ({name}) to remove it:").strip()
    if typed.casefold() != name.casefold():
        raise Stop("That is not its name, so nothing was done.", code="not_confirmed")


def _confirm(terminal: Terminal, prompt: str, *, yes: bool) -> None:
    if not yes:
        terminal.confirm(prompt)


def _report(fleet: dict[str, Any], sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"fleet": fleet})
    else:
        click.echo(sentence)
