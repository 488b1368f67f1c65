"""Scaling a recommendation so that the pod's sums fit a LimitRange of type Pod (spec: limits:6)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from autoscaling.errors import InvalidObjectError
from autoscaling.limitrange import LimitRangeItem
from autoscaling.pod import Pod
from autoscaling.quantity import ZERO, Quantity
from autoscaling.resources import CONTROLLED, ResourceList, amount
from autoscaling.scaling import Rounding, proportional_limit, scale
from autoscaling.vpa import ContainerRecommendation, Recommendation

_VECTORS = ("upper_bound", "target", "lower_bound")


def scale_to_pod_limits(pod: Pod, recommendation: Recommendation, item: LimitRangeItem) -> Recommendation:
    """Scale every container's upper bound, target and lower bound, each on its own, until the pod's sums fit.

    Containers without an entry, but with requests, enter with their requests as target.

    Raises:
        InvalidObjectError: A container lacks the vector that would have to be scaled; upstream crashes there
            (spec: limits:34 to limits:36, beyond:B-32).
    """
    entries = list(recommendation.containers)
    for container in pod.containers:
        requests = pod.actual_resources(container).requests
        if requests and recommendation.of(container.name) is None:
            entries.append(ContainerRecommendation(container.name, target=requests))
    scaling = _Scaling(pod, item)
    for vector in _VECTORS:
        for resource in CONTROLLED:
            entries = scaling.scaled(entries, vector, resource)
    return Recommendation(tuple(entries))


def _vector(entry: ContainerRecommendation, name: str) -> ResourceList | None:
    """Return one of an entry's vectors by its field name."""
    vectors: dict[str, ResourceList | None] = {
        "upper_bound": entry.upper_bound,
        "target": entry.target,
        "lower_bound": entry.lower_bound,
    }
    return vectors[name]


@dataclass(frozen=True, slots=True)
class _Scaling:
    """One pod against one pod-level LimitRange."""

    pod: Pod
    item: LimitRangeItem

    def scaled(
        self, entries: list[ContainerRecommendation], vector: str, resource: str
    ) -> list[ContainerRecommendation]:
        """Return the entries with one resource of one vector scaled where the sums ask for it."""
        sum_limits, sum_requests = self._sums(entries, vector, resource)
        minimum, maximum = amount(self.item.minimum, resource), amount(self.item.maximum, resource)
        fits_maximum = maximum.is_zero() or maximum >= sum_limits
        if minimum <= sum_limits and minimum <= sum_requests and fits_maximum:
            return entries
        if minimum > sum_requests and not sum_limits.is_zero():
            return [self._entry(e, vector, resource, (sum_requests, minimum, Rounding.UP)) for e in entries]
        if sum_limits.is_zero():
            return entries
        total = minimum if minimum > sum_limits else ZERO
        total = total if fits_maximum else maximum
        self._require_entries(entries, resource)
        return [self._entry(e, vector, resource, (sum_limits, total, Rounding.DOWN)) for e in entries]

    def _sums(self, entries: list[ContainerRecommendation], vector: str, resource: str) -> tuple[Quantity, Quantity]:
        """Return the pod's limits and requests as they would be with this vector."""
        by_name = {e.container_name: e for e in reversed(entries)}
        default = amount(self.item.default, resource)
        sum_limits = sum_requests = ZERO
        for container in self.pod.containers:
            current = self.pod.actual_resources(container)
            entry = by_name.get(container.name)
            request = amount(_vector(entry, vector), resource) if entry else current.request(resource)
            limit = proportional_limit(resource, current, request, default).limit
            sum_limits = sum_limits.plus(limit or ZERO)
            sum_requests = sum_requests.plus(request)
        return sum_limits, sum_requests

    def _entry(
        self,
        entry: ContainerRecommendation,
        vector: str,
        resource: str,
        by: tuple[Quantity, Quantity, Rounding],
    ) -> ContainerRecommendation:
        """Return an entry with one amount scaled by total over sum; one of no container of the pod stays as it is."""
        if self.pod.container(entry.container_name) is None:
            return entry
        resources = _vector(entry, vector)
        if resources is None:
            raise self._unusable(entry.container_name, resource, f"no {vector.replace('_', ' ')} to scale")
        base, total, rounding = by
        scaled = scale(resource, amount(resources, resource), base, total, rounding).quantity
        changed: ResourceList = {**resources, resource: scaled}
        match vector:
            case "upper_bound":
                return replace(entry, upper_bound=changed)
            case "target":
                return replace(entry, target=changed)
            case _:
                return replace(entry, lower_bound=changed)

    def _require_entries(self, entries: list[ContainerRecommendation], resource: str) -> None:
        """Refuse a pod with a container that has neither a recommendation nor requests to scale."""
        names = {e.container_name for e in entries}
        for container in self.pod.containers:
            if container.name not in names:
                raise self._unusable(container.name, resource, "neither a recommendation nor requests to scale")

    def _unusable(self, container: str, resource: str, lack: str) -> InvalidObjectError:
        """Name the container that keeps the pod from fitting the LimitRange."""
        return InvalidObjectError(
            self.pod.ref,
            f"container {container!r} has {lack} for {resource}, so the pod cannot be fitted to its namespace's pod "
            "LimitRange",
            remedy="give the container requests and a recommendation, or widen the LimitRange",
        )
