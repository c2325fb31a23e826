"""Start askmesh with its own code first on the path, whatever the environment says.

In the wheel that code lies in `askmesh/app/`, in a checkout beside `askmesh/`.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
THIN = ("mcp", "hook")
"""Commands an agent starts often: standard library only, so they run without `site`."""


def main() -> int:
    """Run the command named in `sys.argv`, isolated from PYTHON* and the working folder."""
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if not sys.flags.isolated:
        flags = ["-I", "-S"] if command in THIN else ["-I"]
        program = [sys.executable, *flags, os.path.join(HERE, "__main__.py")]
        os.execv(sys.executable, [*program, *sys.argv[1:]])  # noqa: S606 - no shell is wanted
    app = os.path.join(HERE, "app")
    sys.path.insert(0, app if os.path.isdir(app) else os.path.dirname(HERE))
    # Isolated Python leaves the user's own site-packages out; a `pip install --user`
    # put our dependencies there, beside this package.
    sys.path.append(os.path.dirname(HERE))
    sys.argv[0] = "askmesh"
    return dispatch(command)


def dispatch(command: str) -> int:
    """Import only what `command` needs, and run it."""
    if command == "mcp":
        from node.bridge.mcp import main as bridge

        return bridge()
    if command == "hook":
        from node.bridge.hook import main as hook

        return hook()
    from node.cli.main import main as command_line

    command_line()
    return 0


if __name__ == "__main__":
    sys.exit(main())
