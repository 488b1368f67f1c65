"""What a pod's containers come to as a whole: the sums that quotas and LimitRanges for pods look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from autoscaling.pod import RESIZE_PENDING, ConditionStatus, Container, ContainerStatus, Pod
from autoscaling.resources import ContainerResources, ResourceList

Amounts = Mapping[str, int]
"""Resource name to an amount in nano-units (nano-cores, nano-bytes)."""


class Side(Enum):
    """Which of a container's two lists is added up."""

    REQUESTS = "requests"
    LIMITS = "limits"


class Basis(Enum):
    """What a container counts for."""

    SPEC = "spec"
    """What it asks for, whatever it has."""
    CHARGED = "charged"
    """The largest of what it asks for, was given and has; what its node has called infeasible is not asked for."""
    CARRIED_OUT = "carried_out"
    """The same, but what its node has called infeasible counts as well, as it may yet be carried out."""


def pod_total(pod: Pod, side: Side, basis: Basis) -> Amounts:
    """Return what a pod comes to.

    The containers with all sidecars count, or a plain init container with the sidecars that start before it where that
    is more. Overhead comes on top. Requests and limits of the pod as a whole stand in place of the sums.

    Returns:
        Amounts of every resource that a container names, in nano-units.

    Spec: resize section 2.
    """
    counted = _Counted(pod, side, basis)
    total: dict[str, int] = {}
    for container in pod.containers:
        if container.init_position is None:
            _add(total, counted.of(container))
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in in_start_order(pod):
        own = counted.of(container)
        if container.is_sidecar:
            _add(sidecars, own)
            starting = largest((starting, sidecars))
        else:
            starting = largest((starting, _sum((own, sidecars))))
    _add(total, sidecars)
    return _with_own(pod, side, largest((total, starting)))


def in_start_order(pod: Pod) -> tuple[Container, ...]:
    """Return a pod's init containers, sidecars among them, in the order in which they start."""
    inits = [c for c in (*pod.init_containers, *pod.containers) if c.init_position is not None]
    return tuple(sorted(inits, key=lambda container: container.init_position or 0))


def largest(lists: Iterable[Amounts]) -> dict[str, int]:
    """Return the largest amount of each resource that any list names."""
    result: dict[str, int] = {}
    for amounts in lists:
        for name, value in amounts.items():
            result[name] = max(value, result.get(name, value))
    return result


def is_infeasible(pod: Pod) -> bool:
    """Say whether the pod's node has refused what its spec asks for, for good."""
    pending = pod.condition(RESIZE_PENDING)
    return pending is not None and pending.status is ConditionStatus.TRUE and pending.reason == "Infeasible"


def nano_amounts(resources: ResourceList | None) -> dict[str, int]:
    """Return the amounts of a resource list in nano-units; nothing where there is no list."""
    return {name: quantity.nano for name, quantity in (resources or {}).items()}


class _Counted:
    """What single containers of a pod count for."""

    def __init__(self, pod: Pod, side: Side, basis: Basis) -> None:
        self._side = side
        self._statuses = {} if basis is Basis.SPEC else {s.name: s for s in (*pod.statuses, *pod.init_statuses)}
        self._is_asked_for = basis is not Basis.CHARGED or not is_infeasible(pod)

    def of(self, container: Container) -> Amounts:
        """Return what one container counts for; one whose status has no resources counts for its spec."""
        asked = nano_amounts(self._list(container.resources))
        is_plain_init = container.init_position is not None and not container.is_sidecar
        status = None if is_plain_init else self._statuses.get(container.name)
        if status is None or status.resources is None:
            return asked
        return largest((asked if self._is_asked_for else {}, *self._in_force(status, status.resources)))

    def _in_force(self, status: ContainerStatus, resources: ContainerResources) -> tuple[Amounts, ...]:
        """Return what a container has and was given; limits that were given are not told."""
        has = nano_amounts(self._list(resources))
        return (has, nano_amounts(status.allocated)) if self._side is Side.REQUESTS else (has,)

    def _list(self, resources: ContainerResources) -> ResourceList | None:
        return resources.requests if self._side is Side.REQUESTS else resources.limits


def _with_own(pod: Pod, side: Side, total: dict[str, int]) -> Amounts:
    """Return a total with what the pod has besides its containers."""
    placement = pod.placement
    if placement is None:
        return total
    overhead = nano_amounts(placement.overhead)
    if side is Side.REQUESTS:
        total |= nano_amounts(placement.requests)
    else:
        total |= nano_amounts(placement.limits)
        overhead = {name: value for name, value in overhead.items() if name in total}
    _add(total, overhead)
    return total


def _sum(lists: Iterable[Amounts]) -> dict[str, int]:
    result: dict[str, int] = {}
    for amounts in lists:
        _add(result, amounts)
    return result


def _add(total: dict[str, int], more: Amounts) -> None:
    """Add amounts to a sum, in place."""
    for name, value in more.items():
        total[name] = total.get(name, 0) + value
