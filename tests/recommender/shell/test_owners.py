"""Owners of pods that become known, change, or have to be looked up: whole rounds (spec: beyond:B-3)."""

from __future__ import annotations

import pytest

from autoscaling.behaviour import Profile
from evenkeel.simulator.api.server import ApiServer
from recommender.shell.loop import Loop
from tests.embedded import Json, api_server, deploy, owner, pod_object, scalable_definition, vpa_object
from tests.recommender.shell.stage import conditions, recommender, run_at, status, target, until, used

pytestmark = pytest.mark.anyio
GROUP = "shops.example.com"
SHOP = {"apiVersion": f"{GROUP}/v1", "kind": "Shop", "name": "web"}
FOUND = {"cpu": "126m", "memory": "380258472"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def server() -> ApiServer:
    return api_server()


def workload(kind: str, name: str, *owners: Json, labels: Json | None = None) -> Json:
    chosen = labels or {"app": "web"}
    template = {"metadata": {"labels": chosen}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
    metadata = {"name": name, "namespace": "default", "ownerReferences": list(owners)}
    spec = {"replicas": 1, "selector": {"matchLabels": chosen}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


async def known(loop: Loop, kind: str, count: int) -> None:
    """Wait until so many workloads of a kind are known."""
    store = loop.parts.caches.controllers.stores[kind]
    await until(lambda: len(store.items()) == count)


async def test_a_pod_counts_once_its_deployment_is_known(server: ApiServer) -> None:
    server.store.create(workload("ReplicaSet", "web-rs", owner("Deployment", "web")))
    server.store.create(pod_object("web-0", "web"))
    server.store.create(vpa_object())
    used(server, 1)
    async with recommender(server) as loop:
        await run_at(loop, 1)
        assert (target(server), loop.model.vpas["default", "web"].pod_count) == (None, 0)
        server.store.create(workload("Deployment", "web"))
        await known(loop, "Deployment", 1)
        await run_at(loop, 2)
        assert target(server) == FOUND, "the sample of the first round is not lost"
        assert loop.model.vpas["default", "web"].pod_count == 1


async def test_rollouts_and_new_labels_leave_the_history_as_it_is(server: ApiServer) -> None:
    deploy(server)
    server.store.create(vpa_object())
    used(server, 1)
    async with recommender(server) as loop:
        await run_at(loop, 1)
        server.store.create(workload("ReplicaSet", "web-2", owner("Deployment", "web")))
        renewed = pod_object("web-9", "web")
        assert isinstance(renewed["metadata"], dict)
        renewed["metadata"] |= {
            "labels": {"app": "web", "pod-template-hash": "2", "release": "2"},
            "ownerReferences": [owner("ReplicaSet", "web-2")],
        }
        server.store.delete("v1", "Pod", "web-0", "default")
        server.store.create(renewed)
        pods = loop.parts.caches.pods
        await known(loop, "ReplicaSet", 2)
        await until(lambda: [key[1] for key in pods.items()] == ["web-9"])
        await run_at(loop, 2)
        await run_at(loop, 3)
        tracked = loop.model.vpas["default", "web"]
        assert (tracked.pod_count, len(tracked.linked["main"]), loop.model.aggregate_count) == (1, 1, 1)
    assert target(server) == FOUND


@pytest.mark.parametrize(
    ("row", "profile", "pods"),
    [("case:23 bare", Profile.EVENKEEL, 0), ("recommender:3.2", Profile.UPSTREAM, 1)],
)
async def test_a_pod_without_a_controller(server: ApiServer, row: str, profile: Profile, pods: int) -> None:
    """No other process acts on such a pod, so the recommender does not learn from it either."""
    server.store.create(workload("Deployment", "web"))
    bare = pod_object("web-0", "web")
    assert isinstance(bare["metadata"], dict)
    del bare["metadata"]["ownerReferences"]
    server.store.create(bare)
    server.store.create(vpa_object())
    async with recommender(server, profile=profile) as loop:
        await run_at(loop, 1)
        assert loop.model.vpas["default", "web"].pod_count == pods, row


def custom_kind(server: ApiServer) -> None:
    """Define a kind with a scale, and create one that selects some of its pods."""
    server.store.create(scalable_definition(GROUP, "Shop", "shops"))
    server.store.create(
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Shop",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 1},
            "status": {"replicas": 1, "selector": "app=front"},
        }
    )


async def test_pods_of_a_custom_kind_are_told_by_its_scale(server: ApiServer) -> None:
    """Spec: beyond:B-3: the Deployments below do not count, and of the pods only those that the scale selects."""
    custom_kind(server)
    above = {**SHOP, "uid": "s", "controller": True}
    for app in ("front", "back"):
        server.store.create(workload("Deployment", app, above, labels={"app": app}))
        server.store.create(workload("ReplicaSet", f"{app}-rs", owner("Deployment", app), labels={"app": app}))
        server.store.create(pod_object(f"{app}-0", app))
        used(server, 1, memory="300Mi" if app == "front" else "3000Mi", pod=f"{app}-0")
    server.store.create(vpa_object(targetRef=SHOP))
    async with recommender(server) as loop:
        await run_at(loop, 1)
        assert loop.model.vpas["default", "web"].pod_count == 1
    assert (target(server), conditions(server)["RecommendationProvided"]) == (FOUND, "True"), status(server)
