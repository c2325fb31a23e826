"""What is known of the programs that run agents and speak MCP to us."""

from typing import Final

from node.limits import WAIT_CLAUDE_S, WAIT_UNKNOWN_HOST_S

AGENTS: Final = {
    "claude-code": "claude",
    "codex-mcp-client": "codex",
    "copilot-cli": "copilot",
    "gemini-cli-mcp-client": "gemini",
}
"""The agent behind an MCP client's name."""

WAITS: Final = {"claude-code": WAIT_CLAUDE_S}
"""How long a call may last, for clients whose limit is known."""


def agent_of_client(client: str) -> str | None:
    """The agent that uses this MCP client, when it is a known one."""
    return AGENTS.get(client)


def wait_limit(client: str | None) -> float:
    """The longest a call of this client may wait, in seconds."""
    return WAITS.get(client or "", WAIT_UNKNOWN_HOST_S)
