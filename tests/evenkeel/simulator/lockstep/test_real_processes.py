"""The three real processes, each a process of the machine, on one simulated clock."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import aiohttp
import pytest

from evenkeel.simulator.api.certificates import Authority
from evenkeel.simulator.api.external_metrics import UsageAsExternalMetrics
from evenkeel.simulator.api.fields import JsonObject, child, rows, text
from evenkeel.simulator.api.requestlog import RecordedCall
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import Endpoint, serve
from evenkeel.simulator.clock import EPOCH, ManualClock, rfc3339
from evenkeel.simulator.lockstep.coordinator import Lockstep, LockstepError, LockstepSettings
from evenkeel.simulator.lockstep.serving import serve_lockstep
from evenkeel.simulator.processes.program import Invocation, RunningProgram, start_program
from tests.embedded import GROUP, api_server, deploy, node_object, pod_object, recommended_status, vpa_object
from tests.evenkeel.simulator.lockstep.fakes import MINUTE, SECOND
from tests.forking import start_forked

pytestmark = [pytest.mark.anyio, pytest.mark.lengthy]

LIMIT_SECONDS = 120
"""Of real time, for a run that hangs; on a machine with much else to do it takes many times as long as alone."""
MODULES = {"recommender": "recommender", "updater": "updater", "admission-controller": "admission"}
NAMESPACE = "evenkeel-system"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Wave:
    """Use of every pod as a function of the clock alone."""

    server: ApiServer

    def pods(self) -> list[JsonObject]:
        now = self.server.clock.now()
        millicores = 300 + int(200 * math.sin((now - EPOCH) / (10 * MINUTE)))
        usage = {"cpu": f"{millicores}m", "memory": "300Mi"}
        return [
            {
                "metadata": child(pod, "metadata"),
                "timestamp": rfc3339(now),
                "window": "30s",
                "containers": [{"name": "main", "usage": usage}],
            }
            for pod in self.server.store.list("v1", "Pod", "default")
        ]

    def nodes(self) -> list[JsonObject]:
        return []


@dataclass
class Webhook:
    """Where the admission controller listens, the same in every run, and what it shows."""

    folder: Path
    port: int

    @classmethod
    def prepared(cls, folder: Path) -> Webhook:
        authority = Authority("somebody's authority")
        pair = authority.issue("127.0.0.1")
        for name, pem in (
            ("ca.pem", authority.certificate_pem),
            ("cert.pem", pair.certificate_pem),
            ("key.pem", pair.key_pem),
        ):
            (folder / name).write_bytes(pem)
        with socket.create_server(("127.0.0.1", 0)) as free:
            return cls(folder, free.getsockname()[1])

    def flags(self) -> list[str]:
        return [
            f"--port={self.port}",
            f"--webhook-port={self.port}",
            "--register-by-url",
            "--webhook-address=https://127.0.0.1",
            f"--client-ca-file={self.folder / 'ca.pem'}",
            f"--tls-cert-file={self.folder / 'cert.pem'}",
            f"--tls-private-key={self.folder / 'key.pem'}",
        ]


@dataclass
class World:
    """A small cluster on a clock, and the processes that work on it."""

    server: ApiServer
    endpoint: Endpoint
    lockstep: Lockstep
    folder: Path
    processes: dict[str, RunningProgram] = field(default_factory=dict)

    def start(self, name: str, *flags: str, hash_seed: str = "") -> None:
        """Start one of the processes: in a fresh interpreter where one with a certain hash seed is called for."""
        words = (
            *(sys.executable, "-P", "-m", MODULES[name]),
            f"--clock={self.lockstep.url(name)}",
            f"--kubeconfig={self.endpoint.write_kubeconfig(self.folder / 'kubeconfig')}",
            "--address=127.0.0.1:0",
            *flags,
        )
        environment = {"PYTHONHASHSEED": hash_seed} if hash_seed else {}
        starter = start_program if hash_seed else start_forked
        self.processes[name] = RunningProgram(Invocation(name, words, environment), self.folder, starter)

    async def advance(self, minutes: float) -> datetime:
        return await self.lockstep.advance(minutes * MINUTE)

    async def end(self, name: str) -> int:
        """End one process in order, and return its exit status."""
        process = self.processes.pop(name)
        await process.end(LIMIT_SECONDS)
        assert process.status is not None
        return process.status


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    server = api_server()
    server.metrics = Wave(server)
    server.create_namespaces(NAMESPACE)
    server.store.create(node_object())
    deploy(server, replicas=2)
    server.store.create(vpa_object())
    async with serve(server, tls=False) as endpoint, serve_lockstep(server, LockstepSettings(seed=7)) as lockstep:
        made = World(server, endpoint, lockstep, folder)
        try:
            yield made
        finally:
            for name, process in made.processes.items():
                lockstep.dismiss(name)
                process.kill()


async def create_pod(endpoint: Endpoint, name: str) -> JsonObject:
    """Create a pod as any client does, so that the webhook is asked."""
    pod = pod_object(name, "web")
    del pod["status"]
    async with (
        aiohttp.ClientSession(endpoint.url) as session,
        session.post("/api/v1/namespaces/default/pods", json=pod) as answer,
    ):
        created: JsonObject = await answer.json()
        assert answer.status == 201, created
        return created


@dataclass
class Story:
    """What came of one run."""

    calls: list[RecordedCall]
    patched: JsonObject
    statuses: dict[str, int]


async def play(folder: Path, webhook: Webhook, hash_seed: str) -> Story:
    """A quarter of an hour, with a pod that is created on the way."""
    flags = {"admission-controller": webhook.flags()}
    async with asyncio.timeout(LIMIT_SECONDS), world(folder) as small:
        small.lockstep.expect(*MODULES)
        for name in MODULES:
            small.start(name, *flags.get(name, []), hash_seed=hash_seed)
        await small.advance(7)
        created = await create_pod(small.endpoint, "web-late")
        await small.advance(8)
        # One after the other: what they have to say at the end is said in real time.
        statuses = {name: await small.end(name) for name in MODULES}
        return Story(small.server.requests.calls(), created, statuses)


def signature(call: RecordedCall) -> tuple[object, ...]:
    return call.at, call.verb, call.path, tuple(sorted(call.query.items())), call.body, call.status


async def test_two_runs_of_three_processes_are_the_same_byte_for_byte(tmp_path: Path) -> None:
    """The seed decides, not the machine: not even the order in which Python iterates sets of strings."""
    webhook = Webhook.prepared(tmp_path)
    first, second = [await play(tmp_path, webhook, hash_seed) for hash_seed in ("1", "2")]

    assert [signature(call) for call in first.calls] == [signature(call) for call in second.calls]
    assert first.patched == second.patched
    assert set(first.statuses.values()) == {0}
    rounds_at_exact_minutes(first)
    what_came_of_it(first)


def rounds_at_exact_minutes(story: Story) -> None:
    """Spec: recommender:6.1, updater:M-1, updater:M-7, admission:9."""
    minutes = [EPOCH + n * MINUTE for n in range(1, 16)]
    fetches = [call.at for call in story.calls if call.path == "/apis/metrics.k8s.io/v1beta1/pods"]
    # The recommender asks for usage, and the updater for memory use, which no limit may fall below (beyond:B-22).
    assert fetches == sorted([*minutes, *minutes])
    status_lease = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/evenkeel-admission-controller"
    looks = [call.at for call in story.calls if call.path == status_lease and call.verb == "get"]
    beats = [EPOCH + n * 10 * SECOND for n in range(1, 91)]
    # Admission looks before each beat, the updater at the beginning of each round.
    assert looks == sorted([*beats, *minutes])
    writes = [call.at for call in story.calls if call.path.startswith(status_lease) and call.verb == "update"]
    assert writes == beats[1:]


def what_came_of_it(story: Story) -> None:
    """Pods were resized, the late one was patched on its way in, and what was written is dated by the clock."""
    resized = [call for call in story.calls if call.path.endswith("/resize")]
    assert {call.path.rsplit("/", 2)[1] for call in resized} >= {"web-0", "web-1"}
    assert all(call.status == 200 and call.at.second == call.at.microsecond == 0 for call in resized)
    (container,) = rows(story.patched, "spec", "containers")
    assert child(container, "resources", "requests")["cpu"] != "100m"
    assert "vpaUpdates" in child(story.patched, "metadata", "annotations")
    events = [call for call in story.calls if call.path == "/api/v1/namespaces/default/events"]
    assert events
    assert {text(event.json, "firstTimestamp") for event in events if isinstance(event.json, dict)} <= {
        rfc3339(EPOCH + n * MINUTE) for n in range(16)
    }


async def test_usage_may_come_from_external_metrics(tmp_path: Path) -> None:
    """Spec: recommender:8.2, recommender:13.14: of the resource that has no metric there is no recommendation."""
    async with asyncio.timeout(LIMIT_SECONDS), world(tmp_path) as small:
        source = UsageAsExternalMetrics(Wave(small.server), {"memory": "memory_bytes"}, "container")
        small.server.serve_external(source)
        small.lockstep.expect("recommender")
        flags = ("--external-metrics-memory-metric=memory_bytes", "--container-name-label=container")
        small.start("recommender", "--use-external-metrics", *flags)
        await small.advance(3)
        assert await small.end("recommender") == 0
    fetches = small.server.requests.calls("list", path="/namespaces/default/memory_bytes$")
    assert [call.at for call in fetches] == [EPOCH + n * MINUTE for n in (1, 1, 2, 2, 3, 3)]
    assert {call.query["labelSelector"] for call in fetches} == {"app=web,pod=web-0", "app=web,pod=web-1"}
    assert small.server.requests.calls(path="/apis/metrics.k8s.io") == []
    vpa = small.server.store.read(f"{GROUP}/v1", "VerticalPodAutoscaler", "web", "default")
    (entry,) = rows(vpa, "status", "recommendation", "containerRecommendations")
    assert child(entry, "target").keys() == {"memory"}


async def test_a_process_that_is_killed_or_stopped_ends_the_run_and_is_named(tmp_path: Path) -> None:
    async with asyncio.timeout(LIMIT_SECONDS), world(tmp_path) as small:
        small.lockstep.expect("updater")
        small.start("updater", "--use-admission-controller-status=false")
        await small.advance(3)
        os.kill(small.processes["updater"].pid, signal.SIGSTOP)
        small.lockstep.settings = LockstepSettings(wall_limit_seconds=2)
        small.server.store.merge(vpa_object() | {"status": recommended_status("1", "1Gi")})
        with pytest.raises(LockstepError, match=r"2 s of real time at .* process 'updater' has seen \d+ of \d+ lines"):
            await small.advance(1)
        small.processes["updater"].kill()
        with pytest.raises(LockstepError, match="process 'updater' died at 2026-01-01 00:03:00"):
            await small.advance(1)


async def test_a_process_leaves_in_order_and_another_takes_its_place(tmp_path: Path) -> None:
    """Spec: updater M-3 (the Lease is released), recommender:6.4 (history is found again)."""
    elected = ("--leader-elect", "--leader-elect-retry-period=8s")
    async with asyncio.timeout(LIMIT_SECONDS), world(tmp_path) as small:
        small.lockstep.expect("recommender")
        small.start("recommender", *elected)
        await small.advance(2.5)
        assert await small.end("recommender") == 0
        lease = small.server.store.read("coordination.k8s.io/v1", "Lease", "evenkeel-recommender", NAMESPACE)
        spec = child(lease, "spec")
        assert (spec["holderIdentity"], spec["renewTime"]) == ("", "2026-01-01T00:02:30.000000Z")
        small.lockstep.expect("recommender")
        small.server.requests.clear()
        small.start("recommender", *elected)
        await small.advance(2)
        fetches = [call.at for call in small.server.requests.calls(path="metrics.k8s.io")]
        assert fetches == [EPOCH + 3.5 * MINUTE, EPOCH + 4.5 * MINUTE]
        said = small.processes["recommender"].log.new_lines()
        assert 1 in [line.fields.get("checkpoints") for line in said], "the second life found what the first had stored"


async def test_the_clock_of_the_simulator_is_the_only_one(tmp_path: Path) -> None:
    """A day of nothing to do passes in seconds, with every round in it."""
    async with asyncio.timeout(LIMIT_SECONDS), world(tmp_path) as small:
        assert isinstance(small.server.clock, ManualClock)
        small.server.watches.least_lifetime = 1440 * MINUTE
        small.server.watches.bookmark_period = 2 * MINUTE
        small.lockstep.expect("updater")
        small.start("updater")
        await small.advance(6 * 60)
        looks = small.server.requests.calls("get", path="/leases/evenkeel-admission-controller$")
        assert [call.at for call in looks] == [EPOCH + n * MINUTE for n in range(1, 6 * 60 + 1)]
