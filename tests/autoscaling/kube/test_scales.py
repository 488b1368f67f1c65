"""Scale subresources and their cache."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from autoscaling.kube.client import KubeClient
from autoscaling.kube.discovery import Discovery
from autoscaling.kube.scales import IDLE_SECONDS, ScaleCache, ScaleReader
from autoscaling.ownership import ControllerKey, Controllers, OwnerNotCachedError, ScaleAnswer
from autoscaling.pod import Owner
from evenkeel.simulator.api.server import ApiServer
from tests.autoscaling.kube.clocks import HeldPacing, InstantPacing
from tests.autoscaling.kube.scripted import Answer, ScriptedServer, client_of, no, ok

pytestmark = pytest.mark.anyio

KEY = ControllerKey("ns", "Shop", "web", "example.org/v1")
V1 = "/apis/example.org/v1/namespaces/ns/shops/web/scale"
V2 = "/apis/example.org/v2/namespaces/ns/shops/web/scale"
OWNER = {"apiVersion": "example.org/v1", "kind": "Mall", "name": "m", "uid": "m-1", "controller": True}
SCALE = ok(
    {
        "kind": "Scale",
        "metadata": {"name": "web", "namespace": "ns", "ownerReferences": [OWNER]},
        "spec": {"replicas": 3},
        "status": {"replicas": 2, "selector": "app=web"},
    }
)
ANSWER = ScaleAnswer(
    is_found=True,
    selector="app=web",
    replicas=3,
    owners=(Owner("example.org/v1", "Mall", "m", controller=True, uid="m-1"),),
)
GONE = no(404, "NotFound")
FORBIDDEN = no(403, "Forbidden", "may not")


@pytest.fixture
def server(server: ScriptedServer) -> ScriptedServer:
    server.script("GET", "/apis/example.org", ok({"versions": [{"version": "v1"}, {"version": "v2"}]}))
    for version in ("v1", "v2"):
        kinds = [{"name": "shops", "kind": "Shop", "namespaced": True}]
        server.script("GET", f"/apis/example.org/{version}", ok({"resources": kinds}))
    server.script("GET", "/api", ok({"versions": ["v1"]}))
    server.script("GET", "/api/v1", ok({"resources": [{"name": "nodes", "kind": "Node", "namespaced": False}]}))
    return server


@pytest.fixture
def reader(client: KubeClient) -> ScaleReader:
    return ScaleReader(client, Discovery(client))


@pytest.mark.parametrize(
    ("spec", "answers", "expected"),
    [
        ("recommender:11.1", (SCALE, GONE), ANSWER),
        ("recommender:11.1", (GONE, SCALE), ANSWER),
        ("recommender:11.1", (FORBIDDEN, SCALE), ANSWER),
        ("recommender:11.2", (GONE, GONE), ScaleAnswer(is_found=False)),
        ("recommender:11.2", (FORBIDDEN, GONE), ScaleAnswer(is_found=False)),
        (
            "recommender:11.2",
            (GONE, FORBIDDEN),
            ScaleAnswer(is_found=False, failure=f"GET {V2}: 403 Forbidden: may not"),
        ),
    ],
)
async def test_the_first_scale_found_decides(
    server: ScriptedServer, reader: ScaleReader, spec: str, answers: tuple[Answer, Answer], expected: ScaleAnswer
) -> None:
    server.script("GET", V1, answers[0])
    server.script("GET", V2, answers[1])
    assert await reader.read(KEY) == expected


async def test_a_scale_without_selector_and_owners(server: ScriptedServer, reader: ScaleReader) -> None:
    server.script("GET", V1, ok({"metadata": {"name": "web"}, "spec": {}, "status": {"replicas": 0}}))
    assert await reader.read(KEY) == ScaleAnswer(is_found=True)


async def test_a_scale_that_cannot_be_read(server: ScriptedServer, reader: ScaleReader) -> None:
    server.script("GET", V1, ok({"status": {"selector": 3}}))
    server.script("GET", V2, Answer(200, (b"<html>",)))
    answer = await reader.read(KEY)
    assert not answer.is_found
    assert answer.failure.startswith(f"GET {V2}: the scale cannot be read: ")


@pytest.mark.parametrize(
    ("spec", "key", "failure"),
    [
        (
            "recommender:11.1",
            ControllerKey("ns", "Mall", "m", "example.org/v1"),
            "knows no kind Mall in API group example.org",
        ),
        (
            "recommender:11.1",
            ControllerKey("ns", "Mall", "m", "nowhere.org/v1"),
            "knows no kind Mall in API group nowhere.org",
        ),
        ("recommender:11.1", ControllerKey("ns", "Mall", "m", "v1"), "knows no kind Mall in API group (core)"),
        ("recommender:11.1", ControllerKey("ns", "Mall", "m", "a/b/c"), "apiVersion 'a/b/c' is malformed"),
        ("recommender:11.1", ControllerKey("ns", "Mall", "m", "/v1"), "apiVersion '/v1' is malformed"),
        ("recommender:11.1", ControllerKey("ns", "Mall", "m", ""), "apiVersion '' is malformed"),
    ],
)
async def test_kinds_without_a_collection(
    server: ScriptedServer, reader: ScaleReader, spec: str, key: ControllerKey, failure: str
) -> None:
    answer = await reader.read(key)
    assert not answer.is_found
    assert failure in answer.failure


async def test_a_node_is_never_scalable(server: ScriptedServer, reader: ScaleReader) -> None:
    """Spec: recommender:11.2."""
    assert await reader.read(ControllerKey("", "Node", "n1", "v1")) == ScaleAnswer(is_found=False)
    assert server.requests == []


async def test_a_discovery_that_fails(server: ScriptedServer, reader: ScaleReader) -> None:
    server.script("GET", "/apis/example.org", FORBIDDEN)
    assert await reader.read(KEY) == ScaleAnswer(
        is_found=False, failure="GET /apis/example.org: 403 Forbidden: may not"
    )


async def test_the_scale_of_a_deployment_on_a_real_surface(cluster: ApiServer, cluster_client: KubeClient) -> None:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": "web", "namespace": "default"}
    cluster.store.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
    reader = ScaleReader(cluster_client, Discovery(cluster_client))
    answer = await reader.read(ControllerKey("default", "Deployment", "web", "apps/v1"))
    assert (answer.is_found, answer.selector, answer.replicas, answer.owners) == (True, "app=web", 2, ())
    assert await reader.read(ControllerKey("default", "Deployment", "db", "apps/v1")) == ScaleAnswer(is_found=False)


async def test_an_answer_is_kept(server: ScriptedServer, reader: ScaleReader, client: KubeClient) -> None:
    """Spec: recommender:11.2 (result or error)."""
    server.script("GET", V1, GONE)
    server.script("GET", V2, GONE, SCALE)
    cache = ScaleCache(reader, client)
    first = await cache.look_up(KEY)
    assert (await cache.look_up(KEY), first) == (ScaleAnswer(is_found=False), ScaleAnswer(is_found=False))
    assert (len(cache), list(cache), KEY in cache) == (1, [KEY], True)
    assert len(server.asked("GET", V2)) == 1


async def test_the_cache_serves_the_climb_to_the_topmost_owner(
    server: ScriptedServer, reader: ScaleReader, client: KubeClient
) -> None:
    server.script("GET", V1, ok({"status": {"selector": "app=web"}}))
    cache = ScaleCache(reader, client)
    controllers = Controllers({}, cache)
    with pytest.raises(OwnerNotCachedError) as caught:
        controllers.topmost(KEY)
    await cache.look_up(caught.value.key)
    assert controllers.topmost(KEY) == KEY


@pytest.mark.parametrize(
    ("spec", "dice", "age", "calls"),
    [
        ("recommender:11.2", 0.0, 599.9, 1),
        ("recommender:11.2", 0.0, 600.0, 2),
        ("recommender:11.2", 0.5, 899.9, 1),
        ("recommender:11.2", 0.5, 900.0, 2),
    ],
)
async def test_old_answers_are_refreshed(
    server: ScriptedServer, spec: str, dice: float, age: float, calls: int
) -> None:
    server.script("GET", V1, SCALE)
    pacing = InstantPacing(dice)
    async with client_of(server.url, pacing) as (client, _):
        cache = ScaleCache(ScaleReader(client, Discovery(client)), client)
        await cache.look_up(KEY)
        pacing.seconds = age
        await cache.refresh()
    assert len(server.asked("GET", V1)) == calls


async def test_a_refresh_replaces_the_answer(
    server: ScriptedServer, reader: ScaleReader, client: KubeClient, pacing: InstantPacing
) -> None:
    server.script("GET", V1, GONE, SCALE)
    server.script("GET", V2, GONE)
    cache = ScaleCache(reader, client)
    assert not (await cache.look_up(KEY)).is_found
    pacing.seconds = 600.0
    await cache.refresh()
    assert cache[KEY] == ANSWER


@pytest.mark.parametrize(
    ("spec", "used_at", "now", "is_kept"),
    [
        ("recommender:11.2", None, 3599.9, True),
        ("recommender:11.2", None, 3600.0, False),
        ("recommender:11.2", 100.0, 3699.9, True),
        ("recommender:11.2", 100.0, 3700.0, False),
    ],
)
async def test_unused_answers_are_dropped_whether_refreshed_or_not(
    held_reader: tuple[ScaleCache, HeldPacing], spec: str, used_at: float | None, now: float, is_kept: bool
) -> None:
    cache, held = held_reader
    await cache.look_up(KEY)
    if used_at is not None:
        held.seconds = used_at
        assert cache[KEY] == ANSWER
    held.seconds = 1500.0
    await cache.refresh()
    held.seconds = now
    await cache.refresh()
    assert (KEY in list(cache)) is is_kept


@pytest.fixture
async def held_reader(server: ScriptedServer, held: HeldPacing) -> AsyncIterator[tuple[ScaleCache, HeldPacing]]:
    server.script("GET", V1, SCALE)
    async with client_of(server.url, held) as (client, _):
        yield ScaleCache(ScaleReader(client, Discovery(client)), client), held


async def test_the_refresh_runs_every_seven_seconds(held_reader: tuple[ScaleCache, HeldPacing]) -> None:
    """Spec: recommender:11.2."""
    cache, held = held_reader
    await cache.look_up(KEY)
    running = asyncio.create_task(cache.run())
    for _ in range(2):
        await held.asleep()
        await held.advance(7)
    await held.asleep()
    assert held.slept == [7.0, 7.0, 7.0]
    running.cancel()
    await asyncio.wait((running,))


async def test_nothing_is_looked_after_while_there_are_no_answers(held_reader: tuple[ScaleCache, HeldPacing]) -> None:
    """Spec: recommender:11.2."""
    cache, held = held_reader
    running = asyncio.create_task(cache.run())
    await asyncio.sleep(0)
    assert held.slept == []
    await cache.look_up(KEY)
    await held.asleep()
    await held.advance(IDLE_SECONDS)
    for _ in range(3):
        await asyncio.sleep(0)
    assert (len(cache), held.slept) == (0, [7.0])
    await cache.look_up(KEY)
    await held.asleep()
    assert held.slept == [7.0, 7.0]
    running.cancel()
    await asyncio.wait((running,))
