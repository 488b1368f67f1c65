"""What pods look like to nodes: where they may run and what they ask for, counted as pods come and go.

The pods of a workload mostly look alike, so a VPA has one shape or, during a rollout, two. Pods that have ended count
as well: they tell where the next run of a Job may go.

Spec: beyond:B-11.
"""

from __future__ import annotations

from dataclasses import replace

from autoscaling.ownership import pod_controller
from autoscaling.pod import Pod
from autoscaling.pod_totals import Basis, Side, pod_total
from autoscaling.resources import CPU, MEMORY, ResourceList
from autoscaling.scheduling import Demands
from autoscaling.targets import WorkloadKey
from recommender.amounts import from_quantity
from recommender.label_sets import Room, Shape, TrackedVpa
from recommender.pod_state import PodState
from recommender.policy_bounds import NANO_PER_AMOUNT

DAEMON_SET = "DaemonSet"


class PodShapes:
    """The shapes of all pods; mutable, owned by the task of the rounds.

    Attributes:
        changed: VPAs whose pods have got a shape that none of them had, or lost one; to be cleared by who looks.
        of_daemon_sets: Shapes of the pods of each DaemonSet.
    """

    def __init__(self) -> None:
        self.changed: set[TrackedVpa] = set()
        self.of_daemon_sets: dict[WorkloadKey, dict[Shape, None]] = {}

    def observe(self, state: PodState, pod: Pod) -> None:
        """Count a pod that is new or has changed; one whose placement is not read has no shape.

        Args:
            state: What the model knows of it by now.
            pod: The pod.
        """
        if pod.placement is None:
            self.forget(state)
            return
        daemon_set = _daemon_set(pod)
        demands = None if daemon_set is None else Demands.of(replace(pod.placement, node_terms=None))
        # Pods of one workload share these parts; comparing them would take longer.
        parts = (pod.placement if demands is None else None, pod.containers, pod.init_containers)
        key = (daemon_set, demands, *map(id, parts))
        held = state.shape
        if held is not None and held.label_set is state.label_set and held.key == key:
            return
        self.forget(state)
        shapes = state.label_set.shapes
        shape = shapes.get(key)
        if shape is None:
            shape = shapes[key] = Shape(
                key,
                state.label_set,
                demands or Demands.of(pod.placement),
                daemon_set,
                _requests(pod),
                _room(pod.placement.overhead),
                _total(pod),
                parts,
            )
            self._note(shape)
            if daemon_set is not None:
                self.of_daemon_sets.setdefault(daemon_set, {})[shape] = None
        shape.pods += 1
        state.shape = shape

    def forget(self, state: PodState) -> None:
        """Count a pod no longer."""
        shape = state.shape
        if shape is None:
            return
        state.shape = None
        shape.pods -= 1
        if shape.pods:
            return
        del shape.label_set.shapes[shape.key]
        self._note(shape)
        if shape.daemon_set is not None:
            left = self.of_daemon_sets[shape.daemon_set]
            del left[shape]
            if not left:
                del self.of_daemon_sets[shape.daemon_set]

    def _note(self, shape: Shape) -> None:
        self.changed.update(shape.label_set.vpas)


def _daemon_set(pod: Pod) -> WorkloadKey | None:
    """Return the DaemonSet that a pod is of, None where it is of none."""
    controller = pod_controller(pod)
    if controller is None or controller.kind != DAEMON_SET:
        return None
    return controller.namespace, controller.kind, controller.name


def _requests(pod: Pod) -> dict[str, Room]:
    """Return what each container asks for that runs as long as the pod: sidecars do, whether they count or not."""
    running = (*pod.containers, *(each for each in pod.init_containers if each.is_sidecar))
    return {each.name: _room(each.resources.requests) for each in running}


def _room(amounts: ResourceList | None) -> Room:
    amounts = amounts or {}
    return from_quantity(amounts.get(CPU), CPU), from_quantity(amounts.get(MEMORY), MEMORY)


def _total(pod: Pod) -> Room:
    total = pod_total(pod, Side.REQUESTS, Basis.SPEC)
    cpu, memory = (-(-total.get(resource, 0) // NANO_PER_AMOUNT[resource]) for resource in (CPU, MEMORY))
    return cpu, memory
