"""What the node does for agents and persons, one job a transaction."""
