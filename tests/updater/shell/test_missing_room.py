"""Rounds on a node with little room, at the wire: what is sent, shown and told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.kube.events import EventRecorder
from autoscaling.kube.lease_object import LeaseFile
from autoscaling.runtime.health import Vitals
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from tests.builders import T0
from tests.embedded import GROUP, HeldDriver, Json, api_server, client_for, deploy, recommended_status, vpa_object
from updater.ratelimit import TokenBucket
from updater.settings import Settings
from updater.shell.actuator import Buckets
from updater.shell.caches import Caches
from updater.shell.loop import Loop, LoopSettings
from updater.shell.metrics import UpdaterMetrics
from updater.shell.storm_lease import STORM_ANNOTATION, StormLease

pytestmark = pytest.mark.anyio
MINUTE = timedelta(minutes=1)
BEHAVIOUR = replace(Behaviour.of(Profile.UPSTREAM), free_room=True, uid_preconditions=True)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    """A node on which pods of 100m and 100Mi want 400m and 100Mi each."""
    made = api_server()
    deploy(made, replicas=2)
    made.store.create(vpa_object(status=recommended_status("400m", "100Mi")))
    return made


def add_node(server: ApiServer, cpu: str) -> None:
    """Create the node that the pods are on."""
    name = server.store.list("v1", "Pod", "default")[0]["spec"]
    assert isinstance(name, dict)
    allocatable: Json = {"cpu": cpu, "memory": "1Gi", "pods": "110"}
    ready: Json = {"type": "Ready", "status": "True"}
    server.store.create(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name["nodeName"]},
            "status": {"allocatable": allocatable, "capacity": allocatable, "conditions": [ready]},
        }
    )


@asynccontextmanager
async def updater(server: ApiServer) -> AsyncIterator[Loop]:
    """An updater with filled caches that keeps its budgets in a Lease."""
    async with client_for(server) as client:
        caches = Caches(client, GROUP, "", behaviour=BEHAVIOUR)
        caches.start()
        await caches.wait_synced(10)
        loop = Loop(
            LoopSettings(Settings(behaviour=BEHAVIOUR, eviction_tolerance=1.0), MINUTE, None, f"{GROUP}/v1"),
            client,
            caches,
            EventRecorder(client, "evenkeel-updater"),
            UpdaterMetrics.register(CollectorRegistry()),
            Vitals(MINUTE, client.pacing.monotonic),
            HeldDriver(T0 + MINUTE),
            Buckets(TokenBucket(), TokenBucket()),
            storms=StormLease(LeaseFile(client, "default", "own")),
        )
        try:
            yield loop
        finally:
            await caches.stop()


def missing(loop: Loop) -> dict[tuple[str, str], float]:
    """Return what the gauge shows, by resource and namespace."""
    (family,) = loop.metrics.missing_room.collect()
    return {(s.labels["resource"], s.labels["namespace"]): s.value for s in family.samples}


async def told(loop: Loop, server: ApiServer) -> list[tuple[object, object, object, object]]:
    """Write the events and return those that tell of missing room: type, reason, message and count."""
    task = asyncio.create_task(loop.events.run())
    await loop.events.drain(10)
    task.cancel()
    found = server.store.list("v1", "Event", "default")
    return [(e["type"], e["reason"], e["message"], e["count"]) for e in found if e["reason"] == "ResizeNeedsRoom"]


def cpu_of(server: ApiServer) -> list[str]:
    """Return what the pods ask for."""
    pods = server.store.list("v1", "Pod", "default")
    return sorted(str(p["spec"]["containers"][0]["resources"]["requests"]["cpu"]) for p in pods)  # type: ignore[index]


async def test_what_fits_is_sent_and_what_is_missing_is_told_once(server: ApiServer) -> None:
    add_node(server, "650m")
    async with updater(server) as loop:
        await loop.run_round()
        assert cpu_of(server) == ["250m", "400m"], "beyond:B-24"
        assert missing(loop) == {("cpu", "default"): pytest.approx(0.15), ("memory", "default"): 0}, "beyond:B-41"
        text = "150m cpu missing on the pod's node for the resources that are recommended"
        assert await told(loop, server) == [("Warning", "ResizeNeedsRoom", text, 1)], "beyond:B-41"
        metadata = server.store.read("coordination.k8s.io/v1", "Lease", "own", "default")["metadata"]
        assert isinstance(metadata, dict)
        assert '"cluster":{"":2.0}' in metadata["annotations"][STORM_ANNOTATION], "beyond:B-24"


async def test_the_same_is_not_told_again_and_what_is_over_is_not_shown(server: ApiServer) -> None:
    add_node(server, "200m")
    async with updater(server) as loop:
        for _ in range(3):
            await loop.run_round()
        text = "300m cpu missing on the pod's node for the resources that are recommended"
        assert await told(loop, server) == [("Warning", "ResizeNeedsRoom", text, 1)] * 2, "beyond:B-41"
        assert missing(loop)["cpu", "default"] == pytest.approx(0.6)
        server.store.delete(f"{GROUP}/v1", "VerticalPodAutoscaler", "web", "default")
        while loop.caches.vpas.snapshot():  # noqa: ASYNC110 there is no event for what a cache has seen
            await asyncio.sleep(0)
        await loop.run_round()
        assert missing(loop) == {}, "beyond:B-41"
        assert loop.missing.told == {}
    assert server.requests.calls(path="/resize$") == []
    assert [c.verb for c in server.requests.calls(path="/leases")] == ["get"], "nothing was reserved"


@pytest.mark.parametrize("verb", ["get", "create"])
async def test_without_the_lease_nothing_is_resized_or_evicted(server: ApiServer, verb: str) -> None:
    add_node(server, "4")
    server.faults.add(Fault(Refuse(403), verb=verb, path="/leases"))
    async with updater(server) as loop:
        await loop.run_round()
        assert server.requests.calls(verb="patch", path="/pods/") == [], "beyond:B-24"
        assert server.requests.calls(path="/eviction$") == []
        server.faults.clear()
        await loop.run_round()
        assert len(server.requests.calls(verb="patch", path="/resize$")) == 2
