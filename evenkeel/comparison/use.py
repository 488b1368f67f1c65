"""What containers were seen to use, as one amount that a recommendation can be held against.

Of CPU that is a percentile of all samples of all pods. Of memory it is the same percentile of the pods' peaks: what
counts is whether a pod would have fitted, and it does not unless its peak does.

Spec: beyond:B-35.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from autoscaling.quantity import Quantity
from autoscaling.resources import MEMORY
from recommender.amounts import as_quantity

ContainerKey = tuple[str, str, str]
"""Namespace and name of an autoscaler, name of a container."""

PodKey = tuple[str, str]
"""Namespace and name of a pod."""


@dataclass(frozen=True, slots=True, order=True)
class UseSample:
    """What one container used at one time.

    Args:
        at: Instant, nanoseconds since the epoch.
        amount: Millicores or bytes.
    """

    at: int
    amount: int


@dataclass(slots=True)
class ObservedUse:
    """Samples of the pods of autoscalers, gathered one by one.

    Args:
        owners: Of each pod the autoscalers that it belongs to, by namespace and name.
    """

    owners: Mapping[PodKey, tuple[tuple[str, str], ...]]
    _samples: dict[tuple[ContainerKey, str], dict[str, dict[int, int]]] = field(default_factory=dict)

    def note(self, pod: PodKey, container: str, resource: str, sample: UseSample) -> None:
        """Take in a sample; one of a time that is known already, or of a pod that is nobody's, counts for nothing."""
        for namespace, name in self.owners.get(pod, ()):
            key = ((namespace, name, container), resource)
            self._samples.setdefault(key, {}).setdefault(pod[1], {}).setdefault(sample.at, sample.amount)

    def by_pod(self, key: ContainerKey, resource: str) -> dict[str, tuple[UseSample, ...]]:
        """Return the samples of a container pod by pod, the oldest first."""
        pods = self._samples.get((key, resource), {})
        return {pod: tuple(UseSample(*each) for each in sorted(samples.items())) for pod, samples in pods.items()}

    def peaks_over_time(self, key: ContainerKey, resource: str) -> tuple[UseSample, ...]:
        """Return at each time the most that any pod used, the oldest first."""
        most: dict[int, int] = {}
        for sample in chain.from_iterable(self.by_pod(key, resource).values()):
            most[sample.at] = max(sample.amount, most.get(sample.at, 0))
        return tuple(UseSample(*each) for each in sorted(most.items()))


def used(use: ObservedUse, key: ContainerKey, resource: str, share: float) -> Quantity | None:
    """Return what a container was seen to use, None where it was not seen.

    Args:
        use: All samples.
        key: The container.
        resource: ``cpu`` or ``memory``.
        share: Of the samples, or of the pods' peaks, that are no more than the result; above 0, at most 1.
    """
    pods = use.by_pod(key, resource)
    amounts = sorted(_counted(resource, pods.values()))
    return as_quantity(amounts[math.ceil(share * len(amounts)) - 1], resource) if amounts else None


def _counted(resource: str, pods: Iterable[tuple[UseSample, ...]]) -> Iterator[int]:
    """Yield the amounts of which the percentile is taken."""
    for samples in pods:
        amounts = [sample.amount for sample in samples]
        yield from (max(amounts),) if resource == MEMORY else amounts
