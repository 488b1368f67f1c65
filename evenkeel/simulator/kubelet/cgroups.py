"""Resources as control groups hold them, and back (spec: in-place-resize 3.9)."""

from __future__ import annotations

from dataclasses import dataclass

from autoscaling.quantity import Format, Quantity
from autoscaling.resources import CPU, MEMORY, ContainerResources
from evenkeel.simulator.kubelet.podview import Allocation, PodView, section

PERIOD_US = 100_000
_SMALLEST_SHARES, _LARGEST_SHARES = 2, 262_144
_SMALLEST_QUOTA_US = 1_000
_TINY_REQUEST_MILLIS, _TINY_LIMIT_MILLIS = 2, 10
_WEIGHT_SPAN, _LARGEST_WEIGHT = 9_999, 10_000


@dataclass(frozen=True, slots=True)
class Cgroup:
    """The values of a control group, of a container or a whole pod.

    Args:
        cpu_shares: Relative weight for CPU.
        cpu_quota_us: CPU time per period of 100 ms; None for no limit.
        memory_bytes: Memory limit; None for none.
    """

    cpu_shares: int = _SMALLEST_SHARES
    cpu_quota_us: int | None = None
    memory_bytes: int | None = None


def shares_of(millis: int) -> int:
    """Return the CPU shares for a request."""
    return max(_SMALLEST_SHARES, min(_LARGEST_SHARES, millis * 1024 // 1000))


def millis_of_shares(shares: int) -> int:
    """Return the request that CPU shares stand for; the same number from 2m on."""
    return -(-shares * 1000 // 1024)


def weight_of(shares: int) -> int:
    """Return the cgroup v2 weight that the kubelet writes for a pod's shares."""
    if shares >= _LARGEST_SHARES:
        return _LARGEST_WEIGHT
    return 1 + (shares - _SMALLEST_SHARES) * _WEIGHT_SPAN // (_LARGEST_SHARES - _SMALLEST_SHARES)


def shares_of_weight(weight: int) -> int:
    """Return the shares read back from a weight; not always those that were written."""
    return (weight - 1) * (_LARGEST_SHARES - _SMALLEST_SHARES) // _WEIGHT_SPAN + _SMALLEST_SHARES


def quota_of(millis: int) -> int | None:
    """Return the CPU quota for a limit, None for no limit."""
    return max(_SMALLEST_QUOTA_US, millis * PERIOD_US // 1000) if millis else None


def millis_of_quota(quota_us: int) -> int:
    """Return the limit that a quota stands for."""
    return quota_us * 1000 // PERIOD_US


def container_cgroup(resources: ContainerResources) -> Cgroup:
    """Return the values of a container's control group; without a CPU request the limit gives the shares."""
    request, limit = section(resources, "requests").get(CPU), section(resources, "limits").get(CPU)
    weight = request if request is not None else limit
    memory = section(resources, "limits").get(MEMORY)
    return Cgroup(
        shares_of(weight.milli_value() if weight else 0),
        quota_of(limit.milli_value()) if limit else None,
        (memory.value() or None) if memory else None,
    )


def pod_cgroup(view: PodView, requests_millis: int, allocation: Allocation) -> Cgroup:
    """Return the values of a pod's control group; a limit is there only if every container has it.

    Args:
        view: The pod.
        requests_millis: The CPU that the pod as a whole requests.
        allocation: Its containers' resources.
    """
    cpu, memory = _sum_of_limits(view, allocation, CPU), _sum_of_limits(view, allocation, MEMORY)
    return Cgroup(
        shares_of(requests_millis),
        quota_of(cpu.milli_value()) if cpu else None,
        (memory.value() or None) if memory else None,
    )


def _sum_of_limits(view: PodView, allocation: Allocation, name: str) -> Quantity | None:
    """Return the limit of a pod for one resource, None when a container has none."""
    running, highest = Quantity(0), Quantity(0)
    for container in view.containers:
        limit = section(allocation.get(container.name, ContainerResources()), "limits").get(name)
        if limit is None or limit.is_zero():
            return None
        if container.resizable:
            running = running.plus(limit)
        else:
            highest = max(highest, running.plus(limit))
    return max(running, highest)


def actual_resources(allocated: ContainerResources, actuated: ContainerResources, cgroup: Cgroup) -> ContainerResources:
    """Return what a running container's status shows (spec: in-place-resize 3.5).

    A limit that is allocated to a container without one is shown before it is in force.

    Args:
        allocated: Says which amounts are shown at all.
        actuated: Gives the memory request, which no control group holds.
        cgroup: Gives the others.
    """
    requests, limits = dict(section(allocated, "requests")), dict(section(allocated, "limits"))
    if CPU in requests:
        requests[CPU] = _cpu(requests[CPU], millis_of_shares(cgroup.cpu_shares), _TINY_REQUEST_MILLIS)
    if MEMORY in requests:
        requests[MEMORY] = section(actuated, "requests").get(MEMORY, requests[MEMORY])
    if CPU in limits and cgroup.cpu_quota_us is not None:
        limits[CPU] = _cpu(limits[CPU], millis_of_quota(cgroup.cpu_quota_us), _TINY_LIMIT_MILLIS)
    if MEMORY in limits and cgroup.memory_bytes is not None:
        limits[MEMORY] = _memory(limits[MEMORY], cgroup.memory_bytes)
    return ContainerResources(
        requests if allocated.requests is not None else None, limits if allocated.limits is not None else None
    )


def _cpu(allocated: Quantity, actual_millis: int, tiny_millis: int) -> Quantity:
    """Return an actual amount of CPU; amounts too small to be told apart count as the allocated one."""
    millis = allocated.milli_value()
    if millis == actual_millis or (millis <= tiny_millis and actual_millis <= tiny_millis):
        return allocated
    return Quantity.of_milli(actual_millis)


def _memory(allocated: Quantity, actual_bytes: int) -> Quantity:
    """Return an actual amount of memory, as it was written when it is the allocated one."""
    if allocated.value() == actual_bytes:
        return allocated
    return Quantity.of_units(actual_bytes, Format.BINARY_SI)
