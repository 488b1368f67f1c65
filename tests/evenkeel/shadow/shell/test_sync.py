"""Twins on the embedded API server, by HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from autoscaling.errors import ApiRefusedError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import Resource, Selection
from autoscaling.runtime.api_group import ApiGroup
from evenkeel.crd.definitions import definitions
from evenkeel.shadow.plan import Verb, plan, removal
from evenkeel.shadow.shell.sync import AGAIN_SECONDS, ORIGINALS, OWN, Outcome, carry_out, decode_autoscaler, follow
from evenkeel.shadow.twins import Autoscaler
from evenkeel.simulator.api.fields import text, value_at
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import serve
from evenkeel.simulator.faults import Fault, Refuse
from tests.autoscaling.kube.clocks import HeldPacing
from tests.autoscaling.kube.scripted import client_of
from tests.embedded import Json, api_server, client_for, recommended_status, vpa_object
from tests.evenkeel.shadow.objects import MARK

pytestmark = pytest.mark.anyio

OURS = OWN.api_version
THEIRS = ORIGINALS.api_version
KIND = "VerticalPodAutoscaler"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    server = api_server()
    for definition in definitions(ApiGroup.UPSTREAM).values():
        server.store.create(dict(definition))
    return server


@pytest.fixture
async def client(server: ApiServer, anyio_backend: str) -> AsyncIterator[KubeClient]:
    async with client_for(server) as client:
        yield client


def theirs(name: str = "web", **spec: object) -> Json:
    """Return an object of upstream's with a recommendation and fields that our group does not know."""
    status = recommended_status("100m", "250Mi")
    return vpa_object(name, status=status, **spec) | {"apiVersion": THEIRS}


def stored(server: ApiServer, name: str, version: str = OURS) -> Json:
    return server.store.read(version, KIND, name, "default")


def names(server: ApiServer) -> list[str]:
    return [text(each, "metadata", "name") for each in server.store.list(OURS, KIND)]


async def read(client: KubeClient, resource: Resource = OWN) -> list[Autoscaler]:
    return await client.items(Selection(resource), decode_autoscaler)


async def sync(client: KubeClient) -> list[Outcome]:
    return await carry_out(client, plan(await read(client, ORIGINALS), await read(client)))


def told(outcomes: list[Outcome]) -> list[tuple[str, Verb, bool]]:
    return [(outcome.change.ref.name, outcome.change.verb, not outcome.problem) for outcome in outcomes]


async def test_twins_come_follow_and_go_and_nothing_else_is_touched(server: ApiServer, client: KubeClient) -> None:
    server.store.create(theirs("web"))
    server.store.create(theirs("gone"))
    server.store.create(vpa_object("by-hand"))
    before = [stored(server, "web", THEIRS), stored(server, "by-hand")]
    assert told(await sync(client)) == [("gone", Verb.CREATE, True), ("web", Verb.CREATE, True)]
    twin = stored(server, "web")
    assert value_at(twin, "metadata", "labels") == MARK
    assert value_at(twin, "spec", "updatePolicy") == {"updateMode": "Off", "minReplicas": 1}
    assert "status" not in twin
    assert await sync(client) == []
    server.store.delete(THEIRS, KIND, "gone", "default")
    policies = [{"containerName": "main", "maxAllowed": {"cpu": "2"}}]
    server.store.merge(theirs("web", resourcePolicy={"containerPolicies": policies}))
    assert told(await sync(client)) == [("gone", Verb.DELETE, True), ("web", Verb.PATCH, True)]
    assert value_at(stored(server, "web"), "spec", "resourcePolicy") == {"containerPolicies": policies}
    assert text(stored(server, "web"), "metadata", "uid") == text(twin, "metadata", "uid"), "the twin keeps its history"
    assert await sync(client) == []
    assert stored(server, "by-hand") == before[1]
    writes = [call for verb in ("create", "update", "patch", "delete") for call in server.requests.calls(verb)]
    assert {call.path.split("/")[2] for call in writes} == {ApiGroup.EVENKEEL.value}, "beyond:B-35"
    assert told(await carry_out(client, removal(await read(client)))) == [("web", Verb.DELETE, True)]
    assert names(server) == ["by-hand"]
    assert value_at(stored(server, "web", THEIRS), "status", "recommendation")


