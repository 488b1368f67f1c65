"""A frozen snapshot of a pod: what the three processes read of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from operator import attrgetter
from typing import Final

from autoscaling.names import first_named
from autoscaling.objectref import ObjectRef
from autoscaling.placement import Placement
from autoscaling.resources import NO_RESOURCES, ContainerResources, ResourceList


class PodPhase(Enum):
    """``status.phase``."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class ConditionStatus(Enum):
    """Status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


RESIZE_PENDING = "PodResizePending"
RESIZE_IN_PROGRESS = "PodResizeInProgress"
READY = "Ready"


@dataclass(frozen=True, slots=True)
class PodCondition:
    """One entry of ``status.conditions``."""

    type: str
    status: ConditionStatus
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int = 0


@dataclass(frozen=True, slots=True)
class Owner:
    """One owner reference.

    Args:
        controller: None where the reference does not say whether its owner is the controller.
    """

    api_version: str
    kind: str
    name: str
    controller: bool | None = None
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Termination:
    """How a container ended: ``state.terminated`` or ``lastState.terminated``."""

    reason: str
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class ResizePolicy:
    """What a container does when one resource is resized."""

    resource: str
    restarts_container: bool


@dataclass(frozen=True, slots=True)
class Container:
    """One container of the pod's spec.

    Args:
        is_sidecar: An init container that keeps running (restartPolicy Always).
        init_position: Its place in ``spec.initContainers``; None for a regular container.
    """

    name: str
    resources: ContainerResources = NO_RESOURCES
    resize_policy: tuple[ResizePolicy, ...] = ()
    is_sidecar: bool = False
    init_position: int | None = None


@dataclass(frozen=True, slots=True)
class ContainerStatus:
    """One container of the pod's status.

    Args:
        resources: What the kubelet reports as in force; None where it reports nothing.
        allocated: The requests the kubelet has accepted; None where it reports nothing.
        is_running: Whether ``state.running`` is set.
        terminated: ``state.terminated``.
        last_terminated: ``lastState.terminated``.
    """

    name: str
    resources: ContainerResources | None = None
    allocated: ResourceList | None = None
    restart_count: int = 0
    is_running: bool = False
    is_ready: bool = False
    terminated: Termination | None = None
    last_terminated: Termination | None = None

    @property
    def accepted_requests(self) -> ResourceList:
        """Requests that the kubelet has accepted; where it does not say, those in force, as the runtime rounds them."""
        in_force = self.resources.requests if self.resources is not None else None
        return {**(in_force or {}), **(self.allocated or {})}


_CONTAINER_NAME: Final[Callable[[Container], str]] = attrgetter("name")
_STATUS_NAME: Final[Callable[[ContainerStatus], str]] = attrgetter("name")


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod as one process saw it at one moment.

    Args:
        annotations: None where the object has no such map, which a JSON patch must know.
        containers: ``spec.containers`` in order; behind them the sidecars where those count (see ``sidecars``).
        init_containers: ``spec.initContainers`` in order, without the sidecars where those count.
        statuses: ``status.containerStatuses`` in order; behind them those of the sidecars where those count.
        init_statuses: ``status.initContainerStatuses`` in order; empty where no init container is a sidecar, as the
            others' are never read.
        counts_sidecars: Whether sidecars count as containers, and plain init containers in the pod's totals.
        placement: Where it may run; None where that is not read.
        resized_at: When the API server last took a resize of it, by that server's clock and cut to whole seconds; None
            where it does not say.
    """

    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    observed_generation: int = 0
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] | None = None
    owners: tuple[Owner, ...] = ()
    is_terminating: bool = False
    node_name: str = ""
    phase: PodPhase = PodPhase.UNKNOWN
    qos_class: str = ""
    start_time: datetime | None = None
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    statuses: tuple[ContainerStatus, ...] = ()
    conditions: tuple[PodCondition, ...] = ()
    init_statuses: tuple[ContainerStatus, ...] = ()
    counts_sidecars: bool = False
    placement: Placement | None = None
    resized_at: datetime | None = None

    @property
    def ref(self) -> ObjectRef:
        """The pod's kind, namespace and name."""
        return ObjectRef("Pod", self.namespace, self.name)

    def annotation(self, key: str) -> str | None:
        """Return one annotation, None where it is missing."""
        return (self.annotations or {}).get(key)

    def container(self, name: str) -> Container | None:
        """Return the one of ``containers`` with this name, None where there is none."""
        return first_named(self.containers, name, _CONTAINER_NAME)

    def status_of(self, name: str) -> ContainerStatus | None:
        """Return the one of ``statuses`` with this name, None where there is none."""
        return first_named(self.statuses, name, _STATUS_NAME)

    def path_of(self, index: int) -> str:
        """Return the JSON pointer to one of ``containers``, by its index there."""
        position = self.containers[index].init_position
        return f"/spec/containers/{index}" if position is None else f"/spec/initContainers/{position}"

    def condition(self, kind: str) -> PodCondition | None:
        """Return the first condition of a type, None where there is none."""
        return next((c for c in self.conditions if c.type == kind), None)

    def has_overtaken(self, condition: PodCondition) -> bool:
        """Say whether a condition is about an earlier spec; one that does not say is about this one (updater K-19)."""
        return 0 < condition.observed_generation < self.generation

    def actual_resources(self, container: Container) -> ContainerResources:
        """Return the resources in force: the reported ones where reported at all, else the spec's (updater P-3)."""
        status = self.status_of(container.name)
        return status.resources if status is not None and status.resources is not None else container.resources
