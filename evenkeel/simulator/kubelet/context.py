"""What the parts of one kubelet process share."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from evenkeel.simulator.clock import Clock, Timer
from evenkeel.simulator.kubelet.accounting import effective_requests
from evenkeel.simulator.kubelet.actuation import Actuation
from evenkeel.simulator.kubelet.admission import NodeState
from evenkeel.simulator.kubelet.events import Event, Recorder
from evenkeel.simulator.kubelet.metrics import ResizeMetrics
from evenkeel.simulator.kubelet.podview import Allocation
from evenkeel.simulator.kubelet.records import Checkpoints, PodRecord, Stage
from evenkeel.simulator.kubelet.reports import Reports
from evenkeel.simulator.kubelet.runtime import Runtime, Sandbox
from evenkeel.simulator.kubelet.settings import NOTHING_HELD, Amounts, NodeSettings, Timing
from evenkeel.simulator.kubelet.status import Scene, pod_status
from evenkeel.simulator.workloads.demand import DemandSource


class Lifetime:
    """Timers that die with the process that set them.

    Args:
        clock: The simulation's clock.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.over = False

    def later(self, delay: timedelta, callback: Callable[[], None]) -> Timer:
        """Call back after a time unless the process is gone by then."""
        return self.clock.call_at(self.clock.now() + delay, lambda: None if self.over else callback())


@dataclass(slots=True)
class Context:
    """One kubelet process.

    Args:
        settings: Its node.
        timing: How fast everything is.
        lifetime: Its timers.
        chance: Its randomness.
        runtime: The container runtime.
        checkpoints: What outlives it.
        source: What containers do.
        recorder: Writes its events.
        reports: Writes its statuses.
        node_state: Gives its node's conditions, taints and labels.
        address: The node's address.
        phase: Where in a second the state of all containers is looked at.
        metrics: What it counts.
        pods: What it knows of its pods, by uid, in the order they came.
    """

    settings: NodeSettings
    timing: Timing
    lifetime: Lifetime
    chance: random.Random
    runtime: Runtime
    checkpoints: Checkpoints
    source: DemandSource
    recorder: Recorder
    reports: Reports
    node_state: Callable[[], NodeState]
    address: str
    phase: datetime
    metrics: ResizeMetrics = field(default_factory=ResizeMetrics)
    pods: dict[str, PodRecord] = field(default_factory=dict)

    def now(self) -> datetime:
        """Return the present."""
        return self.lifetime.clock.now()

    def relist_after(self, moment: datetime) -> datetime:
        """Return the first look at all containers after a moment."""
        period = self.timing.relist
        return self.phase + ((moment - self.phase) // period + 1) * period

    def stretched(self, delay: timedelta) -> timedelta:
        """Return a delay times 1 to 1.5."""
        return delay * self.chance.uniform(1.0, 1.5)

    def sandbox(self, record: PodRecord) -> Sandbox | None:
        """Return what a pod has on the node."""
        return self.runtime.sandboxes.get(record.view.uid)

    def tell(self, record: PodRecord, event: Event) -> None:
        """Write an event about a pod."""
        self.recorder.tell(record.view, event)

    def allocation(self, record: PodRecord) -> Allocation:
        """Return what a pod was granted: as of the beginning of its sync while one is under way."""
        return record.syncing if record.syncing is not None else self.checkpoints.allocation(record.view)

    def actuation(self, record: PodRecord) -> Actuation:
        """Return what separates a pod's actual resources from its allocation."""
        sandbox = self.sandbox(record)
        running = tuple(c.name for c in record.view.containers if sandbox and sandbox.is_running(c.name))
        return Actuation(record.view, self.allocation(record), self.checkpoints.in_force(record.view.uid), running)

    def publish(self, record: PodRecord) -> None:
        """Report the present status of a pod."""
        self.reports.publish(record, pod_status(self.scene(record)))

    def scene(self, record: PodRecord) -> Scene:
        """Return what a pod's status is made of."""
        sandbox = self.sandbox(record)
        return Scene(
            record,
            sandbox,
            self.allocation(record),
            self.checkpoints.in_force(record.view.uid),
            frozenset(self._ready(record, sandbox)) if sandbox else frozenset(),
            self.address,
            self.now(),
        )

    def _ready(self, record: PodRecord, sandbox: Sandbox) -> Iterator[str]:
        """Yield the containers whose readiness probe has passed."""
        for container in sandbox.running():
            behaviour = self.source.behaviour_of(record.view.body, container.name)
            if self.now() - container.started >= behaviour.ready_after:
                yield container.name

    def held_by(self, record: PodRecord) -> Amounts:
        """Return what a pod holds of the node, its allocation standing in for its spec."""
        if record.holds is None:
            record.holds = effective_requests(record.view, self.checkpoints.allocation(record.view))
        return record.holds

    def others(self, record: PodRecord) -> list[PodRecord]:
        """Return the other pods that hold something."""
        return [other for other in self.pods.values() if other is not record and other.stage is not Stage.FINISHED]

    def node_without(self, record: PodRecord) -> NodeState:
        """Return the node as it looks to one pod: with all others on it."""
        state, occupied = self.node_state(), NOTHING_HELD
        others = self.others(record)
        for other in others:
            occupied = occupied.plus(self.held_by(other))
        return NodeState(
            self.settings, state.pressures, state.taints, state.labels, occupied, len(others), state.shutting_down
        )