async def test_a_twin_that_is_refused_keeps_no_other_from_being_made(server: ApiServer, client: KubeClient) -> None:
    twice = {"containerName": "main", "mode": "Auto"}
    server.store.create(theirs("bad", resourcePolicy={"containerPolicies": [twice, twice]}))
    server.store.create(theirs("web"))
    bad, web = await sync(client)
    assert "VerticalPodAutoscaler default/bad: create failed" in bad.problem, "beyond:B-35"
    assert not bad.is_settled
    assert web.is_settled
    assert names(server) == ["web"]


async def test_a_twin_that_somebody_took_over_meanwhile_is_left_alone(server: ApiServer, client: KubeClient) -> None:
    server.store.create(theirs("web"))
    await sync(client)
    changes = plan([], await read(client))
    server.store.merge(vpa_object("web") | {"metadata": {"name": "web", "namespace": "default", "labels": {"a": "b"}}})
    (outcome,) = await carry_out(client, changes)
    assert outcome.is_stale
    assert not outcome.is_settled
    assert names(server) == ["web"], "beyond:B-35"


async def test_without_upstreams_definitions_nothing_is_concluded(client: KubeClient, server: ApiServer) -> None:
    server.store.create(theirs("web"))
    await sync(client)
    server.store.delete(
        "apiextensions.k8s.io/v1", "CustomResourceDefinition", f"verticalpodautoscalers.{ApiGroup.UPSTREAM}"
    )
    with pytest.raises(ApiRefusedError):
        await sync(client)
    assert names(server) == ["web"], "beyond:B-35"


async def test_a_change_that_fails_is_tried_again_after_a_while_and_told_once(server: ApiServer) -> None:
    heard: list[Outcome] = []
    pacing = HeldPacing()
    server.faults.add(Fault(Refuse(403), verb="create", path="/verticalpodautoscalers$", count=2))
    server.store.create(theirs("web"))
    async with (
        serve(server, tls=False) as endpoint,
        client_of(endpoint.url, pacing) as (client, _),
        following(client, heard.extend),
    ):
        for _ in range(2):
            await pacing.asleep()
            await pacing.advance(AGAIN_SECONDS)
        await eventually(lambda: len(heard) == 2)
    assert told(heard) == [("web", Verb.CREATE, False), ("web", Verb.CREATE, True)], "beyond:B-35"
    assert pacing.slept == [AGAIN_SECONDS] * 2


async def test_a_twin_that_is_gone_already_is_as_good_as_deleted(server: ApiServer, client: KubeClient) -> None:
    server.store.create(theirs("web"))
    await sync(client)
    changes = plan([], await read(client))
    server.store.delete(OURS, KIND, "web", "default")
    assert told(await carry_out(client, changes)) == [("web", Verb.DELETE, True)], "beyond:B-35"


@asynccontextmanager
async def following(client: KubeClient, tell: Callable[[list[Outcome]], None]) -> AsyncIterator[None]:
    task = asyncio.create_task(follow(client, "", tell))
    try:
        yield
        assert not task.done()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - nobody could set an event
            await asyncio.sleep(0)


async def test_a_watch_keeps_twins_up_to_date(server: ApiServer, client: KubeClient) -> None:
    heard: list[Outcome] = []
    server.store.create(theirs("web"))
    server.store.create(vpa_object("held"))
    server.store.create(theirs("held"))
    async with following(client, heard.extend):
        await eventually(lambda: names(server) == ["held", "web"])
        server.store.create(theirs("late"))
        await eventually(lambda: names(server) == ["held", "late", "web"])
        server.store.delete(THEIRS, KIND, "web", "default")
        await eventually(lambda: names(server) == ["held", "late"])
        await eventually(lambda: ("web", Verb.DELETE, True) in told(heard))
    assert [one for one in told(heard) if one[0] != "held"] == [
        ("web", Verb.CREATE, True),
        ("late", Verb.CREATE, True),
        ("web", Verb.DELETE, True),
    ], "beyond:B-35"
    assert value_at(stored(server, "held"), "metadata", "labels") is None
