"""How accounts stand: `standing show`, `set`, `sign`, `send`, and the operators who may say it."""

import json
from pathlib import Path
from typing import Any, Final

import click

from node.cli.output import json_option, print_json, print_table, print_wrapped
from node.cli.page import Page
from node.cli.place import Place, pass_place
from node.cli.running import need_serving
from node.cli.stop import Stop
from node.cli.terminal import Terminal, signed_in
from node.cli.whose import called, check_owner, check_typed, find_person
from sync.decide.name import checked, is_called
from sync.decide.standing import check_words, in_words
from sync.decide.visible import quoted, visible_line

KEY_FILE: Final = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)
LEVELS: Final = click.Choice(["active", "grace", "on-hold", "suspended"])
HEADS: Final = ("ACCOUNT", "STANDING", "SAID BY", "SERIAL", "WHY")
OPERATOR_HEADS: Final = ("NAME", "COUNTS", "REGISTERED BY", "KEY")
SIGNED_BYTES: Final = 16 * 1024
"""A signed word has at most 6 KiB."""
POWER: Final = (
    "{name} will be able to hold back every answer of this fleet, yours too; while it does, nobody"
    " here can take that away."
)
HELD: Final = {
    "active": "Answers of {name} count, as far as no operator says otherwise.",
    "grace": "{name} sees a banner; answers go on counting.",
    "on-hold": "Every answer of {name} will be refused, and no allow of {name} is handed over.",
    "suspended": "Every answer of {name} will be refused, and nothing is offered to settle it.",
}


@click.group(short_help="Show and say how accounts stand.")
def standing() -> None:
    """How the account of everyone, or of one person, stands: active, grace, on hold, suspended.

    On hold and suspended mean that no answer counts. An owner says it of another person;
    an outside billing or audit system says it with a key that an owner registered.

    Example: askmesh standing show
    """


@standing.command(short_help="Show how accounts stand.")
@click.option("--details", is_flag=True, help="Who said it and why. Needs your passphrase.")
@json_option
@pass_place
def show(place: Place, *, details: bool, as_json: bool) -> None:
    """Show how the account of everyone stands; with --details what is said of persons too.

    Example: askmesh standing show --details
    """
    if not details:
        node = place.node()
        account = node.get("account")
        if as_json:
            print_json({"fleet": node["fleet"]["fleet"], "account": account})
        else:
            click.echo(_sentence(account))
        return
    with Terminal() as terminal, signed_in(place, terminal) as page:
        view = page.get("standing")
    _print(view, as_json=as_json)


@standing.command("set", short_help="Say how another person's account stands.")
@click.argument("person", metavar="PERSON")
@click.argument("level", metavar="STANDING", type=LEVELS)
@click.option("--remedy", metavar="URL", help="An https link to where it is settled.")
@click.option("--reason", metavar="T", default="", help="Why; owners, admins and the log have it.")
@json_option
@pass_place
def set_(
    place: Place, *, person: str, level: str, remedy: str | None, reason: str, as_json: bool
) -> None:
    """Say how the account of another person stands. For owners; needs your passphrase.

    PERSON is a name or an id; STANDING is active, grace, on-hold or suspended.

    Example: askmesh standing set bob on-hold --reason "left the team"
    """
    check_typed("person", person)
    check_words(_word(level), remedy, reason)
    body = {"standing": _word(level), "remedy": remedy, "reason": reason}
    with Terminal() as terminal, signed_in(place, terminal) as page:
        found = page.get("people")
        check_owner(found)
        about = find_person(found["people"], person)
        if about["you"]:
            raise Stop(
                "Nobody says how his own account stands.",
                hint="Another owner can.",
                code="not_allowed",
            )
        who = called(about, found["people"], person)
        terminal.show([HELD[level].format(name=who)])
        terminal.confirm(f"Say that the account of {who} is {in_words(_word(level))}?")
        view = page.put("standing", body=body | {"person": about["id"]})
    _print(view, as_json=as_json)


@standing.command(short_help="Sign a word as an operator. Needs no node.")
@click.argument("level", metavar="STANDING", type=LEVELS)
@click.option("--key", type=KEY_FILE, required=True, help="The operator's private key, PEM.")
@click.option("--fleet", metavar="HEX", required=True, help="The fleet's id (`standing show`).")
@click.option("--person", metavar="ID", help="A person's id. Default: everyone.")
@click.option("--remedy", metavar="URL", help="An https link to where it is settled.")
@click.option("--reason", metavar="T", default="", help="Why; owners and admins are shown it.")
@click.option("--serial", type=int, metavar="N", help="Above the last one. Default: the time.")
def sign(
    *,
    level: str,
    key: Path,
    fleet: str,
    person: str | None,
    remedy: str | None,
    reason: str,
    serial: int | None,
) -> None:
    """Sign how an account stands, offline, and print it as JSON for `standing send`.

    For outside systems that cannot sign themselves. The serial must rise from word to word;
    without --serial it is the time in milliseconds.

    Example: askmesh standing sign on-hold --key operator.key --fleet 5f…c1 > word.json
    """
    from node.cli import standing_keys
    from sync.decide.word import Word

    now = standing_keys.now_ms()
    said = Word(
        fleet=fleet.strip().lower(),
        standing=_word(level),
        serial=now if serial is None else serial,
        at=now,
        person=person,
        remedy=remedy,
        reason=reason,
    )
    print_json(standing_keys.signed(standing_keys.private_key(key), said))


