"""Taints that stand for conditions."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, rows
from evenkeel.simulator.controllers.node_taints import wanted_taints
from tests.evenkeel.simulator.controllers.ground import Ground, workload

OWN: JsonObject = {"key": "team", "value": "a", "effect": "NoSchedule"}


def taint(name: str, effect: str = "NoSchedule") -> JsonObject:
    return {"key": f"node.kubernetes.io/{name}", "effect": effect}


def node(conditions: list[tuple[str, str]], *taints: JsonObject, cordoned: bool = False) -> JsonObject:
    listed = [{"type": kind, "status": status} for kind, status in conditions]
    return {"spec": {"taints": list(taints), "unschedulable": cordoned}, "status": {"conditions": listed}}


@pytest.mark.parametrize(
    ("row", "body", "taints"),
    [
        ("all well", node([("Ready", "True"), ("DiskPressure", "False")]), []),
        ("not ready", node([("Ready", "False")]), [taint("not-ready")]),
        ("not heard of", node([("Ready", "Unknown")]), [taint("unreachable")]),
        ("memory", node([("MemoryPressure", "True")]), [taint("memory-pressure")]),
        ("disk", node([("DiskPressure", "True")]), [taint("disk-pressure")]),
        ("processes", node([("PIDPressure", "True")]), [taint("pid-pressure")]),
        ("network", node([("NetworkUnavailable", "True")]), [taint("network-unavailable")]),
        ("cordoned", node([("Ready", "True")], cordoned=True), [taint("unschedulable")]),
        ("several", node([("PIDPressure", "True"), ("Ready", "False")]), [taint("not-ready"), taint("pid-pressure")]),
        ("over again", node([("Ready", "True")], taint("not-ready"), taint("unschedulable")), []),
        ("there already", node([("Ready", "False")], taint("not-ready")), [taint("not-ready")]),
        ("those of others stay", node([("Ready", "True")], OWN), [OWN]),
        (
            "also with one of these names",
            node([("Ready", "True")], taint("not-ready", "NoExecute")),
            [taint("not-ready", "NoExecute")],
        ),
    ],
)
def test_wanted(row: str, body: JsonObject, taints: list[JsonObject]) -> None:
    assert wanted_taints(body) == taints, row


def test_a_node_under_pressure_gets_no_new_pods_until_it_is_over() -> None:
    ground = Ground(0)
    ground.add_node("n1", conditions=[{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "True"}])
    ground.run()
    ground.create(workload("Deployment", replicas=1))
    ground.run()
    assert ground.phases() == ["Pending"]
    assert rows(ground.read("Node", "n1"), "spec", "taints") == [taint("disk-pressure")]
    ground.merge("Node", "n1", status={"conditions": [{"type": "Ready", "status": "True"}]})
    ground.run()
    assert "taints" not in child(ground.read("Node", "n1"), "spec")
    ground.run()
    assert ground.phases() == ["Running"]
