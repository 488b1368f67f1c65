"""What the API server fills in before a new pod reaches the webhook: requests from limits, and LimitRange defaults.

Spec: resize 1.5; beyond:B-34, beyond:B-38.
"""

from __future__ import annotations

from dataclasses import replace

from admission.review import SubmittedPod
from autoscaling.limitrange import LimitRangeItem, LimitType, NamespaceLimits
from autoscaling.pod import Container
from autoscaling.resources import ContainerResources


def as_admitted(submitted: SubmittedPod, limits: NamespaceLimits) -> SubmittedPod:
    """Return a pod as the webhook gets it.

    Args:
        submitted: As somebody submits it.
        limits: LimitRanges of its namespace.
    """
    items = [item for item in limits.items if item.type is LimitType.CONTAINER]
    pod = submitted.pod
    containers, init_containers = (
        tuple(_filled(container, items) for container in listed) for listed in (pod.containers, pod.init_containers)
    )
    return SubmittedPod(
        replace(pod, containers=containers, init_containers=init_containers),
        _present(submitted.resources_present, containers),
        _present(submitted.init_resources_present, init_containers),
    )


def _filled(container: Container, items: list[LimitRangeItem]) -> Container:
    """Return a container with what it leaves out."""
    given = container.resources
    limits = dict(given.limits or {})
    requests = {**limits, **(given.requests or {})}
    for item in items:
        limits = {**(item.default or {}), **limits}
        requests = {**(item.default_request or {}), **requests}
    filled = ContainerResources(
        requests if requests or given.requests is not None else None,
        limits if limits or given.limits is not None else None,
    )
    return container if filled == given else replace(container, resources=filled)


def _present(before: tuple[bool, ...], containers: tuple[Container, ...]) -> tuple[bool, ...]:
    """Say of each container whether it has a ``resources`` object by now."""
    return tuple(
        was or container.resources.requests is not None or container.resources.limits is not None
        for was, container in zip(before, containers, strict=True)
    )
