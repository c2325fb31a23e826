"""The people of the fleet: `people list`, `invite`, `role`, `remove`, `speaks-for`, `agree`."""

from typing import Any

import click

from node.cli.fleet_text import named
from node.cli.node_pair import show_and_wait, withdrawn
from node.cli.output import json_option, print_json, print_table
from node.cli.page import Page
from node.cli.place import Place, pass_place
from node.cli.stop import KEPT, Stop
from node.cli.terminal import Terminal, signed_in
from node.cli.whose import (
    ASK_OWNER,
    assign_to,
    called,
    check_removable,
    check_role,
    check_typed,
    find_person,
    member,
    with_article,
)
from sync.decide.name import checked
from sync.decide.visible import visible_line

ROLES = ("owner", "admin", "member", "viewer")
HEADS = ("NAME", "ROLE", "ID", "MACHINES", "NOTE")
MEANING = {
    "owner": "an owner may do everything, also remove you",
    "admin": "an admin may apply rules, pair and remove machines, and invite members",
    "member": "a member may answer what no role guards",
    "viewer": "a viewer sees and answers nothing",
}


@click.group(short_help="Invite, change and remove people.")
def people() -> None:
    """Who may see and answer. Needs a terminal and your passphrase.

    Example: askmesh people list
    """


@people.command("list")
@json_option
@pass_place
def list_people(place: Place, *, as_json: bool) -> None:
    """List everyone, what waits for a consent, and who is invited.

    Example: askmesh people list
    """
    with Terminal() as terminal, signed_in(place, terminal) as page:
        found = page.get("people")
    if as_json:
        print_json(found)
        return
    print_table(HEADS, [_row(one) for one in found["people"]], wide=len(HEADS) - 1)
    for line in [*map(_consent, found["consents"]), *map(_invitation, found["invitations"])]:
        click.echo(visible_line(line))


