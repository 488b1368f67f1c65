"""How much room nodes have left, and growing a pod no further than that (beyond:B-24)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autoscaling.behaviour import Behaviour
from autoscaling.node import Node
from autoscaling.pod import Pod, PodPhase
from autoscaling.pod_totals import Amounts
from autoscaling.quantity import NANO
from autoscaling.resources import CONTROLLED, CPU, MEMORY
from updater.ledger import Ledger
from updater.pod_requests import hold_of, is_refused
from updater.resize_progress import resize_progress
from updater.resize_status import ResizeStatus

PODS = "pods"
"""Among the room of a node, how many more pods it takes, in nano-units like the rest."""

_ENDED = frozenset({PodPhase.SUCCEEDED, PodPhase.FAILED})
_MILLI = 10**6
_MEBI = 1024**2 * NANO


@dataclass(frozen=True, slots=True)
class Rooms:
    """What the nodes have left, as far as pods that are there already go.

    Args:
        nodes: By name.
        free: By node, what is allocatable less what its pods hold; below zero where deferred resizes wait for room.
        by_free_cpu: Free cpu and name of every node, the one with most first.
    """

    nodes: Mapping[str, Node]
    free: Mapping[str, Amounts]
    by_free_cpu: tuple[tuple[int, str], ...]

    @classmethod
    def of(cls, nodes: Mapping[str, Node], pods: Iterable[Pod]) -> Rooms:
        """Reckon the room of all nodes, looking at every pod once.

        Args:
            pods: Of all namespaces; those that are on their way out still hold what they have.
        """
        held: defaultdict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys((*CONTROLLED, PODS), 0))
        # Pods of one workload share these parts, which live as long as the pods; comparing them would take longer.
        known: dict[tuple[int, ...], Amounts] = {}
        for pod in pods:
            if pod.phase in _ENDED or pod.node_name not in nodes:
                continue
            parts = (pod.containers, pod.init_containers, pod.statuses, pod.init_statuses, pod.placement)
            key = (*map(id, parts), is_refused(pod))
            total = known.get(key)
            if total is None:
                total = known[key] = hold_of(pod).total
            of_node = held[pod.node_name]
            for name in CONTROLLED:
                of_node[name] += total[name]
            of_node[PODS] += NANO
        free = {name: _less(node, held[name]) for name, node in nodes.items()}
        return cls(nodes, free, tuple(sorted(((left[CPU], name) for name, left in free.items()), reverse=True)))

    def left(self, node: str, ledger: Ledger) -> Amounts | None:
        """Return what a node has left after the changes of this round, None where the node is not known."""
        free = self.free.get(node)
        if free is None:
            return None
        taken = ledger.rooms.get(node, {})
        return {name: amount - taken.get(name, 0) for name, amount in free.items()}


def shortfall(wanted: Amounts, left: Amounts) -> Amounts:
    """Return what is missing, resource by resource; what there is enough of is left out."""
    return {name: amount - left[name] for name, amount in wanted.items() if amount > max(left[name], 0)}


def claim_shortfall(pod: Pod, rooms: Rooms, behaviour: Behaviour) -> Amounts:
    """Return what a pod's node lacks for what the pod's spec asks for and the node has put off or refused.

    Args:
        behaviour: Says which conditions are believed.

    Returns:
        Nothing where no resize waits, or where it waits for something else than room; never more than the pod itself
        asks for beyond what it was given, as others may wait for the same room.

    Spec: beyond:B-41, updater K-19.
    """
    free = rooms.free.get(pod.node_name)
    if free is None or resize_progress(pod, behaviour) not in {ResizeStatus.DEFERRED, ResizeStatus.INFEASIBLE}:
        return {}
    hold = hold_of(pod)
    held, asked = hold.total, hold.total_of({name: c.with_requests({}) for name, c in hold.containers.items()})
    given = hold.total_of({name: c.given or c.asked for name, c in hold.containers.items()})
    lacking = {name: min(asked[name] - held[name] - free[name], asked[name] - given[name]) for name in CONTROLLED}
    return {name: amount for name, amount in lacking.items() if amount > 0}


def in_words(missing: Amounts) -> str:
    """Return missing amounts as text, such as ``500m cpu and 128Mi memory``, rounded up."""
    units = {CPU: (_MILLI, "m cpu"), MEMORY: (_MEBI, "Mi memory"), PODS: (NANO, " pod")}
    lacking = ((missing.get(name, 0), *unit) for name, unit in units.items())
    return " and ".join(f"{-(-amount // unit)}{name}" for amount, unit, name in lacking if amount > 0)


def _less(node: Node, held: Amounts) -> Amounts:
    """Return what is allocatable on a node less what is held; a node that does not limit its pods takes any number."""
    allocatable = {name: quantity.nano for name, quantity in node.allocatable.items()}
    return {
        **{name: allocatable.get(name, 0) - held[name] for name in CONTROLLED},
        PODS: allocatable.get(PODS, held[PODS] + NANO * 10**6) - held[PODS],
    }
