"""Whether a node has made of a pod what its spec asks for, by comparing amounts (beyond:B-45).

Neither conditions nor events prove that: a restarted node shows a pod as observed without any condition half a minute
before it looks at its resize, and a ``ResizeCompleted`` may be about the amounts before.
"""

from __future__ import annotations

from typing import Final

from autoscaling.pod import Container, ContainerStatus, Pod, PodPhase
from autoscaling.resources import CONTROLLED, CPU, ResourceList

_NANO: Final = 10**9
_CPU_STEP_NANO: Final = 10 * 10**6
"""Runtimes keep CPU limits in steps of 10m, and report the least that they can do for anything below."""
_LEAST_CPU_NANO: Final = 2 * 10**6
"""Shares cannot tell CPU requests up to 2m apart."""
_PAGE_NANO: Final = 65536 * _NANO
"""The kernel keeps memory limits in whole pages, the largest of which have 64 KiB."""


def is_converged(pod: Pod) -> bool:
    """Say whether desired, allocated and actual resources agree, allowing the runtime's own rounding.

    Containers of which the node reports no resources cannot be compared and count as agreeing, as do those that do
    not run: of them the node reports what it is going to give, not what it gives.
    """
    if pod.observed_generation and pod.observed_generation < pod.generation:
        return False
    return all(_agrees(container, status) for container in pod.containers for status in _reported(pod, container))


def is_over(pod: Pod) -> bool:
    """Say whether nothing more can be heard of a pod's resize: it is going or has ended (beyond:B-45)."""
    return pod.is_terminating or pod.phase in {PodPhase.SUCCEEDED, PodPhase.FAILED}


def _reported(pod: Pod, container: Container) -> tuple[ContainerStatus, ...]:
    """Return the container's status where it says what is in force."""
    status = pod.status_of(container.name)
    return (status,) if status is not None and status.is_running and status.resources is not None else ()


def _agrees(container: Container, status: ContainerStatus) -> bool:
    """Compare one container's spec with what is allocated and what is in force."""
    wanted, actual = container.resources, status.resources
    if actual is None:
        return True
    return (
        _same_requests(wanted.requests, actual.requests)
        and (status.allocated is None or _same_requests(wanted.requests, status.allocated))
        and _same_limits(wanted.limits, actual.limits)
    )


def _same_requests(wanted: ResourceList | None, seen: ResourceList | None) -> bool:
    """Compare requests of CPU and memory."""
    for name in CONTROLLED:
        one, other = _nano(wanted, name), _nano(seen, name)
        if one is None or other is None:
            if one is not other:
                return False
        elif one != other and not (name == CPU and max(one, other) <= _LEAST_CPU_NANO):
            return False
    return True


def _same_limits(wanted: ResourceList | None, seen: ResourceList | None) -> bool:
    """Compare limits of CPU and memory."""
    for name in CONTROLLED:
        one, other = _nano(wanted, name), _nano(seen, name)
        if one is None or other is None:
            if one is not other:
                return False
        elif abs(one - other) >= (_CPU_STEP_NANO if name == CPU else _PAGE_NANO):
            return False
    return True


def _nano(amounts: ResourceList | None, name: str) -> int | None:
    """Return an amount in nano-units, None where it is missing."""
    quantity = (amounts or {}).get(name)
    return None if quantity is None else quantity.nano
