"""The resize scenarios' bench on the embedded cluster: requests go over HTTP, time is the simulation's."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TypeVar

from evenkeel.simulator.api.builtin import PODS
from evenkeel.simulator.api.fields import JsonObject, as_object, rows, text
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve_in_thread
from evenkeel.simulator.api.store import Change, ChangeType
from evenkeel.simulator.clock import ManualClock
from evenkeel.simulator.controllers.plane import ControlPlane
from evenkeel.simulator.kubelet.cgroups import Cgroup
from evenkeel.simulator.kubelet.nodes import Nodes
from evenkeel.simulator.kubelet.runtime import Verb
from evenkeel.simulator.kubelet.settings import GIBIBYTE, Amounts, CpuPolicy, NodeSettings, SwapBehaviour
from evenkeel.simulator.workloads.demand import Behaviour, Demand, Idle, Usage
from evenkeel.simulator.workloads.functions import Constant, Steps
from tests.conformance.bench import IDLE, Ability, Answer, Call, Doing, Seen, Variant

T = TypeVar("T")
NODE = "n"
_VARIANTS = {
    Variant.USUAL: NodeSettings(NODE, Amounts(4000, 8 * GIBIBYTE)),
    Variant.STATIC_CPU: NodeSettings(NODE, Amounts(4000, 8 * GIBIBYTE), cpu_policy=CpuPolicy.STATIC),
    Variant.LIMITED_SWAP: NodeSettings(NODE, Amounts(4000, 8 * GIBIBYTE), swap=SwapBehaviour.LIMITED_SWAP),
}
_HOUR = timedelta(hours=1)


class Images:
    """Behaviours by image: a demand source in which the image of a container says what it does."""

    def __init__(self) -> None:
        self._behaviours: list[Behaviour] = []

    def made(self, behaviour: Behaviour) -> str:
        """Return a new image with a behaviour."""
        self._behaviours.append(behaviour)
        return f"example.dev/image:{len(self._behaviours) - 1}"

    def behaviour_of(self, pod: JsonObject, container_name: str) -> Behaviour:
        """Return what a container does."""
        listed = [*rows(pod, "spec", "containers"), *rows(pod, "spec", "initContainers")]
        image = next(text(row, "image") for row in listed if text(row, "name") == container_name)
        _, _, number = image.rpartition("example.dev/image:")
        return self._behaviours[int(number)] if number.isdecimal() else Behaviour(Idle())

    def demand_of(self, pod: JsonObject, container_name: str, started: datetime, now: datetime) -> Demand:
        """Return what a container wants."""
        return self.behaviour_of(pod, container_name).since_start.at(now - started, 0)


class SimulatorBench:
    """One node of the usual size: 4 CPU, 8Gi, nothing reserved, 100Mi eviction threshold.

    Args:
        variant: What is different about the node.
        seed: Makes another course of the same events.
    """

    abilities = frozenset(Ability)
    namespace = "default"
    node = NODE
    slack = timedelta(milliseconds=50)

    def __init__(self, variant: Variant = Variant.USUAL, seed: int = 0) -> None:
        self.clock = ManualClock()
        self.server = ApiServer(self.clock, seed=seed)
        self.images = Images()
        self.nodes = Nodes(self.server, self.images, seed=seed)
        self.server.metrics = self.nodes.metrics
        self.kubelet = self.nodes.add(_VARIANTS[variant])
        self.allocatable = self.kubelet.settings.allocatable
        self.absolute = self.kubelet.settings.absolute
        self.plane = ControlPlane(self.server)
        self.plane.start()
        self._seen: dict[str, list[Seen]] = {}
        self._connection: http.client.HTTPConnection | None = None
        self.server.store.versions.observe(PODS, self._notice)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serve the API for the time of a ``with`` block."""
        with serve_in_thread(self.server, tls=False) as endpoint:
            address = endpoint.url.removeprefix("http://")
            self._connection = http.client.HTTPConnection(address, timeout=10)
            try:
                yield
            finally:
                self._connection.close()
                self.plane.stop()

    def call(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Answer:
        """Send one request."""
        assert self._connection is not None, "the bench does not run"
        data = None if body is None else json.dumps(body).encode()
        self._connection.request(method, path, data, {"Content-Type": content_type} if data else {})
        response = self._connection.getresponse()
        return Answer(response.status, as_object(json.loads(response.read() or b"{}")))

    def container(self, name: str, resources: JsonObject, does: Doing = IDLE) -> JsonObject:
        """Return a container whose image names its behaviour."""
        return {"name": name, "image": self.images.made(_behaviour(does)), "resources": resources}

    def now(self) -> datetime:
        """Return the simulation's time."""
        return self.clock.now()

    def wait_until(self, check: Callable[[], T | None], what: str, timeout: timedelta) -> T:
        """Move from timer to timer until a check returns something true."""
        deadline = self.clock.now() + timeout
        while not (found := check()):
            due = self.clock.next_timer()
            assert due is not None, f"nothing happens any more: {what}"
            assert due <= deadline, f"not within {timeout}: {what}"
            self.clock.set(max(due, self.clock.now()))
        return found

    def pass_time(self, by: timedelta) -> None:
        """Move the clock."""
        self.clock.advance(by)

    def history(self, name: str) -> Sequence[Seen]:
        """Return all versions of a pod."""
        return self._seen.get(name, [])

    def metrics_text(self) -> str:
        """Return the kubelet's metrics."""
        return self.kubelet.metrics_text()

    def memory_limit_bytes(self, pod_uid: str, container_id: str = "") -> int | None:
        """Return a memory limit."""
        return self._cgroup(pod_uid, container_id).memory_bytes

    def cpu_quota_us(self, pod_uid: str, container_id: str = "") -> int | None:
        """Return a CPU quota."""
        return self._cgroup(pod_uid, container_id).cpu_quota_us

    def fail_updates(self, times: int | None) -> None:
        """Let the runtime refuse."""
        self.kubelet.runtime.failures.updates = times

    def restart_kubelet(self, pause: timedelta, meanwhile: Callable[[], None] = lambda: None) -> datetime:
        """Stop the kubelet, and start it after a pause."""
        self.kubelet.stop()
        meanwhile()
        self.clock.advance(pause)
        self.kubelet.start()
        return self.clock.now()

    def set_disk_pressure(self, *, holds: bool) -> None:
        """Let the node be short of disk space."""
        self.kubelet.set_pressure("DiskPressure", holds=holds)

    def runtime_calls(self, pod_uid: str) -> Sequence[Call]:
        """Return the updates that the runtime was asked for."""
        return [
            Call(call.container, call.cgroup.cpu_quota_us, call.cgroup.memory_bytes)
            for call in self.kubelet.runtime.calls
            if call.pod == pod_uid and call.verb in {Verb.UPDATE_POD, Verb.UPDATE_CONTAINER} and call.cgroup
        ]

    def put_manifest(self, name: str, pod: JsonObject) -> None:
        """Put a manifest on the node."""
        self.kubelet.manifests.files[f"{name}.json"] = as_object(json.loads(json.dumps(pod)))

    def _cgroup(self, pod_uid: str, container_id: str) -> Cgroup:
        """Return the values of a control group."""
        sandbox = self.kubelet.runtime.sandboxes[pod_uid]
        if not container_id:
            return sandbox.cgroup
        identity = container_id.removeprefix("containerd://")
        return next(c.cgroup for c in sandbox.containers.values() if c.identity == identity)

    def _notice(self, change: Change) -> None:
        """Keep a version of a pod."""
        if change.type is not ChangeType.DELETED:
            name = text(change.after.body, "metadata", "name")
            self._seen.setdefault(name, []).append(Seen(self.clock.now(), change.after.body))


def _behaviour(does: Doing) -> Behaviour:
    """Return a simulated container's behaviour."""
    usage: Usage = Constant(Demand(0.01, does.memory_bytes))
    if does.releases_after is not None:
        usage = Steps(((timedelta(0), Demand(0.01, does.memory_bytes)), (does.releases_after, Demand(0.01, 1 << 20))))
    stops = _HOUR if does.deaf else timedelta(milliseconds=50)
    return Behaviour(usage, exits_after=does.exits_after, exit_code=does.exit_code, stops_within=stops)
