"""What a change of resources does to a pod: whether it grows, and whether a container restarts for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from autoscaling.pod import Container, Pod
from autoscaling.resources import CONTROLLED
from autoscaling.target_resources import ContainerTarget

if TYPE_CHECKING:
    from updater.shaping import Targets


def grows(pod: Pod, targets: Targets) -> bool:
    """Say whether a resize would raise any request or limit above what is in force; a new limit raises nothing."""
    for container, target in _pairs(pod, targets):
        actual = pod.actual_resources(container)
        for name in CONTROLLED:
            request, limit = target.requests.get(name), target.limits.get(name)
            if request is not None and request > actual.request(name):
                return True
            if limit is not None and name in (actual.limits or {}) and limit > actual.limit(name):
                return True
    return False


def restarts(pod: Pod, targets: Targets) -> bool:
    """Say whether a container would restart for a resize, judged by what changes and not by its policy alone."""
    return any(
        restarts_for(container, name) and _changes(pod, container, target, name)
        for container, target in _pairs(pod, targets)
        for name in CONTROLLED
    )


def restarts_for(container: Container, resource: str) -> bool:
    """Say whether a container restarts when one of its resources is resized."""
    return any(policy.restarts_container for policy in container.resize_policy if policy.resource == resource)


def differs_from_spec(pod: Pod, targets: Targets) -> bool:
    """Say whether a resize would write anything that the pod's spec does not say yet."""
    return any(
        any((container.resources.requests or {}).get(name) != amount for name, amount in target.requests.items())
        or any((container.resources.limits or {}).get(name) != amount for name, amount in target.limits.items())
        for container, target in _pairs(pod, targets)
    )


def _pairs(pod: Pod, targets: Targets) -> Iterator[tuple[Container, ContainerTarget]]:
    """Yield the containers for which there is a target."""
    for container, target in zip(pod.containers, targets, strict=True):
        if target is not None:
            yield container, target


def _changes(pod: Pod, container: Container, target: ContainerTarget, name: str) -> bool:
    """Say whether one resource of a container gets another amount than is in force."""
    actual = pod.actual_resources(container)
    requests, limits = actual.requests or {}, actual.limits or {}
    return (name in target.requests and target.requests[name] != requests.get(name)) or (
        name in target.limits and target.limits[name] != limits.get(name)
    )
