"""One answer of the metrics API as columns, and which of the model's containers its rows are about.

Spec: recommender 8.1; performance R-2.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from recommender.cluster_model import ClusterModel
from recommender.pod_state import PodState
from recommender.samples import UsageColumns

Integers = NDArray[np.int64]

_DROPPED = -1


@dataclass(frozen=True, slots=True, eq=False)
class UsageTable:
    """What the containers of many pods used.

    Args:
        namespaces: Of each pod.
        pods: Name of each pod.
        sizes: Number of containers of each pod.
        instants: int64[pods], end of each pod's window, nanoseconds since the epoch.
        containers: Names of all containers, pod by pod.
        millicores: int64[containers], rounded up; 0 where the answer has none, or ``MISSING``.
        memory_bytes: int64[containers], likewise.
    """

    namespaces: list[str]
    pods: list[str]
    sizes: list[int]
    instants: Integers
    containers: list[str]
    millicores: Integers
    memory_bytes: Integers

    def __len__(self) -> int:
        """Number of containers."""
        return len(self.containers)

    def names_as(self, other: UsageTable) -> bool:
        """Say whether another answer is about the same containers in the same order."""
        return (
            self.pods == other.pods
            and self.namespaces == other.namespaces
            and self.sizes == other.sizes
            and self.containers == other.containers
        )

    def followed_by(self, other: UsageTable) -> UsageTable:
        """Return the rows of two answers as one."""
        return UsageTable(
            self.namespaces + other.namespaces,
            self.pods + other.pods,
            self.sizes + other.sizes,
            np.concatenate((self.instants, other.instants)),
            self.containers + other.containers,
            np.concatenate((self.millicores, other.millicores)),
            np.concatenate((self.memory_bytes, other.memory_bytes)),
        )


@dataclass(frozen=True, slots=True)
class Matched:
    """An answer, matched with the model.

    Args:
        columns: Samples of known containers.
        dropped: Number of containers that are not known, and of init containers.
    """

    columns: UsageColumns
    dropped: int


class UsageMatcher:
    """Finds the containers of answers, most of which are about the same containers as the answer before.

    Args:
        model: The containers.
    """

    def __init__(self, model: ClusterModel) -> None:
        self._model = model
        self._last: UsageTable | None = None
        self._version = -1
        self._rows = np.empty(0, dtype=np.int64)

    def match(self, usage: UsageTable) -> Matched:
        """Return the samples of known containers, in the order of the answer."""
        rows = self._rows_of(usage)
        instants = np.repeat(usage.instants, usage.sizes)
        known = rows != _DROPPED
        dropped = len(rows) - int(np.count_nonzero(known))
        if not dropped:
            return Matched(UsageColumns(rows, instants, usage.millicores, usage.memory_bytes), 0)
        columns = (column[known] for column in (rows, instants, usage.millicores, usage.memory_bytes))
        return Matched(UsageColumns(*columns), dropped)

    def _rows_of(self, usage: UsageTable) -> Integers:
        """Return the container row of each sample, int64[containers]."""
        version = self._model.containers_version
        if self._last is None or version != self._version or not usage.names_as(self._last):
            self._rows = np.array(_look_up(self._model, usage), dtype=np.int64)
            self._last, self._version = usage, version
        return self._rows


def _look_up(model: ClusterModel, usage: UsageTable) -> list[int]:
    """Look every container up."""
    rows: list[int] = []
    ends = accumulate(usage.sizes, initial=0)
    for namespace, pod, (begin, end) in zip(usage.namespaces, usage.pods, pairwise(ends), strict=True):
        names = usage.containers[begin:end]
        state = model.pods.get((namespace, pod))
        if state is None:
            rows += [_DROPPED] * len(names)
        elif not state.init_names and tuple(names) == state.names:
            rows += state.rows
        else:
            rows += [_row_of(state, name) for name in names]
    return rows


def _row_of(state: PodState, container: str) -> int:
    """Return a container's row; an init container's samples are left out."""
    row = None if container in state.init_names else state.row_of(container)
    return _DROPPED if row is None else row
