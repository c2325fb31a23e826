"""A fleet whose machines have met, made once and copied for every seed.

Made by the real founding, statements and receiving (`tests.node.desk.fleets`), with keys
and randomness that are the same in every run.
"""

import asyncio
import random
import shutil
import sqlite3
from functools import partial
from pathlib import Path
from unittest import mock

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from node.birth import Birth
from node.desk.rules_store import RulesStore
from node.desk.standing import StandingDesk
from node.fleet import addresses
from node.identity import KEY_FILE
from sync.log.entry import NodeKey
from tests.node.desk.fleets import Fleet, fleet_of
from tests.node.desk.machines import viewer

NAMES = ("desk", "laptop", "phone", "server")
PORT = 7717
RULES = """
[[rule]]
name = "two"
tool = "Deploy"
action = "ask"
approvals = 2

[[rule]]
name = "others"
tool = "Ship"
action = "ask"
self_approval = false

[[rule]]
name = "admins"
tool = "Audit"
action = "ask"
role = "admin"
"""
"""What the gate holds calls against; a call of any other tool is the host's to ask about."""
OPERATOR = Ed25519PrivateKey.from_private_bytes(b"o" * 32)
"""The outside system that may say how accounts stand."""


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """Where the directories lie, and who is who."""

    folder: Path
    names: tuple[str, ...]
    ids: dict[str, str]
    people: dict[str, str]
    """Name: person."""
    speaks: dict[str, tuple[str, ...]]
    """Person's name: the machines that speak for them."""


def host(name: str) -> str:
    """Where a machine is."""
    return f"10.0.0.{NAMES.index(name) + 1}"


MOVED: set[str] = set()
"""Directories that lie where no copy can look like the first: on another disk."""


def here(home: Path) -> Birth:
    """Where a directory lies, which a crash does not change."""
    name = home.name.partition(".")[0]
    number = NAMES.index(name) + 1 + 100 * (str(home) in MOVED)
    return Birth(machine=name, folder=number, store=number)


def make(folder: Path, size: int) -> Template:
    """Make a fleet of so many machines."""
    folder.mkdir(parents=True)
    chance = random.Random(size)
    with (
        mock.patch("os.urandom", chance.randbytes),
        mock.patch("node.birth.here", here),
        mock.patch("node.founding.create_key", lambda home: _key(home, chance.randbytes(32))),
    ):
        return asyncio.run(_make(folder, NAMES[:size]))


def _key(home: Path, raw: bytes) -> NodeKey:
    path = home / KEY_FILE
    path.write_bytes(raw)
    path.chmod(0o600)
    return NodeKey(Ed25519PrivateKey.from_private_bytes(raw))


async def _make(folder: Path, names: tuple[str, ...]) -> Template:
    speaks = {"ann": names[:1] + names[2:3], "bob": names[1:2] + names[2:3], "cyd": names[1:2]}
    async with fleet_of(folder, *names, own=names[0]) as fleet:
        for name in names[2:3]:
            await fleet.give(name, fleet.ann)
        people = {"ann": fleet.ann, "bob": await fleet.person("bob", "member", *speaks["bob"])}
        people["cyd"] = await fleet.person("cyd", "viewer", *speaks["cyd"])
        await _govern(fleet)
        await fleet.meet_all()
        for machine in fleet.machines.values():
            for name, other in fleet.machines.items():
                if other is not machine:
                    give = partial(addresses.give, node=other.id, address=f"{host(name)}:{PORT}")
                    await machine.writer.run("give", give)
        ids = {name: fleet[name].id for name in names}
    for name in names:
        _settle(folder / name)
    return Template(folder=folder, names=names, ids=ids, people=people, speaks=speaks)


async def _govern(fleet: Fleet) -> None:
    """Ann applies the rules and registers the outside system."""
    assert fleet.founder is not None
    context, ann = fleet.founder.context, viewer(fleet.ann)
    await RulesStore(context).apply(ann, name="sim", source=RULES, replaces=None)
    await StandingDesk(context).add_operator(
        ann, "billing", OPERATOR.public_key().public_bytes_raw()
    )


def _settle(home: Path) -> None:
    """Leave one file that is as it would be after an orderly end."""
    store = sqlite3.connect(home / "store.db")
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    (home / "blobs").mkdir(exist_ok=True)


def copy(source: Path, target: Path) -> None:
    """Copy a data directory as `cp -r` would, at this moment."""
    target.mkdir(mode=0o700)
    for path in sorted(source.iterdir()):
        if path.is_dir():
            shutil.copytree(path, target / path.name)
        elif not path.name.endswith("-shm"):
            shutil.copyfile(path, target / path.name)
    (target / KEY_FILE).chmod(0o600)
