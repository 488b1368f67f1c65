"""The needs that OOM kills have shown: in force for a while beside the percentile, which one of many pods cannot move.

A peak of a container on its own stays above the 90th percentile of its history for three half lives, and so long a need
stays in force, however many other pods there are.

Spec: beyond:B-5, case:15.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.aggregation import AggregateTable
from recommender.grouping import Groups, MergedUsage
from recommender.instants import nanoseconds

Integers = NDArray[np.int64]

HALF_LIVES_IN_FORCE: Final = 3

_TARGET, _UPPER_BOUND = 0, 2


def note_needs(aggregates: AggregateTable, rows: Integers, needs: Integers, instants: Integers) -> None:
    """Put the needs of kills in force; of several the largest counts, until the last of them lapses.

    Args:
        aggregates: Changed, where its settings ask for it.
        rows: int64[n], aggregate of each kill.
        needs: int64[n], bytes.
        instants: int64[n], when each kill happened.
    """
    if not aggregates.settings.oom_needs_count:
        return
    length = HALF_LIVES_IN_FORCE * nanoseconds(aggregates.settings.memory_half_life)
    np.maximum.at(aggregates.oom_need, rows, needs)
    np.maximum.at(aggregates.oom_need_until, rows, instants + length)


def lapse(aggregates: AggregateTable, now: int | Integers) -> None:
    """Forget the needs that are no longer in force.

    Args:
        aggregates: Changed.
        now: An instant, or one for each row of the table; a need that is in force until then no longer is.
    """
    over = np.flatnonzero((aggregates.oom_need > 0) & (aggregates.oom_need_until <= now))
    aggregates.oom_need[over] = aggregates.oom_need_until[over] = 0


def with_needs(aggregates: AggregateTable, groups: Groups, usage: MergedUsage) -> MergedUsage:
    """Return the usage of groups with target and upper bound of memory no less than the needs in force.

    Args:
        aggregates: Holds the needs.
        groups: The groups.
        usage: Of these groups.
    """
    if not len(groups):
        return usage
    return raised(usage, np.maximum.reduceat(aggregates.oom_need[groups.members], groups.starts))


def raised(usage: MergedUsage, needs: Integers) -> MergedUsage:
    """Return usage with target and upper bound of memory no less than needs.

    Args:
        usage: Of n groups or containers.
        needs: int64[n], bytes, 0 for none.
    """
    if not needs.any():
        return usage
    memory = usage.memory.copy()
    for place in (_TARGET, _UPPER_BOUND):
        np.maximum(memory[place], needs, out=memory[place])
    return replace(usage, memory=memory)