@standing.command(short_help="Bring an operator's signed word.")
@click.argument("file", type=click.File("rb"), default="-")
@json_option
@pass_place
def send(place: Place, *, file: Any, as_json: bool) -> None:  # noqa: ANN401 -- a stream
    """Bring a word that an operator signed to the node; without FILE it is read from stdin.

    Nobody needs to be signed in: the signature is all that counts.

    Example: askmesh standing send word.json
    """
    content = file.read(SIGNED_BYTES)
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise Stop("This is no signed word.", hint="See: askmesh standing sign --help")
    taken = Page(need_serving(place.home).web_port).post("standing", "word", body=body)
    if as_json:
        print_json(taken)
    elif taken["state"] == "known":
        click.echo(f"Known already: serial {taken['serial']}.")
    else:
        click.echo(f"Recorded: serial {taken['serial']}.")


@standing.group(short_help="Who outside may say how accounts stand.")
def operator() -> None:
    """The outside systems that may say how accounts stand. For owners.

    Example: askmesh standing operator list
    """


@operator.command("add", short_help="Register an operator's public key.")
@click.argument("name")
@click.argument("key", metavar="KEYFILE", type=KEY_FILE)
@json_option
@pass_place
def add(place: Place, *, name: str, key: Path, as_json: bool) -> None:
    """Let the holder of a key say how accounts stand, yours among them.

    KEYFILE holds its public Ed25519 key: PEM, or 32 bytes in base64.

    Example: askmesh standing operator add billing operator.pub
    """
    from base64 import b64encode

    from node.cli.standing_keys import public_key

    name = checked("operator's name", name)
    raw = public_key(key)
    body = {"name": name, "key": b64encode(raw).decode()}
    with Terminal() as terminal, signed_in(place, terminal) as page:
        check_owner(page.get("people"))
        others = [
            one["name"]
            for one in page.get("standing")["operators"]
            if one["live"] and one["id"] != raw.hex()
        ]
        checked("operator's name", name, taken=others)
        terminal.show([POWER.format(name=name)])
        terminal.confirm("Register it?")
        view = page.post("standing", "operators", body=body)
    _print_operators(view, as_json=as_json)


@operator.command("remove", short_help="Let an operator say nothing any more.")
@click.argument("name")
@json_option
@pass_place
def remove(place: Place, *, name: str, as_json: bool) -> None:
    """Let an operator, by its name or key, say nothing any more. What it said ends with it.

    Example: askmesh standing operator remove billing
    """
    check_typed("operator", name)
    with Terminal() as terminal, signed_in(place, terminal) as page:
        check_owner(page.get("people"))
        live = [one for one in page.get("standing")["operators"] if one["live"]]
        found = [one for one in live if one["id"] == name.strip().lower()]
        found = found or [one for one in live if is_called(name, one["name"])]
        if len(found) != 1:
            several = "Several operators are" if found else "No operator is"
            raise Stop(
                f"{several} called {quoted(name)}.",
                hint="Name it by its key: askmesh standing operator list",
            )
        who = f"{visible_line(found[0]['name'])} (key {found[0]['id'][:8]}…)"
        terminal.confirm(f"Let {who} say nothing any more?")
        view = page.delete("standing", "operators", found[0]["id"])
    _print_operators(view, as_json=as_json)


@operator.command("list", short_help="List the operators.")
@json_option
@pass_place
def list_operators(place: Place, *, as_json: bool) -> None:
    """List the outside systems that may say how accounts stand, removed ones too.

    Example: askmesh standing operator list
    """
    with Terminal() as terminal, signed_in(place, terminal) as page:
        view = page.get("standing")
    _print_operators(view, as_json=as_json)


def _word(level: str) -> str:
    return level.replace("-", "_")


def _sentence(account: dict[str, Any] | None) -> str:
    return "Active: everything is as usual." if account is None else str(account["sentence"])


def _print(view: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(view)
        return
    banner = view["banner"]
    click.echo(_sentence(banner))
    for name in ("reason", "fixed_by", "remedy"):
        if banner and banner[name]:
            print_wrapped("  ", banner[name])
    if view["accounts"]:
        click.echo()
        print_table(HEADS, [_row(one) for one in view["accounts"]], wide=len(HEADS) - 1)


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    level = in_words(one["standing"])
    return (
        "everyone" if one["person"] is None else one["name"] or one["person"],
        level if one["counts"] else f"({level})",
        one["said_by"] if one["counts"] else f"{one['said_by']}, removed",
        str(one["serial"] or ""),
        one["reason"] or "",
    )


def _print_operators(view: dict[str, Any], *, as_json: bool) -> None:
    rows = view["operators"]
    if as_json:
        print_json({"fleet": view["fleet"], "operators": rows})
        return
    click.echo(f"fleet    {view['fleet']}")
    if not rows:
        click.echo("No operator is registered.")
        return
    cells = [
        (one["name"], "yes" if one["live"] else "removed", one["by"], one["id"]) for one in rows
    ]
    print_table(OPERATOR_HEADS, cells, wide=len(OPERATOR_HEADS) - 1)
