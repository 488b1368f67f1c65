"""A real control plane and kubelet for a benchmark, with workloads whose use steps up on demand."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from bench.resize_course import Course, Observations, Seen
from e2e.api_socket import ApiSocket, api_socket
from e2e.cluster.cluster import Cluster, start_with_retry
from e2e.cluster.documents import JsonObject, JsonValue, at, is_condition_true, objects_at, text_at
from e2e.cluster.kube import Kube
from e2e.cluster.layout import run_root
from e2e.cluster.nodes import NodeSpec
from e2e.cluster.waiting import wait_for
from e2e.cluster.watching import watching
from e2e.installation import Group, define, vpa
from e2e.parity.process.engines import Engine, Program
from e2e.workloads import BURN_SCRIPT, amounts, container, deployment

T = TypeVar("T")
BEFORE: Final = "50m"
AFTER: Final = "80m"
"""The least and the most CPU that is recommended: what a container has that does nothing, and one that burns."""

_OFTEN = ("--housekeeping-interval=1s",)
"""Else the kubelet measures a container every 10 to 15 seconds at times of its own, which differ from turn to turn."""

_DEFAULT_ROOT = Path("/var/tmp/evenkeel-bench")
_NAMESPACE = "steps"
_ALLOWED: JsonObject = {
    "containerName": "*",
    "controlledResources": ["cpu"],
    "controlledValues": "RequestsOnly",
    "minAllowed": {"cpu": BEFORE},
    "maxAllowed": {"cpu": AFTER},
}
_METRICS = f"/apis/metrics.k8s.io/v1beta1/namespaces/{_NAMESPACE}/pods"
_WATCHED: Mapping[str, str] = {
    "vpas": f"/apis/{Group.UPSTREAM.value}/v1/namespaces/{_NAMESPACE}/verticalpodautoscalers",
    "pods": f"/api/v1/namespaces/{_NAMESPACE}/pods",
    "events": f"/api/v1/namespaces/{_NAMESPACE}/events",
}
_POLL_SECONDS = 0.1
_PATIENCE_SECONDS = 120.0


class Versions:
    """Every version of the objects of one kind, with the time at which the API server told of it."""

    def __init__(self) -> None:
        self._seen: list[Seen] = []

    def note(self, change: str, changed: JsonObject) -> None:
        """Note a version."""
        if change != "DELETED":
            self._seen.append(Seen(time.monotonic(), changed))

    def of(self, name: str, *steps: str) -> list[Seen]:
        """Return the versions of objects that have this name at some place, oldest first."""
        return [seen for seen in tuple(self._seen) if text_at(seen.document, *steps) == name]


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of something that happens periodically by the clock on the wall.

    Args:
        period_seconds: Time between two times that it happens.
        share: Of that time, 0 to 1.
    """

    period_seconds: float
    share: float

    def seconds_after(self, now: float) -> float:
        """Return how long it takes from some time, in seconds since the epoch, until the phase is there."""
        return (self.share * self.period_seconds - now) % self.period_seconds

    def wait(self) -> None:
        """Wait until it is there."""
        time.sleep(self.seconds_after(time.time()))


