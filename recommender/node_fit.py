"""Keeps an eye on pods and nodes, round after round, and holds recommendations to what nodes have.

Spec: beyond:B-11, case:45; performance R-3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from autoscaling.node import Node
from autoscaling.pod import Pod
from autoscaling.resources import CPU, MEMORY
from autoscaling.targets import WorkloadKey
from autoscaling.workload import Workload
from recommender.amounts import from_quantity
from recommender.cluster_model import ClusterModel, NamespacedName
from recommender.label_sets import Room, Shape
from recommender.node_caps import fitted_to_nodes, recommended_of
from recommender.node_rooms import DaemonPods, NodeRooms
from recommender.pod_shapes import PodShapes
from recommender.recommending import Recommended
from recommender.vpa_rooms import VpaRooms


@dataclass(frozen=True, slots=True)
class KnownNodes:
    """What is known besides pods and VPAs.

    Args:
        nodes: All nodes; the same object as before where nothing has changed.
        daemon_sets: All DaemonSets.
        workloads: All workloads that are known.
        versions: Differ from those before when a workload has changed.
    """

    nodes: Sequence[Node]
    daemon_sets: Sequence[Workload]
    workloads: Mapping[WorkloadKey, Workload]
    versions: tuple[int, ...]


@dataclass(slots=True)
class NodeFit:
    """What is known of pods and nodes; mutable, owned by the task of the rounds."""

    _shapes: PodShapes = field(default_factory=PodShapes)
    _nodes: NodeRooms = field(default_factory=NodeRooms)
    _vpas: VpaRooms = field(default_factory=VpaRooms)

    def observe(self, model: ClusterModel, pods: Sequence[Pod]) -> None:
        """Look at pods that are new or have changed, once the model has."""
        for pod in pods:
            state = model.pods.get((pod.namespace, pod.name))
            if state is not None:
                self._shapes.observe(state, pod)

    def forget(self, model: ClusterModel, key: NamespacedName) -> None:
        """Drop a pod that is gone, before the model does."""
        state = model.pods.get(key)
        if state is not None:
            self._shapes.forget(state)

    def applied(self, recommended: Recommended, known: KnownNodes) -> Recommended:
        """Return what a round recommends as far as nodes have room for it, with the conditions of what is held back.

        Args:
            recommended: As computed.
            known: What there is.
        """
        table = recommended.recommendations
        self._nodes.look(known.nodes, self._daemon_pods(known.daemon_sets))
        changed, self._shapes.changed = self._shapes.changed, set()
        self._vpas.look(table.groups, changed, recommended_of(table), known.workloads, known.versions)
        fitted = fitted_to_nodes(table, self._vpas.columns(self._nodes))
        if not fitted.conditions:
            return replace(recommended, recommendations=fitted.table)
        cautions = dict(recommended.cautions)
        for place, condition in fitted.conditions.items():
            tracked = table.groups.vpas[place]
            cautions[tracked] = (*cautions.get(tracked, ()), condition)
        return replace(recommended, recommendations=fitted.table, cautions=cautions)

    def _daemon_pods(self, daemon_sets: Sequence[Workload]) -> tuple[DaemonPods, ...]:
        """Return what the pods of DaemonSets take: the largest pod of each, or what the template asks for."""
        found: list[DaemonPods] = []
        for each in daemon_sets:
            if each.placement is None:
                continue
            key = each.namespace, each.kind, each.name
            shapes = self._shapes.of_daemon_sets.get(key)
            found.append(DaemonPods(key, each.placement, _largest(shapes) if shapes else _by_template(each)))
        return tuple(found)


def _largest(shapes: Mapping[Shape, None]) -> Room:
    totals = [shape.total for shape in shapes]
    return max(cpu for cpu, _ in totals), max(memory for _, memory in totals)


def _by_template(workload: Workload) -> Room:
    """Return what all containers of a template ask for together."""
    cpu, memory = (
        sum(from_quantity(each.request(name), name) for each in workload.template.values()) for name in (CPU, MEMORY)
    )
    return cpu, memory
