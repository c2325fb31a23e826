"""The links between nodes: the only part of `sync` with input and output."""
