"""Measuring and enforcing usage on one node: CPU is shared out, memory over a limit kills, readings are published."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.kubelet.meters import Consumer, Meter, overruns, shares_of_cpu, usage_bytes
from evenkeel.simulator.kubelet.runtime import KILLED, OOM_KILLED, Container, Runtime, Sandbox
from evenkeel.simulator.kubelet.settings import NodeSettings
from evenkeel.simulator.workloads.demand import DemandSource


@dataclass(frozen=True, slots=True)
class Wants:
    """What the containers of a node want.

    Args:
        source: Says so.
        pod_of: Gives the pod object of a uid, None once it is gone.
    """

    source: DemandSource
    pod_of: Callable[[str], JsonObject | None]


class UsageModel:
    """What the containers of one node use, looked at in steps.

    Between two looks everything counts as steady: CPU as it was found at the end of the step.

    Args:
        settings: The node.
        runtime: Its containers.
        wants: What they want.
        chance: Spreads readings over time.
        start: When the node came up.
    """

    def __init__(
        self,
        settings: NodeSettings,
        runtime: Runtime,
        wants: Wants,
        chance: random.Random,
        start: datetime,
    ) -> None:
        self.node = Meter(start)
        self._settings = settings
        self._runtime = runtime
        self._wants = wants
        self._chance = chance

    def measure(self, now: datetime, statistics: timedelta) -> None:
        """Look at all containers.

        Args:
            now: The present.
            statistics: After how long a published reading is replaced, times 1 to 1.5.
        """
        consumers = list(self._consumers(now))
        pods = {uid: sandbox.cgroup for uid, sandbox in self._runtime.sandboxes.items()}
        memory = self._settings.capacity.memory_bytes - self._settings.system_memory_bytes
        for overrun in overruns(consumers, pods, memory):
            self._runtime.end(overrun.pod, overrun.name, KILLED, OOM_KILLED)
        given = shares_of_cpu(consumers, pods, self._settings.capacity.cpu_millis / 1000)
        self._count(consumers, given, now)
        self._publish(now, statistics)

    def working_set_bytes(self) -> int:
        """Return the memory in use on the node, the system's included."""
        sandboxes = self._runtime.sandboxes.values()
        in_use = sum(c.meter.working_set_bytes for sandbox in sandboxes for c in sandbox.running())
        return in_use + self._settings.system_memory_bytes

    def _consumers(self, now: datetime) -> Iterator[Consumer]:
        """Yield the running containers with what they want, pod by pod."""
        for uid, sandbox in self._runtime.sandboxes.items():
            pod = self._wants.pod_of(uid)
            for container in sandbox.running() if pod is not None else ():
                assert pod is not None
                demand = self._wants.source.demand_of(pod, container.name, container.started, now)
                yield Consumer(uid, container.name, container.cgroup, demand)

    def _count(self, consumers: list[Consumer], given: list[float], now: datetime) -> None:
        """Add a step to the meters of containers, pods and node."""
        totals: dict[str, tuple[float, int, int]] = {}
        for consumer, cores in zip(consumers, given, strict=True):
            sandbox = self._runtime.sandboxes[consumer.pod]
            held = usage_bytes(consumer, sandbox.cgroup.memory_bytes)
            need = consumer.demand.working_set_bytes
            sandbox.containers[consumer.name].meter.count(now, cores, need, held)
            total = totals.get(consumer.pod, (0.0, 0, 0))
            totals[consumer.pod] = (total[0] + cores, total[1] + need, total[2] + held)
        for uid, sandbox in self._runtime.sandboxes.items():
            cores, need, held = totals.get(uid, (0.0, 0, 0))
            sandbox.meter.count(now, cores, need, _within(sandbox, held))
        in_use = sum(need for _, need, _ in totals.values()) + self._settings.system_memory_bytes
        cached = sum(held for _, _, held in totals.values()) + self._settings.system_memory_bytes
        self.node.count(now, sum(given), in_use, cached)

    def _publish(self, now: datetime, statistics: timedelta) -> None:
        """Take the readings that are due."""
        for sandbox in self._runtime.sandboxes.values():
            self._publish_one(sandbox.meter, sandbox.created, now, statistics)
            for container in _running(sandbox):
                self._publish_one(container.meter, container.started, now, statistics)
        self._publish_one(self.node, self.node.counted, now, statistics)

    def _publish_one(self, meter: Meter, born: datetime, now: datetime, statistics: timedelta) -> None:
        """Take one reading if it is due; the first one comes after a time like those between the others."""
        if meter.next_reading is None:
            meter.next_reading = born + statistics * self._chance.uniform(1.0, 1.5)
        if now >= meter.next_reading:
            meter.publish(now + statistics * self._chance.uniform(1.0, 1.5))


def _running(sandbox: Sandbox) -> Iterator[Container]:
    """Yield the running containers of a sandbox."""
    return sandbox.running()


def _within(sandbox: Sandbox, held: int) -> int:
    """Return what a pod holds, which its own limit bounds."""
    limit = sandbox.cgroup.memory_bytes
    return held if limit is None else min(held, limit)
