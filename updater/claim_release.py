"""Giving back what a pod asked for in vain, so that it holds no room it cannot use (beyond:B-24, precedence)."""

from __future__ import annotations

from collections.abc import Iterable

from autoscaling.behaviour import Behaviour
from autoscaling.pod import Container, ContainerStatus, Pod
from autoscaling.qos import pod_qos, qos_class
from autoscaling.resources import CONTROLLED, NO_RESOURCES, ContainerResources, ResourceList
from autoscaling.target_resources import ContainerTarget
from updater.changes import differs_from_spec, grows
from updater.circumstances import Circumstances
from updater.decision import Reason
from updater.ledger import Ledger
from updater.namespace_bounds import within_limit_ranges
from updater.resize_progress import resize_progress
from updater.resize_status import ResizeStatus
from updater.shaping import Hindrance, Proposal, Targets

_CLAIMING = frozenset({ResizeStatus.DEFERRED, ResizeStatus.INFEASIBLE})


def released(pod: Pod, behaviour: Behaviour) -> Targets | None:
    """Return what takes a pod's spec back to what its node has given it, where the spec asks for more.

    What the spec has and the node did not give cannot be taken out of a spec, and stays; so does what it asks for less
    of, as that holds no room.

    Args:
        behaviour: Says which conditions are believed.

    Returns:
        None where the pod waits for nothing, has nothing to give back, or would become one of another class of service.

    Spec: beyond:B-24, updater K-19, resize 1.4 (V4, V9).
    """
    if resize_progress(pod, behaviour) not in _CLAIMING:
        return None
    targets = tuple(_given(container, pod.status_of(container.name)) for container in pod.containers)
    if not differs_from_spec(pod, targets):
        return None
    after = [_applied(container, target) for container, target in zip(pod.containers, targets, strict=True)]
    after += [container.resources for container in pod.init_containers]
    return targets if qos_class(after) is pod_qos(pod) else None


def releasable(pod: Pod, circumstances: Circumstances, ledger: Ledger) -> Targets | None:
    """Return what takes a pod's spec back as ``released`` does, unless a LimitRange has come to forbid what it was.

    Spec: beyond:B-12, beyond:B-24.
    """
    targets = released(pod, circumstances.settings.behaviour)
    if targets is None or isinstance(
        within_limit_ranges(Proposal(pod, targets, None), circumstances, ledger), Hindrance
    ):
        return None
    return targets


def unless_paused(proposal: Proposal, circumstances: Circumstances, ledger: Ledger) -> Proposal | Hindrance:  # noqa: ARG001 a step is given all
    """Hold a resize that grows back for a while after the pod had to give its claim back.

    Spec: beyond:B-24.
    """
    if not circumstances.settings.behaviour.free_room or not grows(proposal.pod, proposal.targets):
        return proposal
    if circumstances.memory.rooms.is_paused(proposal.pod.uid, circumstances.now):
        return Hindrance(Reason.RESIZE_BLOCKED, "its claim was given back a short while ago")
    return proposal


def _given(container: Container, status: ContainerStatus | None) -> ContainerTarget | None:
    """Return what a container was given of what its spec has; None where its status does not say."""
    if status is None or status.resources is None:
        return None
    asked, limits, accepted = container.resources, status.resources.limits or {}, status.accepted_requests
    claimed = [
        name
        for name in CONTROLLED
        if asked.request(name) > accepted.get(name, asked.request(name))
        or asked.limit(name) > limits.get(name, asked.limit(name))
    ]
    return ContainerTarget(_common(asked.requests, accepted, claimed), _common(asked.limits, limits, claimed))


def _common(asked: ResourceList | None, given: ResourceList, names: Iterable[str]) -> ResourceList:
    """Return the given amounts of those among these resources that were asked for, too."""
    return {name: given[name] for name in names if name in given and asked and name in asked}


def _applied(container: Container, target: ContainerTarget | None) -> ContainerResources:
    """Return a container's resources with a target written into them."""
    asked, wanted = container.resources, target or ContainerTarget()
    if asked == NO_RESOURCES:
        return asked
    return ContainerResources({**(asked.requests or {}), **wanted.requests}, {**(asked.limits or {}), **wanted.limits})
