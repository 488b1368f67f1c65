"""One answer of the metrics API as columns, and which of the model's containers its rows are about.

Spec: recommender 8.1; performance R-2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise

import numpy as np
from numpy.typing import NDArray

from recommender.cluster_model import ClusterModel
from recommender.pod_state import PodState
from recommender.samples import UsageColumns

Integers = NDArray[np.int64]

_DROPPED = -1
_NO_AMOUNTS: Integers = np.empty(0, dtype=np.int64)


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
        return UsageTable.joined((self, other))

    @classmethod
    def joined(cls, tables: Sequence[UsageTable]) -> UsageTable:
        """Return the rows of several answers as one."""
        return cls(
            list(chain.from_iterable(table.namespaces for table in tables)),
            list(chain.from_iterable(table.pods for table in tables)),
            list(chain.from_iterable(table.sizes for table in tables)),
            np.concatenate([_NO_AMOUNTS, *(table.instants for table in tables)]),
            list(chain.from_iterable(table.containers for table in tables)),
            np.concatenate([_NO_AMOUNTS, *(table.millicores for table in tables)]),
            np.concatenate([_NO_AMOUNTS, *(table.memory_bytes for table in tables)]),
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
            found = _look_up(self._model, usage)
            self._rows, self._last, self._version = np.array(found.rows, dtype=np.int64), found.named, version
        return self._rows


@dataclass(frozen=True, slots=True)
class _Found:
    """What was looked up for an answer.

    Args:
        rows: Container row of each sample.
        named: The answer with the model's own texts for the names of pods. Those that it came with would be held
            twice, scattered over all the memory that reading it took.
    """

    rows: list[int]
    named: UsageTable


def _look_up(model: ClusterModel, usage: UsageTable) -> _Found:
    """Look every container up."""
    rows: list[int] = []
    pods = usage.pods.copy()
    bounds = pairwise(accumulate(usage.sizes, initial=0))
    for place, (namespace, (begin, end)) in enumerate(zip(usage.namespaces, bounds, strict=True)):
        names = usage.containers[begin:end]
        state = model.pods.get((namespace, pods[place]))
        if state is None:
            rows += [_DROPPED] * len(names)
            continue
        pods[place] = state.name
        if not state.init_names and tuple(names) == state.names:
            rows += state.rows
        else:
            rows += [_row_of(state, name) for name in names]
    return _Found(rows, replace(usage, pods=pods))


def _row_of(state: PodState, container: str) -> int:
    """Return a container's row; an init container's samples are left out."""
    row = None if container in state.init_names else state.row_of(container)
    return _DROPPED if row is None else row
