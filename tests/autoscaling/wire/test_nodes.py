"""Node objects as JSON."""

from __future__ import annotations

import json

import pytest

from autoscaling.errors import InvalidObjectError
from autoscaling.node import Taint
from autoscaling.wire.nodes import decode_node
from tests.builders import printed

Json = dict[str, object]


def raw(spec: Json, status: Json) -> bytes:
    metadata = {"name": "node1", "labels": {"zone": "a"}, "resourceVersion": "9"}
    return json.dumps({"kind": "Node", "metadata": metadata, "spec": spec, "status": status}).encode()


def test_a_node_as_its_kubelet_reports_it() -> None:
    """Spec: beyond:B-24."""
    node = decode_node(
        raw(
            {"unschedulable": True, "taints": [{"key": "spot", "effect": "NoSchedule", "timeAdded": None}]},
            {
                "capacity": {"cpu": "4", "memory": "8Gi"},
                "allocatable": {"cpu": "3920m", "memory": "7Gi", "pods": "110", "example.com/gpu": "1"},
                "images": [{"names": ["example.com/app:1"], "sizeBytes": 1}],
            },
        )
    )
    assert (node.name, node.labels, node.resource_version) == ("node1", {"zone": "a"}, "9")
    assert printed(node.allocatable) == {"cpu": "3920m", "memory": "7Gi", "pods": "110", "example.com/gpu": "1"}
    assert node.taints == (Taint("spot", "", "NoSchedule"),)
    assert node.is_unschedulable


@pytest.mark.parametrize(
    ("row", "conditions", "is_ready"),
    [
        ("beyond:B-25", [{"type": "Ready", "status": "True"}], True),
        ("beyond:B-25", [{"type": "Ready", "status": "False"}], False),
        ("beyond:B-25", [{"type": "Ready", "status": "Unknown"}], False),
        ("beyond:B-25", [{"type": "DiskPressure", "status": "True"}], False),
        ("beyond:B-25", [], False),
        ("beyond:B-25", None, False),
    ],
)
def test_readiness(row: str, conditions: object, is_ready: bool) -> None:
    assert decode_node(raw({}, {"conditions": conditions})).is_ready is is_ready, row


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (raw({}, {"allocatable": {"cpu": "much"}}), "Node node1: .*much.*; look at the log of its kubelet"),
        (raw({"taints": "none"}, {}), r"Node node1: .*\$\.spec\.taints"),
        (b"{", r"Node \(unreadable\)"),
    ],
)
def test_what_cannot_be_read_names_the_node(body: bytes, message: str) -> None:
    with pytest.raises(InvalidObjectError, match=message):
        decode_node(body)
