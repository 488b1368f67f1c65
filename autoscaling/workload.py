"""A frozen snapshot of one object of a well-known controller kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from autoscaling.matching import Selector
from autoscaling.objectref import ObjectRef
from autoscaling.ownership import ControllerKey, Controllers, ScaleAnswer
from autoscaling.placement import Placement
from autoscaling.pod import Owner
from autoscaling.resources import ContainerResources

Template = Mapping[str, ContainerResources]
"""Resources of the containers of a pod template, by name; empty where it is not known."""

NO_TEMPLATE: Final[Template] = MappingProxyType({})
"""A template that is not known."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController, Job or CronJob.

    Args:
        selector: Of its pods; a CronJob's is made of the labels of its pod template.
        owners: Its owner references.
        replicas: ``spec.replicas``, None where the object does not say or the kind has none.
        desired_scheduled: ``status.desiredNumberScheduled`` of a DaemonSet, else 0.
        template: What the containers of its pod template ask for, init containers included; a CronJob's is not read.
        placement: Where its pod template lets pods run; None where that is not known. Only that of a Deployment, a
            DaemonSet or a StatefulSet is read.
    """

    kind: str
    namespace: str
    name: str
    selector: Selector
    api_version: str = ""
    uid: str = ""
    owners: tuple[Owner, ...] = ()
    replicas: int | None = None
    desired_scheduled: int = 0
    template: Template = field(default_factory=lambda: NO_TEMPLATE)
    placement: Placement | None = None

    @property
    def ref(self) -> ObjectRef:
        """The object's kind, namespace and name."""
        return ObjectRef(self.kind, self.namespace, self.name)


def controllers_of(workloads: Iterable[Workload], scales: Mapping[ControllerKey, ScaleAnswer]) -> Controllers:
    """Return the owner map of cached workloads together with the scale answers read so far."""
    return Controllers({(w.namespace, w.kind, w.name): w.owners for w in workloads}, scales)
