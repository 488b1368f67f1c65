"""What containers use: CPU shared out by limits and weights, memory held against limits, and what others see of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from evenkeel.simulator.kubelet.cgroups import PERIOD_US, Cgroup
from evenkeel.simulator.workloads.demand import NOTHING, Demand

KEPT_READINGS = 4


@dataclass(frozen=True, slots=True)
class Reading:
    """A measurement as the kubelet publishes it.

    Args:
        at: When it was taken.
        cpu_core_seconds: CPU used since the start.
        working_set_bytes: Memory in use, without page cache that could go at once.
        usage_bytes: Memory in use, page cache included.
    """

    at: datetime
    cpu_core_seconds: float
    working_set_bytes: int
    usage_bytes: int


@dataclass(slots=True)
class Meter:
    """Counts what one container, or a pod as a whole, uses.

    Args:
        counted: Until when it has counted.
        cpu_core_seconds: CPU used so far.
        working_set_bytes: Memory in use, without page cache.
        usage_bytes: Memory in use, with page cache.
        readings: What was published, oldest first.
        next_reading: When the next reading is due; None before the first count.
    """

    counted: datetime
    cpu_core_seconds: float = 0.0
    working_set_bytes: int = 0
    usage_bytes: int = 0
    readings: deque[Reading] = field(default_factory=lambda: deque(maxlen=KEPT_READINGS))
    next_reading: datetime | None = None

    def count(self, now: datetime, cores: float, working_set_bytes: int, usage_bytes: int) -> None:
        """Add the time since the last count, in which so much CPU was used."""
        self.cpu_core_seconds += cores * (now - self.counted).total_seconds()
        self.counted = now
        self.working_set_bytes, self.usage_bytes = working_set_bytes, usage_bytes

    def publish(self, due: datetime) -> None:
        """Take a reading, and note when the next one is due."""
        reading = Reading(self.counted, self.cpu_core_seconds, self.working_set_bytes, self.usage_bytes)
        self.readings.append(reading)
        self.next_reading = due

    def published_usage_bytes(self) -> int:
        """Return the memory use that was last published, 0 before the first reading."""
        return self.readings[-1].usage_bytes if self.readings else 0

    def window_until(self, moment: datetime) -> tuple[Reading, Reading] | None:
        """Return the last two readings by a moment; None while there are not two."""
        known = [reading for reading in self.readings if reading.at <= moment]
        return (known[-2], known[-1]) if len(known) > 1 else None


@dataclass(frozen=True, slots=True)
class Consumer:
    """One running container as it competes with others.

    Args:
        pod: Its pod.
        name: Its name.
        cgroup: Its limits and weight.
        demand: What it wants.
    """

    pod: str
    name: str
    cgroup: Cgroup
    demand: Demand = NOTHING


@dataclass(frozen=True, slots=True)
class Overrun:
    """A container that has to be killed for memory."""

    pod: str
    name: str


def shares_of_cpu(consumers: Sequence[Consumer], pods: dict[str, Cgroup], capacity_cores: float) -> list[float]:
    """Return what each container gets of the CPU it wants, in cores.

    Its own quota comes first, then its pod's, then the node's capacity; where there is too little, it is shared out by
    weight, and what one does not need goes to the others.

    Args:
        consumers: The running containers, those of one pod side by side.
        pods: The control group of each pod.
        capacity_cores: What the node has.
    """
    wanted = [min(c.demand.cpu_cores, _cores(c.cgroup.cpu_quota_us)) for c in consumers]
    weights = [c.cgroup.cpu_shares for c in consumers]
    first = 0
    while first < len(consumers):
        end = first + 1
        while end < len(consumers) and consumers[end].pod == consumers[first].pod:
            end += 1
        limit = _cores(pods[consumers[first].pod].cpu_quota_us)
        wanted[first:end] = shared_out(wanted[first:end], weights[first:end], limit)
        first = end
    return shared_out(wanted, weights, capacity_cores)


def _cores(quota_us: int | None) -> float:
    """Return a quota in cores, without end when there is none."""
    return float("inf") if quota_us is None else quota_us / PERIOD_US


def shared_out(wanted: list[float], weights: list[int], available: float) -> list[float]:
    """Share something out by weight; nobody gets more than wanted, and nothing is left over while somebody wants.

    Args:
        wanted: What each asks for.
        weights: Positive weights.
        available: What there is, in the same unit.
    """
    if sum(wanted) <= available:
        return wanted
    given = [0.0] * len(wanted)
    open_rows = sorted(range(len(wanted)), key=lambda row: (wanted[row] / weights[row], row))
    weight_left, left = sum(weights), available
    for row in open_rows:
        fair = left * weights[row] / weight_left
        given[row] = min(wanted[row], fair)
        left -= given[row]
        weight_left -= weights[row]
    return given


def overruns(consumers: Sequence[Consumer], pods: dict[str, Cgroup], capacity_bytes: int) -> list[Overrun]:
    """Return the containers that the kernel kills.

    These are those over their own limit, the largest of a pod over its limit, and the largest of a node without memory
    left, as many as it takes.

    Args:
        consumers: The running containers, those of one pod side by side.
        pods: The control group of each pod.
        capacity_bytes: The memory that the node has for pods.
    """
    doomed = [c for c in consumers if c.cgroup.memory_bytes is not None and _need(c) > c.cgroup.memory_bytes]
    left = [c for c in consumers if c not in doomed]
    for pod in dict.fromkeys(c.pod for c in left):
        limit, own = pods[pod].memory_bytes, [c for c in left if c.pod == pod]
        if limit is not None and sum(map(_need, own)) > limit:
            doomed.append(max(own, key=_need))
    left = [c for c in left if c not in doomed]
    total = sum(map(_need, left))
    while total > capacity_bytes and left:
        largest = max(left, key=_need)
        left.remove(largest)
        doomed.append(largest)
        total -= _need(largest)
    return [Overrun(c.pod, c.name) for c in doomed]


def _need(consumer: Consumer) -> int:
    """Return the memory that a container cannot do without."""
    return consumer.demand.working_set_bytes


def usage_bytes(consumer: Consumer, pod_limit_bytes: int | None) -> int:
    """Return the memory that a container holds: page cache fills what its limits leave."""
    held = consumer.demand.working_set_bytes + consumer.demand.cache_bytes
    limits = [limit for limit in (consumer.cgroup.memory_bytes, pod_limit_bytes) if limit is not None]
    return max(consumer.demand.working_set_bytes, min([held, *limits]))
