"""Everything one round of the updater looks at, frozen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from autoscaling.limitrange import LimitRange, NamespaceLimits, merge
from autoscaling.matching import NOTHING, SelectingVpa
from autoscaling.objectref import ObjectRef
from autoscaling.ownership import ControllerKey, Controllers, ScaleAnswer
from autoscaling.pod import Pod
from autoscaling.workload import Workload, controllers_of
from updater.surroundings import UNKNOWN, Surroundings


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The cluster as one round sees it.

    Args:
        vpas: Every VPA with the selector of its target, in the order in which they are to be served; the selector
            that matches nothing stands for a target that could not be resolved.
        pods: Every pod, in cache order.
        controllers: Owner references and scale answers, for the way from a pod to its topmost controller.
        workloads: The cached objects of the seven well-known kinds, and what is known of others by their scale.
        limits: Merged LimitRanges by namespace.
        surroundings: What else tells whether a change would do harm.
    """

    vpas: tuple[SelectingVpa, ...]
    pods: tuple[Pod, ...]
    controllers: Controllers
    workloads: Mapping[ObjectRef, Workload]
    limits: Mapping[str, NamespaceLimits]
    surroundings: Surroundings = UNKNOWN

    @classmethod
    def of(
        cls,
        vpas: Iterable[SelectingVpa],
        pods: Iterable[Pod],
        workloads: Iterable[Workload],
        scales: Mapping[ControllerKey, ScaleAnswer],
        limit_ranges: Iterable[LimitRange],
    ) -> Snapshot:
        """Put together what the caches hold.

        Args:
            scales: What the scale subresources of other than well-known controllers said so far.
        """
        cached = tuple(workloads)
        by_namespace: defaultdict[str, list[LimitRange]] = defaultdict(list)
        for limit_range in limit_ranges:
            by_namespace[limit_range.namespace].append(limit_range)
        return cls(
            vpas=tuple(vpas),
            pods=tuple(pods),
            controllers=controllers_of(cached, scales),
            workloads={**_scaled(scales), **{workload.ref: workload for workload in cached}},
            limits={namespace: merge(found) for namespace, found in by_namespace.items()},
        )


def _scaled(scales: Mapping[ControllerKey, ScaleAnswer]) -> dict[ObjectRef, Workload]:
    """Return what scale subresources say of controllers of custom kinds (updater K-8)."""
    return {
        ObjectRef(key.kind, key.namespace, key.name): Workload(
            key.kind, key.namespace, key.name, NOTHING, key.api_version, replicas=answer.replicas
        )
        for key, answer in scales.items()
        if answer.is_found
    }
