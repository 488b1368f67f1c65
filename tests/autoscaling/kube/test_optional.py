"""A collection that may be denied: said once, asked for again later, and in nobody's way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from autoscaling.errors import ApiUnreachableError
from autoscaling.kube import paths
from autoscaling.kube.client import KubeClient
from autoscaling.kube.optional import RETRY_SECONDS, OptionalStore
from autoscaling.kube.paths import Selection
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import EndWatch, Fault, Refuse
from tests.autoscaling.kube.clocks import HeldPacing
from tests.autoscaling.kube.scripted import DROPPED, ScriptedServer
from tests.autoscaling.kube.witness import Witness, decode

pytestmark = pytest.mark.anyio

MAPS = Selection(paths.CONFIG_MAPS, "shop")
PATH = "/api/v1/namespaces/shop/configmaps"


def config_map(name: str, text: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}}


def put(cluster: ApiServer, name: str, text: str) -> None:
    cluster.store.merge(config_map(name, text))


@pytest.fixture
def cluster(cluster: ApiServer) -> ApiServer:
    cluster.create_namespaces("shop")
    cluster.store.create(config_map("a", "a1"))
    return cluster


@asynccontextmanager
async def following(client: KubeClient, witness: Witness) -> AsyncIterator[OptionalStore[str]]:
    store = OptionalStore(client, MAPS, decode, witness.callbacks)
    assert store.start() is store.start()
    try:
        await store.wait_settled(10)
        yield store
    finally:
        await store.stop()
        await store.stop()


def lists(cluster: ApiServer) -> list[int]:
    return [call.status for call in cluster.requests.calls("list", "configmaps")]


async def test_what_is_granted_is_followed(cluster: ApiServer, held_client: KubeClient) -> None:
    witness = Witness()
    async with following(held_client, witness) as store:
        assert (store.snapshot(), store.is_denied, store.is_known) == (("a1",), False, True)
        cluster.store.create(config_map("b", "b1"))
        await witness.until(lambda: len(witness.changes) == 2)
        assert (store.snapshot(), store.version) == (("a1", "b1"), 2)
    assert witness.troubles == []


@pytest.mark.parametrize("code", [403, 404])
async def test_a_denial_is_said_once_and_asked_about_later(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing, code: int
) -> None:
    """Spec: beyond:B-14."""
    cluster.faults.add(Fault(Refuse(code), verb="list", path="/configmaps$", count=2))
    witness = Witness()
    async with following(held_client, witness) as store:
        assert (store.snapshot(), store.is_denied, store.is_known) == ((), True, False)
        await held.asleep(2)
        await held.advance(RETRY_SECONDS - 1)
        assert lists(cluster) == [code], "no call before its time"
        await held.advance(1)
        await cluster.requests.until(lambda log: len(log.calls("list", "configmaps")) == 2)
        await held.asleep(2)
        assert [(t.retry_seconds, t.error.code) for t in witness.troubles] == [(RETRY_SECONDS, code)]  # type: ignore[attr-defined]
        await held.advance(RETRY_SECONDS)
        await store.wait_settled(10)
        assert (store.snapshot(), store.is_denied, store.is_known) == (("a1",), False, True)
    assert len(witness.troubles) == 1


async def test_a_permission_that_is_taken_away_leaves_what_was_known(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing
) -> None:
    cluster.faults.add(Fault(EndWatch(after_events=1), verb="watch", path="/configmaps$"))
    witness = Witness()
    async with following(held_client, witness) as store:
        await held.advance(5)
        cluster.faults.add(Fault(Refuse(403), verb="watch", path="/configmaps$"))
        put(cluster, "a", "a2")
        await witness.until(lambda: len(witness.troubles) == 1)
        assert (store.snapshot(), store.is_denied, store.is_known) == (("a2",), True, False)
        await held.asleep(2)
        await held.advance(RETRY_SECONDS)
        while store.is_denied:  # noqa: ASYNC110 the store tells nobody that it asks again
            await asyncio.sleep(0)
        assert (store.snapshot(), store.is_known) == (("a2",), False), "it is out of date"
        await cluster.requests.until(lambda log: len(log.calls("list", "configmaps")) == 2)
        put(cluster, "a", "a3")
        await witness.until(lambda: len(witness.changes) == 3)
        await held.advance(5)
        assert (store.snapshot(), store.is_known) == (("a3",), True)


async def test_a_second_denial_is_news_once_something_was_heard_in_between(
    cluster: ApiServer, held_client: KubeClient, held: HeldPacing
) -> None:
    cluster.faults.add(Fault(Refuse(403), verb="list", path="/configmaps$", count=1))
    witness = Witness()
    async with following(held_client, witness):
        await held.asleep(2)
        cluster.faults.add(Fault(EndWatch(after_events=1), verb="watch", path="/configmaps$"))
        await held.advance(RETRY_SECONDS)
        await witness.until(lambda: len(witness.changes) == 1)
        await held.advance(5)
        cluster.faults.add(Fault(Refuse(403), verb="watch", path="/configmaps$"))
        put(cluster, "a", "a2")
        await witness.until(lambda: len(witness.troubles) == 2)


async def test_other_troubles_are_told_as_ever(server: ScriptedServer, client: KubeClient) -> None:
    server.script("GET", PATH, DROPPED)
    witness = Witness()
    store = OptionalStore(client, MAPS, decode, witness.callbacks)
    store.start()
    await witness.until(lambda: len(witness.troubles) >= 3)
    assert not store.is_denied
    with pytest.raises(ApiUnreachableError):
        await store.wait_settled(0)
    await store.stop()


async def test_a_fault_of_the_decoder_ends_the_task(cluster: ApiServer, held_client: KubeClient) -> None:
    put(cluster, "a", "fault")
    store = OptionalStore(held_client, MAPS, decode, Witness().callbacks)
    with pytest.raises(TypeError):
        await asyncio.wait_for(store.start(), 10)
    with pytest.raises(TypeError):
        await store.stop()
