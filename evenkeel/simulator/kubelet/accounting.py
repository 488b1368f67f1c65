"""What pods take of a node: sums over containers, and the larger of what is asked for and what is held.

Spec: in-place-resize section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from autoscaling.resources import ContainerResources
from evenkeel.simulator.api.fields import JsonObject, child, rows, text
from evenkeel.simulator.kubelet.podview import (
    Allocation,
    ContainerView,
    PodView,
    Role,
    amounts_of,
    read_pod,
    resource_list,
)
from evenkeel.simulator.kubelet.settings import NOTHING_HELD, Amounts

_PENDING, _INFEASIBLE = "PodResizePending", "Infeasible"
_STATUS_LISTS = ("initContainerStatuses", "containerStatuses")


def spec_requests(view: PodView, allocation: Allocation | None = None) -> Amounts:
    """Return what a pod requests by its spec, or by an allocation instead of it."""
    held = allocation if allocation is not None else view.desired
    return _pod_sum(view, lambda container: amounts_of(held.get(container.name, ContainerResources()).requests))


def effective_requests(view: PodView, allocation: Allocation | None = None) -> Amounts:
    """Return what a pod holds of its node's resources: the largest of spec, actual and allocated requests.

    Args:
        view: The pod, whose status is used as well.
        allocation: Stands in for the spec when given, as in the kubelet's own view of other pods.
    """
    statuses = _statuses(view.body)
    ignores_spec = allocation is None and _is_infeasible(view.body)
    held = allocation if allocation is not None else view.desired
    own = partial(_effective_request, statuses=statuses, held=held, ignores_spec=ignores_spec)
    return _pod_sum(view, own)


def effective_limits(view: PodView) -> Amounts:
    """Return what a pod is limited to, likewise, as quotas count it; 0 for a container without the limit."""
    statuses, ignores_spec = _statuses(view.body), _is_infeasible(view.body)

    def own(container: ContainerView) -> Amounts:
        wanted = amounts_of(container.resources.limits)
        status = statuses.get(container.name)
        if status is None or not container.resizable:
            return wanted
        actual = amounts_of(resource_list(child(status, "resources", "limits")))
        return actual if ignores_spec else actual.at_least(wanted)

    return _pod_sum(view, own)


def requests_of(pod: JsonObject) -> Amounts:
    """Return the effective requests of a pod object."""
    return effective_requests(read_pod(pod))


def limits_of(pod: JsonObject) -> Amounts:
    """Return the effective limits of a pod object."""
    return effective_limits(read_pod(pod))


def _effective_request(
    container: ContainerView, *, statuses: dict[str, JsonObject], held: Allocation, ignores_spec: bool
) -> Amounts:
    """Return what one container holds."""
    wanted = amounts_of(held.get(container.name, ContainerResources()).requests)
    status = statuses.get(container.name)
    if status is None or not container.resizable:
        return wanted
    actual = amounts_of(resource_list(child(status, "resources", "requests")))
    held_now = actual.at_least(amounts_of(resource_list(child(status, "allocatedResources"))))
    return held_now if ignores_spec else held_now.at_least(wanted)


def _pod_sum(view: PodView, of_container: Callable[[ContainerView], Amounts]) -> Amounts:
    """Add containers up as pods do: init containers run one after the other beside the sidecars before them."""
    running = highest = NOTHING_HELD
    for container in view.containers:
        amounts = of_container(container)
        if container.role is Role.INIT:
            highest = highest.at_least(running.plus(amounts))
        else:
            running = running.plus(amounts)
    return running.at_least(highest).plus(view.overhead)


def _statuses(body: JsonObject) -> dict[str, JsonObject]:
    """Return the container statuses that show actual resources, by name."""
    found: dict[str, JsonObject] = {}
    for field in _STATUS_LISTS:
        for status in rows(body, "status", field):
            if isinstance(status.get("resources"), dict):
                found[text(status, "name")] = status
    return found


def _is_infeasible(body: JsonObject) -> bool:
    """Say whether a pod's pending resize can never happen."""
    conditions = rows(body, "status", "conditions")
    return any(text(row, "type") == _PENDING and text(row, "reason") == _INFEASIBLE for row in conditions)
