"""Checking again, read-only, everything that the data directory of a node claims."""
