"""A frozen snapshot of a PodDisruptionBudget: whose pods it protects and how many it can spare."""

from __future__ import annotations

from dataclasses import dataclass

from autoscaling.matching import Selector
from autoscaling.objectref import ObjectRef


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A budget as one process saw it at one moment.

    Args:
        selector: Of the pods it protects; an empty one matches every pod of the namespace.
        disruptions_allowed: ``status.disruptionsAllowed``.
        current_healthy: ``status.currentHealthy``.
        desired_healthy: ``status.desiredHealthy``.
        is_observed: Whether its status is about its present spec; until then nothing may be evicted.
        spares_unhealthy: Whether ``unhealthyPodEvictionPolicy`` is AlwaysAllow: a pod that is not Ready may always go.
    """

    namespace: str
    name: str
    selector: Selector
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    is_observed: bool = True
    spares_unhealthy: bool = False
    resource_version: str = ""

    @property
    def ref(self) -> ObjectRef:
        """The object's kind, namespace and name."""
        return ObjectRef("PodDisruptionBudget", self.namespace, self.name)
