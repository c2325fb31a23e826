"""The gate: which calls are allowed, asked about or refused, and by which rule."""
