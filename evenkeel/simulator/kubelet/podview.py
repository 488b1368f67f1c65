"""What the kubelet reads of a pod: its containers with their resources, and what decides how it is treated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from autoscaling.quantity import Quantity
from autoscaling.resources import CONTROLLED, CPU, MEMORY, ContainerResources, ResourceList
from evenkeel.simulator.api.containers import qos_class
from evenkeel.simulator.api.fields import JsonObject, as_object, child, number, quantity, rows, text
from evenkeel.simulator.kubelet.settings import NOTHING_HELD, Amounts, SwapBehaviour, Taint

Allocation: TypeAlias = Mapping[str, ContainerResources]
"""Resources by container name, init containers included."""

MIRROR = "kubernetes.io/config.mirror"
CRITICAL_PRIORITY = 2_000_000_000
_NO_EXECUTE = "NoExecute"


class Role(Enum):
    """What a container is for."""

    INIT = "init"
    SIDECAR = "sidecar"
    REGULAR = "regular"


@dataclass(frozen=True, slots=True)
class ContainerView:
    """One container of a pod's spec.

    Args:
        name: Its name.
        role: What it is for.
        image: Its image.
        resources: Its requests and limits.
        restarts_for: The resources a change of which restarts it.
    """

    name: str
    role: Role
    image: str
    resources: ContainerResources
    restarts_for: tuple[str, ...] = ()

    @property
    def resizable(self) -> bool:
        """Whether its resources can change while the pod lives."""
        return self.role is not Role.INIT


@dataclass(frozen=True, slots=True)
class PodView:
    """One pod as the API server shows it; equal when spec and metadata that matter are.

    Args:
        body: The object itself, never written into.
        uid: Its uid.
        namespace: Its namespace.
        name: Its name.
        generation: Its generation.
        containers: Init containers in order, then the others.
        qos: QoS class.
        priority: Priority, 0 when absent.
        restart_policy: Restart policy of its containers.
        grace_seconds: Grace period of its spec, or of its deletion once that has begun.
        deleting: Whether it is being deleted.
        static: Whether it comes from a manifest on the node.
        overhead: What its sandbox costs.
        own_resources: Whether ``spec.resources`` says anything.
        windows: Whether it is for Windows nodes.
    """

    body: JsonObject = field(compare=False, repr=False)
    uid: str
    namespace: str
    name: str
    generation: int
    containers: tuple[ContainerView, ...]
    qos: str = "Burstable"
    priority: int = 0
    restart_policy: str = "Always"
    grace_seconds: int = 30
    deleting: bool = False
    static: bool = False
    overhead: Amounts = NOTHING_HELD
    own_resources: bool = False
    windows: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def critical(self) -> bool:
        """Whether the node may make room for it at the cost of others."""
        return self.static or self.priority >= CRITICAL_PRIORITY

    @property
    def desired(self) -> Allocation:
        """The resources its spec asks for."""
        return {container.name: container.resources for container in self.containers}

    def of_role(self, *roles: Role) -> Iterator[ContainerView]:
        """Yield the containers that have one of some roles."""
        return (container for container in self.containers if container.role in roles)

    def is_asking_for(self, allocation: Allocation) -> bool:
        """Say whether the cpu and memory that its resizable containers ask for are those of an allocation."""
        return all(
            same_compute(container.resources, allocation.get(container.name, ContainerResources()))
            for container in self.containers
            if container.resizable
        )


def read_pod(body: JsonObject) -> PodView:
    """Read a pod.

    Raises:
        InvalidQuantityError: An amount in it is none.
    """
    metadata, spec = child(body, "metadata"), child(body, "spec")
    deleting = bool(text(metadata, "deletionTimestamp"))
    grace = number(spec, "terminationGracePeriodSeconds", default=30)
    return PodView(
        body=body,
        uid=text(metadata, "uid"),
        namespace=text(metadata, "namespace"),
        name=text(metadata, "name"),
        generation=number(metadata, "generation", default=1),
        containers=tuple(_containers(spec)),
        qos=text(body, "status", "qosClass") or qos_class(body),
        priority=number(spec, "priority"),
        restart_policy=text(spec, "restartPolicy") or "Always",
        grace_seconds=number(metadata, "deletionGracePeriodSeconds", default=grace) if deleting else grace,
        deleting=deleting,
        static=MIRROR in child(metadata, "annotations"),
        overhead=amounts_of(resource_list(child(spec, "overhead"))),
        own_resources=bool(child(spec, "resources", "requests") or child(spec, "resources", "limits")),
        windows=text(spec, "os", "name") == "windows",
    )


def _containers(spec: JsonObject) -> Iterator[ContainerView]:
    """Yield the containers of a spec."""
    for row in rows(spec, "initContainers"):
        yield _container(row, Role.SIDECAR if text(row, "restartPolicy") == "Always" else Role.INIT)
    for row in rows(spec, "containers"):
        yield _container(row, Role.REGULAR)


def _container(row: JsonObject, role: Role) -> ContainerView:
    """Read one container."""
    restarts = (p for p in rows(row, "resizePolicy") if text(p, "restartPolicy") == "RestartContainer")
    return ContainerView(
        text(row, "name"),
        role,
        text(row, "image"),
        read_resources(child(row, "resources")),
        tuple(text(policy, "resourceName") for policy in restarts),
    )


def read_resources(resources: JsonObject) -> ContainerResources:
    """Read the requests and limits of a resources object."""
    requests, limits = resources.get("requests"), resources.get("limits")
    return ContainerResources(
        resource_list(as_object(requests)) if isinstance(requests, dict) else None,
        resource_list(as_object(limits)) if isinstance(limits, dict) else None,
    )


def resource_list(amounts: JsonObject) -> dict[str, Quantity]:
    """Read amounts by resource name."""
    return {name: quantity(value) for name, value in amounts.items()}


def amounts_of(resources: ResourceList | None) -> Amounts:
    """Return the cpu and memory of a resource list."""
    held = resources or {}
    cpu, memory = held.get(CPU), held.get(MEMORY)
    return Amounts(cpu.milli_value() if cpu else 0, memory.value() if memory else 0)


def same_compute(left: ContainerResources, right: ContainerResources) -> bool:
    """Say whether two resources agree on cpu and memory; an absent amount differs from zero."""
    return all(section(left, which).get(name) == section(right, which).get(name) for which, name in COMPUTE_PARTS)


COMPUTE_PARTS = tuple((which, name) for name in CONTROLLED for which in ("requests", "limits"))
"""The parts of a container's resources that a resize can change."""


