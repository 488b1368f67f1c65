"""What the recommender says of objects that it cannot read, against the embedded API server."""

from __future__ import annotations

import asyncio

import pytest

from autoscaling.kube.events import EventRecorder
from evenkeel.simulator.api.server import ApiServer
from recommender.shell.caches import Caches
from tests.embedded import GROUP, Json, api_server, client_for, vpa_object

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def broken(amount: str) -> Json:
    policy = {"containerName": "*", "minAllowed": {"cpu": amount}}
    return vpa_object("broken", resourcePolicy={"containerPolicies": [policy]})


async def watched(server: ApiServer, *states: Json) -> list[Json]:
    """Have the caches see one state of a VPA after the other, and return the events there are then."""
    async with client_for(server) as client:
        caches = Caches(client, GROUP, "")
        caches.events = events = EventRecorder(client, "evenkeel-recommender")
        caches.start()
        await caches.wait_synced(10)
        for state in states:
            seen = caches.vpas.counters.events
            server.store.merge(state)
            async with asyncio.timeout(10):
                while caches.vpas.counters.events == seen:  # noqa: ASYNC110
                    await asyncio.sleep(0)
        task = asyncio.create_task(events.run())
        await events.drain(10)
        task.cancel()
        await caches.stop()
    return [dict(event) for event in server.store.list("v1", "Event", "default")]


async def test_a_vpa_that_cannot_be_read_says_so_itself() -> None:
    """Spec: beyond:B-32."""
    server = api_server()
    server.store.create(broken("a lot"))
    server.store.create(vpa_object())
    touched = {**broken("a lot"), "metadata": {"name": "broken", "namespace": "default", "labels": {"a": "b"}}}
    (event,) = await watched(server, touched)
    stored = server.store.read(f"{GROUP}/v1", "VerticalPodAutoscaler", "broken", "default")["metadata"]
    assert isinstance(stored, dict)
    assert event["involvedObject"] == {
        "kind": "VerticalPodAutoscaler",
        "namespace": "default",
        "name": "broken",
        "uid": stored["uid"],
        "apiVersion": f"{GROUP}/v1",
    }
    assert (event["type"], event["reason"], event["count"]) == ("Warning", "InvalidObject", 1)
    assert "'a lot'" in str(event["message"])


async def test_another_problem_is_told_anew() -> None:
    server = api_server()
    server.store.create(broken("a lot"))
    events = await watched(server, broken("2"), broken("too much"))
    assert sorted("too much" in str(event["message"]) for event in events) == [False, True]
