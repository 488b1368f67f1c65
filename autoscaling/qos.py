"""The quality-of-service class of a pod, which a resize must not change."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from autoscaling.pod import Pod
from autoscaling.resources import CONTROLLED, ContainerResources, ResourceList


class QosClass(Enum):
    """``status.qosClass``."""

    GUARANTEED = "Guaranteed"
    BURSTABLE = "Burstable"
    BEST_EFFORT = "BestEffort"


def qos_class(containers: Iterable[ContainerResources]) -> QosClass:
    """Return the class that a pod's containers, init containers included, amount to.

    Guaranteed asks for limits of cpu and memory in every container and for requests that come to the same sums;
    BestEffort is a pod without any of either. Other resources and amounts of zero do not count.

    Spec: resize 1.4 (V4).
    """
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    is_limited = True
    for container in containers:
        own = _computed(container.limits)
        is_limited = is_limited and len(own) == len(CONTROLLED)
        _add(limits, own)
        _add(requests, _computed(container.requests))
    if not requests and not limits:
        return QosClass.BEST_EFFORT
    return QosClass.GUARANTEED if is_limited and requests == limits else QosClass.BURSTABLE


def spec_qos(pod: Pod) -> QosClass:
    """Return the class that the containers of a pod's spec amount to, whatever its status says.

    Resources of the pod as a whole are not looked at; such a pod cannot be resized in place.
    """
    return qos_class(container.resources for container in (*pod.containers, *pod.init_containers))


def pod_qos(pod: Pod) -> QosClass:
    """Return the class that a pod's status says it has, else that of its spec."""
    try:
        return QosClass(pod.qos_class)
    except ValueError:
        return spec_qos(pod)


def _computed(resources: ResourceList | None) -> dict[str, int]:
    """Return the amounts of a list that count."""
    listed = resources or {}
    return {name: listed[name].nano for name in CONTROLLED if name in listed and not listed[name].is_zero()}


def _add(total: dict[str, int], own: dict[str, int]) -> None:
    """Add amounts to a sum, in place."""
    for name, value in own.items():
        total[name] = total.get(name, 0) + value
