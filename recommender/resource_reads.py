"""Where the resources of containers are read from: what the kubelet reports as in force, or else the spec.

Upstream reads those of every container of every pod once in a round, init containers included, and those of a killed
container once more. It counts each reading by its source, so that one can see how many kubelets report.

Spec: recommender:3.3, recommender:10.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from autoscaling.pod import Container, Pod


class Source(Enum):
    """Where resources were read from, as the metric's label spells it."""

    STATUS = "Pod.Status.ContainerStatuses"
    INIT_STATUS = "Pod.Status.InitContainerStatuses"
    SPEC = "Pod.Spec.Containers"
    INIT_SPEC = "Pod.Spec.InitContainers"


@dataclass(slots=True)
class ReadingTally:
    """How often resources are read in a round, kept up to date pod by pod.

    Attributes:
        standing: Readings of all known pods, the same in every round until one of them changes.
        once: Readings since the last round that do not come again.
    """

    standing: Counter[Source] = field(default_factory=Counter)
    once: Counter[Source] = field(default_factory=Counter)
    _last: Pod | None = None
    _last_counts: tuple[tuple[Source, int], ...] = ()

    def replace(self, old: Pod | None, new: Pod | None) -> None:
        """Take in that a pod came, changed or went; None where there was or is none."""
        if old is not None:
            for source, count in self._counts(old):
                self.standing[source] -= count
        if new is not None:
            for source, count in self._counts(new):
                self.standing[source] += count

    def add(self, pod: Pod, containers: Iterable[str]) -> None:
        """Take in that some containers of a pod were read besides, as after OOM kills."""
        reported = _reported(pod)
        for name in containers:
            self.once[_source(pod.container(name) or Container(name), reported)] += 1

    def _counts(self, pod: Pod) -> tuple[tuple[Source, int], ...]:
        """Return how often a pod is read, by source: told by the pod before where that has the same parts."""
        if self._last is None or not _share_parts(pod, self._last):
            self._last, self._last_counts = pod, tuple(Counter(readings(pod)).items())
        return self._last_counts

    def take(self) -> dict[Source, int]:
        """Return the readings of one round, by their sources; the next round starts with those that come again."""
        found = self.standing + self.once
        self.once.clear()
        return dict(found)


def readings(pod: Pod) -> list[Source]:
    """Return the sources of a pod's containers, init containers included.

    Statuses of plain init containers are not remembered, so those count as read from the spec.
    """
    reported = _reported(pod)
    found = [_source(container, reported) for container in pod.containers]
    if pod.init_containers:
        reporting = {status.name for status in pod.init_statuses if status.resources is not None}
        found += [_source(container, reporting) for container in pod.init_containers]
    return found


def _share_parts(pod: Pod, other: Pod) -> bool:
    """Say whether pods have the same objects for containers and statuses, as undisturbed replicas do."""
    return (
        pod.containers is other.containers
        and pod.statuses is other.statuses
        and pod.init_containers is other.init_containers
        and pod.init_statuses is other.init_statuses
    )


def _reported(pod: Pod) -> set[str]:
    """Return the names of the containers whose resources the kubelet reports."""
    return {status.name for status in pod.statuses if status.resources is not None}


def _source(container: Container, reported: set[str]) -> Source:
    is_reported = container.name in reported
    if container.init_position is None:
        return Source.STATUS if is_reported else Source.SPEC
    return Source.INIT_STATUS if is_reported else Source.INIT_SPEC
