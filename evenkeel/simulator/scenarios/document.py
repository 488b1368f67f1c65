"""A whole scenario file: the cluster, its workloads and VPAs, the flags, the course of things, the end state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from autoscaling.quantity import Quantity
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.vpa import UpdateMode
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.kubelet.settings import Amounts, CpuPolicy, NodeSettings
from evenkeel.simulator.scenarios.expectations import Check
from evenkeel.simulator.scenarios.steps import Program, Step
from evenkeel.simulator.scenarios.syntax import NOTHING, Amount, Duration, Part, whole_bytes
from evenkeel.simulator.scenarios.usage import IDLE, UsageDocument
from evenkeel.simulator.workloads.demand import Behaviour

_MILLI = 10**6
_CPU, _MEMORY, _EVICTION_MEMORY = Quantity.parse("4"), Quantity.parse("8Gi"), Quantity.parse("100Mi")


class WorkloadKind(StrEnum):
    """Kinds of workloads that are written out from a few lines; others go under ``objects``."""

    DEPLOYMENT = "Deployment"
    STATEFUL_SET = "StatefulSet"
    DAEMON_SET = "DaemonSet"
    JOB = "Job"


class RestartPolicy(StrEnum):
    """What a resize of a resource means for a container."""

    NOT_REQUIRED = "NotRequired"
    RESTART_CONTAINER = "RestartContainer"


class ContainerRole(StrEnum):
    """When a container runs."""

    REGULAR = "regular"
    SIDECAR = "sidecar"
    """Started before the regular ones and running as long as they do: an init container with restartPolicy Always."""
    INIT = "init"
    """Run to its end before the regular ones start."""


class Time(StrEnum):
    """By which clock a scenario runs."""

    LOCKSTEP = "lockstep"
    """Simulated time, which moves on when every process waits for it: fast and repeatable."""
    REAL = "real"
    """The machine's time, for programs that know no other."""


@dataclass(frozen=True, slots=True)
class Node(Part):
    """A node of the simulated cluster.

    Args:
        cpu: Its CPU.
        memory: Its memory.
        reserved_cpu: Set aside for the system.
        reserved_memory: Set aside for the system.
        eviction_memory: Free memory below which the kubelet evicts pods.
        system_memory: Memory that the system itself uses.
        cpu_policy: Cpu manager policy of its kubelet.
        labels: Labels besides the usual ones.
    """

    cpu: Amount = _CPU
    memory: Amount = _MEMORY
    reserved_cpu: Amount = NOTHING
    reserved_memory: Amount = NOTHING
    eviction_memory: Amount = _EVICTION_MEMORY
    system_memory: Amount = NOTHING
    cpu_policy: CpuPolicy = CpuPolicy.NONE
    labels: dict[str, str] = field(default_factory=dict)

    def settings(self, name: str) -> NodeSettings:
        """Return it as the simulated nodes take it."""
        return NodeSettings(
            name,
            capacity=_amounts(self.cpu, self.memory),
            system_reserved=_amounts(self.reserved_cpu, self.reserved_memory),
            eviction_memory_bytes=whole_bytes(self.eviction_memory),
            system_memory_bytes=whole_bytes(self.system_memory),
            cpu_policy=self.cpu_policy,
            labels=dict(self.labels),
        )


