"""The cache of controllers against the embedded API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from autoscaling.errors import ApiError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.controllers import ControllerCache
from autoscaling.matching import EVERYTHING, of_labels
from autoscaling.ownership import ControllerKey, OwnerNotCachedError
from autoscaling.targets import KnownControllers
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.faults import Fault, Refuse
from tests.embedded import deploy

pytestmark = pytest.mark.anyio
REPLICA_SET = ControllerKey("default", "ReplicaSet", "web-rs", "apps/v1")
DEPLOYMENT = ControllerKey("default", "Deployment", "web", "apps/v1")
CUSTOM = ControllerKey("default", "Rollout", "r", "apps/v1")


@pytest.fixture
async def cache(cluster: ApiServer, held_client: KubeClient) -> AsyncIterator[ControllerCache]:
    deploy(cluster)
    made = ControllerCache(held_client)
    made.start()
    await made.wait_synced(10)
    yield made
    await made.stop()


async def test_all_kinds_are_kept_and_climbed(cache: ControllerCache) -> None:
    assert cache.is_synced
    assert sorted(w.kind for w in cache.workloads()) == ["Deployment", "ReplicaSet"]
    known = cache.known()
    assert known.topmost(REPLICA_SET) == DEPLOYMENT
    assert known.selector(DEPLOYMENT) == of_labels({"app": "web"})
    assert set(known.workloads) == {("default", "Deployment", "web"), ("default", "ReplicaSet", "web-rs")}
    assert len(known.workloads) == 2
    assert known.workloads.get(("default", "Oddity", "x")) is None


async def test_a_scale_is_looked_up_once_it_is_asked_for(cluster: ApiServer, cache: ControllerCache) -> None:
    def climb(known: KnownControllers) -> ControllerKey | None:
        return known.topmost(CUSTOM)

    with pytest.raises(OwnerNotCachedError):
        climb(cache.known())
    # There is no such kind, and that is an answer: the climb ends with an error that names it.
    with pytest.raises(Exception, match="no kind Rollout"):
        await cache.settled(climb)
    before = len(cluster.requests.calls(path="/apis/apps$"))
    with pytest.raises(Exception, match="no kind Rollout"):
        await cache.settled(climb)
    assert len(cluster.requests.calls(path="/apis/apps$")) == before


async def test_a_scale_can_be_looked_up_in_the_background(cluster: ApiServer, cache: ControllerCache) -> None:
    cache.look_up_later(CUSTOM)
    cache.look_up_later(CUSTOM)
    async with asyncio.timeout(10):
        while CUSTOM not in cache.known().scales:  # noqa: ASYNC110 the answer makes no event
            await asyncio.sleep(0)
    assert len(cluster.requests.calls(path="/apis/apps$")) == 1


async def test_a_scale_that_several_wait_for_is_asked_for_once(cluster: ApiServer, cache: ControllerCache) -> None:
    """Spec: admission:13 (20); it is asked for to the end although one of them gives up."""
    hasty, *patient = [asyncio.create_task(cache.look_up(CUSTOM)) for _ in range(3)]
    await asyncio.sleep(0)
    hasty.cancel()
    await asyncio.gather(*patient)
    assert hasty.cancelled()
    assert cache.known().scales[CUSTOM].failure
    assert len(cluster.requests.calls(path="/apis/apps$")) == 1


async def test_a_kind_that_may_not_be_listed_is_named(cluster: ApiServer, held_client: KubeClient) -> None:
    cluster.faults.add(Fault(Refuse(403), verb="list", path="/statefulsets$"))
    cache = ControllerCache(held_client)
    cache.start()
    try:
        with pytest.raises(ApiError, match="statefulsets"):
            await cache.wait_synced(0.5)
        assert not cache.is_synced
    finally:
        await cache.stop()


async def test_pods_of_jobs_may_be_told_by_their_owners(cluster: ApiServer, held_client: KubeClient) -> None:
    """Spec: beyond:B-19, case:22."""
    template = {"spec": {"containers": [{"name": "main", "image": "i"}], "restartPolicy": "Never"}}
    spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}
    metadata = {"name": "nightly", "namespace": "default"}
    cluster.store.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec})
    cache = ControllerCache(held_client, runs_match_by_owner=True)
    cache.start()
    await cache.wait_synced(10)
    assert cache.known().selector(ControllerKey("default", "CronJob", "nightly", "batch/v1")) is EVERYTHING
    await cache.stop()
