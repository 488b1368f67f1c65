"""The Node object and its lease."""

from __future__ import annotations

from datetime import timedelta

from evenkeel.simulator.api.fields import child, rows, text
from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.kubelet.node_object import amounts_json, conditions_of, lease_of, node_labels, node_status
from evenkeel.simulator.kubelet.settings import Amounts, NodeSettings
from tests.evenkeel.simulator.kubelet.pods import GIBIBYTE

SETTINGS = NodeSettings("n", Amounts(1500, 8 * GIBIBYTE), system_reserved=Amounts(500, 0), labels={"zone": "a"})


def test_capacity_and_allocatable() -> None:
    status = node_status(SETTINGS, "10.0.0.1", [])
    assert child(status, "capacity") == {
        "cpu": "1500m",
        "memory": "8388608Ki",
        "ephemeral-storage": "100Gi",
        "pods": "110",
    }
    allocatable = child(status, "allocatable")
    assert (allocatable["cpu"], allocatable["memory"]) == ("1", "8286208Ki")
    assert [text(row, "address") for row in rows(status, "addresses")] == ["10.0.0.1", "n"]


def test_odd_bytes_are_printed_as_they_are() -> None:
    assert amounts_json(Amounts(1, 1025), 1)["memory"] == "1025"


def test_labels() -> None:
    assert node_labels(SETTINGS)["zone"] == "a"
    assert node_labels(SETTINGS)["kubernetes.io/hostname"] == "n"


def test_conditions() -> None:
    later = EPOCH + timedelta(minutes=1)
    pressures = {
        "MemoryPressure": (True, later),
        "DiskPressure": (False, EPOCH),
        "PIDPressure": (False, EPOCH),
    }
    listed = conditions_of(pressures, EPOCH, later)
    assert [(text(c, "type"), text(c, "status"), text(c, "reason")) for c in listed] == [
        ("MemoryPressure", "True", "KubeletHasInsufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ]
    assert text(listed[0], "lastTransitionTime") == "2026-01-01T00:01:00Z"
    assert text(listed[1], "lastTransitionTime") == "2026-01-01T00:00:00Z"
    assert {text(c, "lastHeartbeatTime") for c in listed} == {"2026-01-01T00:01:00Z"}


def test_the_lease() -> None:
    lease = lease_of("n", "uid-n", EPOCH + timedelta(milliseconds=5))
    assert child(lease, "metadata")["namespace"] == "kube-node-lease"
    assert child(lease, "spec") == {
        "holderIdentity": "n",
        "leaseDurationSeconds": 40,
        "renewTime": "2026-01-01T00:00:00.005000Z",
    }
