"""The page: HTTP on loopback for persons, and what it serves."""
