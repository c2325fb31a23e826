"""The node: one process that owns one store."""
