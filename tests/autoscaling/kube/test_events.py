"""Events as they arrive in the embedded API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from autoscaling.kube.client import KubeClient
from autoscaling.kube.event_ledger import EventDraft, EventKind, InvolvedObject
from autoscaling.kube.events import LONGEST_HOLD_SECONDS, EventCounters, EventRecorder
from autoscaling.objectref import ObjectRef
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from tests.autoscaling.kube.clocks import HeldPacing, InstantPacing
from tests.autoscaling.kube.scripted import client_of

pytestmark = pytest.mark.anyio

WEB = InvolvedObject(ObjectRef("Pod", "shop", "web"), "v1", "u-1", "7")
RESIZED = EventDraft(WEB, EventKind.NORMAL, "InPlaceResizedByVPA", "Resized.")


@pytest.fixture
def cluster(cluster: ApiServer) -> ApiServer:
    cluster.create_namespaces("shop")
    return cluster


@pytest.fixture
def recorder(cluster_client: KubeClient) -> EventRecorder:
    return EventRecorder(cluster_client, "vpa-updater", "host-1")


@asynccontextmanager
async def writing(recorder: EventRecorder) -> AsyncIterator[None]:
    task = asyncio.create_task(recorder.run())
    yield
    assert await recorder.drain(10)
    task.cancel()
    await asyncio.wait((task,))
    assert task.cancelled()


def events(cluster: ApiServer, namespace: str = "shop") -> list[Mapping[str, object]]:
    return list(cluster.store.list("v1", "Event", namespace))


async def test_an_event_as_kubectl_shows_it(cluster: ApiServer, recorder: EventRecorder) -> None:
    async with writing(recorder):
        recorder.record(RESIZED)
    (event,) = events(cluster)
    assert {name: event[name] for name in event if name not in {"metadata", "apiVersion", "kind"}} == {
        "involvedObject": {
            "kind": "Pod",
            "namespace": "shop",
            "name": "web",
            "uid": "u-1",
            "apiVersion": "v1",
            "resourceVersion": "7",
        },
        "type": "Normal",
        "reason": "InPlaceResizedByVPA",
        "message": "Resized.",
        "source": {"component": "vpa-updater", "host": "host-1"},
        "reportingComponent": "vpa-updater",
        "reportingInstance": "host-1",
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 1,
    }


async def test_the_same_event_again_is_counted(
    cluster: ApiServer, recorder: EventRecorder, pacing: InstantPacing
) -> None:
    async with writing(recorder):
        recorder.record(RESIZED)
    await pacing.sleep(60)
    async with writing(recorder):
        recorder.record(replace(RESIZED, involved=replace(WEB, resource_version="8")))
        recorder.record(replace(RESIZED, kind=EventKind.WARNING))
    first, second = sorted(events(cluster), key=lambda event: str(event["type"]))
    assert (first["count"], first["firstTimestamp"], first["lastTimestamp"]) == (
        2,
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:01:00Z",
    )
    assert (second["type"], second["count"]) == ("Warning", 1)
    assert recorder.counters == EventCounters(created=2, repeated=1)


async def test_an_event_that_ran_out_is_written_anew(cluster: ApiServer, recorder: EventRecorder) -> None:
    async with writing(recorder):
        recorder.record(RESIZED)
    (event,) = events(cluster)
    metadata = event["metadata"]
    assert isinstance(metadata, dict)
    cluster.store.delete("v1", "Event", metadata["name"], "shop")
    async with writing(recorder):
        recorder.record(RESIZED)
    (event,) = events(cluster)
    assert (event["count"], recorder.counters) == (2, EventCounters(created=2))


@pytest.mark.parametrize(
    ("fault", "counters"),
    [
        (Fault(Refuse(403), verb="create", path="/events$"), EventCounters(created=1, failed=1)),
        (Fault(Refuse(500), verb="create", path="/events$"), EventCounters(created=1, failed=1)),
        (Fault(Refuse(403), verb="patch", path="/events/"), EventCounters(created=1, failed=1)),
        (Fault(Refuse(429), verb="create", path="/events$"), EventCounters(created=1, repeated=1)),
    ],
)
async def test_failures_are_counted_and_nothing_else(
    cluster: ApiServer, recorder: EventRecorder, fault: Fault, counters: EventCounters
) -> None:
    cluster.faults.add(replace(fault))
    async with writing(recorder):
        recorder.record(RESIZED)
        recorder.record(RESIZED)
    assert recorder.counters == counters
    # What was not written does not count.
    assert events(cluster)[0]["count"] == counters.created + counters.repeated


async def test_a_flood_about_one_object_is_held_back(cluster: ApiServer, recorder: EventRecorder) -> None:
    async with writing(recorder):
        for number in range(30):
            recorder.record(replace(RESIZED, message=str(number)))
    assert (len(events(cluster)), recorder.counters) == (25, EventCounters(created=25, held_back=5))


async def test_a_full_queue_drops_instead_of_waiting(cluster: ApiServer, cluster_client: KubeClient) -> None:
    recorder = EventRecorder(cluster_client, "c", queue_length=2)
    for number in range(3):
        recorder.record(replace(RESIZED, message=str(number)))
    async with writing(recorder):
        pass
    assert recorder.counters == EventCounters(created=2, dropped=1)
    assert [event["source"] for event in events(cluster)] == [{"component": "c"}] * 2


@asynccontextmanager
async def limited(
    url: str, held: HeldPacing, taken: int, queue_length: int = 100
) -> AsyncIterator[tuple[KubeClient, EventRecorder]]:
    """A recorder that shares one call a second, after a burst of four, of which so many are used up.

    Where more of them are than the burst has, they wait.
    """
    async with client_of(url, held, qps=1, burst=4) as (client, _):
        others = [asyncio.create_task(client.get("/version")) for _ in range(taken)]
        await held.asleep(max(taken - 4, 0))
        if taken:
            await asyncio.wait(others[:4])
        recorder = EventRecorder(client, "c", queue_length=queue_length)
        task = asyncio.create_task(recorder.run())
        yield client, recorder
        for each in (task, *others):
            each.cancel()
        await asyncio.wait((task, *others))


def messages(cluster: ApiServer) -> list[str]:
    """Return what events say, in the order in which they were written."""
    bodies = [call.json for call in cluster.requests.calls("create", "/events$")]
    return [str(body["message"]) for body in bodies if isinstance(body, dict)]


async def pass_time(held: HeldPacing, seconds: float) -> None:
    """Let time pass in small steps, in each of which calls are answered."""
    for _ in range(int(seconds * 2)):
        await held.advance(0.5)
        for _ in range(200):
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("row", "taken", "first"),
    [
        ("performance:U-3", 0, 0.0),
        ("performance:U-3 half is left", 2, 0.0),
        ("performance:U-3 none is left", 4, 2.0),
        ("performance:U-3 calls wait", 9, 7.0),
    ],
)
async def test_events_let_calls_go_first_and_keep_their_order_and_dates(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing, row: str, taken: int, first: float
) -> None:
    async with limited(held_client.server, held, taken) as (client, recorder):
        for text in "abc":
            recorder.record(replace(RESIZED, message=text))
        if first:
            await pass_time(held, first - 0.5)
            assert messages(cluster) == [], row
            await pass_time(held, 0.5)
        else:
            await pass_time(held, 0.0)
        await cluster.requests.until(lambda log: bool(log.calls("create", "/events$")))
        assert client.lull() <= 1.0, row
        await pass_time(held, 2.5)
        assert recorder.waiting == 0, row
    assert messages(cluster) == ["a", "b", "c"], row
    assert {event["firstTimestamp"] for event in events(cluster)} == {"2026-01-01T00:00:00Z"}, row


async def test_an_event_waits_for_other_calls_for_a_while_only(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing
) -> None:
    """Spec: performance:U-3. Other calls take all that there is for longer than that."""
    async with limited(held_client.server, held, 6) as (client, recorder):
        recorder.record(RESIZED)
        others = []
        for second in range(40):
            others.append(asyncio.create_task(client.get("/version")))
            await pass_time(held, 1)
            if second + 1 < LONGEST_HOLD_SECONDS:
                assert messages(cluster) == []
        assert messages(cluster) == ["Resized."]
        await pass_time(held, 5)
        await asyncio.gather(*others)


async def test_a_long_queue_waits_for_nobody(cluster: ApiServer, held_client: KubeClient, held: HeldPacing) -> None:
    """Spec: performance:U-3. Of four events that may wait two do, from which on they take their turns."""
    async with limited(held_client.server, held, 4, queue_length=4) as (_, recorder):
        recorder.record(replace(RESIZED, message="a"))
        await held.asleep()
        recorder.record(replace(RESIZED, message="b"))
        await pass_time(held, 1.5)
        assert (messages(cluster), recorder.waiting) == (["a"], 1)
        await pass_time(held, 2.0)
        assert (messages(cluster), recorder.counters) == (["a", "b"], EventCounters(created=2))


async def test_at_the_end_events_wait_for_nobody(cluster: ApiServer, held_client: KubeClient, held: HeldPacing) -> None:
    """Spec: performance:U-3, updater:M-3. A round that was cut off has used up what there was."""
    async with limited(held_client.server, held, 4) as (_, recorder):
        for text in "abc":
            recorder.record(replace(RESIZED, message=text))
        await held.asleep()
        ending = asyncio.create_task(recorder.drain(10))
        await pass_time(held, 1.0)
        assert (messages(cluster), recorder.waiting) == (["a"], 2)
        await pass_time(held, 2.0)
        assert await ending
    assert messages(cluster) == ["a", "b", "c"]


async def test_draining_ends_in_time(recorder: EventRecorder) -> None:
    assert await recorder.drain(0)
    recorder.record(RESIZED)
    assert not await recorder.drain(0)
    assert recorder.waiting == 1


async def test_a_long_message_is_cut(cluster: ApiServer, recorder: EventRecorder) -> None:
    async with writing(recorder):
        recorder.record(replace(RESIZED, message="x" * 2000))
    assert events(cluster)[0]["message"] == "x" * 1024


async def test_an_event_on_a_node(cluster: ApiServer, recorder: EventRecorder) -> None:
    async with writing(recorder):
        recorder.record(replace(RESIZED, involved=InvolvedObject(ObjectRef("Node", "", "n1"), "v1", "u")))
    (event,) = events(cluster, "default")
    assert event["involvedObject"] == {"kind": "Node", "name": "n1", "uid": "u", "apiVersion": "v1"}
