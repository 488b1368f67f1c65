"""A network namespace with a bridge, in which the whole cluster lives; nothing of it touches the machine's own network.

The namespace is entered by nsenter, since ``ip netns exec`` mounts another /sys, in which the kubelet finds no cgroups.
It is made by unshare with a file below the root: ``ip netns add`` would also leave a mount on /run/netns behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from e2e.cluster.commands import run
from e2e.cluster.layout import API_PORT, API_SERVICE_ADDRESS, HOST_ADDRESS, Layout

BRIDGE = "br0"
_BRIDGE_REMEDY = "use a kernel with network namespaces and the bridge device type"
_NAT_REMEDY = "use a kernel with the nat table and the iptables package that fits it"


def inside(layout: Layout, argv: Sequence[str]) -> list[str]:
    """Prefix a command so that it runs in the cluster's network namespace."""
    return ["nsenter", f"--net={layout.namespace_file}", "--", *argv]


def create(layout: Layout, addresses: Sequence[str]) -> None:
    """Make the namespace, its bridge with the nodes' addresses, forwarding, and the way to the API's service address.

    Args:
        layout: The cluster.
        addresses: One IPv4 address per node, all in the bridge's /24.

    Raises:
        ClusterError: The kernel lacks something.
    """
    layout.namespace_file.touch()
    run(["unshare", f"--net={layout.namespace_file}", "true"], remedy=_BRIDGE_REMEDY)
    _inside(layout, "ip", "link", "set", "lo", "up")
    _inside(layout, "ip", "link", "add", BRIDGE, "type", "bridge")
    for address in addresses:
        _inside(layout, "ip", "addr", "add", f"{address}/24", "dev", BRIDGE)
    _inside(layout, "ip", "link", "set", BRIDGE, "up")
    # Nothing outside is ever reached; refusing at once keeps name look-ups from waiting for an answer.
    _inside(layout, "ip", "route", "add", "unreachable", "default")
    _inside(layout, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    _route_api_service(layout)


def _route_api_service(layout: Layout) -> None:
    """Lead from the API's service address to the API server, for pods and host processes; there is no kube-proxy."""
    for chain in ("PREROUTING", "OUTPUT"):
        rule = ["-d", API_SERVICE_ADDRESS, "-p", "tcp", "--dport", "443"]
        target = ["-j", "DNAT", "--to-destination", f"{HOST_ADDRESS}:{API_PORT}"]
        run(inside(layout, ["iptables", "-t", "nat", "-A", chain, *rule, *target]), remedy=_NAT_REMEDY)


def _inside(layout: Layout, *argv: str) -> None:
    run(inside(layout, argv), remedy=_BRIDGE_REMEDY)
