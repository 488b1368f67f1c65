"""What becomes of one wanted resize: allocated, put off, or refused for good (spec: in-place-resize 3.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from autoscaling.resources import CPU, MEMORY, ContainerResources
from evenkeel.simulator.kubelet.accounting import spec_requests
from evenkeel.simulator.kubelet.admission import NodeState, Refusal, refusal_of
from evenkeel.simulator.kubelet.podview import Allocation, ContainerView, PodView, may_swap, section
from evenkeel.simulator.kubelet.settings import Amounts, CpuPolicy, MemoryPolicy, NodeSettings


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The spec asks for what is allocated already."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The node has room: the spec becomes the allocation."""


@dataclass(frozen=True, slots=True)
class Deferred:
    """Not now; it is tried again."""

    message: str


@dataclass(frozen=True, slots=True)
class Infeasible:
    """Never on this node.

    Args:
        message: Why.
        detail: The label of the metric that counts it.
        with_event: Whether an event says so.
    """

    message: str
    detail: str
    with_event: bool = True


@dataclass(frozen=True, slots=True)
class Preempting:
    """A critical pod, for which others must go first.

    Args:
        shortage: What they have to give back.
        refusal: What holds if they cannot.
    """

    shortage: Amounts
    refusal: Refusal


Outcome: TypeAlias = Unchanged | Accepted | Deferred | Infeasible | Preempting


def evaluate(view: PodView, allocation: Allocation, node: NodeState) -> Outcome:
    """Decide about a resize.

    Args:
        view: The pod as its spec wants it.
        allocation: What it was granted before.
        node: The node; the pod itself is not in what is occupied.
    """
    if view.is_asking_for(allocation):
        return Unchanged()
    for check in _NEVER:
        impossible = check(view, allocation, node.settings)
        if impossible:
            return impossible
    requests = spec_requests(view)
    beyond = _beyond_node(requests, node.settings)
    if beyond:
        return beyond
    refusal = refusal_of(view, requests, node)
    if refusal is None:
        return Accepted()
    if view.critical and refusal.shortage is not None:
        return Preempting(refusal.shortage, refusal)
    return Deferred(refusal.message)


def _unsupported_pod(view: PodView, allocation: Allocation, settings: NodeSettings) -> Infeasible | None:
    """Step 2: pods for Windows, and pods of the node's own manifests."""
    del allocation, settings
    if view.windows:
        return Infeasible("Resize of Windows pods is not supported", "windows", with_event=False)
    if view.static:
        return Infeasible("Resize of static pods is not supported", "static_pod", with_event=False)
    return None


def _swapping(view: PodView, allocation: Allocation, settings: NodeSettings) -> Infeasible | None:
    """Step 3: a memory request of a container that may swap."""
    for container, held in _changed_requests(view, allocation, MEMORY):
        if MEMORY in container.restarts_for:
            continue
        kinds = (may_swap(view, r, settings.swap, settings.cgroup_version) for r in (container.resources, held))
        if any(kinds):
            message = "In-place resize of containers with swap is not supported"
            return Infeasible(message, "swap_limitation", with_event=False)
    return None


def _own_resources(view: PodView, allocation: Allocation, settings: NodeSettings) -> Infeasible | None:
    """Step 4: a pod with resources of its own, which the API server refuses before."""
    del allocation, settings
    if view.own_resources:
        message = "Resize of pods with pod-level resources is switched off"
        return Infeasible(message, "plr_feature_gate_off", with_event=False)
    return None


def _exclusive_cpu(view: PodView, allocation: Allocation, settings: NodeSettings) -> Infeasible | None:
    """Step 5: CPU of a Guaranteed pod beside the static cpu manager."""
    if settings.cpu_policy is not CpuPolicy.STATIC or view.qos != "Guaranteed":
        return None
    if not any(_changed_requests(view, allocation, CPU)):
        return None
    message = f'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "{settings.cpu_policy}"'
    return Infeasible(message, "guaranteed_pod_cpu_manager_static_policy")


def _exclusive_memory(view: PodView, allocation: Allocation, settings: NodeSettings) -> Infeasible | None:
    """Step 6: memory of a Guaranteed pod beside the static memory manager."""
    if settings.memory_policy is not MemoryPolicy.STATIC or view.qos != "Guaranteed":
        return None
    if not any(_changed_requests(view, allocation, MEMORY)):
        return None
    message = f'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "{settings.memory_policy}"'
    return Infeasible(message, "guaranteed_pod_memory_manager_static_policy")


_NEVER: tuple[Callable[[PodView, Allocation, NodeSettings], Infeasible | None], ...] = (
    _unsupported_pod,
    _swapping,
    _own_resources,
    _exclusive_cpu,
    _exclusive_memory,
)


def _changed_requests(
    view: PodView, allocation: Allocation, name: str
) -> list[tuple[ContainerView, ContainerResources]]:
    """Return the containers whose request for a resource is to change, with what they hold."""
    pairs = ((c, allocation.get(c.name, ContainerResources())) for c in view.containers if c.resizable)
    return [
        (container, held)
        for container, held in pairs
        if section(container.resources, "requests").get(name) != section(held, "requests").get(name)
    ]


def _beyond_node(requests: Amounts, settings: NodeSettings) -> Infeasible | None:
    """Step 7: more than the node could ever give; of both resources, memory is named."""
    absolute = settings.absolute
    cpu, memory = (
        ("cpu", requests.cpu_millis, absolute.cpu_millis),
        (
            "memory",
            requests.memory_bytes,
            absolute.memory_bytes,
        ),
    )
    for name, requested, capacity in (memory, cpu):
        if requested > capacity:
            message = f"Node didn't have enough capacity: {name}, requested: {requested}, capacity: {capacity}"
            return Infeasible(message, "insufficient_node_allocatable")
    return None
