"""Containers that were renamed or removed: no pod has them any more, only history does.

They take no share of a pod's minimum at once, and leave the recommendation once they have been gone for a while; a
rollback brings them back with their history. A VPA of which no pod runs has lost none of its containers.

Spec: beyond:B-6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

import numpy as np

from autoscaling.pod import PodPhase
from recommender.cluster_model import ClusterModel
from recommender.grouping import Groups, merged_samples
from recommender.instants import elapsed, instant, nanoseconds
from recommender.label_sets import LabelSet, TrackedVpa

GRACE: Final = timedelta(hours=1)
"""Time since the last sample of a container that is gone for which it stays in the recommendation."""


def without_removed(model: ClusterModel, groups: Groups, now: datetime) -> Groups:
    """Return the groups with those of removed containers marked as absent, and switched off once the grace is over.

    Args:
        model: Its pods tell which containers there are.
        groups: Groups of its VPAs.
        now: The time of the round.
    """
    running = _running_containers(model)
    present: list[bool] = []
    for tracked, (begin, end) in zip(groups.vpas, pairwise(groups.bounds.tolist()), strict=True):
        names = _names_of(tracked, running)
        present += [not names or name in names for name in groups.names[begin:end]]
    is_present = np.array(present, dtype=np.bool_)
    if is_present.all():
        return groups
    _, last, _ = merged_samples(model.aggregates, groups)
    silence = elapsed(np.full(len(groups), instant(now)), last)
    stays = is_present | (silence <= nanoseconds(GRACE))
    return replace(
        groups,
        is_present=is_present,
        is_scaled=groups.is_scaled & stays,
        controls_cpu=groups.controls_cpu & stays,
        controls_memory=groups.controls_memory & stays,
    )


def _running_containers(model: ClusterModel) -> dict[LabelSet, set[str]]:
    """Return the containers of the pods of each label set that have not ended."""
    running: dict[LabelSet, set[str]] = {}
    for pod in model.pods.values():
        phase = pod.phase
        if phase is PodPhase.SUCCEEDED or phase is PodPhase.FAILED:
            continue
        names = running.get(pod.label_set)
        if names is None:
            running[pod.label_set] = set(pod.names)
        elif not names.issuperset(pod.names):
            names.update(pod.names)
    return running


def _names_of(tracked: TrackedVpa, running: Mapping[LabelSet, set[str]]) -> set[str]:
    """Return the containers of the pods of a VPA that have not ended."""
    found = [running[label_set] for label_set in tracked.label_sets if label_set in running]
    return found[0] if len(found) == 1 else set().union(*found)
