"""The workers that take boosts back, against the embedded API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.kube.events import EventRecorder
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from tests.builders import T0
from tests.embedded import GROUP, HeldDriver, Json, api_server, client_for, deploy, recommended_status, vpa_object
from updater.decision import Reason
from updater.ratelimit import TokenBucket
from updater.settings import Settings
from updater.shell.actuator import Actuator, Buckets
from updater.shell.caches import Caches
from updater.shell.metrics import UpdaterMetrics
from updater.shell.unboosting import BoostQueue, Unboosting, notice
from updater.unboost import is_worth_a_look

pytestmark = pytest.mark.anyio
KEY = ("default", "web-0")
BOOST: Json = {"cpu": {"type": "Factor", "factor": 3, "durationSeconds": 10}}
ORIGINAL = json.dumps({"requests": {"cpu": "100m", "memory": "100Mi"}, "limits": {"cpu": "200m", "memory": "200Mi"}})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Seconds:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def server() -> ApiServer:
    made = api_server()
    boosted = {"requests": {"cpu": "300m", "memory": "100Mi"}, "limits": {"cpu": "600m", "memory": "200Mi"}}
    deploy(made, resources=boosted)
    annotations = {"vpaCpuStartupBoost/main": ORIGINAL}
    made.store.merge(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "web-0", "namespace": "default", "annotations": annotations},
        }
    )
    made.store.create(vpa_object(status=recommended_status("150m", "100Mi"), startupBoost=BOOST))
    return made


@asynccontextmanager
async def unboosting(server: ApiServer, seconds_ready: int) -> AsyncIterator[tuple[Unboosting, UpdaterMetrics]]:
    """The workers of an updater with filled caches, so long after the pod became Ready."""
    async with client_for(server) as client:
        caches = Caches(client, GROUP, "")
        caches.start()
        await caches.wait_synced(10)
        metrics = UpdaterMetrics.register(CollectorRegistry())
        events, driver = EventRecorder(client, "evenkeel-updater"), HeldDriver(T0 + timedelta(seconds=seconds_ready))
        buckets = Buckets(TokenBucket(), TokenBucket())

        def actuator(deadline: object) -> Actuator:
            return Actuator(client, events, metrics, buckets, driver, f"{GROUP}/v1", T0 + timedelta(days=1))

        settings = Settings(behaviour=Behaviour.of(Profile.UPSTREAM), is_startup_boost_on=True, min_replicas=1)
        try:
            yield Unboosting(BoostQueue(Seconds()), caches, actuator, settings, driver), metrics
        finally:
            await caches.stop()


async def work_until_idle(workers: Unboosting) -> None:
    """Let one worker run until nothing is due."""
    task = asyncio.create_task(workers.work())
    clock = workers.queue.clock
    await until(lambda: not workers.queue.active and all(at > clock() for at in workers.queue.due.values()))
    task.cancel()


async def until(condition: Callable[[], bool]) -> None:
    """Let others run until something holds."""
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0)


async def test_a_boost_that_is_over_is_taken_back_in_place(server: ApiServer) -> None:
    async with unboosting(server, 11) as (workers, _):
        await workers.resync()
        await work_until_idle(workers)
    pod = server.store.read("v1", "Pod", "web-0", "default")
    spec, metadata = pod["spec"], pod["metadata"]
    assert isinstance(spec, dict)
    assert isinstance(metadata, dict)
    assert spec["containers"][0]["resources"]["requests"]["cpu"] == "150m", "updater:W-19"
    # There is no status Lease of an admission controller, and nobody has asked for one.
    assert server.requests.calls(path="/leases") == [], "updater:UQ-3, updater:D-62"
    assert metadata["annotations"] == {"vpaInPlaceUpdated": "true"}, "updater:X-5"
    assert KEY not in workers.queue.due


async def test_taking_a_boost_back_is_told_with_its_amounts(server: ApiServer) -> None:
    async with unboosting(server, 11) as (workers, _):
        await workers.resync()
        await work_until_idle(workers)
        events = workers.actuator(T0).events
        task = asyncio.create_task(events.run())
        await events.drain(10)
        task.cancel()
    (told,) = server.store.list("v1", "Event", "default")
    assert told["reason"] == "InPlaceResizedByVPA", "updater:X-7"
    text = f"Resize requested: main cpu 300m→150m, cpu limit 600m→300m. {Reason.BOOST_OVER.meaning} Digest "
    assert str(told["message"]).startswith(text), "beyond:B-42"


async def test_an_event_that_still_shows_the_boost_causes_no_second_resize(server: ApiServer) -> None:
    async with unboosting(server, 11) as (workers, _):
        boosted = workers.caches.pods.find(KEY)
        assert boosted is not None
        await workers.resync()
        task = asyncio.create_task(workers.work())
        await until(lambda: bool(server.requests.calls(path="/resize$")))
        notice(workers.queue, workers.settings, boosted)
        await until(lambda: not workers.queue.active)
        notice(workers.queue, workers.settings, boosted)
        assert workers.queue.due == {KEY: 1.0}
        clock = workers.queue.clock
        assert isinstance(clock, Seconds)
        await until(lambda: not is_worth_a_look(workers.caches.pods.find(KEY) or boosted, workers.settings))
        clock.now = 1.0
        task.cancel()
        await work_until_idle(workers)
    assert len(server.requests.calls(path="/resize$")) == 1


async def test_a_boost_with_time_left_is_looked_at_when_it_is_over(server: ApiServer) -> None:
    async with unboosting(server, 4) as (workers, _):
        await workers.resync()
        await work_until_idle(workers)
        assert workers.queue.due == {KEY: 6.0}, "updater:UQ-4"
    assert server.requests.calls(path="/resize$") == []


async def test_a_refused_resize_is_counted_and_tried_again_but_never_evicted(server: ApiServer) -> None:
    server.faults.add(Fault(Refuse(403), verb="patch", path="/resize$"))
    async with unboosting(server, 11) as (workers, metrics):
        await workers.resync()
        await work_until_idle(workers)
        assert workers.queue.due == {KEY: 0.1}, "updater:D-52"
        failed = metrics.failed_in_place_updates.labels("0", "UnboostError", "web", "default")
        assert failed._value.get() == 1  # noqa: SLF001 the library shows single values no other way
    assert server.requests.calls(path="/eviction$") == [], "updater:D-52, updater:U-4"


async def test_a_pod_that_no_vpa_controls_is_looked_up_seven_times(server: ApiServer) -> None:
    server.store.delete(f"{GROUP}/v1", "VerticalPodAutoscaler", "web", "default")
    looked_at: list[float] = []
    async with unboosting(server, 11) as (workers, _):
        clock = workers.queue.clock
        assert isinstance(clock, Seconds)
        await workers.resync()
        while workers.queue.due:
            clock.now = min(workers.queue.due.values())
            looked_at.append(round(clock.now, 1))
            await work_until_idle(workers)
    assert looked_at == [0.0, 0.1, 0.3, 0.7, 1.5, 3.1, 6.3], "updater:D-63"


async def test_an_annotation_that_cannot_be_read_is_tried_again(server: ApiServer) -> None:
    metadata = {"name": "web-0", "namespace": "default", "annotations": {"vpaCpuStartupBoost/main": "{"}}
    server.store.merge({"apiVersion": "v1", "kind": "Pod", "metadata": metadata})
    server.store.merge({**vpa_object(), "status": None})
    async with unboosting(server, 11) as (workers, _):
        await workers.resync()
        await work_until_idle(workers)
        assert workers.queue.due == {KEY: 0.1}, "beyond:B-32"


async def test_pauses_double_up_to_their_limit_and_a_pod_is_handed_out_once_at_a_time() -> None:
    clock = Seconds()
    queue = BoostQueue(clock)
    pauses = []
    for _ in range(16):
        queue.due.clear()
        queue.back_off(KEY)
        pauses.append(queue.due[KEY])
    assert pauses[:4] == [0.1, 0.2, 0.4, 0.8]
    assert pauses[-1] == 1000.0, "updater:UQ-9"
    queue.add(KEY)
    assert await queue.take() == KEY
    queue.add(KEY)
    other = asyncio.create_task(queue.take())
    await asyncio.sleep(0)
    assert not other.done(), "updater:UQ-2"
    queue.done(KEY)
    assert await other == KEY
