"""Why a code cannot be shown where its port cannot be opened."""

import errno

from node.fleet.pairing import no_port


def test_why_no_port_can_be_opened_is_not_always_that_one_is_taken() -> None:
    gone = no_port(OSError(errno.EADDRNOTAVAIL, "x"), "192.0.2.1")
    assert "192.0.2.1 is no address of this machine now" in gone.sentence
    assert "--bind" in (gone.hint or "")
    assert "No port is free" in no_port(OSError(errno.EADDRINUSE, "x"), None).sentence
    other = no_port(OSError(errno.EMFILE, "Too many open files"), None)
    assert "(Too many open files)" in other.sentence