@people.command(short_help="Invite someone, here or with a new machine.")
@click.argument("name", required=False)
@click.option("--role", type=click.Choice(ROLES), default="member", show_default=True)
@click.option("--new-machine", is_flag=True, help="Show a code for a machine that is to be theirs.")
@click.option("--withdraw", metavar="ID", help="Take back an invitation that `list` shows.")
@click.option("--yes", is_flag=True, help="Do it without asking y/N.")
@json_option
@pass_place
def invite(
    place: Place,
    *,
    name: str | None,
    role: str,
    new_machine: bool,
    withdraw: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Invite someone new. The code is shown on this terminal only, once.

    They open this machine's page within half an hour, type the code and choose a
    passphrase. With --new-machine the code lets their own machine in instead. Owners
    invite anyone, admins members and viewers.

    Example: askmesh people invite Bob --role member

    Example: askmesh people invite Bob --new-machine
    """
    if (name is None) == (withdraw is None):
        raise click.UsageError("Give a name, or --withdraw with an invitation's ID.")
    with Terminal() as terminal:
        name = None if name is None else checked("name", name)
        with signed_in(place, terminal) as page:
            if withdraw is not None:
                found = page.delete("invitations", withdraw)
                _report(found, "The invitation is taken back.", as_json=as_json)
                return
            _check_invited(page.get("people"), str(name), role)
            terminal.show(["", f"{name} becomes {with_article(role)}: {MEANING[role]}.", ""])
            _confirm(terminal, "Invite?", yes=yes)
            body = {"name": name, "role": role, "where": "machine" if new_machine else "here"}
            if not new_machine:
                made = page.post("invitations", body=body)
                terminal.show(["", f"Code: {visible_line(made['code'])}", ""])
                _told(made, as_json=as_json)
                return
            with withdrawn(page):
                made = page.post("invitations", body=body)
                # The code is for this terminal; what goes to a program has none.
                show_and_wait(place, terminal, page, made["pairing"])
            _told(made, as_json=as_json)


def _check_invited(found: dict[str, Any], name: str, role: str) -> None:
    """Raise `Stop` or what `checked` does for who cannot be invited by this person, or so."""
    checked("name", name, taken=[one["name"] for one in found["people"] if not one["ended"]])
    if role not in found["may_invite"]:
        raise Stop(
            "Only an owner may make owners and admins, or change them."
            if found["may_invite"]
            else "Only an owner or an admin may do this.",
            hint=ASK_OWNER,
            code="not_allowed",
        )


@people.command(short_help="Say what someone is.")
@click.argument("name")
@click.argument("role", type=click.Choice(ROLES))
@click.option("--yes", is_flag=True, help="Do it without asking y/N.")
@json_option
@pass_place
def role(place: Place, *, name: str, role: str, yes: bool, as_json: bool) -> None:
    """Make someone an owner, admin, member or viewer; settles changes made at once.

    The last owner stays one. For owners; admins change members and viewers.

    Example: askmesh people role Bob admin
    """
    check_typed("person", name)
    with Terminal() as terminal, signed_in(place, terminal) as page:
        found = page.get("people")
        person = find_person(found["people"], name)
        who = called(person, found["people"], name)
        check_role(found, person, who, role)
        becomes = f"{who}, {with_article(person['role'])}, becomes {with_article(role)}"
        terminal.show(["", f"{becomes}: {MEANING[role]}.", ""])
        _confirm(terminal, "Say so?", yes=yes)
        found = page.put("people", person["id"], "role", body={"role": role})
    _report(found, f"{who} is {with_article(role)} now.", as_json=as_json)


@people.command(short_help="Remove someone.")
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do it without asking y/N.")
@json_option
@pass_place
def remove(place: Place, *, name: str, yes: bool, as_json: bool) -> None:
    """Remove someone: signed out everywhere, and no vote of theirs counts any more.

    Their machines stay in the fleet; `askmesh node remove` takes those out. For owners.

    Example: askmesh people remove Bob
    """
    check_typed("person", name)
    with Terminal() as terminal, signed_in(place, terminal) as page:
        found = page.get("people")
        person = find_person(found["people"], name)
        who = called(person, found["people"], name)
        check_removable(found, person, who)
        terminal.show(_removal(who, person))
        _confirm(terminal, f"Remove {who}?", yes=yes)
        found = page.delete("people", person["id"])
    _report(found, f"{who} is removed.", as_json=as_json)


def _removal(who: str, person: dict[str, Any]) -> list[str]:
    """What removing means."""
    theirs = visible_line(", ".join(one["name"] for one in person["machines"]))
    stay = f"Their machines ({theirs}) stay" if theirs else f"Machines of {who} stay"
    return [
        "",
        f"{who}, {with_article(person['role'])}, is signed out on every machine, and votes that",
        "are not final yet count no more.",
        f"{stay} in the fleet and go on reading: remove a lost or hostile",
        "one as well, by `askmesh node remove`.",
        "",
    ]


@people.command("speaks-for", short_help="Say whose machine it is, or no longer is.")
@click.argument("machine")
@click.argument("person")
@click.option("--end", is_flag=True, help="It is theirs no longer.")
@click.option("--yes", is_flag=True, help="Do it without asking y/N.")
@json_option
@pass_place
def speaks_for(
    place: Place, *, machine: str, person: str, end: bool, yes: bool, as_json: bool
) -> None:
    """Say that MACHINE is PERSON's: what they answer there, once signed in, counts.

    Somebody who has a machine already must agree from it: askmesh people agree. Until
    then it waits, and this ends with 4. For owners.

    Example: askmesh people speaks-for studio Bob
    """
    check_typed("person", person)
    with Terminal() as terminal:
        box = member(place, machine)
        with signed_in(place, terminal) as page:
            if end:
                found, sentence = _release(terminal, page, box, person, yes=yes)
                waits = None
            else:
                _, found, sentence, waits = assign_to(terminal, page, box, person, yes=yes)
    _report(found if end else found | {"waits": waits}, sentence, as_json=as_json)
    if waits is not None:
        click.get_current_context().exit(KEPT)


def _release(
    terminal: Terminal, page: Page, machine: dict[str, Any], typed: str, *, yes: bool
) -> tuple[dict[str, Any], str]:
    """Say that a machine is somebody's no longer: the people then, and the sentence for it."""
    found = page.get("people")
    person = find_person(found["people"], typed)
    who, box = called(person, found["people"], typed), named(machine)
    node = machine["machine"]["id"]
    waits = [(one["machine"]["id"], one["person"]) for one in found["consents"]]
    if node not in [one["id"] for one in person["machines"]] and (node, person["id"]) not in waits:
        raise Stop(f"{box} does not speak for {who}.", code="conflict")
    terminal.show(["", f"{box} is no longer a machine of {who}.", ""])
    _confirm(terminal, "Say so?", yes=yes)
    found = page.delete("machines", node, "person", body={"person": person["id"]})
    return found, f"{box} speaks for {who} no longer."


@people.command(short_help="Agree to a machine that is said to be yours.")
@click.argument("machine")
@click.option("--refuse", is_flag=True, help="It is not yours.")
@json_option
@pass_place
def agree(place: Place, *, machine: str, refuse: bool, as_json: bool) -> None:
    """Agree that MACHINE is yours, as an owner said; or refuse it.

    Whoever controls that machine can then answer in your name.

    Example: askmesh people agree studio
    """
    with Terminal() as terminal:
        box = member(place, machine)
        with signed_in(place, terminal) as page:
            path = ("machines", box["machine"]["id"], "consent")
            found = page.put(*path, body={"accept": not refuse})
    shown = named(box)
    sentence = f"{shown} is not yours." if refuse else f"{shown} speaks for you now."
    _report(found, sentence, as_json=as_json)


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    notes = []
    if one["ended"]:
        notes.append("removed")
    elif not one["machines"]:
        notes.append("no machine: an owner has to say which is theirs")
    if one["split"]:
        notes.append("changed by several at once: say the role again to settle it")
    machines = ", ".join(machine["name"] for machine in one["machines"])
    name = f"{one['name']}{' (you)' if one['you'] else ''}"
    return name, one["role"], one["id"], machines, "; ".join(notes)


def _consent(one: dict[str, Any]) -> str:
    machine, short = one["machine"]["name"], one["machine"]["short"]
    if one["yours"]:
        return (
            f"{one['by']} says that {machine} is yours. If so: askmesh people agree {short};"
            f" if not: askmesh people agree {short} --refuse"
        )
    return f"{machine} waits for {one['name']} to agree that it is theirs."


def _invitation(one: dict[str, Any]) -> str:
    return f"{one['by']} invited {one['name']} ({one['role']}); invitation {one['id']}"


def _confirm(terminal: Terminal, prompt: str, *, yes: bool) -> None:
    if not yes:
        terminal.confirm(prompt)


def _told(made: dict[str, Any], *, as_json: bool) -> None:
    """What to do next; the code was for the terminal alone."""
    if as_json:
        print_json({name: made[name] for name in made if name not in {"code", "pairing"}})
    else:
        click.echo(visible_line(made["sentence"]))


def _report(found: dict[str, Any], sentence: str, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        click.echo(sentence)
