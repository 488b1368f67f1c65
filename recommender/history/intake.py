"""History into the model: pods that may be long gone, their containers, their samples.

Spec: recommender 7, bug case 40.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from autoscaling.pod import Container, Pod
from recommender.amounts import MILLICORES_PER_CORE, truncated
from recommender.cluster_model import ClusterModel
from recommender.history.labels import PodKey
from recommender.history.points import Points, Screened
from recommender.history.series import ContainerKey
from recommender.samples import SampleColumns

Integers = NDArray[np.int64]

_UNTRACKED = -1


@dataclass(slots=True)
class HistoryIntake:
    """Takes history into a model, piece by piece; the pieces of one container in the order of time.

    Args:
        model: Takes the samples.
        labels: Labels of pods, by namespace and name; a pod that is missing has none.
        living: Pods that are known as they are now.
        now: Creation time of aggregates.
        heeds_memory_saver: Whether the memory saver leaves out pods of history as it does living ones.

    Attributes:
        samples: Samples taken in.
    """

    model: ClusterModel
    labels: Mapping[PodKey, Mapping[str, str]]
    living: Mapping[PodKey, Pod]
    now: datetime
    heeds_memory_saver: bool
    samples: int = 0
    _rows: dict[ContainerKey, int] = field(default_factory=dict)

    def take(self, keys: Mapping[ContainerKey, int], piece: Screened) -> None:
        """Take in a piece.

        Args:
            keys: The containers of the points, by their numbers from 0 on.
            piece: The points.
        """
        used = np.zeros(len(keys), dtype=np.bool_)
        used[piece.cpu.owners] = used[piece.memory.owners] = True
        self.make_known([key for key, number in keys.items() if used[number]])
        rows = np.array([self._rows.get(key, _UNTRACKED) for key in keys], dtype=np.int64)
        cpu = _samples(piece.cpu, rows, MILLICORES_PER_CORE)
        memory = _samples(piece.memory, rows, 1.0)
        taken = self.model.take_cpu(cpu, self.now).sum() + self.model.take_memory(memory, self.now).sum()
        self.samples += int(taken)

    def add_pods(self) -> None:
        """Add the pods that only their labels tell of, as upstream does."""
        for namespace, name in self.labels:
            if (namespace, name) not in self.model.pods:
                self._observe_pod(namespace, name, ())

    def make_known(self, keys: Iterable[ContainerKey]) -> None:
        """Make containers known to the model."""
        fresh: dict[PodKey, list[str]] = {}
        for key in keys:
            if key in self._rows:
                continue
            row = self.model.row_of(*key)
            if row is None:
                fresh.setdefault(key[:2], []).append(key[2])
            else:
                self._rows[key] = row
        for (namespace, pod), names in fresh.items():
            self._observe_pod(namespace, pod, tuple(names))
            for name in names:
                row = self.model.row_of(namespace, pod, name)
                self._rows[namespace, pod, name] = _UNTRACKED if row is None else row

    def _observe_pod(self, namespace: str, name: str, containers: tuple[str, ...]) -> None:
        living = self.living.get((namespace, name))
        if living is not None:
            known = {container.name: container for container in living.containers}
            pod = replace(living, containers=tuple(known.get(each, Container(each)) for each in containers))
        else:
            labels = self.labels.get((namespace, name), {})
            pod = Pod(namespace, name, labels=labels, containers=tuple(map(Container, containers)))
        self.model.observe_pod(pod, self.now, is_wanted=not self.heeds_memory_saver)


def _samples(points: Points, rows: Integers, per_unit: float) -> SampleColumns:
    """Return points as samples of known containers, amounts cut to whole units."""
    containers = rows[points.owners] if len(rows) else points.owners
    samples = SampleColumns(containers, points.instants, truncated(points.values * per_unit))
    tracked = containers != _UNTRACKED
    return samples if tracked.all() else samples.select(tracked)
