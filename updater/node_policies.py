"""Nodes that keep resources of guaranteed pods as they are, learnt from what they refuse (case:34).

A kubelet with a static CPU manager, or a static memory manager, calls every resize infeasible that would change that
resource's requests in a guaranteed pod, whatever room there is and whether or not the pod has cores of its own. Nothing
in the node's object tells so beforehand.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from autoscaling.behaviour import Behaviour
from autoscaling.pod import RESIZE_PENDING, Pod
from autoscaling.qos import QosClass
from autoscaling.resources import CPU, MEMORY
from updater.resize_progress import resize_progress
from updater.resize_status import ResizeStatus

REMEMBERED_FOR: Final = timedelta(days=1)
"""A kubelet may be set up anew without its node changing, so one resize is tried again after this time."""

_CONCERNED: Final = frozenset({"", QosClass.GUARANTEED.value})
"""QoS classes, as the status has them, of pods that may be refused so."""

_TOLD_BY: Final[Mapping[str, str]] = {CPU: "cpu manager", MEMORY: "memory manager"}
"""What the message of the refusal names, in all wordings that kubelets have had for it."""


def refused_by_policy(pod: Pod, behaviour: Behaviour) -> frozenset[str]:
    """Return the resources that a pod's node refuses to resize for its policy, as far as the pod tells (resize R44)."""
    # Told of guaranteed pods only; most others are told apart here at next to no cost.
    condition = pod.condition(RESIZE_PENDING) if pod.qos_class in _CONCERNED else None
    if condition is None or resize_progress(pod, behaviour) is not ResizeStatus.INFEASIBLE:
        return frozenset()
    return frozenset(name for name, words in _TOLD_BY.items() if words in condition.message.lower())


@dataclass(frozen=True, slots=True)
class NodePolicies:
    """Until when a node is taken to keep a resource of guaranteed pods, by node and resource, as a reducer.

    A restart forgets it; then the pods that still wait for such a resize tell, or one more is tried on each node.
    """

    until: Mapping[tuple[str, str], datetime] = field(default_factory=dict)

    def looking(
        self, pods: Iterable[Pod], nodes: Collection[str] | None, now: datetime, behaviour: Behaviour
    ) -> NodePolicies:
        """Return the policies with what pods tell now, without those of nodes that are gone or too long ago.

        Args:
            pods: All of the cluster.
            nodes: Names of all nodes; None where those are not known.
        """
        told = {
            (pod.node_name, name): now + REMEMBERED_FOR
            for pod in pods
            if pod.conditions
            for name in refused_by_policy(pod, behaviour)
        }
        if not told and not self.until:
            return self
        kept = {key: until for key, until in self.until.items() if now < until and (nodes is None or key[0] in nodes)}
        return NodePolicies({**kept, **told})

    def kept_by(self, node: str) -> frozenset[str]:
        """Return the resources that a node keeps."""
        return frozenset(name for at, name in self.until if at == node) if self.until else frozenset()
