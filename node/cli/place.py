"""Which node a command talks to, and as whom."""

import os
from dataclasses import dataclass
from typing import Any

import click

from node.bridge import client
from node.bridge.identity import who
from node.bridge.paths import data_home


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """The data directory of a command, with the agent routes of its node."""

    home: str
    named_by: str
    """`--home`, `ASKMESH_HOME` or `default`: whoever types a passphrase should know."""

    def call(
        self, route: str, arguments: dict[str, Any], *, timeout: float | None = 30.0
    ) -> dict[str, Any]:
        """Carry out one agent route as the shell this command runs in."""
        return client.call(self.home, route, self.who(), arguments, timeout=timeout)

    def node(self) -> dict[str, Any]:
        """What the running node says of itself."""
        return client.get(self.home, "/agent/node")

    def who(self) -> dict[str, Any]:
        """Who asks: agent, session, project, folder and branch as the surroundings show."""
        return {**who(os.environ, _folder()), "client": "askmesh"}


def place_of(given: str | None) -> Place:
    """The data directory as given, else as `ASKMESH_HOME` says, else the user's own."""
    named_by = "--home" if given else "ASKMESH_HOME" if os.environ.get("ASKMESH_HOME") else ""
    return Place(home=data_home(given), named_by=named_by or "default")


pass_place = click.make_pass_decorator(Place)


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - the identity takes text
    except FileNotFoundError:
        return "/"  # the folder was deleted under the shell
