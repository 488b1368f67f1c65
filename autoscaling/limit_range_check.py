"""What the API server's LimitRanger makes of a pod: it fills in what is left open, and refuses what lies outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from autoscaling.limitrange import LimitRangeItem, LimitType
from autoscaling.pod import Container, Pod
from autoscaling.pod_totals import Amounts, Basis, Side, nano_amounts, pod_total
from autoscaling.quantity import NANO, Quantity
from autoscaling.resources import ContainerResources


def completed(pod: Pod, items: Iterable[LimitRangeItem]) -> Pod:
    """Return a pod with the requests and limits that LimitRanges give to containers which state none.

    Init containers are filled in as well. This happens at creation and at every resize, so a pod that is older than a
    LimitRange gets them at its first resize. The first item that has an amount gives it.

    Spec: resize 1.5.
    """
    useful = [i for i in items if i.type is LimitType.CONTAINER and (i.default or i.default_request)]
    if not useful:
        return pod
    return replace(
        pod,
        containers=tuple(_filled(container, useful) for container in pod.containers),
        init_containers=tuple(_filled(container, useful) for container in pod.init_containers),
    )


def faults(pod: Pod, items: Iterable[LimitRangeItem]) -> tuple[str, ...]:
    """Return how a pod lies outside the LimitRanges of its namespace; empty where it does not.

    Every container and init container is held against the items for containers, and the whole pod against those for
    pods. Only the spec is looked at, never the status.

    Spec: resize 1.5, R41.
    """
    found: list[str] = []
    for item in items:
        if item.type is LimitType.CONTAINER:
            for container in (*pod.containers, *pod.init_containers):
                resources = container.resources
                scope = _Scope(
                    f"container {container.name}", nano_amounts(resources.requests), nano_amounts(resources.limits)
                )
                found += scope.faults(item)
        else:
            totals = (pod_total(pod, side, Basis.SPEC) for side in (Side.REQUESTS, Side.LIMITS))
            found += _Scope("the pod", *totals).faults(item)
    return tuple(found)


def _filled(container: Container, items: Iterable[LimitRangeItem]) -> Container:
    """Return a container with the defaults of items; it is the same one where nothing is left open."""
    requests, limits = dict(container.resources.requests or {}), dict(container.resources.limits or {})
    for item in items:
        limits = {**(item.default or {}), **limits}
        requests = {**(item.default_request or {}), **requests}
    resources = ContainerResources(requests, limits)
    same = requests == (container.resources.requests or {}) and limits == (container.resources.limits or {})
    return container if same else replace(container, resources=resources)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What one item is held against.

    Args:
        name: As faults name it.
        requests: In nano-units.
        limits: In nano-units.
    """

    name: str
    requests: Amounts
    limits: Amounts

    def faults(self, item: LimitRangeItem) -> Iterator[str]:
        """Yield what violates one item."""
        for resource, least in (item.minimum or {}).items():
            yield from self._below(resource, least)
        for resource, most in (item.maximum or {}).items():
            yield from self._above(resource, most)
        for resource, most in (item.ratio or {}).items():
            yield from self._beyond_ratio(resource, most)

    def _below(self, resource: str, least: Quantity) -> Iterator[str]:
        """Yield that an amount is below a minimum; a request must be there."""
        request, limit = self.requests.get(resource), self.limits.get(resource)
        if request is None:
            yield f"{self.name} has no request for {resource}, of which it must have {least} at least"
        elif request < least.nano or (limit is not None and limit < least.nano):
            lowest = Quantity(min(request, request if limit is None else limit), least.format)
            yield f"{self.name} has {lowest} of {resource}, less than the minimum of {least}"

    def _above(self, resource: str, most: Quantity) -> Iterator[str]:
        """Yield that an amount is above a maximum; a limit must be there."""
        request, limit = self.requests.get(resource), self.limits.get(resource)
        if limit is None:
            yield f"{self.name} has no limit of {resource}, which must be {most} at most"
        elif limit > most.nano or (request is not None and request > most.nano):
            highest = Quantity(max(limit, limit if request is None else request), most.format)
            yield f"{self.name} has {highest} of {resource}, more than the maximum of {most}"

    def _beyond_ratio(self, resource: str, most: Quantity) -> Iterator[str]:
        """Yield that a limit is too many times its request; neither may be missing or zero."""
        request, limit = self.requests.get(resource, 0), self.limits.get(resource, 0)
        if not request or not limit:
            yield f"{self.name} needs a request and a limit of {resource}, as their ratio is bounded"
        elif limit * NANO > most.nano * request:
            yield f"{self.name} has a limit of {resource} more than {most} times its request"
