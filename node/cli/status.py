"""How the node fares, in a few lines or one: `status`."""

from typing import Any

import click

from node.cli.attention import state_line
from node.cli.durations import ago
from node.cli.fleet_text import fleet_of, print_machines, told
from node.cli.output import json_option, plural, print_json, print_table, print_wrapped
from node.cli.place import Place, pass_place
from node.cli.running import need_serving
from node.cli.stop import Stop
from sync.decide.visible import visible_line

HEADS = ("SESSION", "PROJECT", "GATE", "HEARD", "OPEN", "SAYS")


@click.command(short_help="Show the node, machines, people and sessions.")
@click.option("--short", is_flag=True, help="One line, for a prompt or a status bar.")
@click.option("--privacy", is_flag=True, help="Show what leaves this machine, and to whom.")
@json_option
@pass_place
def status(place: Place, *, short: bool, privacy: bool, as_json: bool) -> None:
    """Show the node, its ports, who can answer, the machines, and the agents' sessions.

    Ends with 3 when no node runs.

    Example: askmesh status --privacy
    """
    if short and privacy:
        raise click.UsageError("Say one of --short and --privacy.")
    node = place.node()
    if privacy:
        _print_privacy(told(node, "privacy", "what leaves it"), as_json=as_json)
    elif as_json:
        print_json(node | {"home": place.home})
    elif short:
        click.echo(_short(node))
    else:
        _print_long(place, node)


def _short(node: dict[str, Any]) -> str:
    counts = node["counts"]
    return f"{plural(counts['open'], 'open ask')}, {plural(counts['unread'], 'unread note')}"


def _print_long(place: Place, node: dict[str, Any]) -> None:
    running = need_serving(place.home)
    rows = [
        ("machine", f"{node['machine']['name']} ({node['machine']['short']})"),
        ("page", f"{running.page}  (pid {node['pid']}, version {node['version']})"),
        ("data", place.home),
        ("people", _people(node)),
        ("asks", _short(node)),
        ("rules", _rules(node["rules"])),
        ("texts", _kept(node)),
    ]
    for name, text in rows:
        click.echo(visible_line(f"{name:<9}{text}"))
    for view in node.get("attention", []):
        click.echo(visible_line(f"{view['name']} is {state_line(view, node['now'])}"))
    for banner in node["banners"]:
        click.echo(visible_line(f"! {banner}"))
    click.echo()
    _print_fleet(node)
    if node["sessions"]:
        click.echo()
        now = node["now"]
        cells = [_session(session, now) for session in node["sessions"]]
        print_table(HEADS, cells, wide=len(HEADS) - 1)


def _print_fleet(node: dict[str, Any]) -> None:
    """The machines; a node too old to tell them still shows all the rest."""
    try:
        print_machines(fleet_of(node), node["now"])
    except Stop as older:
        click.echo(f"! {older.message} {older.hint}")


def _print_privacy(lines: list[dict[str, Any]], *, as_json: bool) -> None:
    """Everything that can leave this machine: first what does, then what does not."""
    if as_json:
        print_json({"privacy": lines})
        return
    for line in sorted(lines, key=lambda line: not line["on"]):
        print_wrapped("leaves  " if line["on"] else "stays   ", line["what"])
        print_wrapped("        to: ", line["to"])
        print_wrapped("        ", line["how"])


def _people(node: dict[str, Any]) -> str:
    if node["reach"]:
        return f"{node['reach']} can answer now"
    return str(node["reach_reason"])


def _kept(node: dict[str, Any]) -> str:
    """How long words are kept; a node too old to say keeps them."""
    days = node.get("keep_texts_days", 0)
    if not days:
        return "kept for ever"
    return f"kept {days} days after an ask is over; who decided what stays"


def _rules(rules: dict[str, Any] | None) -> str:
    if rules is None:
        return "none applied; the agent's host decides when to ask"
    return f"{rules['name']}, version {rules['version']}, {plural(rules['count'], 'rule')}"


def _session(session: dict[str, Any], now: int) -> tuple[str, ...]:
    name, agent = session["id"][:16], session["agent"]
    return (
        name if name.startswith(agent) else f"{agent} {name}",
        session["project_name"],
        "in force" if session["gate"] == "in_force" else "not seen",
        ago(session["last_heard"], now),
        str(session["open_asks"]),
        _doing(session),
    )


def _doing(session: dict[str, Any]) -> str:
    """What it said it does; one that is silent is told as that, and never as stopped."""
    aged = {"quiet": "quiet", "not_seen": "not seen lately", "ended": "ended"}
    word = aged.get(session["activity"])
    if session["ended"] or not session["status"]:
        return word or ""
    children = len(session["children"])
    more = f" (+{plural(children, 'sub-agent')})" if children else ""
    return f"{word}: {session['status']}{more}" if word else f"{session['status']}{more}"
