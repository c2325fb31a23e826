"""Machines of the fleet in words: `status` and `node list` show the same rows.

Names, versions and addresses come from other machines and reach the screen through
`visible` only.
"""

from typing import Any, Final

from node.cli.durations import ago, span
from node.cli.output import print_table
from node.cli.stop import Stop
from sync.decide.visible import visible_line

HEADS: Final = ("MACHINE", "ID", "STATE", "WHOSE", "ADDRESS", "ROUND TRIP", "BEHIND", "VERSION")

CLOCK_SHOWN_MS: Final = 2_000
"""A clock that is off by less than this hinders nobody and comes and goes with the network."""

SHORT: Final = 4
"""Characters of an id that are enough to name a machine, as the node takes them."""


def print_machines(fleet: dict[str, Any], now: int) -> None:
    """Print one row a machine, and below them what is in the way, in words."""
    rows = [_row(machine, now) for machine in fleet["machines"]]
    print_table(HEADS, rows, wide=4)


def trouble_lines(fleet: dict[str, Any]) -> list[str]:
    """What stands in the way: removal, links that fail, clocks that are off, mDNS."""
    lines = [fleet["removed"]] if fleet["removed"] else []
    for machine in fleet["machines"]:
        if machine["state"] == "removed":
            continue
        name = machine["machine"]["name"]
        if machine["trouble"]:
            lines.append(f"{name}: {machine['trouble']}")
        if abs(machine["skew_ms"] or 0) >= CLOCK_SHOWN_MS:
            lines.append(f"{name}: {_clock(machine['skew_ms'])}")
        if not machine["persons"] and len(_members(fleet)) > 1:
            lines.append(
                f"{name}: nobody can answer from it yet. An owner says whose it is:"
                f" askmesh node assign {machine['machine']['short']} PERSON"
            )
    if fleet["mdns"] not in {"on", "off"}:
        lines.append(f"Machines near by are not found: {fleet['mdns']}")
    return [visible_line(line) for line in lines]


def find_machine(fleet: dict[str, Any], typed: str) -> dict[str, Any]:
    """The machine that a person named by name, short id or full id.

    A member is found before one that was removed. Raises `Stop` for none or several.
    """
    text = typed.strip()
    found = [row for row in fleet["machines"] if _is_named(row["machine"], text)]
    members = [row for row in found if row["state"] != "removed"]
    if len(members or found) > 1:
        names = ", ".join(named(row) for row in members or found)
        raise Stop(f"{text!r} names several machines: {names}.", hint="Use the id.", code="invalid")
    if not found:
        raise Stop(
            f"There is no machine {text!r}.", hint="Run: askmesh node list", code="not_found"
        )
    first: dict[str, Any] = (members or found)[0]
    return first


def named(row: dict[str, Any]) -> str:
    """A machine by its name and as much of its id as tells it from others."""
    return visible_line(f"{row['machine']['name']} ({row['machine']['id'][:8]})")


def _is_named(machine: dict[str, Any], text: str) -> bool:
    return (
        text.casefold() in {machine["name"].casefold(), visible_line(machine["name"]).casefold()}
        or machine["id"] == text.lower()
        or (len(text) >= SHORT and machine["id"].startswith(text.lower()))
    )


def _members(fleet: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in fleet["machines"] if row["state"] != "removed"]


def _row(row: dict[str, Any], now: int) -> tuple[str, ...]:
    trip = row["round_trip_ms"]
    return (
        row["machine"]["name"],
        row["machine"]["short"],
        _state(row, now),
        ", ".join(row["persons"]) or "nobody's",
        row["address"] or "",
        "" if trip is None else f"{trip:.1f} ms",
        _behind(row),
        row["version"] or "",
    )


def _state(row: dict[str, Any], now: int) -> str:
    state, seen = str(row["state"]), row["seen"]
    if state == "here":
        return "this machine"
    if state == "removed":
        by = f" by {row['removed_by']}" if row["removed_by"] else ""
        return (
            f"removed{by}"
            if row["removed"] is None
            else f"removed {_since(row['removed'], now)}{by}"
        )
    if state == "away":
        by = f" by {row['seen_by']}" if row["seen_by"] else ""
        return "away" if seen is None else f"seen {_since(seen, now)}{by}"
    return {"never_seen": "never seen", "must_rejoin": "must rejoin"}.get(state, state)


def _since(then: int, now: int) -> str:
    short = ago(then, now)
    return short if short == "now" else f"{short} ago"


def _behind(row: dict[str, Any]) -> str:
    """How many entries are still to come over, each way."""
    parts = [
        f"{row[key]} {way}"
        for key, way in (("behind_us", "to come"), ("behind_them", "to go"))
        if row[key]
    ]
    if parts:
        return ", ".join(parts)
    return "0" if row["state"] == "connected" else ""


def _clock(skew: int) -> str:
    way = "ahead of" if skew > 0 else "behind"
    return f"its clock is {span(abs(skew))} {way} this machine's."
