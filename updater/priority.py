"""How far a pod's requests are from its recommendation, and who comes first (updater P-4, P-5, P-8)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from autoscaling.pod import Container, Pod
from autoscaling.quantity import within_doubles
from autoscaling.resources import ResourceList, in_order
from autoscaling.vpa import ContainerRecommendation, Recommendation

OBSERVED_ANNOTATION = "vpaObservedContainers"

_OBSERVED_SEPARATOR = ", "
_DNS_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Priority:
    """A pod's score.

    Args:
        is_outside_bounds: Whether a container has a request outside its bounds, or none at all.
        is_scale_up: Whether a container is to get more of something.
        difference: Sum over resources of the relative difference between all requests and all targets.
    """

    is_outside_bounds: bool = False
    is_scale_up: bool = False
    difference: float = 0.0

    @property
    def rank(self) -> tuple[bool, float]:
        """What pods are sorted by, smallest first: those that grow, then those that change most (updater P-8)."""
        return not self.is_scale_up, -self.difference


def score(pod: Pod, recommendation: Recommendation | None) -> Priority:
    """Return a pod's score against its processed recommendation (updater P-5).

    Amounts are summed over the observed containers in thousandths, so opposite changes of two containers cancel.
    """
    requested: defaultdict[str, int] = defaultdict(int)
    recommended: defaultdict[str, int] = defaultdict(int)
    outside = scale_up = False
    for container, entry in _recommended_containers(pod, recommendation):
        requests = pod.actual_resources(container).requests or {}
        for name, target in in_order(entry.target):
            wanted = target.milli_value()
            recommended[name] += wanted
            if name not in requests:
                # A missing request counts as zero, whatever the namespace's default would make of it.
                outside = scale_up = True
                continue
            current = requests[name].milli_value()
            requested[name] += current
            scale_up = scale_up or wanted > current
            outside = outside or is_outside(name, requests, entry)
    difference = 0.0
    for name, wanted in recommended.items():
        difference += relative_difference(requested[name], wanted)
    return Priority(outside, scale_up, difference)


def observed_containers(pod: Pod) -> frozenset[str] | None:
    """Return the containers that admission saw, None where it did not say or not legibly (updater P-4)."""
    text = pod.annotation(OBSERVED_ANNOTATION)
    if text is None:
        return None
    names = text.split(_OBSERVED_SEPARATOR) if text else []
    return frozenset(names) if all(_DNS_LABEL.fullmatch(name) for name in names) else None


def is_outside(name: str, requests: ResourceList, entry: ContainerRecommendation) -> bool:
    """Say whether a request lies outside the bounds that are there, compared exactly."""
    lower, upper = entry.lower_bound or {}, entry.upper_bound or {}
    return (name in lower and requests[name] < lower[name]) or (name in upper and requests[name] > upper[name])


def relative_difference(current: int, wanted: int) -> float:
    """Return how far two totals are apart, relative to the current one; nothing at all counts as one thousandth.

    Args:
        current: In thousandths.
        wanted: Likewise.
    """
    base = float(max(within_doubles(current), 1))
    return abs(base - float(within_doubles(wanted))) / base


def _recommended_containers(
    pod: Pod,
    recommendation: Recommendation | None,
) -> Iterator[tuple[Container, ContainerRecommendation]]:
    """Yield the observed containers that have a recommendation, with it."""
    if recommendation is None:
        return
    observed = observed_containers(pod)
    for container in pod.containers:
        entry = recommendation.of(container.name)
        if entry is not None and (observed is None or container.name in observed):
            yield container, entry
