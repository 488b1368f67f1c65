"""Whose a pod of the past was: its history tells its name and its labels, but no owners.

A workload whose selector matches the labels is a candidate. Pods are named after their controllers, so of several the
one counts whose name a pod's own begins with in the way of its kind. Two StatefulSets with the same labels are told
apart like this, and the runs of a CronJob without labels are found at all. Without such a name the only candidate
counts, unless it selects everything.

Spec: beyond:B-3, beyond:B-19, case:22, case:23; recommender 7.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from autoscaling.matching import Selector
from autoscaling.ownership import ControllerKey
from autoscaling.pod import Pod
from autoscaling.targets import KnownControllers

VOLATILE_LABELS: Final = frozenset(
    {
        "pod-template-hash",
        "pod-template-generation",
        "controller-revision-hash",
        "controller-uid",
        "batch.kubernetes.io/controller-uid",
        "job-name",
        "batch.kubernetes.io/job-name",
        "job-completion-index",
        "batch.kubernetes.io/job-completion-index",
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
    }
)
"""Labels that controllers give to pods of the same workload in different values."""

_SUFFIXES: Final[Mapping[str, str]] = {
    "CronJob": r"-[0-9]+(-[0-9]+)?-[a-z0-9]{5}",
    "DaemonSet": r"-[a-z0-9]{5}",
    "Deployment": r"-[a-z0-9]+-[a-z0-9]{5}",
    "Job": r"(-[0-9]+)?-[a-z0-9]{5}",
    "ReplicaSet": r"-[a-z0-9]{5}",
    "ReplicationController": r"-[a-z0-9]{5}",
    "StatefulSet": r"-[0-9]+",
}
"""What follows a controller's name in the names of its pods."""

_ANY_SUFFIX: Final = r"-.+"

_Candidate = tuple[ControllerKey, Selector]


def stable_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that all pods of a workload have in common."""
    return {name: value for name, value in labels.items() if name not in VOLATILE_LABELS}


@dataclass(frozen=True, slots=True)
class PastOwners:
    """Workloads that pods of the past may have belonged to.

    Args:
        candidates: Topmost controllers with their selectors, by namespace.
    """

    candidates: Mapping[str, tuple[_Candidate, ...]]

    @classmethod
    def of(cls, known: KnownControllers, targets: Iterable[_Candidate]) -> PastOwners:
        """Return those that are known.

        Args:
            known: Cached workloads.
            targets: Targets of VPAs, for those of other kinds.
        """
        found: dict[str, dict[ControllerKey, Selector]] = {}
        for workload in known.workloads.values():
            if any(owner.controller for owner in workload.owners):
                continue
            key = ControllerKey(workload.namespace, workload.kind, workload.name, workload.api_version)
            found.setdefault(workload.namespace, {})[key] = known.selector(key)
        for key, selector in targets:
            if not key.is_well_known:
                found.setdefault(key.namespace, {})[key] = selector
        return cls({namespace: tuple(candidates.items()) for namespace, candidates in found.items()})

    def owner_of(self, pod: Pod) -> ControllerKey | None:
        """Return the topmost controller of a pod of the past, None where that cannot be told."""
        matching = [c for c in self.candidates.get(pod.namespace, ()) if c[1].matches(pod.labels)]
        named = [key for key, _ in matching if _is_named_after(pod.name, key)]
        if named:
            return max(named, key=lambda key: len(key.name))
        labelled = [key for key, selector in matching if selector.requirements]
        return labelled[0] if len(labelled) == 1 else None


def _is_named_after(pod: str, key: ControllerKey) -> bool:
    """Say whether a pod is named as those of a controller are."""
    if not pod.startswith(key.name):
        return False
    suffix = _SUFFIXES.get(key.kind, _ANY_SUFFIX)
    return re.fullmatch(suffix, pod[len(key.name) :]) is not None