@dataclass(frozen=True, slots=True)
class Start:
    """How a program is started.

    Args:
        program: The program.
        flags: Its flags.
        phase: When.
    """

    program: Program
    flags: tuple[str, ...]
    phase: Phase


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment of one pod that does nothing until it is told to burn.

    Args:
        name: Of the Deployment.
        pod: Of its pod.
        measurements: What the metrics API tells of the pod from then on.
    """

    name: str
    pod: str
    measurements: list[Seen] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Resized:
    """What came of a step of use.

    Args:
        course: When what happened.
        resources: Requests and limits that the container has at the end, as the kubelet reports them.
    """

    course: Course
    resources: JsonValue


class RealNode:
    """A cluster of one node.

    Args:
        cluster: It runs.
        api: A way to its API server.
        versions: Of VPAs, pods and Events of the one namespace that is used.
    """

    def __init__(self, cluster: Cluster, api: ApiSocket, versions: Mapping[str, Versions]) -> None:
        self._cluster = cluster
        self._kube = Kube(cluster, _NAMESPACE)
        self._api = api
        self._versions = versions

    def deploy(self, name: str) -> None:
        """Create a workload; it is not waited for."""
        pipe = self._pipe(name)
        pipe.parent.mkdir(exist_ok=True)
        os.mkfifo(pipe)
        # A line through the pipe is the step, and arrives at once. A container that does nothing at all until then
        # would be measured less and less often.
        script = f"exec 3<> /steps/{name}; until read -t 1 line <&3; do :; done; {BURN_SCRIPT}"
        pod_container = container(script, amounts(BEFORE, "16Mi", limit_cpu="1", limit_memory="64Mi"))
        pod_container["volumeMounts"] = [{"name": "steps", "mountPath": "/steps"}]
        workload = deployment(name, pod_container)
        spec = at(workload, "spec", "template", "spec")
        assert isinstance(spec, dict)
        spec["volumes"] = [{"name": "steps", "hostPath": {"path": str(pipe.parent)}}]
        self._kube.apply(workload)

    def measured(self, name: str) -> Workload:
        """Wait until a workload is ready and the metrics API tells of it.

        Raises:
            ClusterError: It does not.
        """

        def found() -> Workload | None:
            pods = self._versions["pods"].of(name, "metadata", "labels", "app")
            if not pods or not is_condition_true(pods[-1].document, "Ready"):
                return None
            workload = Workload(name, text_at(pods[-1].document, "metadata", "name"))
            return workload if self._measurements(workload) else None

        return self._wait_for(found, f"measures of {name}")

    @contextmanager
    def controlled(self, workload: Workload, engine: Engine, starts: Sequence[Start]) -> Iterator[None]:
        """Let programs control a workload for the time of a ``with`` block, which begins with a recommendation.

        Args:
            workload: Deployed; it is deleted at the end.
            engine: Whose programs; they begin anew and know nothing.
            starts: The programs, in the order in which they are started.

        Raises:
            ClusterError: Nothing is recommended.
        """
        self._kube.apply(vpa(Group.UPSTREAM, workload.name, [_ALLOWED], minReplicas=1))
        with ExitStack() as stack:
            for start in starts:
                invocation = engine.invocation(start.program, self._cluster.kubeconfig, start.flags)
                start.phase.wait()
                process = self._cluster.start_process(invocation.name, invocation.words, invocation.environment)
                stack.callback(self._cluster.stop_process, process)
            self._wait_for(lambda: self._is_recommended(workload), f"a recommendation of {engine.side.value}")
            yield
        self._kube.delete(Group.UPSTREAM.resource, workload.name)
        self._kube.delete("deployment", workload.name, wait=False)

    def burn(self, workload: Workload) -> Resized:
        """Let the use of a workload step up, and return what came of it once it is resized.

        Raises:
            ClusterError: It was not resized in time.
        """
        pipe = os.open(self._pipe(workload.name), os.O_WRONLY | os.O_NONBLOCK)
        os.write(pipe, b"burn\n")
        step = time.monotonic()
        os.close(pipe)

        def course() -> Course | None:
            workload.measurements.extend(self._measurements(workload))
            seen = self._observations(workload).course(step, BEFORE, AFTER)
            return seen if seen.is_complete else None

        found = self._wait_for(course, f"the resize of {workload.name}")
        return Resized(
            found, self._wait_for(lambda: self._given(workload), f"the end of the resize of {workload.name}")
        )

    def _wait_for(self, check: Callable[[], T | None], what: str) -> T:
        """Wait until something true is returned."""
        return wait_for(check, _PATIENCE_SECONDS, what, every_seconds=_POLL_SECONDS)

    def _pipe(self, name: str) -> Path:
        return self._cluster.layout.root / _NAMESPACE / name

    def _measurements(self, workload: Workload) -> list[Seen]:
        """Return what the metrics API tells of a workload's pod now, if anything."""
        answer = self._api.read(_METRICS).body
        pods = [pod for pod in objects_at(answer, "items") if text_at(pod, "metadata", "name") == workload.pod]
        return [Seen(time.monotonic(), pod) for pod in pods]

    def _is_recommended(self, workload: Workload) -> bool:
        """Say whether the VPA has a recommendation."""
        versions = self._versions["vpas"].of(workload.name, "metadata", "name")
        return any(objects_at(v.document, "status", "recommendation", "containerRecommendations") for v in versions)

    def _observations(self, workload: Workload) -> Observations:
        """Return all that was seen of a workload."""
        return Observations(
            measurements=workload.measurements,
            vpas=self._versions["vpas"].of(workload.name, "metadata", "name"),
            pods=self._versions["pods"].of(workload.pod, "metadata", "name"),
            events=self._versions["events"].of(workload.pod, "involvedObject", "name"),
        )

    def _given(self, workload: Workload) -> JsonValue:
        """Return what the kubelet reports for the container once that is what the pod's spec asks for."""
        pod = self._versions["pods"].of(workload.pod, "metadata", "name")[-1].document
        asked = at(pod, "spec", "containers", 0, "resources")
        given = at(pod, "status", "containerStatuses", 0, "resources")
        return given if given == asked else None


@contextmanager
def real_node() -> Iterator[RealNode]:
    """Run such a cluster for the time of a ``with`` block; ``EVENKEEL_E2E_ROOT`` chooses its folder.

    Raises:
        ClusterError: This process is not root's, or the cluster does not start.
    """
    cluster = Cluster(run_root(_DEFAULT_ROOT))
    start_with_retry(cluster, (NodeSpec(1, flags=_OFTEN),))
    with ExitStack() as stack:
        stack.callback(cluster.down)
        define(cluster, Group.UPSTREAM)
        cluster.kubectl("create", "namespace", _NAMESPACE)
        api = stack.enter_context(api_socket(cluster, "bench-proxy"))
        versions = {name: Versions() for name in _WATCHED}
        for name, path in _WATCHED.items():
            stack.enter_context(watching(cluster, path, versions[name].note))
        yield RealNode(cluster, api, versions)
