"""One simulated node: its object, its usage, its pressure, and the kubelet's program, which may stop and start."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from evenkeel.simulator.api.fields import JsonObject, text
from evenkeel.simulator.api.kinds import GroupResource
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.store import Change, Stored
from evenkeel.simulator.clock import Clock
from evenkeel.simulator.kubelet.accounting import spec_requests
from evenkeel.simulator.kubelet.admission import MEMORY_PRESSURE, NodeState, labels_of_node, taints_of
from evenkeel.simulator.kubelet.cgroups import Cgroup
from evenkeel.simulator.kubelet.context import Context, Lifetime
from evenkeel.simulator.kubelet.events import NORMAL, WARNING, Event, Recorder
from evenkeel.simulator.kubelet.manifests import Manifests
from evenkeel.simulator.kubelet.metrics import MeteredNode, MeteredPod
from evenkeel.simulator.kubelet.node_object import (
    LEASE_NAMESPACE,
    PRESSURES,
    conditions_of,
    lease_of,
    node_labels,
    node_status,
)
from evenkeel.simulator.kubelet.podview import PodView, read_pod
from evenkeel.simulator.kubelet.pressure import Pressure, Tenant, eviction_of, next_to_go
from evenkeel.simulator.kubelet.process import KubeletProcess, Terminated
from evenkeel.simulator.kubelet.records import Checkpoints, Stage
from evenkeel.simulator.kubelet.reports import Reports
from evenkeel.simulator.kubelet.runtime import Runtime
from evenkeel.simulator.kubelet.settings import NodeSettings, Timing
from evenkeel.simulator.kubelet.usage import UsageModel, Wants
from evenkeel.simulator.workloads.demand import DemandSource

_LOOK_AGAIN = timedelta(seconds=1)
NODES = GroupResource("", "nodes")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a node shares with the others.

    Args:
        store: The API server's objects.
        clock: The simulation's clock.
        source: What containers do.
        pods_of: Gives the pods bound to a node, by uid.
        seed: Makes everything repeatable.
    """

    store: ObjectStore
    clock: Clock
    source: DemandSource
    pods_of: Callable[[str], Mapping[str, Stored]]
    seed: int


@dataclass(slots=True)
class _Conditions:
    """The pressures of a node.

    Args:
        held: By kind.
        forced: Those that somebody has set by hand.
    """

    held: dict[str, Pressure] = field(default_factory=dict)
    forced: set[str] = field(default_factory=set)


