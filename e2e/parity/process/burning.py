"""The burn scenario done by upstream's own three programs on the embedded cluster, in real time."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from e2e.parity.process.copies import check_alive
from e2e.parity.process.differences import Difference, Report
from e2e.parity.process.engines import Engine, Program, Side
from e2e.parity.process.upstream import NAMESPACE, Upstream
from evenkeel.simulator.api.fields import JsonObject, child, number, quantity, rows, text
from evenkeel.simulator.api.requestlog import RecordedCall
from evenkeel.simulator.api.serving import Endpoint, serve
from evenkeel.simulator.clock import SpeedClock
from evenkeel.simulator.cluster import ClusterSettings, SimulatedCluster
from evenkeel.simulator.kubelet.settings import Timing
from evenkeel.simulator.manifests import Manifests
from evenkeel.simulator.processes.ports import free_port
from evenkeel.simulator.processes.program import RunningProgram
from evenkeel.simulator.processes.webhook_certificates import certificate_flags
from evenkeel.simulator.scenarios import library
from evenkeel.simulator.scenarios.course import fill_catalogue
from evenkeel.simulator.scenarios.document import Scenario
from evenkeel.simulator.scenarios.objects import vpa_object, workload_object

_VPA = ("autoscaling.k8s.io/v1", "VerticalPodAutoscaler", "burn", "default")
_WEBHOOK = "vpa-webhook"
_FLAGS = {
    Program.RECOMMENDER: ("--recommender-interval=2s", "--pod-recommendation-min-memory-mb=100", "--leader-elect"),
    Program.UPDATER: ("--updater-interval=2s", "--leader-elect"),
    Program.ADMISSION: ("--status-lease-update-interval=2s", "--reload-cert"),
}
_TIMING = Timing(statistics=timedelta(seconds=1), scrape=timedelta(seconds=2))
_USED_WITHIN, _BURNS_WITHIN, _REPLACED_WITHIN = 60.0, 120.0, 40.0
_THROTTLED_MILLIS = 490
_POLL_SECONDS = 0.5
_END_SECONDS = 3.0
_WANTED: JsonObject = {"requests": {"cpu": "400m", "memory": "100Mi"}, "limits": {"cpu": "4", "memory": "200Mi"}}
_NOT_THERE_YET = {("get", 404), ("patch", 404)}
"""How a program learns that it has to create an object first; every other refusal is a missing part of the server."""


@dataclass(slots=True)
class Burning:
    """A cluster on which upstream's programs are at work.

    Args:
        cluster: The cluster.
        scenario: What is played.
        running: The programs.
        first_pod: The uid of the first pod that was seen.
    """

    cluster: SimulatedCluster
    scenario: Scenario
    running: Sequence[RunningProgram]
    first_pod: str = ""

    async def play(self) -> list[tuple[str, object, object]]:
        """Let the pod burn until it was resized, then let another one take its place.

        Returns:
            What was looked at, what it should be, and what it is.

        Raises:
            EngineEndedError: One of the programs has ended by itself.
        """
        administrator = self.cluster.administrator
        fill_catalogue(self.cluster.catalogue, self.scenario, Path())
        for name, workload in self.scenario.workloads.items():
            await administrator.apply(workload_object(name, workload))
        # Recommended for by a first, low sample, the pod would be resized to that and be within bounds from then on.
        await self._wait(self._burns, _USED_WITHIN)
        for name, vpa in self.scenario.vpas.items():
            await administrator.apply(vpa_object(name, replace(vpa, upstream=True), self.scenario.workloads))
        await self._wait(self._is_resized, _BURNS_WITHIN)
        looked_at = list(self._resized())
        for pod in self._pods():
            await administrator.delete("v1", "Pod", text(pod, "metadata", "name"), "default")
        await self._wait(self._is_replaced, _REPLACED_WITHIN)
        return [*looked_at, *self._replaced()]

    async def _wait(self, condition: Callable[[], bool], seconds: float) -> None:
        """Wait for something, or until it is too late; what is missing then shows in what is looked at."""
        for _ in range(int(seconds / _POLL_SECONDS)):
            for one in self.running:
                check_alive(one)
            if condition():
                return
            await asyncio.sleep(_POLL_SECONDS)

    def _burns(self) -> bool:
        """Say whether the metrics API knows that the pod uses all that its limit lets it."""
        used = [row for pod in self.cluster.server.metrics.pods() for row in rows(pod, "containers")]
        return any(quantity(child(row, "usage").get("cpu")).milli_value() >= _THROTTLED_MILLIS for row in used)

    def _pods(self) -> list[JsonObject]:
        """Return the pods that are not on their way out."""
        found = self.cluster.server.store.list("v1", "Pod", "default")
        return [pod for pod in found if not text(pod, "metadata", "deletionTimestamp")]

    def _is_resized(self) -> bool:
        pods = self._pods()
        if pods and not self.first_pod:
            self.first_pod = text(pods[0], "metadata", "uid")
        return all(wanted == found for _, wanted, found in self._resized())

    def _resized(self) -> Iterator[tuple[str, object, object]]:
        """Yield what the pod and its VPA should look like, and how they look."""
        pod = next(iter(self._pods()), {})
        status = next(iter(rows(pod, "status", "containerStatuses")), {})
        entry = self._recommendation()
        yield "target", {"cpu": "400m", "memory": "100Mi"}, entry.get("target")
        yield "upper bound", {"cpu": "400m", "memory": "256Mi"}, entry.get("upperBound")
        yield "resources of the pod", _WANTED, status.get("resources")
        yield "restarts", 1, number(status, "restartCount")
        yield "uid of the pod", self.first_pod, text(pod, "metadata", "uid")
        yield "annotation vpaInPlaceUpdated", "true", text(pod, "metadata", "annotations", "vpaInPlaceUpdated")
        yield "resize conditions", [], [row["type"] for row in _resize_conditions(pod)]
        yield "events InPlaceResizedByVPA", True, self._told("InPlaceResizedByVPA") > 0
        yield "events EvictedByVPA", 0, self._told("EvictedByVPA")

    def _is_replaced(self) -> bool:
        return all(wanted == found for _, wanted, found in self._replaced())

    def _replaced(self) -> Iterator[tuple[str, object, object]]:
        """Yield what the next pod should look like, which comes by the webhook, and what it makes of the estimate."""
        pod = next((one for one in self._pods() if text(one, "metadata", "uid") != self.first_pod), {})
        container = next(iter(rows(pod, "spec", "containers")), {})
        annotations = child(pod, "metadata", "annotations")
        yield "phase of the next pod", "Running", text(pod, "status", "phase")
        yield "resources of the next pod", _WANTED, container.get("resources")
        yield "uncapped target above one core", True, self._uncapped_millis() > 1000
        yield "annotation vpaObservedContainers", "main", annotations.get("vpaObservedContainers")
        yield "annotation vpaUpdates", True, "by burn: container 0: " in str(annotations.get("vpaUpdates"))

    def _recommendation(self) -> JsonObject:
        vpa = self.cluster.server.store.find(*_VPA) or {}
        entries = rows(child(vpa, "status", "recommendation"), "containerRecommendations")
        return next(iter(entries), {})

    def _uncapped_millis(self) -> int:
        return quantity(child(self._recommendation(), "uncappedTarget").get("cpu", "0")).milli_value()

    def _told(self, reason: str) -> int:
        return sum(
            text(event, "reason") == reason for event in self.cluster.server.store.list("v1", "Event", "default")
        )


def _resize_conditions(pod: JsonObject) -> list[JsonObject]:
    return [row for row in rows(pod, "status", "conditions") if text(row, "type").startswith("PodResize")]


@dataclass(frozen=True, slots=True)
class Site:
    """Where upstream's programs are put to work.

    Args:
        engine: Upstream's programs.
        cluster: The cluster, with upstream's objects.
        endpoint: Where its API server listens.
        folder: For kubeconfigs, certificates and logs.
    """

    engine: Engine
    cluster: SimulatedCluster
    endpoint: Endpoint
    folder: Path

    async def start(self, program: Program) -> RunningProgram:
        """Start a program with the token of its own service account; the webhook is called by its Service."""
        name = program.upstream_name
        token = self.cluster.token_of(NAMESPACE, name)
        kubeconfig = self.endpoint.write_kubeconfig(self.folder / f"{name}.kubeconfig", token)
        flags = _FLAGS[program]
        if program is Program.ADMISSION:
            port = free_port()
            await self.cluster.expose(NAMESPACE, _WEBHOOK, port)
            flags = (
                *flags,
                f"--port={port}",
                *await asyncio.to_thread(certificate_flags, self.folder, f"{_WEBHOOK}.{NAMESPACE}.svc"),
            )
        return RunningProgram(self.engine.invocation(program, kubeconfig, flags), self.folder)


@asynccontextmanager
async def _burning(upstream: Upstream, folder: Path) -> AsyncIterator[Burning]:
    """Set a cluster up, install upstream on it and start its programs; all of it ends with the context."""
    scenario = library.load("burn")
    nodes = tuple(node.settings(name) for name, node in scenario.nodes.items())
    settings = ClusterSettings(nodes=nodes, timing=_TIMING)
    cluster = SimulatedCluster(settings, SpeedClock(datetime.now(UTC), 1.0))
    async with AsyncExitStack() as stack:
        stack.push_async_callback(cluster.close)
        endpoint = await stack.enter_async_context(serve(cluster.server))
        cluster.start()
        await cluster.install(Manifests(upstream.installation(), {}))
        site = Site(Engine(Side.UPSTREAM, upstream), cluster, endpoint, folder)
        running: list[RunningProgram] = []
        for program in Program:
            running.append(await site.start(program))
            stack.push_async_callback(running[-1].end, _END_SECONDS)
        yield Burning(cluster, scenario, running)


async def burn(upstream: Upstream, folder: Path) -> Report:
    """Let upstream's programs do the burn scenario and hold its end against what is expected."""
    async with _burning(upstream, folder) as burning:
        looked_at = await burning.play()
        calls = burning.cluster.server.requests.calls()
    report = Report("burn, done by upstream's programs on the embedded cluster", len(looked_at) + 1)
    for what, wanted, found in looked_at:
        if wanted != found:
            report.differences.append(Difference(f"burn, {what}", "product 6", f"{found}", f"expected {wanted}"))
    theirs = [call for call in calls if call.user.startswith(f"system:serviceaccount:{NAMESPACE}:vpa-")]
    report.notes.append(f"{len(theirs)} requests: {_counted(theirs)}")
    report.notes += [f"not there yet: {line}" for line in _refused(theirs, expected=True)]
    for line in _refused(theirs, expected=False):
        report.differences.append(Difference("burn, requests", "in-place-resize 6.1", line, "expected an answer"))
    return report


def _counted(calls: Sequence[RecordedCall]) -> str:
    """Say how many requests there were of which kind."""
    counts = Counter(f"{call.verb} {call.resource or call.path}" for call in calls)
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))


def _refused(calls: Sequence[RecordedCall], *, expected: bool) -> list[str]:
    """Name the refused requests, each once: those by which a program learns what to create, or all others."""
    found = {
        f"{call.verb} {call.path} answered {int(call.status)}"
        for call in calls
        if not 200 <= call.status < 300 and ((call.verb, int(call.status)) in _NOT_THERE_YET) is expected
    }
    return sorted(found)
