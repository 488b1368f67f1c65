"""Recommender and updater write into one list of conditions, each in its own rounds and from its own caches."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.kube.events import EventRecorder
from autoscaling.kube.paths import vertical_pod_autoscalers
from autoscaling.runtime.health import Vitals
from evenkeel.simulator.api.metrics import StaticMetrics
from evenkeel.simulator.api.server import ApiServer
from tests.builders import T0
from tests.embedded import GROUP, HeldDriver, Json, api_server, client_for, deploy, vpa_object
from tests.recommender.shell.stage import recommender, run_at, seen, until, used
from updater.ratelimit import TokenBucket
from updater.settings import Settings
from updater.shell.actuator import Buckets
from updater.shell.caches import Caches
from updater.shell.conditions import ConditionWriter
from updater.shell.loop import Loop, LoopSettings
from updater.shell.metrics import UpdaterMetrics

pytestmark = pytest.mark.anyio
MINUTE = timedelta(minutes=1)
VPAS = vertical_pod_autoscalers(GROUP)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def updater(server: ApiServer, profile: Profile) -> AsyncIterator[Loop]:
    """An updater with filled caches."""
    behaviour = Behaviour.of(profile)
    async with client_for(server) as client:
        caches, driver = Caches(client, GROUP, "", behaviour=behaviour), HeldDriver()
        loop = Loop(
            LoopSettings(Settings(behaviour=behaviour), MINUTE, None, VPAS.api_version),
            client,
            caches,
            EventRecorder(client, "evenkeel-updater"),
            UpdaterMetrics.register(CollectorRegistry()),
            Vitals(MINUTE, client.pacing.monotonic),
            driver,
            Buckets(TokenBucket(), TokenBucket()),
            conditions=ConditionWriter(client, VPAS, driver),
        )
        caches.start()
        try:
            await caches.wait_synced(10)
            yield loop
        finally:
            await caches.stop()


def crowded() -> ApiServer:
    """Return a cluster whose only node is full."""
    server = api_server()
    deploy(server)
    server.store.create(vpa_object())
    ready = {"allocatable": {"cpu": "100m", "memory": "100Mi"}, "conditions": [{"type": "Ready", "status": "True"}]}
    server.store.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node1"}, "status": ready})
    server.metrics = StaticMetrics()
    return server


def stored(server: ApiServer) -> Json:
    return server.store.read(VPAS.api_version, VPAS.kind, "web", "default")


def types(server: ApiServer) -> list[str]:
    status = stored(server)["status"]
    assert isinstance(status, dict)
    return [condition["type"] for condition in status["conditions"]]


def by_the_updater(server: ApiServer) -> int:
    """Return how many patches were about conditions alone."""
    calls = server.requests.calls(verb="patch", path="/status$")
    return sum("/status/conditions" in str(call.json) for call in calls)


def version(server: ApiServer) -> object:
    metadata = stored(server)["metadata"]
    assert isinstance(metadata, dict)
    return metadata["resourceVersion"]


async def test_each_keeps_what_the_other_has_written() -> None:
    """Spec: beyond:B-24, beyond:B-8."""
    server = crowded()
    async with recommender(server) as recommending, updater(server, Profile.EVENKEEL) as updating:
        driver = updating.driver
        assert isinstance(driver, HeldDriver)
        for minute in range(1, 6):
            used(server, minute, cpu=f"{300 + minute * 40}m")
            await seen(server, recommending)
            await run_at(recommending, minute)
            await until(lambda: updating.caches.vpas.snapshot()[0].resource_version == version(server))
            driver.time = T0 + minute * MINUTE
            await updating.run_round()
            assert types(server) == ["LowConfidence", "RecommendationProvided", "ResizeBlocked"]
    assert by_the_updater(server) == 1
    assert len(server.requests.calls(verb="patch", path="/status$")) > 3, "the recommender went on writing"
