"""Whole rounds of the updater that look at more than VPAs, pods and controllers, against the embedded API server."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from autoscaling.behaviour import Profile
from autoscaling.objectref import ObjectRef
from evenkeel.simulator.api.metrics import StaticMetrics, Window
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from tests.builders import T0
from tests.embedded import GROUP, Json, vpa_object
from tests.updater.shell.stage import VPAS, amounts, at, served_web, updater
from updater.shell.loop import Loop
from updater.surroundings import UNKNOWN, MemoryUse

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    return served_web()


def measured(server: ApiServer) -> None:
    source = StaticMetrics()
    source.put_pod(("default", "web-0"), {"main": ("100m", "64Mi")}, Window(T0, timedelta(seconds=15)))
    server.metrics = source


@pytest.mark.parametrize("is_proven", [True, False, None])
async def test_a_round_knows_what_is_around_the_pods(server: ApiServer, is_proven: bool | None) -> None:
    """Spec: beyond:B-22, beyond:B-25."""
    measured(server)
    async with updater(server, Profile.EVENKEEL, looks_around=True) as loop:
        around = (await loop.observe(is_webhook_proven=is_proven)).surroundings
    assert around.memory == {ObjectRef("Pod", "default", "web-0"): {"main": MemoryUse(T0, 2**26)}}
    assert (around.nodes, around.is_webhook_proven) == ({}, is_proven)


def node(cpu: str) -> Json:
    ready = {"allocatable": {"cpu": cpu, "memory": "8Gi"}, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node1"}, "status": ready}


async def test_a_round_asks_for_memory_once_and_goes_on_without(server: ApiServer) -> None:
    """Spec: beyond:B-22."""
    server.faults.add(Fault(Refuse(503), path="/metrics.k8s.io/", count=None))
    server.store.create(node("4"))
    async with updater(server, Profile.EVENKEEL, looks_around=True) as loop:
        await loop.run_round()
        assert [call.status for call in server.requests.calls(path="/metrics.k8s.io/")] == [503]
        assert [call.status for call in server.requests.calls(path="/resize$")] == [200]


def told(server: ApiServer) -> dict[str, Json]:
    """Return the conditions of the VPA by type."""
    conditions = at(server.store.read(f"{GROUP}/v1", VPAS.kind, "web", "default"), "status", "conditions")
    assert isinstance(conditions, list)
    return {condition["type"]: condition for condition in conditions}


def carried_out(server: ApiServer) -> None:
    """Let the node report the pod's resources as in force."""
    pod = server.store.read("v1", "Pod", "web-0", "default")
    status = at(pod, "status", "containerStatuses", 0)
    assert isinstance(status, dict)
    status |= {"resources": amounts(pod), "allocatedResources": at(amounts(pod), "requests")}
    assert isinstance(pod["status"], dict)
    pod["status"]["observedGeneration"] = at(pod, "metadata", "generation")
    server.store.merge(pod)


async def known(server: ApiServer, loop: Loop) -> None:
    """Wait until the caches know node, VPA and pod as they are stored."""
    caches = loop.caches
    objects = (
        server.store.read("v1", "Node", "node1", ""),
        server.store.read(f"{GROUP}/v1", VPAS.kind, "web", "default"),
        server.store.read("v1", "Pod", "web-0", "default"),
    )
    stored = {at(each, "metadata", "resourceVersion") for each in objects}
    async with asyncio.timeout(10):
        while True:
            nodes, vpas, pods = caches.around.nodes.snapshot(), caches.vpas.snapshot(), caches.pods.snapshot()
            if {each.resource_version for each in (nodes[0], vpas[0], pods[0])} == stored:
                return
            await asyncio.sleep(0)


async def test_what_blocks_a_pod_is_told_on_its_vpa_after_all_changes_until_it_is_over(server: ApiServer) -> None:
    """Spec: beyond:B-24, beyond:B-41."""
    server.store.create(node("150m"))
    async with updater(server, Profile.EVENKEEL, looks_around=True) as loop:
        await loop.run_round()
        blocked = told(server)["ResizeBlocked"]
        assert (blocked["status"], blocked["reason"]) == ("True", "NoRoom")
        assert blocked["lastTransitionTime"] == "2026-01-01T00:01:00Z"
        assert "Pods: web-0. web-0: 250m cpu missing" in str(blocked["message"])
        await known(server, loop)
        await loop.run_round()
        assert told(server)["ResizeBlocked"] == blocked, "the resize is under way"
        carried_out(server)
        await known(server, loop)
        await loop.run_round()
        assert told(server)["ResizeBlocked"] | {"message": ""} == blocked | {"message": ""}, "there is no more room"
        server.store.merge(node("4"))
        await known(server, loop)
        await loop.run_round()
        assert set(told(server)) == {"RecommendationProvided"}
    changes = [call.path.rsplit("/", 1)[1] for call in server.requests.calls(verb="patch")]
    assert changes == ["resize", "web-0", "status", "resize", "web-0", "status"]


async def test_profile_upstream_knows_nothing_of_what_is_around(server: ApiServer) -> None:
    measured(server)
    server.store.create(node("150m"))
    async with updater(server, Profile.UPSTREAM, looks_around=True) as loop:
        assert (await loop.observe(is_webhook_proven=None)).surroundings == UNKNOWN
        await loop.run_round()
    assert server.requests.calls(path="/metrics.k8s.io/") == [], "updater:M-4"
    assert set(told(server)) == {"RecommendationProvided"}
    assert server.requests.calls(path="/status$") == []


async def test_two_vpas_with_one_target_are_both_told_once(server: ApiServer) -> None:
    """Spec: case:23."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    server.store.create(vpa_object("other", targetRef=target))
    for _ in range(2):
        async with updater(server, Profile.EVENKEEL, looks_around=True) as loop:
            await loop.run_round()
            await loop.run_round()
            task = asyncio.create_task(loop.events.run())
            await loop.events.drain(10)
            task.cancel()
    events = server.store.list("v1", "Event", "default")
    conflicts = [e for e in events if e["reason"] == "TargetConflict"]
    assert sorted(str(at(e, "involvedObject", "name")) for e in conflicts) == ["other", "web"]
    assert all((e["type"], e["count"]) == ("Warning", 1) for e in conflicts)
