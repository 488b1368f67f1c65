"""From allocated to actual: which containers restart, which calls change the others, and in what order.

Spec: in-place-resize 3.6 and 3.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from autoscaling.quantity import Quantity
from autoscaling.resources import CPU, MEMORY, ContainerResources
from evenkeel.simulator.kubelet.accounting import spec_requests
from evenkeel.simulator.kubelet.cgroups import Cgroup, container_cgroup, pod_cgroup
from evenkeel.simulator.kubelet.podview import (
    Allocation,
    ContainerView,
    PodView,
    changed_resources,
    same_compute,
    section,
    with_resource,
)


@dataclass(frozen=True, slots=True)
class PodStep:
    """A new set of values for the pod's own control group."""

    cgroup: Cgroup


@dataclass(frozen=True, slots=True)
class ContainerStep:
    """One call to the runtime.

    Args:
        name: The container.
        cgroup: All its values after the call.
        actuated: What counts as in force once it has succeeded.
    """

    name: str
    cgroup: Cgroup
    actuated: ContainerResources


Step: TypeAlias = PodStep | ContainerStep


@dataclass(frozen=True, slots=True)
class Actuation:
    """What separates a pod's actual resources from its allocation.

    Args:
        view: The pod.
        allocated: What it is to have.
        actuated: What it was last given, by container.
        running: Names of its containers that run.
    """

    view: PodView
    allocated: Allocation
    actuated: Allocation
    running: tuple[str, ...]

    def changing(self) -> Iterator[ContainerView]:
        """Yield the running containers whose actual resources are not the allocated ones, in order."""
        for container in self.view.containers:
            if container.name in self.running and container.resizable:
                wanted, held = self.wanted(container.name), self.held(container.name)
                if not same_compute(wanted, held):
                    yield container

    def restarting(self) -> tuple[str, ...]:
        """Return the containers that have to restart for it."""
        return tuple(container.name for container in self.changing() if self._must_restart(container))

    def updating(self, resource: str) -> list[str]:
        """Return the containers of which a resource changes while they run, in order."""
        return [
            container.name
            for container in self.changing()
            if not self._must_restart(container)
            and resource in changed_resources(self.wanted(container.name), self.held(container.name))
        ]

    def wanted(self, name: str) -> ContainerResources:
        """Return what a container is to have."""
        return self.allocated.get(name, ContainerResources())

    def held(self, name: str) -> ContainerResources:
        """Return what a container was last given."""
        return self.actuated.get(name, ContainerResources())

    def target(self) -> Cgroup:
        """Return the values the pod's control group is to have."""
        return pod_cgroup(self.view, spec_requests(self.view, self.allocated).cpu_millis, self.allocated)

    def _must_restart(self, container: ContainerView) -> bool:
        """Say whether a change of this container restarts it."""
        changed = changed_resources(self.wanted(container.name), self.held(container.name))
        return any(name in container.restarts_for for name in changed)


@dataclass(frozen=True, slots=True)
class Restarted:
    """What containers that had to restart were about to change."""

    names: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()


def restarts_of(actuation: Actuation) -> Restarted:
    """Return the containers that must restart, and which of cpu and memory changes in any of them."""
    names = actuation.restarting()
    changed = {r for name in names for r in changed_resources(actuation.wanted(name), actuation.held(name))}
    return Restarted(names, tuple(resource for resource in (CPU, MEMORY) if resource in changed))


def steps_of(actuation: Actuation, restarted: Restarted, pod_now: Cgroup) -> tuple[Step, ...]:
    """Return the calls of one resize step: memory, then cpu; the pod first where it grows, last where it shrinks.

    Args:
        actuation: What is to change in containers that go on running.
        restarted: What restarts besides, which changes the pod as well.
        pod_now: The present values of the pod's control group.
    """
    target = actuation.target()
    actuated = dict(actuation.actuated)
    steps: list[Step] = []
    for resource in (MEMORY, CPU):
        names = actuation.updating(resource)
        if not names and resource not in restarted.resources:
            continue
        before, after = _pod_steps(resource, pod_now, target)
        steps += [PodStep(values) for values in before]
        for name in _ordered(actuation, names, resource):
            actuated[name] = with_resource(actuated.get(name, ContainerResources()), actuation.wanted(name), resource)
            steps.append(ContainerStep(name, container_cgroup(actuated[name]), actuated[name]))
        steps += [PodStep(values) for values in after]
        pod_now = (after or before or [pod_now])[-1]
    return tuple(steps)


