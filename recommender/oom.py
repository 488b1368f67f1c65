"""OOM kills to memory samples.

Spec: recommender 2.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from recommender.aggregation import AggregateTable
from recommender.amounts import scaled
from recommender.container_table import ContainerTable
from recommender.instants import NEVER
from recommender.memory_peaks import PeakChanges, in_order, move_windows
from recommender.oom_needs import note_needs
from recommender.samples import SampleColumns, turns

Flags = NDArray[np.bool_]


class OomOutcome(Enum):
    """What became of one OOM record."""

    RECORDED = "recorded"
    TOO_OLD = "too_old"
    UNKNOWN_POD = "unknown_pod"
    UNKNOWN_CONTAINER = "unknown_container"


@dataclass(frozen=True, slots=True)
class OomRecord:
    """A container that ran out of memory.

    Args:
        namespace: Of the pod.
        pod: Its name.
        container: The container's name.
        at: When it was killed or evicted.
        memory_bytes: Its memory request, or the use reported with an eviction; 0 where unknown.
    """

    namespace: str
    pod: str
    container: str
    at: datetime
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class OomsOutcome:
    """What became of OOM kills.

    Args:
        outcomes: One for each, in order.
        needs: The needs of those that were recorded, in bytes.
    """

    outcomes: tuple[OomOutcome, ...]
    needs: SampleColumns


@dataclass(frozen=True, slots=True)
class TakenOoms:
    """What became of OOM kills.

    Args:
        recorded: bool[n]; false for a kill more than one interval older than the container's last memory sample.
        needs: The needs of those that were recorded, in bytes.
    """

    recorded: Flags
    needs: SampleColumns


def take_ooms(containers: ContainerTable, aggregates: AggregateTable, kills: SampleColumns) -> TakenOoms:
    """Take in OOM kills, in this order.

    The need is the larger of the memory in use plus the least bump and the memory in use times the ratio; in use is
    the request or the window's usage peak. An earlier kill's need is left out, so that kills do not compound.

    Args:
        containers: Their windows and peaks move on.
        aggregates: Takes the peaks; every container must have its aggregate.
        kills: Requested bytes of each kill.
    """
    needs = np.zeros(len(kills), dtype=np.int64)
    recorded = np.zeros(len(kills), dtype=np.bool_)
    changes: list[PeakChanges] = []
    split = turns(containers, kills.containers)
    for positions in [np.arange(len(kills))] if split is None else split:
        turn = kills.select(positions)
        aggregate = containers.aggregate[turn.containers]
        last = containers.last_memory[turn.containers]
        used = np.maximum(turn.amounts, containers.memory_peak[turn.containers])
        needed = np.maximum(used + aggregates.oom_bump[aggregate], scaled(used, aggregates.oom_ratio[aggregate]))
        in_time = (last == NEVER) | (turn.instants >= last - aggregates.interval[aggregate])
        in_time &= needed >= 0
        recorded[positions] = in_time
        needs[positions] = needed
        counted = SampleColumns(turn.containers, turn.instants, needed).select(in_time)
        note_needs(aggregates, aggregate[in_time], counted.amounts, counted.instants)
        moved = move_windows(containers, aggregates, counted, is_oom=True)
        changes.append(moved.placed(positions[in_time]))
    aggregates.change_peaks(*in_order(changes))
    return TakenOoms(recorded, SampleColumns(kills.containers, kills.instants, needs).select(recorded))
