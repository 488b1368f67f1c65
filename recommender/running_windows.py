"""Memory windows that still run: found, kept with the checkpoints, and taken up again after a restart.

A checkpoint holds no peak whose window still runs, or that peak would count twice once the window has ended. Kept
beside it, the window goes on after a restart as if nothing had happened; of a pod that is gone by then its peak joins
the history that was loaded.

Spec: beyond B-2; recommender 6.3; case 20.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.aggregation import AggregateTable
from recommender.checkpoint import ContainerCheckpoint, RunningWindow
from recommender.cluster_model import ClusterModel
from recommender.container_table import ContainerTable
from recommender.grouping import Groups
from recommender.instants import instant, moment
from recommender.oom_needs import note_needs
from recommender.rows import spread

Integers = NDArray[np.int64]

MOST_KEPT: Final = 500
"""Windows kept with one checkpoint, those of the highest peaks, so that an object stays well below etcd's limit."""


@dataclass(frozen=True, slots=True)
class Running:
    """Windows that still run, each once for every group that its aggregate is in.

    Args:
        groups: int64[n].
        containers: int64[n], container rows.
    """

    groups: Integers
    containers: Integers


@dataclass(frozen=True, slots=True, eq=False)
class WindowIndex:
    """The windows that run at an instant, by the aggregates that they feed.

    Made once for all VPAs of a round: to look for the windows of each few VPAs anew would cost a look at all containers
    every time.

    Args:
        aggregates: int64[n], ascending.
        containers: int64[n], container rows, those of one aggregate ascending.
    """

    aggregates: Integers
    containers: Integers

    @classmethod
    def of(cls, model: ClusterModel, now: int) -> WindowIndex:
        """Find the running windows.

        Args:
            model: Holds the containers.
            now: An instant; a window that ends then runs no more.
        """
        running = np.flatnonzero(model.containers.window_end > now)
        aggregates = model.keyed_aggregates(running)
        order = np.argsort(aggregates, kind="stable")
        return cls(aggregates[order], running[order])

    def of_groups(self, groups: Groups) -> Running:
        """Return the running windows of groups of VPAs, in the order of their containers."""
        begin = np.searchsorted(self.aggregates, groups.members, side="left")
        sizes = np.searchsorted(self.aggregates, groups.members, side="right") - begin
        # An aggregate that two VPAs use is a member of two groups, which both have its windows.
        owners = np.repeat(np.repeat(np.arange(len(groups)), groups.sizes), sizes)
        containers = self.containers[spread(begin, sizes)]
        order = np.argsort(containers, kind="stable")
        return Running(owners[order], containers[order])


def kept_windows(model: ClusterModel, running: Running, groups: int) -> list[tuple[RunningWindow, ...]]:
    """Return the windows to keep with each group's checkpoint, by the names of their pods.

    Args:
        model: Holds the containers.
        running: The running windows.
        groups: Number of groups.
    """
    table = model.containers
    rows = running.containers
    order = np.lexsort((-table.peak[rows], running.groups))
    rows, owners = rows[order], running.groups[order]
    first = np.searchsorted(owners, owners, side="left")
    chosen = np.arange(len(owners)) - first < MOST_KEPT
    rows, owners = rows[chosen], owners[chosen]
    columns = zip(
        owners.tolist(),
        model.pod_names(rows),
        table.peak[rows].tolist(),
        table.memory_peak[rows].tolist(),
        table.window_end[rows].tolist(),
        table.last_memory[rows].tolist(),
        strict=True,
    )
    kept: list[list[RunningWindow]] = [[] for _ in range(groups)]
    for owner, pod, peak, usage_peak, end, last in columns:
        kept[owner].append(RunningWindow(pod, peak, usage_peak, moment(end), moment(last)))
    return [tuple(sorted(windows, key=lambda window: window.pod)) for windows in kept]


def take_up_windows(model: ClusterModel, loaded: Sequence[tuple[int, ContainerCheckpoint]]) -> int:
    """Take up the windows that were kept with checkpoints.

    Args:
        model: Its pods have been observed, and have had no sample yet.
        loaded: Checkpoints that were loaded, each with the row of its aggregate.

    Returns:
        How many windows go on; of the others the peak counts as history.
    """
    rows: list[int] = []
    windows: list[RunningWindow] = []
    goes_on = 0
    for initial, checkpoint in loaded:
        for window in checkpoint.windows:
            container = model.row_of(checkpoint.namespace, window.pod, checkpoint.container_name)
            if container is None:
                rows.append(initial)
            elif model.containers.is_untouched(container):
                _go_on(model.containers, container, window)
                rows.append(int(model.containers.aggregate[container]))
                goes_on += 1
            else:
                # A second VPA has kept the same window.
                continue
            windows.append(window)
    _count(model.aggregates, rows, windows)
    return goes_on


def _go_on(containers: ContainerTable, row: int, window: RunningWindow) -> None:
    containers.window_end[row] = instant(window.end)
    containers.last_memory[row] = instant(window.last_sample)
    containers.peak[row] = window.peak
    containers.memory_peak[row] = window.usage_peak


def _count(aggregates: AggregateTable, rows: Sequence[int], windows: Sequence[RunningWindow]) -> None:
    """Add the peaks, which the stored histograms lack; one that exceeds what was used shows the need at an OOM kill."""
    kills = [(row, window) for row, window in zip(rows, windows, strict=True) if window.peak > window.usage_peak]
    note_needs(
        aggregates,
        np.array([row for row, _ in kills], dtype=np.int64),
        np.array([window.peak for _, window in kills], dtype=np.int64),
        np.array([instant(window.last_sample) for _, window in kills], dtype=np.int64),
    )
    aggregates.change_peaks(
        np.array(rows, dtype=np.int64),
        np.array([window.peak for window in windows], dtype=np.int64),
        np.array([instant(window.end) for window in windows], dtype=np.int64),
        np.zeros(len(rows), dtype=np.bool_),
    )
