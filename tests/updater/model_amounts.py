"""What pods hold, cost and amount to, in plain arithmetic of its own, so that tests do not believe what they test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from autoscaling.limitrange import LimitRangeItem, LimitType
from autoscaling.pod import Container, ContainerStatus, Pod, PodPhase
from autoscaling.resources import ContainerResources, ResourceList

NAMES = ("cpu", "memory")
BILLION = 10**9


def nano(listed: ResourceList | None, name: str) -> int:
    """Return one amount in billionths, 0 where it is missing."""
    return listed[name].nano if listed is not None and name in listed else 0


def status(pod: Pod, container: Container) -> ContainerStatus:
    """Return the status of a container, which every pod of the model has."""
    return next(s for s in pod.statuses if s.name == container.name)


def in_force(pod: Pod, container: Container) -> ContainerResources:
    """Return what a container has."""
    reported = status(pod, container).resources
    assert reported is not None
    return reported


def waits_for(pod: Pod) -> str:
    """Return why the node has not accepted the pod's resize; empty where nothing waits."""
    return next((c.reason for c in pod.conditions if c.type == "PodResizePending"), "")


def is_ready(pod: Pod) -> bool:
    """Say whether a pod is Ready."""
    return any(c.type == "Ready" and c.status.value == "True" for c in pod.conditions)


def is_live(pod: Pod) -> bool:
    """Say whether a pod is on a node and not on its way out; the model's pods never finish."""
    return bool(pod.node_name) and not pod.is_terminating


def runs(pod: Pod) -> bool:
    """Say whether a live pod has started."""
    return is_live(pod) and pod.phase is not PodPhase.PENDING


def held(pod: Pod, name: str) -> int:
    """Return what a pod holds of its node: the most of what each container asks for, was given and has."""
    return sum(max(request_terms(pod, container, name)) for container in pod.containers)


def request_terms(pod: Pod, container: Container, name: str) -> tuple[int, ...]:
    """Return what a container was given and has, and what it asks for unless its node has called that infeasible."""
    found = status(pod, container)
    given = (nano(found.allocated, name), nano(in_force(pod, container).requests, name))
    return given if waits_for(pod) == "Infeasible" else (*given, nano(container.resources.requests, name))


def charged(pod: Pod, quota_name: str) -> int:
    """Return what a pod costs of a quota: of ``requests.cpu``, ``requests.memory`` or the two of limits."""
    side, _, name = quota_name.partition(".")
    if side == "requests":
        return held(pod, name)
    total = 0
    for container in pod.containers:
        asked = 0 if waits_for(pod) == "Infeasible" else nano(container.resources.limits, name)
        total += max(nano(in_force(pod, container).limits, name), asked)
    return total


def asked_of_node(pod: Pod, name: str) -> int:
    """Return what a pod's spec requests."""
    return sum(nano(container.resources.requests, name) for container in pod.containers)


def class_of(containers: Iterable[Container]) -> str:
    """Return the QoS class of a pod with these containers."""
    listed = [c.resources for c in containers]
    if not any(nano(side, name) for r in listed for side in (r.requests, r.limits) for name in NAMES):
        return "BestEffort"
    is_limited = all(nano(r.limits, name) for r in listed for name in NAMES)
    sums = [[sum(nano(side, n) for side in sides) for n in NAMES] for sides in _sides(listed)]
    return "Guaranteed" if is_limited and sums[0] == sums[1] else "Burstable"


def _sides(listed: list[ContainerResources]) -> tuple[list[ResourceList | None], list[ResourceList | None]]:
    return [r.requests for r in listed], [r.limits for r in listed]


def out_of_limit_ranges(pod: Pod, items: Iterable[LimitRangeItem]) -> Iterator[str]:
    """Yield how a pod's containers lie outside a LimitRange; items for whole pods are summed up first."""
    for item in items:
        if item.type is LimitType.POD:
            both = [
                {n: sum(nano(s, n) for s in side) for n in NAMES}
                for side in _sides([c.resources for c in pod.containers])
            ]
            yield from _outside(item, "pod", both[0], both[1])
            continue
        for c in pod.containers:
            sides = [{n: nano(side, n) for n in NAMES} for side in (c.resources.requests, c.resources.limits)]
            yield from _outside(item, c.name, sides[0], sides[1])


def _outside(item: LimitRangeItem, who: str, requests: Mapping[str, int], limits: Mapping[str, int]) -> Iterator[str]:
    for name in NAMES:
        request, limit = requests[name], limits[name]
        least, most, ratio = nano(item.minimum, name), nano(item.maximum, name), nano(item.ratio, name)
        if least and (request < least or 0 < limit < least):
            yield f"{who}: {name} below the minimum"
        if most and (not limit or limit > most or request > most):
            yield f"{who}: {name} above the maximum"
        if ratio and (not request or limit * BILLION > ratio * request):
            yield f"{who}: {name} beyond the ratio"


def grows(before: Pod, after: Pod) -> bool:
    """Say whether a spec asks for more of anything than is in force."""
    for container in after.containers:
        has, old = in_force(before, container), next(c for c in before.containers if c.name == container.name)
        for name in NAMES:
            request, limit = nano(container.resources.requests, name), nano(container.resources.limits, name)
            if request != nano(old.resources.requests, name) and request > nano(has.requests, name):
                return True
            if limit != nano(old.resources.limits, name) and 0 < nano(has.limits, name) < limit:
                return True
    return False


def restarts_for(pod: Pod) -> tuple[str, ...]:
    """Return what containers will restart for once the node carries out the pod's spec, as ``container/resource``."""
    return tuple(
        f"{container.name}/{policy.resource}"
        for container in pod.containers
        for policy in container.resize_policy
        if policy.restarts_container and _differs(pod, container, policy.resource)
    )


def _differs(pod: Pod, container: Container, name: str) -> bool:
    has, asked = in_force(pod, container), container.resources
    return nano(has.requests, name) != nano(asked.requests, name) or nano(has.limits, name) != nano(asked.limits, name)


def as_given(pod: Pod, containers: Iterable[ContainerResources]) -> Pod:
    """Return a pod whose node has made of it what these resources say, container by container."""
    statuses = (
        replace(status(pod, c), resources=given, allocated=given.requests)
        for c, given in zip(pod.containers, containers, strict=True)
    )
    return replace(pod, statuses=tuple(statuses))
