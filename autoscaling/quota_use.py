"""What a pod is charged in the ResourceQuotas of its namespace, and whether a change goes beyond one (case 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from autoscaling.placement import Placement
from autoscaling.pod import Container, Pod
from autoscaling.pod_totals import Amounts, Basis, Side, pod_total
from autoscaling.qos import QosClass, pod_qos
from autoscaling.quantity import NANO, Quantity
from autoscaling.quota import Quota, ScopeRequirement
from autoscaling.resources import CONTROLLED

_PLAIN_TOO = ("cpu", "memory", "ephemeral-storage", "hugepages-")
_LIMITED = frozenset({"cpu", "memory", "ephemeral-storage"})
_EVERY_CONTAINER_SETS: Final = {
    **{name: (Side.REQUESTS, name) for name in CONTROLLED},
    **{f"{side.value}.{name}": (side, name) for side in Side for name in CONTROLLED},
}
_NO_PLACEMENT = Placement()


def charge(pod: Pod, *, is_carried_out: bool = False) -> Amounts:
    """Return what a pod is charged, under the names that quotas use.

    Of what a container asks for, was given and has, the largest counts. What the node has called infeasible is not
    charged, although it may still be carried out, and then nothing holds the quota.

    Args:
        is_carried_out: Whether to charge it all the same.

    Returns:
        Amounts in nano-units, such as those of ``requests.cpu``, ``cpu``, ``limits.memory`` and ``pods``.

    Spec: resize 1.6 and section 2.
    """
    basis = Basis.CARRIED_OUT if is_carried_out else Basis.CHARGED
    charged = {"pods": NANO, "count/pods": NANO}
    for name, value in pod_total(pod, Side.REQUESTS, basis).items():
        charged[f"requests.{name}"] = value
        if name.startswith(_PLAIN_TOO):
            charged[name] = value
    for name, value in pod_total(pod, Side.LIMITS, basis).items():
        if name in _LIMITED:
            charged[f"limits.{name}"] = value
    return charged


def counts(quota: Quota, pod: Pod) -> bool:
    """Say whether a quota counts a pod: all of its scopes must hold; an unknown one never does."""
    return all(_holds(scope, pod) for scope in quota.scopes)


def growth(quota: Quota, before: Amounts, after: Amounts) -> Amounts:
    """Return what a change adds to the use of a quota; what shrinks is given back only once the node reports it.

    Args:
        before: What the pod is charged now; empty for a new pod.
        after: What it would be charged.

    Returns:
        Amounts in nano-units, under those of the quota's names that grow.
    """
    added = {name: after.get(name, 0) - before.get(name, 0) for name in quota.hard}
    return {name: value for name, value in added.items() if value > 0}


def would_exceed(quota: Quota, before: Amounts, after: Amounts, committed: Amounts) -> Amounts:
    """Return how much of a quota is missing for a change; nothing where it has room, or where nothing grows.

    As long as a quota does not know what is used of a resource, nothing may be added to it.

    Args:
        before: What the pod is charged now; empty for a new pod.
        after: What it would be charged.
        committed: What other changes add that ``used`` does not show yet, under the quota's own names.

    Returns:
        Amounts in nano-units, under the quota's own names.

    Spec: resize 1.6, R42.
    """
    missing: dict[str, int] = {}
    for name, added in growth(quota, before, after).items():
        hard, used = quota.hard[name].nano, quota.used.get(name)
        short = added if used is None else used.nano + committed.get(name, 0) + added - hard
        if short > 0:
            missing[name] = short
    return missing


def left_open(quota: Quota, pod: Pod) -> tuple[str, ...]:
    """Return what a quota makes every container set and some do not, such as ``limits.cpu of app``.

    The API server refuses such a pod, and every resize of one. One with resources of its own is exempt.

    Spec: resize 1.6.
    """
    if (pod.placement or _NO_PLACEMENT).has_pod_resources:
        return ()
    found: list[str] = []
    for name in sorted(set(quota.hard) & set(_EVERY_CONTAINER_SETS)):
        side, resource = _EVERY_CONTAINER_SETS[name]
        unset = _without((*pod.containers, *pod.init_containers), side, resource)
        found += [f"{name} of {container}" for container in unset]
    return tuple(found)


def shortage(quota: Quota, missing: Amounts) -> str:
    """Return in words how much of a quota is missing."""
    parts = [f"{Quantity(value)} {name}" for name, value in sorted(missing.items())]
    return f"{quota.ref} is short of {', '.join(parts)}"


def _without(containers: Iterable[Container], side: Side, resource: str) -> Iterator[str]:
    """Yield the names of the containers whose spec does not name a resource."""
    for container in containers:
        resources = container.resources
        amounts = resources.requests if side is Side.REQUESTS else resources.limits
        if resource not in (amounts or {}):
            yield container.name


def _holds(scope: ScopeRequirement, pod: Pod) -> bool:
    """Say whether a pod is in one scope."""
    placement = pod.placement or _NO_PLACEMENT
    match scope.scope:
        case "Terminating" | "NotTerminating":
            return placement.has_deadline is (scope.scope == "Terminating")
        case "BestEffort" | "NotBestEffort":
            return (pod_qos(pod) is QosClass.BEST_EFFORT) is (scope.scope == "BestEffort")
        case "PriorityClass":
            return _has_priority_class(placement.priority_class, scope)
        case _:
            return False


def _has_priority_class(name: str, scope: ScopeRequirement) -> bool:
    """Say whether the name of a pod's priority class meets a scope."""
    match scope.operator:
        case "In":
            return name in scope.values
        case "NotIn":
            return name not in scope.values
        case "DoesNotExist":
            return not name
        case _:
            return bool(name)
