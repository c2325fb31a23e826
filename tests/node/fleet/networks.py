"""Real stores in one process, joined by all that joins nodes: links, presence and letters."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from node.desk.rules_store import RulesStore
from node.fleet import addresses
from node.fleet.desk import Fleet as Machines
from node.fleet.desk import NodeDesk
from node.fleet.network import Network
from node.fleet.pairing import Pairings
from node.fleet.sight import LinkSight, Ways
from sync.net.pair_listener import Times
from tests.node.desk.fleets import Fleet
from tests.node.desk.machines import Machine
from tests.running import free_port
from tests.sync.net.machines import HERE, QUICK
from web.views import FleetMachine, FleetView


class Networked:
    """A machine with its links, presence and letters."""

    def __init__(self, machine: Machine, *, times: Times | None = None) -> None:
        self.machine = machine
        sight = LinkSight(Ways(web_port=7718, mdns_wanted=False))
        machine.seen.through = sight
        settings = msgspec.structs.replace(
            QUICK, machine=machine.context.machine, boot=os.urandom(4).hex(), port=free_port()
        )
        self.network = Network(machine.context, machine.answers, sight, settings)
        self.network.serve(machine.sign_ins.letter, machine.sign_ins.linked)
        machine.stored = self.network.stored
        machine.noticed = self.network.noticed
        machine.sign_ins.far.post = self.network
        self.pairings = Pairings(
            machine.context,
            lambda: self.network.mesh,
            bind=HERE,
            members_changed=self.network.members_changed,
            entered=self.network.renew,
            times=times,
        )
        self.desk = NodeDesk(
            machine.context,
            reading=machine.reading,
            answers=machine.answers,
            sign_ins=machine.sign_ins,
            rules=RulesStore(machine.context),
            pairings=self.pairings,
            fleet=Machines(
                home=machine.home,
                members_changed=self.network.members_changed,
                entered=self.network.renew,
                unacknowledged=self.network.unacknowledged,
                privacy=sight.privacy,
            ),
        )

    async def fleet(self) -> FleetView:
        """The fleet as a page here shows it."""
        machine = self.machine
        return await machine.reader.run(
            lambda connection: machine.seen.view(connection, machine.context.clock.now())
        )

    async def sees(self, name: str) -> FleetMachine:
        """One machine as a page here shows it."""
        (found,) = [one for one in (await self.fleet()).machines if one.machine.name == name]
        return found


@asynccontextmanager
async def networked(fleet: Fleet, *pairs: tuple[str, str]) -> AsyncIterator[dict[str, Networked]]:
    """Machines of which the named pairs know each other's address."""
    names = dict.fromkeys(name for pair in pairs for name in pair)
    nodes = {name: Networked(fleet[name]) for name in names}
    for one, other in pairs:
        port = await nodes[other].network.mesh.listen()
        give = partial(addresses.give, node=fleet[other].id, address=f"{HERE}:{port}")
        await fleet[one].writer.run("give", give)
    try:
        for node in nodes.values():
            await node.network.start()
        yield nodes
    finally:
        for node in nodes.values():
            await node.network.stop()
