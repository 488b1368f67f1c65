"""Resources of which no sample was ever seen, and leaving them out of recommendations.

A histogram without samples estimates the minimum with bounds no wider, so pods would be shrunk to the minimum at once:
right after a VPA is created, or while the metrics API does not answer.

Spec: recommender 4.2, E4.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recommender.aggregation import AggregateTable
from recommender.grouping import Groups

Flags = NDArray[np.bool_]


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


def listed(wanted: Groups, seen: Groups) -> Flags:
    """Say which groups have an entry: none of which nothing was seen; one that controls no resource anyway has one.

    Args:
        wanted: The groups as their policies have them.
        seen: What ``without_unseen`` made of them.

    Returns:
        bool[groups].
    """
    silent = (wanted.controls_cpu | wanted.controls_memory) & ~(seen.controls_cpu | seen.controls_memory)
    return seen.is_scaled & ~silent
