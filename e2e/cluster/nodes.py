"""One node: how its containerd, its pod network and its kubelet are configured and started."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from e2e.cluster import images, runtimes
from e2e.cluster.errors import ClusterError
from e2e.cluster.layout import Layout, NodeLayout
from e2e.cluster.releases import Release

MOST_NODES = 4
"""More would leave nodes without a CPU to give on the two cores this is measured on."""

_KUBELET_PORT = 10250
_HEALTH_PORT = 10260
"""Of the first node; the next ones follow. Away from the usual 10248, beside which other components listen."""


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """What tells one node from another.

    Args:
        number: 1 for the first node; decides its addresses and ports.
        reserved: The kubelet's systemReserved, which makes the node smaller than the machine.
        settings: Further fields of the kubelet's configuration, which win over the usual ones.
        flags: Further flags of the kubelet, for what its configuration has no field for.
    """

    number: int
    reserved: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, object] = field(default_factory=dict)
    flags: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The node's name in the cluster."""
        return f"node{self.number}"

    @property
    def address(self) -> str:
        """The node's address on the bridge."""
        return f"10.77.0.{self.number}"

    @property
    def pod_range(self) -> str:
        """The addresses of the node's pods."""
        return f"10.88.{self.number}.0/24"


def default_nodes(count: int) -> tuple[NodeSpec, ...]:
    """Return specs for a number of nodes, each half a CPU and 1 GiB smaller than the one before.

    Raises:
        ClusterError: The count is out of range.
    """
    if not 1 <= count <= MOST_NODES:
        raise ClusterError(f"{count} nodes", "cannot be made", remedy=f"ask for 1 to {MOST_NODES}")
    return tuple(
        NodeSpec(number, {"cpu": f"{500 * (number - 1)}m", "memory": f"{number - 1}Gi"} if number > 1 else {})
        for number in range(1, count + 1)
    )


def configure(layout: Layout, spec: NodeSpec, release: Release) -> None:
    """Write the configuration files of a node."""
    node = layout.node(spec.name)
    node.cni_folder.mkdir(parents=True, exist_ok=True)
    runtimes.configuration_file(node).write_text(runtimes.configuration(release.runtime, node))
    (node.cni_folder / "10-pods.conflist").write_text(json.dumps(_pod_network(node, spec), indent=1))
    # The kubelet reads YAML, of which JSON is a part.
    (node.folder / "kubelet.json").write_text(json.dumps(_kubelet_configuration(layout, node, spec), indent=1))


def kubelet_command(binaries: Path, layout: Layout, spec: NodeSpec, release: Release) -> list[str]:
    """Return how the node's kubelet is started."""
    node = layout.node(spec.name)
    return [
        str(binaries / "kubelet"),
        f"--config={node.folder / 'kubelet.json'}",
        f"--kubeconfig={node.folder / 'kubeconfig'}",
        f"--hostname-override={spec.name}",
        f"--node-ip={spec.address}",
        f"--root-dir={node.folder / 'kubelet'}",
        f"--cert-dir={node.folder / 'kubelet-pki'}",
        *(flag.format(socket=node.containerd_socket) for flag in release.kubelet_flags),
        *spec.flags,
    ]


def _pod_network(node: NodeLayout, spec: NodeSpec) -> dict[str, object]:
    return {
        "cniVersion": "0.4.0",
        "name": node.network,
        "plugins": [
            {
                "type": "ptp",
                "ipMasq": False,
                "ipam": {
                    "type": "host-local",
                    "dataDir": str(node.folder / "cni-addresses"),
                    "ranges": [[{"subnet": spec.pod_range}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            }
        ],
    }


def _kubelet_configuration(layout: Layout, node: NodeLayout, spec: NodeSpec) -> dict[str, object]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": spec.address,
        # Each kubelet listens on its own address, so that all have the usual port; the health port is on loopback.
        "port": _KUBELET_PORT,
        "healthzPort": _HEALTH_PORT + spec.number - 1,
        "containerRuntimeEndpoint": f"unix://{node.containerd_socket}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{node.cgroup}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "enforceNodeAllocatable": ["pods"],
        "systemReserved": dict(spec.reserved),
        "evictionHard": {},
        "imageGCHighThresholdPercent": 100,
        "makeIPTablesUtilChains": False,
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "podLogsDir": str(layout.logs / "pods" / spec.name),
        "volumePluginDir": str(node.folder / "volume-plugins"),
        # The snapshotter copies an image whole for each container, which takes minutes where others use the machine.
        "runtimeRequestTimeout": "15m",
        # Faster than a real node's, so that tests wait less; the pace of resizes is decided by events, not by these.
        "syncFrequency": "5s",
        "nodeStatusUpdateFrequency": "3s",
        "nodeStatusReportFrequency": "15s",
        "eventRecordQPS": 0,
        **spec.settings,
    }


def import_base_images(client: Path, layout: Layout, names: Sequence[str]) -> None:
    """Build the two base images once and import them on each node."""
    for image in (images.pause_image(), images.busybox_image()):
        archive = layout.images / f"{image.name.rpartition('/')[2].partition(':')[0]}.tar"
        images.write_archive(image, archive)
        for name in names:
            images.import_archive(client, layout.node(name), archive)
