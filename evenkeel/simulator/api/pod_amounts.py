"""What a pod counts for: its requests and limits as scheduler, quotas and limits add them up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from autoscaling.quantity import Quantity
from evenkeel.simulator.api.containers import amounts
from evenkeel.simulator.api.fields import JsonObject, child, quantity, rows, text

Amounts: TypeAlias = dict[str, Quantity]
"""Quantities by resource name."""

_POD_LEVEL = ("cpu", "memory", "hugepages-")


def effective_requests(pod: JsonObject) -> Amounts:
    """Return what a pod's requests count for on its node and in quotas.

    Of what is desired, allocated and actual the largest counts, container by container; a resize that the kubelet has
    called infeasible does not count as desired.

    Args:
        pod: The pod's body with its status.

    Returns:
        Amounts by resource name.

    Spec: in-place-resize 2.
    """
    return _total(pod, "requests", use_status=True)


def effective_limits(pod: JsonObject) -> Amounts:
    """Return what a pod's limits count for in quotas (spec: in-place-resize 2)."""
    return _total(pod, "limits", use_status=True)


def spec_requests(pod: JsonObject) -> Amounts:
    """Return a pod's requests by its spec alone: what a pod that is being placed asks for."""
    return _total(pod, "requests", use_status=False)


def spec_limits(pod: JsonObject) -> Amounts:
    """Return a pod's limits by its spec alone."""
    return _total(pod, "limits", use_status=False)


def is_infeasible(pod: JsonObject) -> bool:
    """Say whether the kubelet has called a pod's pending resize infeasible."""
    return any(
        text(row, "type") == "PodResizePending" and text(row, "reason") == "Infeasible"
        for row in rows(pod, "status", "conditions")
    )


def is_sidecar(container: JsonObject) -> bool:
    """Say whether an init container keeps running beside the regular ones."""
    return text(container, "restartPolicy") == "Always"


def add(total: Amounts, more: Mapping[str, Quantity]) -> None:
    """Add amounts to a sum, in place."""
    for name, amount in more.items():
        total[name] = total[name].plus(amount) if name in total else amount


def largest(*sides: Mapping[str, Quantity]) -> Amounts:
    """Return the largest amount of each resource."""
    result: Amounts = {}
    for side in sides:
        for name, amount in side.items():
            if name not in result or result[name] < amount:
                result[name] = amount
    return result


def _total(pod: JsonObject, section: str, *, use_status: bool) -> Amounts:
    """Return a pod's requests or limits."""
    seen = _Observed(pod, section) if use_status else None
    total: Amounts = {}
    for container in rows(pod, "spec", "containers"):
        add(total, seen.of(container, "containerStatuses") if seen else amounts(child(container, "resources"), section))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in rows(pod, "spec", "initContainers"):
        own = amounts(child(container, "resources"), section)
        if is_sidecar(container):
            add(sidecars, seen.of(container, "initContainerStatuses") if seen else own)
            starting = largest(starting, sidecars)
        else:
            starting = largest(starting, _sum((own, sidecars)))
    add(total, sidecars)
    total = largest(total, starting)
    own = amounts(child(pod, "spec", "resources"), section)
    total.update({name: amount for name, amount in own.items() if name.startswith(_POD_LEVEL)})
    for name, value in child(pod, "spec", "overhead").items():
        if section == "requests" or name in total:
            add(total, {name: quantity(value)})
    return total


class _Observed:
    """The amounts of a pod's containers with what its status says of them."""

    def __init__(self, pod: JsonObject, section: str) -> None:
        self._status = child(pod, "status")
        self._section = section
        self._spec_counts = not is_infeasible(pod)

    def of(self, container: JsonObject, group: str) -> Amounts:
        """Return what one container counts for."""
        desired = amounts(child(container, "resources"), self._section)
        name = text(container, "name")
        status = next((row for row in rows(self._status, group) if text(row, "name") == name), None)
        if status is None or status.get("resources") is None:
            return desired
        actual = amounts(child(status, "resources"), self._section)
        allocated = amounts(status, "allocatedResources") if self._section == "requests" else {}
        return largest(desired if self._spec_counts else {}, actual, allocated)


def _sum(sides: Iterable[Amounts]) -> Amounts:
    """Return several amounts added up."""
    result: Amounts = {}
    for side in sides:
        add(result, side)
    return result