class Kubelet:
    """A node with its kubelet.

    Args:
        settings: What the node is made of.
        timing: How fast it is.
        surroundings: What it shares with others.
        number: Which node it is, for its addresses.
    """

    def __init__(self, settings: NodeSettings, timing: Timing, surroundings: Surroundings, number: int) -> None:
        self.settings = settings
        self.timing = timing
        self.address = f"10.{64 + number // 250}.0.{number % 250 + 1}"
        self.checkpoints = Checkpoints()
        self.process: KubeletProcess | None = None
        self.shutting_down = False
        self._shared = surroundings
        self._chance = random.Random(f"{surroundings.seed}/{settings.name}")  # noqa: S311 - a repeatable simulation
        now = surroundings.clock.now()
        self._ready_since = now
        self._phase = now + timedelta(milliseconds=self._chance.randrange(1, 1000))
        self._starts = 0
        self._pressures = _Conditions({kind: Pressure(now) for kind in PRESSURES})
        network = f"10.{128 + number // 200}.{number % 200}"
        self.runtime = Runtime(
            surroundings.clock, self._chance, lambda made: f"{network}.{made % 254 + 1}", settings.cgroup_version
        )
        self.runtime.on_exit = self._container_ended
        self.usage = UsageModel(settings, self.runtime, Wants(surroundings.source, self._pod_of), self._chance, now)
        self.manifests = Manifests(surroundings.store, settings.name, self._uid)
        self._register()
        self._repeat(timing.usage, self._measure)
        self._repeat(timing.eviction, self._look_for_pressure)
        self._repeat(timing.manifest, self._look_at_manifests)
        if timing.lease is not None:
            self._renew_lease()
            self._repeat(timing.lease, self._renew_lease)

    @property
    def name(self) -> str:
        """The node's name."""
        return self.settings.name

    def start(self) -> None:
        """Start the kubelet's program; it works on pods once it is ready. Harmless while it runs."""
        if self.process is None:
            self._starts += 1
            mine = self._starts
            self._shared.clock.call_at(self._shared.clock.now() + self.timing.process_start, lambda: self._begin(mine))

    def start_at_once(self) -> None:
        """Start the program as if it had been ready all along."""
        self._starts += 1
        self._begin(self._starts)

    def stop(self) -> None:
        """Stop the program; containers run on, and nobody restarts or resizes them."""
        self._starts += 1
        if self.process is not None:
            self.process.end()
            self.process = None

    def restart(self, pause: timedelta = timedelta(0)) -> None:
        """Stop the program and start it again after a pause."""
        self.stop()
        self._shared.clock.call_at(self._shared.clock.now() + pause, self.start)

    def deliver(self, change: Change) -> None:
        """Take in a change of a pod that is bound to this node."""
        if self.process is not None:
            self.process.deliver(change)

    def set_pressure(self, kind: str, *, holds: bool) -> None:
        """Let a pressure condition hold, or not any more, whatever the node's real state."""
        if holds:
            self._pressures.forced.add(kind)
        else:
            self._pressures.forced.discard(kind)
        pressure = self._pressures.held[kind]
        pressure.last_met = None
        pressure.update(self._shared.clock.now(), timedelta(0), met=holds)
        self._write_node()

    def metrics_text(self) -> str:
        """Return what the kubelet's ``/metrics`` shows about resizes; empty while it does not run."""
        return self.process.context.metrics.text() if self.process else ""

    def pod_cgroup(self, uid: str) -> Cgroup | None:
        """Return the values of a pod's control group."""
        sandbox = self.runtime.sandboxes.get(uid)
        return sandbox.cgroup if sandbox else None

    def container_cgroup(self, uid: str, name: str) -> Cgroup | None:
        """Return the values of a container's control group."""
        sandbox = self.runtime.sandboxes.get(uid)
        container = sandbox.containers.get(name) if sandbox else None
        return container.cgroup if container else None

    def metered(self) -> MeteredNode:
        """Return what metrics.k8s.io may show of this node."""
        pods: list[MeteredPod] = []
        for uid, sandbox in self.runtime.sandboxes.items():
            view = self._view_of(uid)
            if view is not None:
                pods.append(MeteredPod(view, sandbox))
        return MeteredNode(self.name, self.usage.node, pods)

    def _begin(self, number: int) -> None:
        """Begin a run of the program, unless it was stopped meanwhile."""
        if number != self._starts or self.process is not None:
            return
        shared, lifetime = self._shared, Lifetime(self._shared.clock)
        recorder = Recorder(
            shared.store, self.name, lambda write: _ignored(lifetime.later(self.timing.event_write, write))
        )
        context = Context(
            settings=self.settings,
            timing=self.timing,
            lifetime=lifetime,
            chance=self._chance,
            runtime=self.runtime,
            checkpoints=self.checkpoints,
            source=shared.source,
            recorder=recorder,
            reports=Reports(shared.store, lifetime.later, self.timing.status_write),
            node_state=self._state,
            address=self.address,
            phase=self._phase,
        )
        self.process = KubeletProcess(context)
        recorder.tell_of_node(self._uid(), Event(NORMAL, "Starting", "The kubelet starts"))
        self.process.begin(shared.pods_of(self.name).values())

    def _state(self) -> NodeState:
        """Return the node's conditions, taints and labels as they are."""
        stored = self._shared.store.versions.read(NODES, ("", self.name))
        body = stored.body if stored else {}
        pressures = tuple(sorted(kind for kind, pressure in self._pressures.held.items() if pressure.holds))
        return NodeState(
            self.settings, pressures, taints_of(body), labels_of_node(body), shutting_down=self.shutting_down
        )

    def _pod_of(self, uid: str) -> JsonObject | None:
        """Return the object of a pod on this node."""
        stored = self._shared.pods_of(self.name).get(uid)
        return stored.body if stored else None

    def _view_of(self, uid: str) -> PodView | None:
        """Return a pod on this node as the kubelet knows it."""
        record = self.process.context.pods.get(uid) if self.process else None
        if record is not None:
            return record.view
        body = self._pod_of(uid)
        return read_pod(body) if body is not None else None

    def _container_ended(self, uid: str) -> None:
        """Tell the program, if it runs, that a container has ended."""
        if self.process is not None:
            self.process.container_ended(uid)

    def _measure(self) -> None:
        """Look at what containers use."""
        self.usage.measure(self._shared.clock.now(), self.timing.statistics)

    def _look_at_manifests(self) -> None:
        """Bring static pods up to date while the program runs."""
        if self.process is not None:
            self.manifests.look()

    def _look_for_pressure(self) -> None:
        """Set or clear memory pressure, and evict one pod while there is too little memory."""
        now = self._shared.clock.now()
        available = self.settings.capacity.memory_bytes - self.usage.working_set_bytes()
        short = available < self.settings.eviction_memory_bytes
        if MEMORY_PRESSURE not in self._pressures.forced:
            pressure = self._pressures.held[MEMORY_PRESSURE]
            if pressure.update(now, self.timing.pressure_transition, met=short):
                self._write_node()
        if short and self.process is not None:
            self._evict(self.process, available)

    def _evict(self, process: KubeletProcess, available_bytes: int) -> None:
        """Evict one pod, and look again soon after it is dead."""
        told = Event(WARNING, "EvictionThresholdMet", "The node is short of memory")
        process.context.recorder.tell_of_node(self._uid(), told)
        victim = next_to_go(self._tenants(process))
        if victim is None:
            return
        ending, event = eviction_of(victim, available_bytes)
        process.end_pod(Terminated(victim.view.uid, ending, 0, event))
        soon = self._shared.clock.call_at
        dead = process.context.pods[victim.view.uid].dead
        dead.pass_by(lambda: _ignored(soon(self._shared.clock.now() + _LOOK_AGAIN, self._look_for_pressure)))

    def _tenants(self, process: KubeletProcess) -> Iterable[Tenant]:
        """Yield the pods that may be evicted."""
        for uid, record in process.context.pods.items():
            sandbox = self.runtime.sandboxes.get(uid)
            if sandbox is not None and record.stage is Stage.ACTIVE:
                usage = {c.name: c.meter.working_set_bytes for c in sandbox.running()}
                yield Tenant(record.view, usage, spec_requests(record.view).memory_bytes)

    def _register(self) -> None:
        """Create the Node object, or take over the one that is there."""
        store = self._shared.store
        taints = [{"key": t.key, "effect": t.effect, "value": t.value} for t in self.settings.taints]
        if store.find("v1", "Node", self.name) is None:
            spec: JsonObject = {"taints": taints} if taints else {}
            metadata = {"name": self.name, "labels": node_labels(self.settings)}
            store.create(
                {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": self._status()}
            )
        else:
            self._write_node()

    def _status(self) -> JsonObject:
        """Return the node's status."""
        now = self._shared.clock.now()
        pressures = {kind: (pressure.holds, pressure.since) for kind, pressure in self._pressures.held.items()}
        return node_status(self.settings, self.address, conditions_of(pressures, self._ready_since, now))

    def _write_node(self) -> None:
        """Write the node's status."""
        store = self._shared.store
        if store.versions.read(NODES, ("", self.name)) is not None:
            metadata = {"name": self.name}
            store.merge({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": self._status()})

    def _uid(self) -> str:
        """Return the uid of the Node object."""
        node = self._shared.store.versions.read(NODES, ("", self.name))
        return node.uid if node else ""

    def _renew_lease(self) -> None:
        """Renew the lease while the program runs."""
        store, now = self._shared.store, self._shared.clock.now()
        if self.process is None:
            return
        lease = lease_of(self.name, self._uid(), now)
        if store.find("coordination.k8s.io/v1", "Lease", self.name, LEASE_NAMESPACE) is None:
            store.create(lease)
        else:
            store.merge(lease)

    def _repeat(self, period: timedelta, action: Callable[[], None]) -> None:
        """Do something again and again, as long as the node is there."""

        def turn() -> None:
            self._shared.clock.call_at(self._shared.clock.now() + period, turn)
            action()

        self._shared.clock.call_at(self._shared.clock.now() + period, turn)


def _ignored(_: object) -> None:
    """Take no notice of a result."""


def node_name_of(stored: Stored) -> str:
    """Return the node that a pod is bound to."""
    return text(stored.body, "spec", "nodeName")
