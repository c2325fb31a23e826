"""This node among the others: its ledger for the links, pairing, joining, machines."""
