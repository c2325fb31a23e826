"""Machines of the fleet in words: `status` and `node list` show the same rows.

Names, versions and addresses come from other machines and reach the screen through
`visible` only.
"""

from typing import Any, Final

import click

from node.cli.durations import ago, span
from node.cli.output import plural
from node.cli.stop import Stop
from sync.decide.name import is_called
from sync.decide.visible import quoted, visible_line

INDENT: Final = "    "

CLOCK_OFF_MS: Final = 2_000
"""A clock that is off by less than this hinders nobody and comes and goes with the network."""

SHORT: Final = 4
"""Characters of an id that are enough to name a machine, as the node takes them."""


OLDER: Final = "The node that runs here is of an older version, which does not tell {what}."
"""The program was replaced under the running node."""


def fleet_of(node: dict[str, Any]) -> dict[str, Any]:
    """The machines, as the node tells them. Raises `Stop` when it is too old to."""
    fleet: dict[str, Any] = told(node, "fleet", "about other machines")
    return fleet


def told(node: dict[str, Any], key: str, what: str) -> Any:  # noqa: ANN401 - as the node says it
    """What the node says of itself under `key`. Raises `Stop` when it is too old to."""
    if key not in node:
        hint = "Run `askmesh down`, then `askmesh up`."
        raise Stop(OLDER.format(what=what), hint=hint, code="older_node")
    return node[key]


def print_machines(fleet: dict[str, Any], now: int) -> None:
    """Print what is in the way of this machine, then each machine with its own trouble."""
    for line in (*trouble_lines(fleet), *machine_lines(fleet, now)):
        click.echo(line)


def trouble_lines(fleet: dict[str, Any]) -> list[str]:
    """What stands in the way as a whole: removal, split histories, a hold, no mDNS."""
    lines = [fleet["removed"]] if fleet["removed"] else []
    lines += [row["forked"] for row in fleet["machines"] if row.get("forked")]
    lines += [fleet["hold"]] if fleet.get("hold") else []
    if fleet["mdns"] not in {"on", "off"}:
        lines.append(f"Machines near by are not found: {fleet['mdns']}")
    return [visible_line(f"! {line}") for line in lines]


def machine_lines(fleet: dict[str, Any], now: int) -> list[str]:
    """Each machine in one to four lines, as narrow screens show them."""
    alone = len(_members(fleet)) == 1
    lines: list[str] = []
    for row in fleet["machines"]:
        machine = row["machine"]
        lines.append(f"{machine['name']} ({machine['short']}): {', '.join(_standing(row, now))}")
        if details := _link(row):
            lines.append(INDENT + ", ".join(details))
        lines += [f"{INDENT}! {trouble}" for trouble in _troubles(row, alone=alone)]
    return [visible_line(line) for line in lines]


def find_machine(fleet: dict[str, Any], typed: str) -> dict[str, Any]:
    """The machine that a person named by name, short id or full id.

    A member is found before one that was removed. Raises `Stop` for none or several.
    """
    text = typed.strip()
    found = [row for row in fleet["machines"] if _is_named(row["machine"], text)]
    # A machine may call itself by another one's id.
    found = [row for row in found if row["machine"]["id"] == text.lower()] or found
    members = [row for row in found if row["state"] != "removed"]
    if len(members or found) > 1:
        names = ", ".join(named(row) for row in members or found)
        raise Stop(
            f"{quoted(text)} names several machines: {names}.", hint="Use the id.", code="invalid"
        )
    if not text:
        raise Stop("No machine was named.", hint="Run: askmesh node list", code="invalid")
    if not found:
        raise Stop(
            f"There is no machine {quoted(text)}.", hint="Run: askmesh node list", code="not_found"
        )
    first: dict[str, Any] = (members or found)[0]
    return first


def named(row: dict[str, Any]) -> str:
    """A machine by its name and as much of its id as tells it from others."""
    return visible_line(f"{row['machine']['name']} ({row['machine']['id'][:8]})")


def _is_named(machine: dict[str, Any], text: str) -> bool:
    by_id = len(text) >= SHORT and machine["id"].startswith(text.lower())
    return by_id or is_called(text, machine["name"])


def _members(fleet: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in fleet["machines"] if row["state"] != "removed"]


def _standing(row: dict[str, Any], now: int) -> list[str]:
    parts = [_state(row, now)]
    if row["state"] != "removed":
        parts.append(_whose(row["persons"]))
        if row["version"]:
            parts.append(f"version {row['version']}")
    return parts


def _whose(persons: list[str]) -> str:
    return " and ".join(f"{name}'s" for name in persons) or "nobody's"


def _state(row: dict[str, Any], now: int) -> str:
    state, seen = str(row["state"]), row["seen"]
    if state == "removed":
        when = "" if row["removed"] is None else f" {_since(row['removed'], now)}"
        return f"removed{when}" + (f" by {row['removed_by']}" if row["removed_by"] else "")
    if state == "away" and seen is not None:
        by = f" by {row['seen_by']}" if row["seen_by"] else ""
        return f"away, last seen {_since(seen, now)}{by}"
    words = {
        "here": "this machine",
        "never_seen": "never seen",
        "must_rejoin": "must rejoin",
    }
    return words.get(state, state)


def _since(then: int, now: int) -> str:
    short = ago(then, now)
    return "just now" if short == "now" else f"{short} ago"


def _link(row: dict[str, Any]) -> list[str]:
    """Address, round trip, what is still to come over each way, and the clock."""
    if row["state"] in {"here", "removed"}:
        return []
    connected = row["state"] == "connected"
    parts: list[str] = []
    if row["address"]:
        parts.append(str(row["address"]) if connected else f"last at {row['address']}")
    if row["round_trip_ms"] is not None:
        # Links measure whole milliseconds.
        took = f"{row['round_trip_ms']:.0f} ms" if row["round_trip_ms"] >= 1 else "under 1 ms"
        parts.append(f"round trip {took}")
    behind = [
        f"{plural(row[key], 'entry', 'entries')} to {way}"
        for key, way in (("behind_us", "come"), ("behind_them", "send"))
        if row[key]
    ]
    parts += behind or (["nothing behind"] if connected else [])
    if row["skew_ms"] is not None and abs(row["skew_ms"]) < CLOCK_OFF_MS:
        parts.append(f"clock {row['skew_ms'] / 1000:+.1f} s")
    return parts


def _troubles(row: dict[str, Any], *, alone: bool) -> list[str]:
    if row["state"] == "removed":
        return []
    lines = [str(row["trouble"])] if row["trouble"] else []
    skew = row["skew_ms"] or 0
    if abs(skew) >= CLOCK_OFF_MS:
        way = "ahead of" if skew > 0 else "behind"
        lines.append(f"Its clock is {span(abs(skew))} {way} this machine's.")
    if not row["persons"] and not alone:
        whose = f"askmesh node assign {row['machine']['short']} PERSON"
        lines.append(f"Nobody can answer from it yet. An owner says whose it is: {whose}")
    return lines
