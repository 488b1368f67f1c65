"""Resources of which no sample was ever seen, and leaving them out of recommendations.

A histogram without samples estimates the minimum with bounds no wider, so pods would be shrunk to the minimum at once:
right after a VPA is created, or while the metrics API does not answer.

Spec: recommender 4.2, E4.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from autoscaling.vpa import Recommendation
from recommender.aggregation import AggregateTable
from recommender.grouping import Groups


def without_unseen(aggregates: AggregateTable, groups: Groups) -> Groups:
    """Return the groups with only those resources controlled of which at least one sample was seen.

    A container of which nothing was seen still takes its share of the pod's minimum.
    """
    if not len(groups):
        return groups
    # The count of samples would not do: fetches that tell of memory only are counted, too.
    has_cpu = np.logical_or.reduceat(~aggregates.cpu.is_empty(groups.members), groups.starts)
    has_memory = np.logical_or.reduceat(~aggregates.memory.is_empty(groups.members), groups.starts)
    return replace(
        groups,
        controls_cpu=groups.controls_cpu & has_cpu,
        controls_memory=groups.controls_memory & has_memory,
    )


def without_silent_entries(wanted: Groups, seen: Groups, recommendations: list[Recommendation]) -> list[Recommendation]:
    """Drop the entries of containers of which nothing was seen; one that controls no resource anyway stays.

    Args:
        wanted: The groups as their policies have them.
        seen: What ``without_unseen`` made of them.
        recommendations: Of each VPA, in order.
    """
    silent = (wanted.controls_cpu | wanted.controls_memory) & ~(seen.controls_cpu | seen.controls_memory)
    if not silent.any():
        return recommendations
    flags, kept = silent.tolist(), []
    for recommendation, (begin, end) in zip(recommendations, pairwise(wanted.bounds.tolist()), strict=True):
        dropped = {name for name, flag in zip(wanted.names[begin:end], flags[begin:end], strict=True) if flag}
        entries = (entry for entry in recommendation.containers if entry.container_name not in dropped)
        kept.append(Recommendation(tuple(entries)))
    return kept
