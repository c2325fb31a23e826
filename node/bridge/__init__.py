"""The thin programs that run beside an agent; standard library only."""
