"""What goes over a link, without any input or output: frames, sessions, pairing, presence."""
