"""What the recommender watches: objects that it cannot read, OOM kills that it notices; the API server is embedded."""

from __future__ import annotations

import asyncio

import pytest

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.kube.events import EventRecorder
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from evenkeel.simulator.faults import ExpireHistory, Fault
from recommender.shell.caches import Caches
from tests.autoscaling.kube.clocks import HeldPacing
from tests.autoscaling.kube.scripted import client_of
from tests.embedded import GROUP, Json, api_server, client_for, pod_object, vpa_object
from tests.recommender.shell.stage import until

pytestmark = pytest.mark.anyio
MOST_WAITING = 5000


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


def eviction(name: str, containers: int = 1) -> Json:
    """Return the event by which a kubelet tells that it evicted a pod for the memory of so many containers."""
    lists = {
        "offending_containers": ",".join(f"c{number}" for number in range(containers)),
        "offending_containers_usage": ",".join(["1Gi"] * containers),
        "starved_resource": ",".join(["memory"] * containers),
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "default", "annotations": lists},
        "reason": "Evicted",
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web-0"},
    }


@pytest.mark.parametrize(
    ("row", "kills", "oldest_kept"),
    [("recommender:13.5", MOST_WAITING, "c0"), ("recommender:13.5", MOST_WAITING + 1, "c1")],
)
async def test_more_kills_than_may_wait_push_out_the_oldest_and_block_nothing(
    row: str, kills: int, oldest_kept: str
) -> None:
    server = api_server()
    async with client_for(server) as client:
        caches = Caches(client, GROUP, "")
        caches.start()
        await caches.wait_synced(10)
        server.store.create(eviction("many", kills))
        await until(lambda: len(caches.evictions.items()) == 1)
        found = caches.kills.take()
        assert (len(found), found[0].container) == (MOST_WAITING, oldest_kept), row
        assert found[-1].container == f"c{kills - 1}"
        server.store.create(eviction("next"))
        await until(lambda: len(caches.evictions.items()) == 2)
        assert [kill.container for kill in caches.kills.take()] == ["c0"]
        await caches.stop()


async def test_a_watch_that_begins_anew_tells_of_no_eviction_twice() -> None:
    """Spec: recommender:13.5."""
    server = api_server()
    server.store.create(eviction("old"))
    server.faults.add(Fault(ExpireHistory(), verb="watch", path="/events$", skip=1))
    clock = HeldPacing()
    async with serve(server, tls=False) as endpoint, client_of(endpoint.url, clock) as (client, _):
        caches = Caches(client, GROUP, "")
        caches.start()
        await caches.wait_synced(10)
        assert len(caches.kills.take()) == 1
        await until(lambda: server.watches.close("/events$") == 1)
        await clock.asleep()
        server.store.create(eviction("new"))
        await clock.advance(1)
        await until(lambda: len(caches.evictions.items()) == 2)
        assert (caches.evictions.counters.lists, len(caches.kills.take())) == (2, 1)
        await caches.stop()


@pytest.mark.parametrize(
    ("row", "profile", "earlier", "noticed"),
    [
        ("recommender:13.5", Profile.EVENKEEL, ["web-0"], ["web-1"]),
        ("upstream", Profile.UPSTREAM, [], []),
    ],
)
async def test_a_kill_may_show_when_a_pod_is_first_seen(
    row: str, profile: Profile, earlier: list[str], noticed: list[str]
) -> None:
    server = api_server()
    server.store.create(killed("web-0"))
    async with client_for(server) as client:
        caches = Caches(client, GROUP, "", Behaviour.of(profile))
        caches.start()
        await caches.wait_synced(10)
        server.store.create(killed("web-1"))
        await until(lambda: len(caches.pods.items()) == 2)
        assert [kill.pod for kill in caches.kills.take_earlier()] == earlier, row
        assert caches.kills.take_earlier() == []
        assert [kill.pod for kill in caches.kills.take()] == noticed, row
        await caches.stop()


def killed(name: str) -> Json:
    """Return a pod whose container runs again after it was killed."""
    pod = pod_object(name, "web")
    status = pod["status"]
    assert isinstance(status, dict)
    ended = {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-01-01T00:02:00Z"}
    status["containerStatuses"][0] |= {"restartCount": 1, "lastState": {"terminated": ended}}
    return pod
