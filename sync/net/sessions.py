"""The sessions of a node's links: what they share, and how each is begun."""
