"""Measuring: who is counted, what is killed, when readings are published."""

from __future__ import annotations

import random  # noqa: TID251 - the model takes a seeded source of delays
from datetime import timedelta

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import EPOCH, ManualClock
from evenkeel.simulator.kubelet.cgroups import Cgroup
from evenkeel.simulator.kubelet.runtime import Runtime, Start
from evenkeel.simulator.kubelet.settings import Amounts, NodeSettings
from evenkeel.simulator.kubelet.usage import UsageModel, Wants
from evenkeel.simulator.workloads.catalogue import Catalogue
from evenkeel.simulator.workloads.demand import Behaviour, Demand
from evenkeel.simulator.workloads.functions import Constant
from tests.evenkeel.simulator.kubelet.pods import pod

SECOND = timedelta(seconds=1)
SETTINGS = NodeSettings("n", Amounts(2000, 10_000), system_memory_bytes=1000)
STATISTICS = 10 * SECOND


class Node:
    """A runtime with one container and a meter for it."""

    def __init__(self, demand: Demand, cgroup: Cgroup, around: Cgroup) -> None:
        self.clock = ManualClock()
        self.runtime = Runtime(self.clock, random.Random(0), str)
        self.runtime.create_sandbox("uid-a", around)
        self.runtime.start("uid-a", Start("app", cgroup))
        self.pods: dict[str, JsonObject] = {"uid-a": pod()}
        catalogue = Catalogue(default=Behaviour(Constant(demand)))
        chance = random.Random(0)
        self.model = UsageModel(SETTINGS, self.runtime, Wants(catalogue, self.pods.get), chance, EPOCH)

    def measure(self, seconds: int) -> None:
        """Measure once a second."""
        for _ in range(seconds):
            self.clock.advance(SECOND)
            self.model.measure(self.clock.now(), STATISTICS)


def test_container_pod_and_node_are_counted() -> None:
    node = Node(Demand(3.0, 500, 9000), Cgroup(2, 50_000, 800), Cgroup(2, None, 700))
    node.measure(4)
    sandbox = node.runtime.sandboxes["uid-a"]
    meter = sandbox.containers["app"].meter
    assert (meter.cpu_core_seconds, meter.working_set_bytes, meter.usage_bytes) == (2.0, 500, 700)
    assert (sandbox.meter.cpu_core_seconds, sandbox.meter.usage_bytes) == (2.0, 700)
    assert (node.model.node.cpu_core_seconds, node.model.node.working_set_bytes) == (2.0, 1500)
    assert node.model.working_set_bytes() == 1500


def test_readings_come_every_10_to_15_seconds() -> None:
    node = Node(Demand(0.1, 1), Cgroup(), Cgroup())
    node.measure(60)
    readings = node.runtime.sandboxes["uid-a"].containers["app"].meter.readings
    times = [(reading.at - EPOCH).total_seconds() for reading in readings]
    assert len(times) == 4
    assert all(10 <= later - earlier <= 16 for earlier, later in zip([0.0, *times], times, strict=False))
    assert node.model.node.readings


def test_too_much_memory_kills() -> None:
    node = Node(Demand(0.1, 900), Cgroup(2, None, 800), Cgroup())
    node.measure(1)
    container = node.runtime.sandboxes["uid-a"].containers["app"]
    assert (container.reason, container.exit_code) == ("OOMKilled", 137)
    node.measure(1)
    assert node.model.working_set_bytes() == 1000


def test_what_has_no_pod_any_more_uses_nothing() -> None:
    node = Node(Demand(1.0, 900), Cgroup(), Cgroup())
    node.pods.clear()
    node.measure(2)
    assert node.runtime.sandboxes["uid-a"].containers["app"].meter.cpu_core_seconds == 0.0
