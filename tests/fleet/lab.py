"""A few hosts on one switch, each a network namespace of its own, with cables to pull.

Nothing outside the namespaces made here is touched. Their names hold this process's id;
they are gone at the end, and so is what was started in them.

A cut between two hosts isolates their ports of the switch, so that multicast (mDNS) is
cut as well; a one-way cut gives one host a wrong hardware address for the other, so that
what it sends arrives nowhere and nothing tells it so, which is what a firewall does too.
"""

import contextlib
import ctypes
import itertools
import os
import signal
import subprocess
from collections.abc import Iterator

NETWORK = "10.77.0"
NOBODY = "02:00:00:00:00:fe"
"""A hardware address that no host has."""
NETWORK_NAMESPACE = 0x40000000
"""`CLONE_NEWNET`."""
_numbers = itertools.count(1)
_libc = ctypes.CDLL(None, use_errno=True)


def ip(*arguments: str) -> str:
    """Run `ip`; return what it printed."""
    done = subprocess.run(
        ["ip", *arguments], check=False, capture_output=True, text=True, timeout=20
    )
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"
    return done.stdout


class Host:
    """One machine of the lab."""

    def __init__(self, lab: "Lab", number: int) -> None:
        self.number = number
        self.name = f"{lab.name}-h{number}"
        self.port = f"p{number}"
        self.address = f"{NETWORK}.{number}"
        self.processes: list[subprocess.Popen[bytes]] = []

    def command(self, *arguments: str) -> tuple[str, ...]:
        """Return the command that runs another one on this host."""
        return ("ip", "netns", "exec", self.name, *arguments)

    def start(self, *arguments: str, **how: object) -> "subprocess.Popen[bytes]":
        """Run a command on this host; it is ended with the lab."""
        process: subprocess.Popen[bytes] = subprocess.Popen(  # type: ignore[call-overload]
            self.command(*arguments), **how
        )
        self.processes.append(process)
        return process

    @contextlib.contextmanager
    def inside(self) -> Iterator[None]:
        """Sockets that this thread makes meanwhile are made on this host, and stay there."""
        with (
            open("/proc/thread-self/ns/net", "rb") as before,  # noqa: PTH123 -- not a file's text
            open(f"/run/netns/{self.name}", "rb") as there,  # noqa: PTH123 -- (as above)
        ):
            _enter(there.fileno())
            try:
                yield
            finally:
                _enter(before.fileno())

    def move(self, last: int) -> None:
        """Change the address, as a router does that hands out new ones."""
        before = self.address
        self.address = f"{NETWORK}.{last}"
        ip("-n", self.name, "addr", "del", f"{before}/24", "dev", "eth0")
        ip("-n", self.name, "addr", "add", f"{self.address}/24", "dev", "eth0")
        self.route()

    def route(self) -> None:
        """Let multicast, and everything else, leave by the one interface."""
        ip("-n", self.name, "route", "replace", "default", "dev", "eth0")


class Lab:
    """The switch and its hosts."""

    def __init__(self, hosts: int = 3) -> None:
        self.name = f"askmesh-{os.getpid()}-{next(_numbers)}"
        self.switch = f"{self.name}-sw"
        self.hosts = [Host(self, number) for number in range(1, hosts + 1)]

    def up(self) -> None:
        """Make everything."""
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "set", "lo", "up")
        # No querier of multicast groups here, so none is filtered.
        ip("-n", self.switch, "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        ip("-n", self.switch, "link", "set", "br0", "up")
        for host in self.hosts:
            ip("netns", "add", host.name)
            cable = ("type", "veth", "peer", "name", "eth0", "netns", host.name)
            ip("-n", self.switch, "link", "add", host.port, *cable)
            ip("-n", self.switch, "link", "set", host.port, "master", "br0", "up")
            ip("-n", host.name, "link", "set", "lo", "up")
            ip("-n", host.name, "addr", "add", f"{host.address}/24", "dev", "eth0")
            ip("-n", host.name, "link", "set", "eth0", "up")
            host.route()

    def down(self) -> None:
        """End what runs on the hosts and remove everything."""
        started = [process for host in self.hosts for process in host.processes]
        for process in started:
            _tell_to_end(process)
        for process in started:
            _end(process)
        there = {line.split()[0] for line in ip("netns", "list").splitlines() if line}
        for name in [*(host.name for host in self.hosts), self.switch]:
            if name in there:
                ip("netns", "del", name)

    # --- cables ---------------------------------------------------------------------------

    def cut(self, *hosts: Host) -> None:
        """Let none of these hosts reach another of them; the others reach them all."""
        for host in hosts:
            self._isolate(host, "on")

    def cut_one_way(self, source: Host, target: Host) -> None:
        """Lose what `source` sends to `target`; what comes back still arrives."""
        entry = (target.address, "lladdr", NOBODY, "dev", "eth0", "nud", "permanent")
        ip("-n", source.name, "neigh", "replace", *entry)

    def heal(self) -> None:
        """Mend every cut."""
        for host in self.hosts:
            self._isolate(host, "off")
            ip("-n", host.name, "neigh", "flush", "dev", "eth0", "nud", "permanent")

    def unplug(self, host: Host) -> None:
        """Pull a host's cable."""
        ip("-n", self.switch, "link", "set", host.port, "down")

    def plug(self, host: Host) -> None:
        """Put it back."""
        ip("-n", self.switch, "link", "set", host.port, "up")
        host.route()

    def _isolate(self, host: Host, state: str) -> None:
        subprocess.run(
            ["bridge", "-n", self.switch, "link", "set", "dev", host.port, "isolated", state],
            check=True,
            capture_output=True,
            timeout=20,
        )


def _enter(namespace: int) -> None:
    if _libc.setns(namespace, NETWORK_NAMESPACE):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _tell_to_end(process: "subprocess.Popen[bytes]") -> None:
    """Ask one process that we started to end (`ip` becomes what it was told to run)."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()


def _end(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


@contextlib.contextmanager
def lab(hosts: int = 3) -> Iterator[Lab]:
    """A lab that is gone afterwards, also when its making failed."""
    made = Lab(hosts)
    try:
        made.up()
        yield made
    finally:
        made.down()
