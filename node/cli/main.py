"""The command `askmesh`: finds the command, imports only its file, ends with its exit code."""

import sys
from importlib import import_module
from typing import Final

import click

from node.bridge.client import NodeAway, Refused
from node.cli.place import place_of
from node.cli.running import facts
from node.cli.stop import JSON_META, Stop, stop_for
from node.version import VERSION
from sync.errors import AskmeshError

COMMANDS: Final = {
    "up": "node.cli.up:up",
    "down": "node.cli.up:down",
    "open": "node.cli.up:open_page",
    "demo": "node.cli.demo:demo",
    "ask": "node.cli.ask:ask",
    "list": "node.cli.reading:list_asks",
    "show": "node.cli.reading:show",
    "watch": "node.cli.reading:watch",
    "resolve": "node.cli.ask:resolve",
    "withdraw": "node.cli.ask:withdraw",
    "send": "node.cli.messages:send",
    "messages": "node.cli.messages:messages",
    "ack": "node.cli.messages:ack",
    "boards": "node.cli.boards:boards",
    "answer": "node.cli.answer:answer",
    "needless": "node.cli.needless:needless",
    "redact": "node.cli.redact:redact",
    "subscribe": "node.cli.attention:subscribe",
    "unsubscribe": "node.cli.attention:unsubscribe",
    "mute": "node.cli.attention:mute",
    "unmute": "node.cli.attention:unmute",
    "quiet": "node.cli.attention:quiet",
    "status": "node.cli.status:status",
    "doctor": "node.cli.doctor:doctor",
    "verify": "node.cli.verify:verify",
    "audit": "node.cli.audit:audit",
    "backup": "node.cli.backup:backup",
    "restore": "node.cli.restore:restore",
    "rules": "node.cli.rules:rules",
    "standing": "node.cli.standing:standing",
    "sessions": "node.cli.sessions:sessions",
    "people": "node.cli.people:people",
    "recover": "node.cli.recover:recover",
    "node": "node.cli.node_group:node",
    "agent": "node.cli.agent:agent",
    "mcp": "node.cli.agent:mcp",
    "hook": "node.cli.agent:hook",
    "_node": "node.cli.up:run_node",
}
"""Command → the file and name it lies under, in the order of the help."""


class Commands(click.Group):
    """The commands of `COMMANDS`, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names in the order of the help."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """The command, imported now; None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        found: click.Command = getattr(import_module(module), name)
        return found

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; whatever was to be foreseen ends as a sentence."""
        try:
            result: object = super().invoke(ctx)
            return result
        except BrokenPipeError:
            raise  # the reader of a pipe has gone: nobody is left to tell
        except (Stop, NodeAway, Refused, AskmeshError, OSError) as error:
            stop = stop_for(error)
            stop.as_json = bool(ctx.meta.get(JSON_META))
            raise stop from error
        except KeyError as error:
            running = facts(ctx.obj.home)
            if running is None or running.version == VERSION:
                raise
            raise Stop(
                f"The node runs version {running.version}, this command is {VERSION}.",
                hint="Run `askmesh down`, then `askmesh up`.",
            ) from error


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="First time here: `askmesh up`, then `askmesh demo`.",
)
@click.version_option(VERSION, prog_name="askmesh", message="%(prog)s %(version)s")
@click.option(
    "--home",
    metavar="DIR",
    help="Data directory of the node. Default: ASKMESH_HOME, else ~/.askmesh.",
)
@click.pass_context
def askmesh(context: click.Context, home: str | None) -> None:
    """One inbox for everyone's coding agents.

    Agents ask on the machine they run on; people answer on the page or here.
    Exit codes: 0 done, 1 refused or failed, 2 usage, 3 node not reachable,
    4 kept or still waiting.

    Example: askmesh list --open
    """
    context.obj = place_of(home)


def main() -> None:
    """Run the command line. Never returns: it ends with the command's exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not turn an answer into a traceback.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    askmesh(prog_name="askmesh")
