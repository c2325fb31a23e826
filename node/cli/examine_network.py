"""The examinations of the network: ports, mDNS on each interface, firewall, other machines."""

import asyncio
import errno
import os
import socket
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from node.bridge import client
from node.bridge.client import NodeAway, Refused
from node.cli.durations import span
from node.cli.finding import Finding
from node.cli.fleet_text import CLOCK_OFF_MS, named
from node.cli.running import lock_holder, read_object
from node.config import SETTINGS_FILE, Settings
from sync.limits import CLOCK_AHEAD_MS

ALL: Final = "0.0.0.0"  # noqa: S104 -- what a node binds unless it was told
MDNS_PORT: Final = 5353
DIAL_S: Final = 2.0

Fleet = dict[str, Any]


def network(home: str) -> Iterator[Finding]:
    """Everything about the network, beside a running node or without one."""
    settings = _settings(home)
    if settings is None:
        yield Finding(
            about="settings",
            level="fault",
            what=f"{Path(home, SETTINGS_FILE)} holds a value that cannot be used.",
            remedy="Correct or remove it; the defaults are used then.",
        )
        return
    fleet = _fleet(home) if lock_holder(home) is not None else None
    if fleet is not None:
        yield from listening(settings, fleet)
    elif lock_holder(home) is None:
        yield from ports_free(settings)
    yield from mdns(settings)
    yield from firewall(settings, needed=fleet is None or len(_others(fleet)) > 0)
    if fleet is not None:
        yield from machines(fleet)


def _settings(home: str) -> Settings | None:
    try:
        return msgspec.convert(read_object(Path(home, SETTINGS_FILE)), Settings)
    except msgspec.ValidationError:
        return None


def _fleet(home: str) -> Fleet | None:
    """What the running node tells of the fleet; None where it does not answer."""
    try:
        found = client.get(home, "/agent/node").get("fleet")
    except (NodeAway, Refused, OSError):
        return None
    return found if isinstance(found, dict) else None


def _others(fleet: Fleet) -> list[dict[str, Any]]:
    return [row for row in fleet["machines"] if row["state"] not in {"here", "removed"}]


# --- ports ----------------------------------------------------------------------------------


def ports_free(settings: Settings) -> Iterator[Finding]:
    """Whether a node could take its ports right now."""
    for host, port, option in (
        ("127.0.0.1", settings.web_port, "--web-port"),
        (settings.bind or ALL, settings.port, "--port"),
    ):
        code = _bind(host, port)
        if code == 0:
            yield Finding(about="ports", what=f"{host}:{port} is free.")
        elif code == errno.EADDRINUSE:
            yield Finding(
                about="ports",
                level="fault",
                what=f"Another program listens on {host}:{port}.",
                remedy=f"Stop it, or start with `askmesh up {option}` and a free port.",
            )
        elif code == errno.EADDRNOTAVAIL:
            yield Finding(
                about="ports",
                level="fault",
                what=f"{host} is no address of this machine now.",
                remedy="Connect that network, or start with `askmesh up --bind` and an address.",
            )
        else:
            yield Finding(
                about="ports",
                level="fault",
                what=f"{host}:{port} cannot be taken: {os.strerror(code)}.",
                remedy=f"Start with `askmesh up {option}` and a port of 1024 or above.",
            )