def section(resources: ContainerResources, which: str) -> ResourceList:
    """Return the requests or the limits, empty when there are none."""
    return (resources.requests if which == "requests" else resources.limits) or {}


def changed_resources(new: ContainerResources, old: ContainerResources) -> tuple[str, ...]:
    """Return which of cpu and memory differ between two resources, in request or limit."""
    return tuple(
        name
        for name in CONTROLLED
        if any(section(new, which).get(name) != section(old, which).get(name) for which in ("requests", "limits"))
    )


def with_resource(base: ContainerResources, other: ContainerResources, name: str) -> ContainerResources:
    """Return resources that take one resource from another, and all else from the base."""
    return ContainerResources(
        _with_entry(base.requests, other.requests, name), _with_entry(base.limits, other.limits, name)
    )


def _with_entry(base: ResourceList | None, other: ResourceList | None, name: str) -> ResourceList | None:
    """Return one list with one entry taken from another."""
    if base is None and other is None:
        return None
    mixed = {key: value for key, value in (base or {}).items() if key != name}
    if other and name in other:
        mixed[name] = other[name]
    return mixed


def resources_json(resources: ContainerResources) -> JsonObject:
    """Return resources as the API shows them: limits before requests, empty maps left out."""
    shown: JsonObject = {}
    for which in ("limits", "requests"):
        amounts = section(resources, which)
        if amounts:
            shown[which] = {name: str(amounts[name]) for name in sorted(amounts)}
    return shown


def tolerates(view: PodView, taint: Taint) -> bool:
    """Say whether a pod tolerates a taint."""
    return any(_matches(row, taint) for row in rows(view.body, "spec", "tolerations"))


def _matches(toleration: JsonObject, taint: Taint) -> bool:
    """Say whether one toleration covers a taint."""
    effect, key = text(toleration, "effect"), text(toleration, "key")
    if effect not in {"", taint.effect} or key not in {"", taint.key}:
        return False
    return text(toleration, "operator") == "Exists" or (key != "" and text(toleration, "value") == taint.value)


def untolerated(view: PodView, taints: Iterable[Taint]) -> Taint | None:
    """Return the first taint that drives pods away and that a pod does not tolerate."""
    return next((taint for taint in taints if taint.effect == _NO_EXECUTE and not tolerates(view, taint)), None)


def may_swap(view: PodView, resources: ContainerResources, behaviour: SwapBehaviour, cgroup_version: int) -> bool:
    """Say whether a container may swap (spec: in-place-resize 3.2, step 3)."""
    if behaviour is SwapBehaviour.NO_SWAP or cgroup_version != 2 or view.critical or view.qos != "Burstable":
        return False
    request, limit = section(resources, "requests").get(MEMORY), section(resources, "limits").get(MEMORY)
    return request != limit
