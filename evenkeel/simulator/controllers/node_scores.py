"""Which of the nodes that fit a pod suits it best: pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evenkeel.simulator.api.fields import JsonObject, child, rows
from evenkeel.simulator.controllers.index import controller_uid
from evenkeel.simulator.controllers.node_fit import Effect, preference, untolerated
from evenkeel.simulator.controllers.node_usage import NodeState

_BEST = 100
_UNSTATED = {"cpu": 100 * 10**6, "memory": 200 * 1024**2 * 10**9}
"""What a pod that requests nothing is reckoned with when nodes are compared."""


@dataclass(frozen=True, slots=True)
class _Weights:
    """How much each aspect counts."""

    room: int = 1
    balance: int = 1
    affinity: int = 2
    spread: int = 2
    taints: int = 3


_WEIGHTS = _Weights()


def best_node(pod: JsonObject, requests: Mapping[str, int], nodes: Sequence[NodeState]) -> NodeState:
    """Return the node that suits a pod best; of equals the first by name.

    Room that stays free, balance between cpu and memory, preferred affinity, few pods of the same controller and few
    taints that are merely not preferred speak for a node.

    Args:
        pod: The pod.
        requests: What it asks for, in billionths.
        nodes: The nodes that fit, at least one.
    """
    wanted = {name: requests.get(name) or _UNSTATED[name] for name in _UNSTATED}
    controller = controller_uid(pod)
    tolerations = rows(pod, "spec", "tolerations")
    chooses = bool(child(pod, "spec", "affinity", "nodeAffinity"))
    preferred = _normal([preference(pod, node.body or {}) if chooses else 0 for node in nodes])
    crowded = _normal([node.by_controller.get(controller, 0) for node in nodes])
    tainted = _normal([_unwelcome(node, tolerations) for node in nodes])
    taken = [_taken(node, wanted) for node in nodes]
    scores = [
        _WEIGHTS.room * _room(*taken[index])
        + _WEIGHTS.balance * _balance(*taken[index])
        + _WEIGHTS.affinity * preferred[index]
        + _WEIGHTS.spread * (_BEST - crowded[index])
        + _WEIGHTS.taints * (_BEST - tainted[index])
        for index in range(len(nodes))
    ]
    return nodes[min(range(len(nodes)), key=lambda index: (-scores[index], nodes[index].name))]


def _unwelcome(node: NodeState, tolerations: list[JsonObject]) -> int:
    """Return how many taints that merely say to prefer other nodes a pod does not tolerate."""
    return len(untolerated(node.taints, tolerations, Effect.PREFER_NO_SCHEDULE)) if node.taints else 0


def _normal(values: Sequence[int]) -> list[int]:
    """Return values in proportion to the largest, which becomes 100."""
    most = max(values, default=0)
    return [value * _BEST // most if most else 0 for value in values]


def _taken(node: NodeState, wanted: Mapping[str, int]) -> tuple[float, float]:
    """Return which share of cpu and of memory would be taken, at most all."""
    cpu, memory = (
        min(1.0, (node.used.get(name, 0) + wanted[name]) / node.allocatable[name])
        if node.allocatable.get(name)
        else 1.0
        for name in ("cpu", "memory")
    )
    return cpu, memory


def _room(cpu: float, memory: float) -> int:
    """Score how much of cpu and memory stays free."""
    return int((2 - cpu - memory) * _BEST / 2)


def _balance(cpu: float, memory: float) -> int:
    """Score how alike the shares of cpu and memory are that would be taken."""
    return int((1 - abs(cpu - memory) / 2) * _BEST)
