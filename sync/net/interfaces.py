"""The network addresses of this machine: which to listen on, tell, and believe.

`read` asks the system; everything else decides about what it said.
"""

import ipaddress
from collections.abc import Iterable, Sequence

import ifaddr
import msgspec

_CONTAINERS = (
    *("docker", "br-", "veth", "virbr", "cni", "flannel", "cali", "kube", "podman", "lxc"),
    *("lxdbr", "vmnet", "vboxnet", "vnet"),
)
"""Networks inside this machine: an address there leads nobody here."""
_TUNNELS = ("tun", "tap", "utun", "wg", "tailscale", "zt", "ppp", "awdl", "llw", "anpi")
"""Links on which multicast does not reach the network near by."""


class Interface(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One address of one network interface."""

    name: str
    host: str
    """IPv6 without its scope."""
    prefix: int
    index: int = 0

    @property
    def address(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
        """The address as a number."""
        return ipaddress.ip_address(self.host)

    @property
    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """What can be reached without a router."""
        return ipaddress.ip_network(f"{self.host}/{self.prefix}", strict=False)


def read() -> list[Interface]:
    """Return every address of this machine; none when the system does not tell."""
    try:
        adapters = list(ifaddr.get_adapters())
    except OSError:
        return []
    return sorted(
        Interface(
            name=adapter.nice_name,
            host=ip.ip if isinstance(ip.ip, str) else ip.ip[0].partition("%")[0],
            prefix=ip.network_prefix,
            index=adapter.index or 0,
        )
        for adapter in adapters
        for ip in adapter.ips
    )


def near(
    interfaces: Iterable[Interface], *, bind: str | None = None, only: Sequence[str] | None = None
) -> list[Interface]:
    """Return the addresses under which others on this network can reach us.

    Those of containers and tunnels only where there is nothing else, loopback only where
    there is nothing at all. With `bind` just that one; with `only` just those interfaces.
    """
    found = [one for one in interfaces if only is None or one.name in only]
    if bind is not None and bind not in {"0.0.0.0", "::"}:  # noqa: S104 -- compared, not bound
        return [one for one in found if one.host == bind]
    outer = [one for one in found if not one.address.is_loopback]
    real = [one for one in outer if not one.name.startswith((*_CONTAINERS, *_TUNNELS))]
    chosen = real or outer or found
    # A link-local address means nothing without an interface, so any other is better.
    return [one for one in chosen if not _scoped(one)] or chosen


def told(
    interfaces: Iterable[Interface], *, bind: str | None = None, only: Sequence[str] | None = None
) -> list[str]:
    """Return our addresses worth telling to members: tunnels lead here too, for some."""
    everything = list(interfaces)
    best = [one.host for one in near(everything, bind=bind, only=only) if not _scoped(one)]
    if bind is not None or only is not None:
        return best
    tunnels = [
        one.host
        for one in everything
        if one.name.startswith(_TUNNELS) and not one.address.is_loopback and not _scoped(one)
    ]
    return list(dict.fromkeys([*best, *tunnels]))


def on_link(host: str, interfaces: Iterable[Interface]) -> bool:
    """Whether an announced address lies on a network that we are on ourselves.

    Anything else in an announcement could send us to any machine of the world.
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    if address.is_multicast or address.is_unspecified:
        return False
    if address.is_link_local and address.version == 6:
        return True
    return any(
        address.version == one.address.version and address in one.network for one in interfaces
    )


def _scoped(one: Interface) -> bool:
    return one.address.version == 6 and one.address.is_link_local
