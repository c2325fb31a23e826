"""The agent side of the node: the socket, the MCP server and its tools, the kits."""