def _amounts(cpu: Quantity, memory: Quantity) -> Amounts:
    return Amounts(cpu.nano // _MILLI, whole_bytes(memory))


@dataclass(frozen=True, slots=True)
class Container(Part):
    """A container of a workload.

    Args:
        role: When it runs; those that are no regular ones are started in the order in which they are written.
        requests: Requests by resource.
        limits: Limits by resource.
        resize_policy: What a resize of a resource means.
        usage: What it would use by its age.
        load: What it would use besides by the time of the scenario, whatever its age.
        shared: What the ready pods of the workload would use besides by the time of the scenario, all of them together.
        ready_after: Age at which it becomes ready.
        exits_after: Age at which it ends by itself; never where it is absent.
        exit_code: With what it ends then.
        pre_stop: How long it goes on working after it was told to end.
    """

    role: ContainerRole = ContainerRole.REGULAR
    requests: dict[str, Amount] = field(default_factory=dict)
    limits: dict[str, Amount] = field(default_factory=dict)
    resize_policy: dict[str, RestartPolicy] = field(default_factory=dict)
    usage: UsageDocument = IDLE
    load: UsageDocument | None = None
    shared: UsageDocument | None = None
    ready_after: Duration = timedelta(0)
    exits_after: Duration | None = None
    exit_code: int = 0
    pre_stop: Duration = timedelta(0)

    def behaviour(self, folder: Path, usage: UsageDocument | None = None) -> Behaviour:
        """Return what it does by itself, perhaps with another usage.

        Raises:
            ConfigurationError: A trace cannot be read.
        """
        return Behaviour(
            (usage or self.usage).usage(folder),
            self.load.usage(folder) if self.load else None,
            self.shared.usage(folder) if self.shared else None,
            ready_after=self.ready_after,
            exits_after=self.exits_after,
            exit_code=self.exit_code,
            pre_stop=self.pre_stop,
        )


@dataclass(frozen=True, slots=True)
class Workload(Part):
    """A workload.

    Args:
        containers: Its containers by name.
        kind: Kind of the object.
        namespace: Its namespace.
        replicas: How many pods; without meaning for a DaemonSet.
        after: When it is created.
        spec: Merged into the object's spec.
        pod: Merged into the spec of its pods.
    """

    containers: dict[str, Container]
    kind: WorkloadKind = WorkloadKind.DEPLOYMENT
    namespace: str = "default"
    replicas: int = 1
    after: Duration = timedelta(0)
    spec: JsonObject = field(default_factory=dict)
    pod: JsonObject = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a workload whose pods would have nothing in them."""
        if not any(container.role is ContainerRole.REGULAR for container in self.containers.values()):
            raise ValueError("a workload needs at least one regular container")


@dataclass(frozen=True, slots=True)
class VpaDocument(Part):
    """A VerticalPodAutoscaler.

    Args:
        target: Kind and name such as ``Deployment/web``; the workload of the same name where it is empty.
        namespace: Its namespace.
        mode: Update mode.
        min_replicas: Live pods that a group needs; the updater's flag where it is absent.
        policies: ``spec.resourcePolicy.containerPolicies``, as Kubernetes has it.
        recommendation: Target by container and resource that is written by hand, in place of the recommender's.
        after: When it is created.
        spec: Merged into its spec.
        upstream: Whether it is of upstream's API group, for upstream's programs.
    """

    target: str = ""
    namespace: str = "default"
    mode: UpdateMode = UpdateMode.IN_PLACE_OR_RECREATE
    min_replicas: int | None = None
    policies: tuple[JsonObject, ...] = ()
    recommendation: dict[str, dict[str, Amount]] | None = None
    after: Duration = timedelta(0)
    spec: JsonObject = field(default_factory=dict)
    upstream: bool = False

    @property
    def api_version(self) -> str:
        """API version of the object."""
        group = ApiGroup.UPSTREAM if self.upstream else ApiGroup.EVENKEEL
        return f"{group.value}/v1"


@dataclass(frozen=True, slots=True)
class Flags(Part):
    """Flags beyond those of the manifests.

    Args:
        all: For all three processes.
        recommender: For the recommender.
        updater: For the updater.
        admission: For the admission controller.
        peer: For upstream's programs, by name: recommender, updater, admission-controller.
    """

    all: tuple[str, ...] = ()
    recommender: tuple[str, ...] = ()
    updater: tuple[str, ...] = ()
    admission: tuple[str, ...] = ()
    peer: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, program: Program) -> Sequence[str]:
        """Return the flags for one process."""
        own = {Program.RECOMMENDER: self.recommender, Program.UPDATER: self.updater}.get(program, self.admission)
        return (*self.all, *own)


class UsageResource(StrEnum):
    """Resources whose use is measured."""

    CPU = "cpu"
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class ExternalMetricsDocument(Part):
    """Usage of pods as external metrics, beside metrics.k8s.io.

    Args:
        metrics: Metric by resource.
        container_label: Label of the values that names the container.
    """

    metrics: dict[UsageResource, str]
    container_label: str = "name"


@dataclass(frozen=True, slots=True)
class Scenario(Part):
    """A scenario.

    Args:
        title: What it shows, in one line.
        duration: How long it lasts.
        nodes: Its nodes by name.
        expect: The end state that it must come to.
        about: More about it.
        workloads: Its workloads by name.
        vpas: Its VPAs by name.
        objects: Other objects, which exist from the start.
        steps: What happens in its course.
        flags: Flags of the processes.
        external_metrics: Usage that is served as external metrics; the recommender may list them then.
        time: By which clock it runs.
        peer: Whether upstream's programs run beside ours.
    """

    title: str
    duration: Duration
    nodes: dict[str, Node]
    expect: tuple[Check, ...]
    about: str = ""
    workloads: dict[str, Workload] = field(default_factory=dict)
    vpas: dict[str, VpaDocument] = field(default_factory=dict)
    objects: tuple[JsonObject, ...] = ()
    steps: tuple[Step, ...] = ()
    flags: Flags = field(default_factory=Flags)
    external_metrics: ExternalMetricsDocument | None = None
    time: Time = Time.LOCKSTEP
    peer: bool = False
