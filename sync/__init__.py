"""The shared history of a fleet: the log, the decisions, the wire.

Everything here but `net` is sans-I/O: time, ids and bytes are arguments.
"""
