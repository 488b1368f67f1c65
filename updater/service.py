"""Which pods serve, so that disrupting them takes something away (beyond:B-25, updater K-20)."""

from __future__ import annotations

from autoscaling.behaviour import Behaviour
from autoscaling.pod import READY, ConditionStatus, Pod
from autoscaling.target_resources import ContainerTarget
from updater.changes import restarts
from updater.resize_progress import resize_progress
from updater.resize_status import ResizeStatus


def is_ready(pod: Pod) -> bool:
    """Say whether a pod is Ready; one that does not say is not."""
    ready = pod.condition(READY)
    return ready is not None and ready.status is ConditionStatus.TRUE


def is_in_service(pod: Pod, behaviour: Behaviour) -> bool:
    """Say whether a pod is Ready and no resize under way restarts a container of it.

    A restart may come and go without the pod being seen as not Ready, so it counts from the request to its end. What
    the node has called infeasible does not happen.
    """
    return is_ready(pod) and not _is_restarting(pod, behaviour)


def is_about_to_restart(pod: Pod, behaviour: Behaviour) -> bool:
    """Say whether a pod is Ready, and so counts as healthy, although a resize under way restarts a container of it."""
    return not pod.is_terminating and _is_restarting(pod, behaviour) and is_ready(pod)


def _is_restarting(pod: Pod, behaviour: Behaviour) -> bool:
    """Say whether a resize under way restarts a container, or is going to."""
    # Most pods have no container that ever restarts for a resize, and are told apart here at next to no cost.
    if not any(policy.restarts_container for container in pod.containers for policy in container.resize_policy):
        return False
    if resize_progress(pod, behaviour) in {None, ResizeStatus.INFEASIBLE}:
        return False
    asked = tuple(ContainerTarget(c.resources.requests or {}, c.resources.limits or {}) for c in pod.containers)
    return restarts(pod, asked)