def _bind(host: str, port: int) -> int:
    """Take a port as the node does and let it go; return the system's error, 0: none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
            trial.listen(1)
        except OSError as error:
            return error.errno or errno.EIO
    return 0


def listening(settings: Settings, fleet: Fleet) -> Iterator[Finding]:
    """Whether the running node takes links where it says so."""
    port = fleet["port"]
    if port is None:
        if _others(fleet):
            yield Finding(
                about="ports",
                level="fault",
                what="The node takes no links, though there are other machines.",
                remedy="`askmesh down`, then `askmesh up`; node.log says why.",
            )
        else:
            yield Finding(about="ports", what="No link is taken: there is no other machine yet.")
        return
    host = settings.bind if settings.bind not in {None, ALL, "::"} else "127.0.0.1"
    try:
        socket.create_connection((host, port), timeout=DIAL_S).close()
    except OSError as error:
        yield Finding(
            about="ports",
            level="fault",
            what=f"Nothing takes links on {host}:{port}: {error.strerror or error}.",
            remedy="`askmesh down`, then `askmesh up`; node.log says why.",
        )
    else:
        yield Finding(about="ports", what=f"Links are taken on port {port}.")


# --- mDNS -----------------------------------------------------------------------------------


def mdns(settings: Settings) -> Iterator[Finding]:
    """Announce on each interface and listen there: whether machines near by can be found."""
    from sync.net import interfaces, mdns_trial
    from sync.net.discovery import hosts_of

    if not settings.mdns:
        yield Finding(about="mdns", level="note", what="Off, as `askmesh up` was told.")
        return
    near = interfaces.near(interfaces.read(), bind=settings.bind)
    asked = set(hosts_of(near)) if near else set()
    chosen = [one for one in near if one.host in asked]
    if not chosen:
        yield Finding(
            about="mdns",
            level="warning",
            what="There is no network, so no machine can be found.",
            remedy="Connect one; askmesh notices by itself.",
        )
        return
    failed = asyncio.run(mdns_trial.unheard(chosen, f"doctor-{os.getpid()}"))
    for one in chosen:
        if one not in failed:
            what = f"{one.name} ({one.host}): an announcement was made and heard."
            yield Finding(about="mdns", what=what)
            continue
        yield Finding(
            about="mdns",
            level="warning",
            what=f"{one.name} ({one.host}): {failed[one]}, so machines there are not found.",
            remedy=f"Let UDP {MDNS_PORT} through the firewall, or give addresses:"
            " `askmesh node address add`.",
        )


# --- firewall -------------------------------------------------------------------------------

UFW: Final = "etc/ufw/ufw.conf"
FIREWALLD: Final = "run/firewalld"
NFT: Final = "etc/nftables.conf"
MAC: Final = "usr/libexec/ApplicationFirewall/socketfilterfw"


def firewall(
    settings: Settings, *, needed: bool, platform: str = sys.platform, root: Path = Path("/")
) -> Iterator[Finding]:
    """How other machines get through a firewall that is switched on here."""
    port = settings.port
    for name, remedy in _firewalls(platform, root, port):
        yield Finding(
            about="firewall",
            level="note",
            what=f"{name} is on; other machines come in on TCP {port}"
            + (f", and are found by UDP {MDNS_PORT}." if settings.mdns else "."),
            remedy=remedy if needed else f"When there is another machine: {remedy}",
        )


def _firewalls(platform: str, root: Path, port: int) -> Iterator[tuple[str, str]]:
    if platform == "darwin":
        if (root / MAC).exists():
            program = os.path.realpath(sys.executable)
            yield "The macOS firewall may be on; if it", f"sudo /{MAC} --add {program}"
        return
    if "ENABLED=yes" in _text(root / UFW):
        yield "ufw", f"sudo ufw allow {port}/tcp; sudo ufw allow {MDNS_PORT}/udp"
    if (root / FIREWALLD).exists():
        rule = f"--add-port={port}/tcp --add-service=mdns"
        yield "firewalld", f"sudo firewall-cmd --permanent {rule}; sudo firewall-cmd --reload"
    if "policy drop" in _text(root / NFT):
        rule = f"tcp dport {port} accept; udp dport {MDNS_PORT} accept"
        yield "nftables (policy drop)", f"Add to the input chain of /{NFT}: {rule}"


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


# --- other machines -------------------------------------------------------------------------


def machines(fleet: Fleet) -> Iterator[Finding]:
    """How the link to each machine stands, and how far its clock is off."""
    rows = _others(fleet)
    if fleet["removed"]:
        yield Finding(
            about="machines",
            level="fault",
            what=fleet["removed"],
            remedy="To go on with a fleet of its own: askmesh node leave",
        )
    for row in rows:
        if row["trouble"]:
            yield Finding(
                about="machines",
                level="warning",
                what=f"{named(row)}: {row['trouble']}",
                remedy="`askmesh node list` shows where it was tried;"
                " `askmesh node address add` gives another address.",
            )
    connected = sum(row["state"] == "connected" for row in rows)
    if rows:
        yield Finding(about="machines", what=f"{connected} of {len(rows)} connected.")
    yield from clocks(rows)


def clocks(rows: Iterable[dict[str, Any]]) -> Iterator[Finding]:
    """How far the clock of each machine is off from this one's."""
    told = [row for row in rows if row["skew_ms"] is not None]
    off = [row for row in told if abs(row["skew_ms"]) >= CLOCK_OFF_MS]
    for row in off:
        skew = row["skew_ms"]
        way = "ahead of" if skew > 0 else "behind"
        held = abs(skew) > CLOCK_AHEAD_MS
        yield Finding(
            about="clock",
            level="fault" if held else "warning",
            what=f"The clock of {named(row)} is {span(abs(skew))} {way} this machine's"
            + (
                "; what is marked as read there is held back here, or the other way."
                if held
                else "."
            ),
            remedy="Let the clocks be set by the network on both: sudo timedatectl set-ntp true"
            " (macOS: Settings, Date & Time).",
        )
    if told and not off:
        yield Finding(about="clock", what="Agrees with every machine that is connected.")
