"""The signed, hash-chained log: entries, chains, clocks, vectors."""
