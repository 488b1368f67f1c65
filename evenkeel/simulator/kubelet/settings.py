"""What a simulated node is made of, and how fast its parts are."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

MEBIBYTE = 2**20
GIBIBYTE = 2**30


@dataclass(frozen=True, slots=True)
class Amounts:
    """CPU in thousandths of a core and memory in bytes."""

    cpu_millis: int = 0
    memory_bytes: int = 0

    def plus(self, other: Amounts) -> Amounts:
        """Add."""
        return Amounts(self.cpu_millis + other.cpu_millis, self.memory_bytes + other.memory_bytes)

    def minus(self, other: Amounts) -> Amounts:
        """Subtract; the result may be negative."""
        return Amounts(self.cpu_millis - other.cpu_millis, self.memory_bytes - other.memory_bytes)

    def at_least(self, other: Amounts) -> Amounts:
        """Return the larger of each."""
        return Amounts(max(self.cpu_millis, other.cpu_millis), max(self.memory_bytes, other.memory_bytes))

    def is_below(self, other: Amounts) -> bool:
        """Say whether one of the two amounts is smaller than the other side's."""
        return self.cpu_millis < other.cpu_millis or self.memory_bytes < other.memory_bytes


NOTHING_HELD = Amounts()
"""No CPU and no memory."""


class CpuPolicy(StrEnum):
    """The kubelet's cpu manager policy."""

    NONE = "none"
    STATIC = "static"


class MemoryPolicy(StrEnum):
    """The kubelet's memory manager policy."""

    NONE = "None"
    STATIC = "Static"


class SwapBehaviour(StrEnum):
    """Whether containers may swap."""

    NO_SWAP = "NoSwap"
    LIMITED_SWAP = "LimitedSwap"


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    effect: str
    value: str = ""


_USUAL_CAPACITY = Amounts(4000, 8 * GIBIBYTE)


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """One node.

    Args:
        name: Its name.
        capacity: CPU and memory of the machine.
        kube_reserved: Set aside for Kubernetes.
        system_reserved: Set aside for the system.
        eviction_memory_bytes: Hard eviction threshold of available memory.
        system_memory_bytes: Memory that the system itself uses.
        pods: How many pods it takes.
        cpu_policy: Cpu manager policy.
        memory_policy: Memory manager policy.
        swap: Swap behaviour of its containers.
        cgroup_version: 1 or 2; with 1 a container does not start with a CPU limit above its pod's.
        labels: Labels besides the usual ones.
        taints: Taints from the start.
        version: The kubelet's version.
    """

    name: str
    capacity: Amounts = _USUAL_CAPACITY
    kube_reserved: Amounts = NOTHING_HELD
    system_reserved: Amounts = NOTHING_HELD
    eviction_memory_bytes: int = 100 * MEBIBYTE
    system_memory_bytes: int = 0
    pods: int = 110
    cpu_policy: CpuPolicy = CpuPolicy.NONE
    memory_policy: MemoryPolicy = MemoryPolicy.NONE
    swap: SwapBehaviour = SwapBehaviour.NO_SWAP
    cgroup_version: int = 2
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    version: str = "v1.35.4"

    @property
    def absolute(self) -> Amounts:
        """What a resize may never exceed: capacity less the reservations (spec: in-place-resize 3.2, step 7)."""
        return self.capacity.minus(self.kube_reserved).minus(self.system_reserved)

    @property
    def allocatable(self) -> Amounts:
        """What pods may request together: the same less the hard eviction threshold."""
        return self.absolute.minus(Amounts(0, self.eviction_memory_bytes))


@dataclass(frozen=True, slots=True)
class Timing:
    """How fast the parts of a node are; the defaults are what was seen of 1.35.4 (spec: in-place-resize 6.3 and 9).

    Args:
        watch: From a write in the API server until the kubelet acts on it.
        status_write: From a sync until its status is written; quick changes in between are never seen.
        event_write: Until an event is written.
        relist: Period in which the state of all containers is looked at; a pod that synced since the last look waits
            for the next.
        sandbox: Time to make a pod's sandbox.
        container_start: Time to start one container.
        runtime_call: Time one update of a container or a pod's cgroup takes.
        error_retry: After a failed sync, times 1 to 1.5.
        resync: Period of syncs without a cause, times 1 to 1.5; None for none, which saves work on large clusters.
        resize_retry: Period in which waiting resizes are tried again.
        first_resize_retry: The same after the kubelet's start.
        process_start: From the start of the kubelet's process until it syncs pods.
        back_off: First delay of a crash loop, doubled by each crash.
        longest_back_off: Its largest delay; a container that ran twice as long begins anew.
        usage: How often usage is measured and limits are enforced.
        statistics: Age at which measured usage is replaced in what the kubelet and the metrics API see, times 1 to 1.5.
        scrape: How often the metrics API asks.
        eviction: How often pressure is looked for.
        pressure_transition: How long a pressure condition stays after the pressure has gone.
        lease: How often the lease is renewed; None for never.
        manifest: How often the folder of static pods is looked at.
        status_reconcile: After how long a status that somebody else has overwritten is put right.
        false_completion: Share of the resizes of young pods that get an untrue ResizeCompleted.
    """

    watch: timedelta = timedelta(milliseconds=10)
    status_write: timedelta = timedelta(milliseconds=8)
    event_write: timedelta = timedelta(milliseconds=3)
    relist: timedelta = timedelta(seconds=1)
    sandbox: timedelta = timedelta(milliseconds=400)
    container_start: timedelta = timedelta(milliseconds=120)
    runtime_call: timedelta = timedelta(milliseconds=8)
    error_retry: timedelta = timedelta(seconds=10)
    resync: timedelta | None = timedelta(seconds=60)
    resize_retry: timedelta = timedelta(seconds=180)
    first_resize_retry: timedelta = timedelta(seconds=30)
    process_start: timedelta = timedelta(milliseconds=1300)
    back_off: timedelta = timedelta(seconds=10)
    longest_back_off: timedelta = timedelta(seconds=300)
    usage: timedelta = timedelta(seconds=1)
    statistics: timedelta = timedelta(seconds=10)
    scrape: timedelta = timedelta(seconds=15)
    eviction: timedelta = timedelta(seconds=10)
    pressure_transition: timedelta = timedelta(seconds=300)
    lease: timedelta | None = timedelta(seconds=10)
    manifest: timedelta = timedelta(seconds=20)
    status_reconcile: timedelta = timedelta(seconds=10)
    false_completion: float = 0.0
