"""The Node object and its lease, as a kubelet writes them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from autoscaling.quantity import Format, Quantity
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import rfc3339
from evenkeel.simulator.kubelet.settings import Amounts, NodeSettings

LEASE_NAMESPACE = "kube-node-lease"
_LEASE_SECONDS = 40
_DISK_BYTES = 100 * 2**30

PRESSURES: Mapping[str, tuple[str, str]] = {
    "MemoryPressure": ("KubeletHasSufficientMemory", "KubeletHasInsufficientMemory"),
    "DiskPressure": ("KubeletHasNoDiskPressure", "KubeletHasDiskPressure"),
    "PIDPressure": ("KubeletHasSufficientPID", "KubeletHasInsufficientPID"),
}
"""The conditions of a node that mean trouble, with the reasons of their absence and presence."""


def amounts_json(amounts: Amounts, pods: int) -> JsonObject:
    """Return capacity or allocatable as the API shows it."""
    return {
        "cpu": str(Quantity.of_milli(amounts.cpu_millis)),
        "memory": f"{amounts.memory_bytes // 1024}Ki"
        if amounts.memory_bytes % 1024 == 0
        else str(amounts.memory_bytes),
        "ephemeral-storage": str(Quantity.of_units(_DISK_BYTES, Format.BINARY_SI)),
        "pods": str(pods),
    }


def node_labels(settings: NodeSettings) -> JsonObject:
    """Return the labels of a node."""
    usual: JsonObject = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": settings.name,
    }
    return usual | dict(settings.labels)


def node_status(settings: NodeSettings, address: str, conditions: list[JsonObject]) -> JsonObject:
    """Return the status of a node."""
    return {
        "capacity": amounts_json(settings.capacity, settings.pods),
        "allocatable": amounts_json(settings.allocatable, settings.pods),
        "conditions": conditions,
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": settings.name}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "kubeletVersion": settings.version,
            "kubeProxyVersion": "",
            "containerRuntimeVersion": "simulated://1",
            "operatingSystem": "linux",
            "architecture": "amd64",
            "osImage": "simulated",
            "kernelVersion": "6.1",
            "machineID": settings.name,
            "systemUUID": settings.name,
            "bootID": settings.name,
        },
    }


def conditions_of(
    pressures: Mapping[str, tuple[bool, datetime]], ready_since: datetime, now: datetime
) -> list[JsonObject]:
    """Return the conditions of a node.

    Args:
        pressures: Whether each pressure holds, and since when it does or does not.
        ready_since: Since when the kubelet is ready.
        now: The present.
    """
    listed: list[JsonObject] = []
    for kind, (absent, present) in PRESSURES.items():
        holds, since = pressures[kind]
        listed.append(_condition(kind, (present if holds else absent), holds=holds, since=since, now=now))
    return [*listed, _condition("Ready", "KubeletReady", holds=True, since=ready_since, now=now)]


def _condition(kind: str, reason: str, *, holds: bool, since: datetime, now: datetime) -> JsonObject:
    """Return one condition."""
    return {
        "type": kind,
        "status": "True" if holds else "False",
        "reason": reason,
        "message": f"the kubelet reports {reason}",
        "lastHeartbeatTime": rfc3339(now),
        "lastTransitionTime": rfc3339(since),
    }


def lease_of(name: str, node_uid: str, now: datetime) -> JsonObject:
    """Return the lease that shows that a node's kubelet lives."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node_uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {
            "holderIdentity": name,
            "leaseDurationSeconds": _LEASE_SECONDS,
            "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        },
    }
