"""A frozen snapshot of a ResourceQuota: how much of a namespace's share is used."""

from __future__ import annotations

from dataclasses import dataclass, field

from autoscaling.objectref import ObjectRef
from autoscaling.resources import ResourceList


@dataclass(frozen=True, slots=True)
class ScopeRequirement:
    """One condition on the pods that a quota counts.

    Args:
        scope: Such as Terminating, BestEffort or PriorityClass.
        operator: In, NotIn, Exists or DoesNotExist; an entry of ``spec.scopes`` is Exists.
    """

    scope: str
    operator: str = "Exists"
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quota:
    """A quota as one process saw it at one moment.

    Args:
        hard: ``status.hard``, by the quota's own names: ``requests.cpu``, ``cpu``, ``limits.memory`` and so on.
        used: ``status.used``.
        scopes: All of them must hold for a pod to be counted; none counts every pod.
    """

    namespace: str
    name: str
    hard: ResourceList = field(default_factory=dict)
    used: ResourceList = field(default_factory=dict)
    scopes: tuple[ScopeRequirement, ...] = ()
    resource_version: str = ""

    @property
    def ref(self) -> ObjectRef:
        """The object's kind, namespace and name."""
        return ObjectRef("ResourceQuota", self.namespace, self.name)
