"""Scale and binding over HTTP."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, rows, value_at
from tests.evenkeel.simulator.api.wire import JSON_PATCH, MERGE_PATCH, PODS, Wire, cluster, pod

pytestmark = pytest.mark.anyio
SCALE = "/apis/apps/v1/namespaces/default/deployments/web/scale"
CONTROLLER_SCALE = "/api/v1/namespaces/default/replicationcontrollers/rc/scale"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def seed(wire: Wire) -> JsonObject:
    expressions = [
        {"key": "tier", "operator": "In", "values": ["b", "a"]},
        {"key": "old", "operator": "DoesNotExist"},
        {"key": "new", "operator": "Exists"},
        {"key": "zone", "operator": "NotIn", "values": ["z"]},
    ]
    selector = {"matchLabels": {"x": "y", "app": "web"}, "matchExpressions": expressions}
    metadata = {"namespace": "default"}
    controller: JsonObject = {"spec": {"replicas": 1, "selector": {"app": "rc"}}, "metadata": {"name": "rc"} | metadata}
    wire.server.store.create({"apiVersion": "v1", "kind": "ReplicationController"} | controller)
    deployment: JsonObject = {"metadata": {"name": "web"} | metadata, "spec": {"replicas": 2, "selector": selector}}
    return wire.server.store.create(
        {"apiVersion": "apps/v1", "kind": "Deployment", "status": {"replicas": 1}} | deployment
    )


async def test_a_scale_shows_replicas_and_selector() -> None:
    async with cluster() as wire:
        stored = seed(wire)
        body = (await wire.get(SCALE)).body
        assert (body["kind"], body["apiVersion"]) == ("Scale", "autoscaling/v1")
        assert (body["spec"], child(body, "metadata")["uid"]) == ({"replicas": 2}, child(stored, "metadata")["uid"])
        assert body["status"] == {"replicas": 1, "selector": "app=web,x=y,tier in (a,b),!old,new,zone notin (z)"}
        assert value_at((await wire.get(CONTROLLER_SCALE)).body, "status", "selector") == "app=rc"


@pytest.mark.parametrize(
    ("patch", "content_type"),
    [({"spec": {"replicas": 5}}, MERGE_PATCH), ([{"op": "replace", "path": "/spec/replicas", "value": 5}], JSON_PATCH)],
)
async def test_a_scale_is_patched(patch: object, content_type: str) -> None:
    async with cluster() as wire:
        seed(wire)
        answer = await wire.patch(SCALE, patch, content_type)
        assert (answer.code, answer.body["spec"]) == (200, {"replicas": 5})
        stored = wire.server.store.read("apps/v1", "Deployment", "web", "default")
        assert (value_at(stored, "spec", "replicas"), child(stored, "metadata")["generation"]) == (5, 2)


async def test_a_scale_is_replaced_under_optimistic_concurrency() -> None:
    async with cluster() as wire:
        seed(wire)
        scale = (await wire.get(SCALE)).body
        assert (await wire.call("PUT", SCALE, scale | {"spec": {"replicas": 0}})).body["spec"] == {"replicas": 0}
        assert (await wire.call("PUT", SCALE, scale | {"spec": {"replicas": 3}})).code == 409


@pytest.mark.parametrize("replicas", [-1, "many", None, True])
async def test_replicas_are_whole_numbers(replicas: object) -> None:
    async with cluster() as wire:
        seed(wire)
        answer = await wire.call("PUT", SCALE, {"spec": {"replicas": replicas}})
        assert (answer.code, answer.causes) == (422, [("FieldValueInvalid", "spec.replicas")])


async def test_daemon_sets_have_no_scale_and_missing_workloads_neither() -> None:
    async with cluster() as wire:
        assert (await wire.get("/apis/apps/v1/namespaces/default/daemonsets/x/scale")).code == 404
        assert (await wire.get(SCALE)).code == 404
        assert (await wire.patch(SCALE, {"spec": {"replicas": 1}})).code == 404


async def test_a_binding_puts_a_pod_on_a_node_once() -> None:
    async with cluster() as wire:
        await wire.post(PODS, pod())
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "a"},
            "target": {"kind": "Node", "name": "n1"},
        }
        assert (await wire.post(f"{PODS}/a/binding", {"target": {}})).code == 400
        answer = await wire.post(f"{PODS}/a/binding", binding)
        assert (answer.code, answer.body["status"]) == (201, "Success")
        bound = (await wire.get(f"{PODS}/a")).body
        assert value_at(bound, "spec", "nodeName") == "n1"
        assert value_at(bound, "metadata", "generation") == 1
        assert [(row["type"], row["status"]) for row in rows(bound, "status", "conditions")] == [
            ("PodScheduled", "True")
        ]
        assert (await wire.post(f"{PODS}/a/binding", binding)).code == 409
        assert (await wire.post(f"{PODS}/b/binding", binding)).code == 404


async def test_a_pod_that_is_going_away_is_not_bound() -> None:
    async with cluster() as wire:
        going = pod()
        child(going, "metadata")["deletionTimestamp"] = "2026-01-01T00:00:30Z"
        wire.server.store.create(going)
        assert (await wire.post(f"{PODS}/a/binding", {"target": {"name": "n1"}})).code == 409