def _pod_steps(resource: str, now: Cgroup, target: Cgroup) -> tuple[list[Cgroup], list[Cgroup]]:
    """Return the writes to the pod's control group before and after its containers'."""
    if resource == MEMORY:
        if target.memory_bytes is None or target.memory_bytes == now.memory_bytes:
            return [], []
        values = [replace(now, memory_bytes=target.memory_bytes)]
        return (values, []) if _grows(now.memory_bytes, target.memory_bytes) else ([], values)
    before: list[Cgroup] = []
    after: list[Cgroup] = []
    quota_changes = target.cpu_quota_us not in {None, now.cpu_quota_us}
    if quota_changes and _grows(now.cpu_quota_us, target.cpu_quota_us):
        now = replace(now, cpu_quota_us=target.cpu_quota_us)
        before.append(now)
    if target.cpu_shares > now.cpu_shares:
        now = replace(now, cpu_shares=target.cpu_shares)
        before.append(now)
    if target.cpu_shares < now.cpu_shares:
        now = replace(now, cpu_shares=target.cpu_shares)
        after.append(now)
    if quota_changes and now.cpu_quota_us != target.cpu_quota_us:
        after.append(replace(now, cpu_quota_us=target.cpu_quota_us))
    return before, after


def _grows(now: int | None, target: int | None) -> bool:
    """Say whether a limit is raised; a first limit counts as one."""
    return now is None or (target is not None and target > now)


def _ordered(actuation: Actuation, names: list[str], resource: str) -> list[str]:
    """Return containers in the order of their calls: those that shrink from the last to the first, then the others."""
    shrinking = [name for name in names if _shrinks(actuation.wanted(name), actuation.held(name), resource)]
    return [*reversed(shrinking), *(name for name in names if name not in shrinking)]


def _shrinks(wanted: ContainerResources, held: ContainerResources, resource: str) -> bool:
    """Say whether a container gets less of a resource: by its limit, or by its request when the limit stays."""
    for which in ("limits", "requests"):
        new, old = section(wanted, which).get(resource), section(held, which).get(resource)
        if new != old:
            return new is not None and old is not None and new < old
    return False


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """How much memory a pod uses, cache included.

    Args:
        pod_bytes: The whole pod, as last measured.
        container_bytes: Its containers, by name.
    """

    pod_bytes: int
    container_bytes: Mapping[str, int]


def memory_objection(actuation: Actuation, restarted: Restarted, pod_now: Cgroup, use: MemoryUse) -> str:
    """Return why no limit may be lowered to its new value yet, empty when all may be (spec: in-place-resize 3.7).

    The use printed for a container is its pod's, as on real nodes.
    """
    names = actuation.updating(MEMORY)
    if not names and not restarted.names:
        return ""
    complaints: list[str] = []
    target = actuation.target().memory_bytes
    if target is not None and target < (pod_now.memory_bytes or 0) and use.pod_bytes >= target:
        complaints.append(_complaint("pod", target, use.pod_bytes))
    for name in names:
        limit = section(actuation.wanted(name), "limits").get(MEMORY)
        if limit is None or not _is_lowered(limit, section(actuation.held(name), "limits").get(MEMORY)):
            continue
        if use.container_bytes.get(name, 0) >= limit.value():
            complaints.append(_complaint(f'container "{name}"', limit.value(), use.pod_bytes))
    return f"cannot decrease memory limits: {_listed(complaints)}" if complaints else ""


def _is_lowered(new: Quantity, old: Quantity | None) -> bool:
    """Say whether a limit falls or is a first one."""
    return old is None or new < old


def _complaint(what: str, limit: int, use: int) -> str:
    """Return one part of the message; clients read it."""
    return f"attempting to set {what} memory limit ({limit}) below current usage ({use})"


def _listed(complaints: Iterable[str]) -> str:
    """Return one text for one or several errors, the way Go joins them."""
    several = list(complaints)
    return several[0] if len(several) == 1 else f"[{', '.join(several)}]"
