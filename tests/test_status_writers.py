"""Recommender and updater write into one list of conditions, each in its own rounds and from its own caches."""

from __future__ import annotations

import pytest

from autoscaling.behaviour import Profile
from evenkeel.simulator.api.metrics import StaticMetrics
from evenkeel.simulator.api.server import ApiServer
from tests.builders import T0
from tests.embedded import HeldDriver, Json, api_server, deploy, node_object, pod_object, vpa_object
from tests.recommender.shell.stage import recommender, run_at, seen, until, used
from tests.updater.shell.stage import MINUTE, VPAS, updater

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def crowded() -> ApiServer:
    """Return a cluster whose only node is large enough, but full."""
    server = api_server()
    deploy(server)
    server.store.create(vpa_object())
    server.store.create(node_object(cpu="2", memory="1Gi"))
    all_else = {"cpu": "1900m", "memory": "924Mi"}
    server.store.create(pod_object("other-0", "other", {"requests": all_else, "limits": all_else}))
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
    async with recommender(server) as recommending, updater(server, Profile.EVENKEEL, looks_around=True) as updating:
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
