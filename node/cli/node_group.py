"""The machines of the fleet: `askmesh node …`."""

import click

from node.cli.node_again import go, rejoin
from node.cli.node_join import join
from node.cli.node_machines import address, assign, leave, list_machines, remove, rename
from node.cli.node_pair import pair


@click.group(short_help="Pair, list and remove machines.")
def node() -> None:
    """The machines of the fleet. All but `list` need a terminal and your passphrase.

    On the first machine, `askmesh node pair` shows a code; the other one uses it with
    `askmesh node pair CODE`, or `askmesh node join`, which asks for it.

    Example: askmesh node list
    """


for command in (pair, join, list_machines, assign, rename, remove, leave, rejoin, go, address):
    node.add_command(command)
