"""Which of several nodes suits a pod best."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.controllers.node_scores import best_node
from evenkeel.simulator.controllers.node_usage import NodeState

CORE, GIB = 10**9, 1024**3 * 10**9


def state(
    name: str, cpu: int = 0, memory: int = 0, *, labels: JsonObject | None = None, taints: int = 0, siblings: int = 0,
    size: int = 10,
) -> NodeState:  # fmt: skip
    shown: list[JsonObject] = [{"key": f"t{i}", "effect": "PreferNoSchedule"} for i in range(taints)]
    body: JsonObject = {"metadata": {"name": name, "labels": labels or {}}}
    used = {"cpu": cpu * CORE, "memory": memory * GIB}
    controllers = {"u": siblings} if siblings else {}
    return NodeState(name, body, shown, {"cpu": size * CORE, "memory": size * GIB}, used, siblings, controllers)


def preferring(value: str, weight: int = 1) -> JsonObject:
    expression = {"key": "zone", "operator": "In", "values": [value]}
    term = {"weight": weight, "preference": {"matchExpressions": [expression]}}
    return {"spec": {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}}


OWNED: JsonObject = {"metadata": {"ownerReferences": [{"uid": "u", "controller": True}]}}


@pytest.mark.parametrize(
    ("row", "pod", "better", "worse"),
    [
        ("more room", {}, state("b", 1, 1), state("a", 5, 5)),
        ("better balance", {}, state("b", 4, 4), state("a", 8, 0)),
        ("the larger node", {}, state("b", size=20), state("a", size=5)),
        ("preferred affinity", preferring("x"), state("b", 8, 8, labels={"zone": "x"}), state("a", 2, 2)),
        ("fewer siblings", OWNED, state("b", 6, 6), state("a", 2, 2, siblings=2)),
        ("siblings of another do not matter", {}, state("b", 1, 1, siblings=9), state("a", 5, 5)),
        ("fewer taints", {}, state("b", 8, 8), state("a", taints=1)),
        ("otherwise by name", {}, state("a"), state("b")),
    ],
)
def test_the_better_node(row: str, pod: JsonObject, better: NodeState, worse: NodeState) -> None:
    for nodes in ([better, worse], [worse, better]):
        assert best_node(pod, {"cpu": CORE}, nodes) is better, row


def test_a_node_without_amounts_is_as_good_as_full() -> None:
    nothing = NodeState("a", {})
    assert best_node({}, {}, [nothing, state("b", 9, 9)]).name == "b"
