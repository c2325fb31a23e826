"""Whom a command means, and what can be seen to be refused before anything is confirmed.

`people` is what `GET /api/people` replies. What these let through the node judges anew.
"""

from typing import Any, Final

from node.cli.fleet_text import find_machine, fleet_of, named
from node.cli.page import Page
from node.cli.place import Place
from node.cli.stop import Stop
from node.cli.terminal import Terminal
from sync.decide.name import is_called, looks_like
from sync.decide.visible import first_hidden, quoted, visible_line

ASK_OWNER: Final = "Ask an owner of the fleet."
LAST_OWNER: Final = (
    "Make someone else an owner first, with a machine of their own: askmesh people role NAME owner"
)


def check_typed(what: str, typed: str) -> None:
    """Raise `Stop` where nobody and nothing was named."""
    if not typed.strip():
        raise Stop(f"No {what} was named.", hint="", code="invalid")


def find_person(people: list[dict[str, Any]], typed: str) -> dict[str, Any]:
    """The living person of this id, else of this name. Raises `Stop` for none or several."""
    living = [one for one in people if not one.get("ended")]
    text = typed.strip()
    found = [one for one in living if one["id"] == text]
    found = found or [one for one in living if is_called(text, one["name"])]
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(f"{visible_line(one['name'])} ({one['id']})" for one in found)
        raise Stop(f"{quoted(text)} names several people: {several}.", hint="Use the id.")
    names = ", ".join(visible_line(one["name"]) for one in living)
    raise Stop(
        f"There is no person {quoted(text)}.", hint=f"In this fleet: {names}.", code="not_found"
    )


def called(person: dict[str, Any], people: list[dict[str, Any]], typed: str = "") -> str:
    """A person by name; with the id too where the name alone does not say who it is."""
    name, others = person["name"], [one for one in people if one["id"] != person["id"]]
    alike = any(not one.get("ended") and looks_like(name, one["name"]) for one in others)
    plain = name.strip() and first_hidden(name) is None and not alike
    shown = visible_line(name)
    return shown if plain and typed.strip() != person["id"] else f"{shown} ({person['id']})"


def check_role(found: dict[str, Any], person: dict[str, Any], who: str, role: str) -> None:
    """Raise `Stop` for a role this person has already, or may not be given by who asks."""
    if person["role"] == role and not person["split"]:
        raise Stop(f"{who} is {with_article(role)} already.", code="conflict")
    if role in person["roles"]:
        return
    if person["last_owner"]:
        raise _only_owner(who)
    sentence = "Only an owner may make owners and admins, or change them."
    raise Stop(
        sentence if found["may_invite"] else "Only an owner or an admin may do this.",
        hint=ASK_OWNER,
        code="not_allowed",
    )


def check_removable(found: dict[str, Any], person: dict[str, Any], who: str) -> None:
    """Raise `Stop` for the last owner, and for who may remove nobody."""
    check_owner(found)
    if not person["removable"]:
        raise _only_owner(who)


def check_owner(found: dict[str, Any]) -> None:
    """Raise `Stop` for what only owners may do."""
    if not found["owner"]:
        raise Stop("Only an owner may do this.", hint=ASK_OWNER, code="not_allowed")


def _only_owner(who: str) -> Stop:
    return Stop(
        f"{who} is the only owner who has a machine, and a fleet needs one.",
        hint=LAST_OWNER,
        code="conflict",
    )


def with_article(role: str) -> str:
    """A role with its article."""
    return f"{'an' if role[0] in 'aeiou' else 'a'} {role}"


# --- whose machine ------------------------------------------------------------------------


def member(place: Place, typed: str) -> dict[str, Any]:
    """The machine of the fleet that is meant. Raises `Stop`, for a removed one too."""
    machine = find_machine(fleet_of(place.node()), typed)
    if machine["state"] == "removed":
        raise Stop(f"{named(machine)} was removed from the fleet.", code="not_allowed")
    return machine


def assign_to(
    terminal: Terminal, page: Page, machine: dict[str, Any], typed: str, *, yes: bool
) -> tuple[dict[str, Any], dict[str, Any], str, dict[str, Any] | None]:
    """Say that a machine is somebody's: the fleet, the people, the sentence for it, what waits.

    Raises `Stop` for what is certain to be refused, and where it is not confirmed.
    """
    node, box = machine["machine"]["id"], named(machine)
    found = page.get("people")
    check_owner(found)
    person = find_person(found["people"], typed)
    who = called(person, found["people"], typed)
    if node in [one["id"] for one in person["machines"]]:
        raise Stop(f"{box} speaks for {who} already.", code="conflict")
    waiting = _waits(found, node, person["id"])
    if waiting is not None:
        raise Stop(f"{box} waits for {who} to agree already.", hint=_how(waiting, person))
    lines = ["", f"{box} becomes a machine of {who}:"]
    lines += ["what they answer there, once signed in, will count."]
    if person["machines"]:
        lines += [f"{who} has a machine already, so they have to agree first."]
    terminal.show([*lines, ""])
    if not yes:
        terminal.confirm("Say so?")
    fleet = page.put("machines", node, "person", body={"person": person["id"]})
    found = page.get("people")
    waits = _waits(found, node, person["id"])
    if waits is None:
        sentence = (
            f"{box} speaks for {who} now. To sign in there, open its page and type"
            "\nthe six digits it shows where they are signed in already."
        )
    else:
        sentence = f"{box} is not {who}'s yet: it waits for {who} to agree.\n{_how(waits, person)}"
    return fleet, found, sentence, waits


def _waits(found: dict[str, Any], node: str, person: str) -> dict[str, Any] | None:
    return next(
        (
            one
            for one in found["consents"]
            if (one["machine"]["id"], one["person"]) == (node, person)
        ),
        None,
    )


def _how(waits: dict[str, Any], person: dict[str, Any]) -> str:
    """How somebody agrees, and where they can."""
    where = " or ".join(visible_line(one["name"]) for one in person["machines"])
    return (
        f"They agree on {where or 'a machine they have'}, on the page (People) or by:"
        f" askmesh people agree {waits['machine']['short']}"
    )
