"""Deletions over HTTP."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, text
from tests.evenkeel.simulator.api.wire import PODS, cluster, config_map, pod
from tests.evenkeel.simulator.controllers.ground import workload

pytestmark = pytest.mark.anyio
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def running(name: str = "a") -> JsonObject:
    return pod(name, node="n1") | {"status": {"phase": "Running"}}


async def test_most_objects_go_at_once_and_are_answered_with_a_success() -> None:
    async with cluster() as wire:
        created = wire.server.store.create(config_map("a"))
        answer = await wire.call("DELETE", f"{MAPS}/a")
        assert (answer.code, answer.body["status"]) == (200, "Success")
        details = {"name": "a", "kind": "configmaps", "uid": text(created, "metadata", "uid")}
        assert child(answer.body, "details") == details
        assert (await wire.call("DELETE", f"{MAPS}/a")).code == 404


@pytest.mark.parametrize(
    ("what", "stored", "query", "grace"),
    [
        ("bound and running", running(), "", 30),
        ("asked for less", running(), "?gracePeriodSeconds=5", 5),
        ("asked for none", running(), "?gracePeriodSeconds=0", None),
        ("never bound", pod(), "", None),
        ("succeeded", running() | {"status": {"phase": "Succeeded"}}, "", None),
        ("failed", running() | {"status": {"phase": "Failed"}}, "", None),
    ],
)
async def test_pods_have_grace_while_a_kubelet_runs_them(
    what: str, stored: JsonObject, query: str, grace: int | None
) -> None:
    async with cluster() as wire:
        wire.server.store.create(stored)
        answer = await wire.call("DELETE", f"{PODS}/a{query}")
        assert (answer.code, answer.body["kind"]) == (200, "Pod"), what
        left = wire.server.store.find("v1", "Pod", "a", "default")
        assert (left is None) is (grace is None), what
        if left is not None and grace is not None:
            metadata = child(left, "metadata")
            assert metadata["deletionGracePeriodSeconds"] == grace
            assert metadata["deletionTimestamp"] == f"2026-01-01T00:00:{grace:02}Z"
            assert metadata["generation"] == 2


async def test_grace_can_be_shortened_later_and_not_lengthened() -> None:
    async with cluster() as wire:
        wire.server.store.create(running())
        await wire.call("DELETE", f"{PODS}/a")
        wire.clock.advance(timedelta(seconds=5))
        for seconds, ends in ((60, "00:30"), (10, "00:10"), (20, "00:10")):
            await wire.call("DELETE", f"{PODS}/a", {"gracePeriodSeconds": seconds})
            metadata = child(wire.server.store.read("v1", "Pod", "a", "default"), "metadata")
            assert (metadata["deletionTimestamp"], metadata["generation"]) == (f"2026-01-01T00:{ends}Z", 2)
        await wire.call("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 0})
        assert wire.server.store.find("v1", "Pod", "a", "default") is None


async def test_finalizers_hold_an_object_until_they_are_gone() -> None:
    async with cluster() as wire:
        held = config_map("a")
        child(held, "metadata")["finalizers"] = ["example.dev/one", "example.dev/two"]
        wire.server.store.create(held)
        answer = await wire.call("DELETE", f"{MAPS}/a")
        assert text(answer.body, "metadata", "deletionTimestamp") == "2026-01-01T00:00:00Z"
        again = await wire.call("DELETE", f"{MAPS}/a")
        assert again.body == answer.body
        await wire.patch(f"{MAPS}/a", {"metadata": {"finalizers": ["example.dev/two"]}})
        assert (await wire.get(f"{MAPS}/a")).code == 200
        assert (await wire.patch(f"{MAPS}/a", {"metadata": {"finalizers": None}})).code == 200
        assert (await wire.get(f"{MAPS}/a")).code == 404


async def test_a_pod_with_grace_left_survives_writes_and_the_loss_of_its_finalizer() -> None:
    async with cluster() as wire:
        held = running()
        child(held, "metadata")["finalizers"] = ["example.dev/one"]
        wire.server.store.create(held)
        await wire.call("DELETE", f"{PODS}/a")
        await wire.patch(f"{PODS}/a/status", {"status": {"phase": "Running"}})
        await wire.patch(f"{PODS}/a", {"metadata": {"finalizers": None}})
        assert (await wire.get(f"{PODS}/a")).code == 200


@pytest.mark.parametrize(("field", "code"), [("uid", 200), ("resourceVersion", 200), ("", 409)])
async def test_preconditions_name_the_object_and_its_version(field: str, code: int) -> None:
    async with cluster() as wire:
        metadata = child(wire.server.store.create(config_map("a")), "metadata")
        conditions = {field: metadata[field]} if field else {"uid": metadata["uid"], "resourceVersion": "1"}
        answer = await wire.call(
            "DELETE", f"{MAPS}/a", {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": conditions}
        )
        assert answer.code == code
        assert (await wire.get(f"{MAPS}/a")).code == (404 if code == 200 else 200)


async def test_options_of_another_kind_are_a_bad_request() -> None:
    async with cluster() as wire:
        wire.server.store.create(config_map("a"))
        assert (await wire.call("DELETE", f"{MAPS}/a", {"kind": "Pod"})).code == 400


async def test_a_collection_is_deleted_by_selector() -> None:
    async with cluster() as wire:
        for name in ("a", "b", "c"):
            wire.server.store.create(pod(name))
        wire.server.store.create(pod("a", namespace="kube-system"))
        answer = await wire.call("DELETE", f"{PODS}?labelSelector=app+in+(a,b)")
        assert (answer.code, answer.body["kind"], answer.items) == (200, "PodList", ["a", "b"])
        assert (await wire.get("/api/v1/pods")).items == ["c", "a"]


async def test_a_namespace_takes_its_content_with_it() -> None:
    async with cluster() as wire:
        wire.server.create_namespaces("team")
        wire.server.store.create(config_map("a", "team"))
        wire.server.store.create(pod("a", namespace="team", node="n1"))
        wire.server.store.create(config_map("a"))
        assert (await wire.call("DELETE", "/api/v1/namespaces/team")).code == 200
        assert (await wire.get("/api/v1/pods")).items == []
        assert (await wire.get("/api/v1/configmaps")).items == ["a"]
        assert (await wire.get("/api/v1/namespaces/team")).code == 404


@pytest.mark.parametrize(
    ("row", "query", "body", "finalizers"),
    [
        ("usual", "", None, None),
        ("in the body", "", {"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
        ("in the query", "?propagationPolicy=Orphan", None, ["orphan"]),
        ("in words of old", "?orphanDependents=true", None, ["orphan"]),
        ("the body goes before the query", "?propagationPolicy=Orphan", {"propagationPolicy": "Background"}, None),
    ],
)
async def test_a_propagation_holds_an_object_until_it_is_carried_out(
    row: str, query: str, body: JsonObject | None, finalizers: list[str] | None
) -> None:
    async with cluster() as wire:
        wire.server.store.create(config_map("a"))
        answer = await wire.call("DELETE", f"{MAPS}/a{query}", body)
        left = wire.server.store.find("v1", "ConfigMap", "a", "default")
        assert (left is None) is (finalizers is None), row
        assert answer.body["kind"] == ("Status" if left is None else "ConfigMap")
        if left is not None:
            metadata = child(left, "metadata")
            assert (metadata["finalizers"], metadata["deletionGracePeriodSeconds"]) == (finalizers, 0)


async def test_a_propagation_may_be_changed_while_it_holds() -> None:
    async with cluster() as wire:
        wire.server.store.create(running())
        for policy, finalizers in (("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"])):
            wire.clock.advance(timedelta(seconds=1))
            await wire.call("DELETE", f"{PODS}/a", {"propagationPolicy": policy, "gracePeriodSeconds": 60})
            metadata = child(wire.server.store.read("v1", "Pod", "a", "default"), "metadata")
            assert (metadata["finalizers"], metadata["deletionGracePeriodSeconds"]) == (finalizers, 60)
            assert metadata["deletionTimestamp"] == "2026-01-01T00:01:01Z", "grace begins but once"
            assert metadata["generation"] == 2
        await wire.call("DELETE", f"{PODS}/a", {"propagationPolicy": "Background", "gracePeriodSeconds": 0})
        assert wire.server.store.find("v1", "Pod", "a", "default") is None


@pytest.mark.parametrize("query", ["?propagationPolicy=Sideways", "?propagationPolicy=Orphan&orphanDependents=true"])
async def test_a_propagation_that_there_is_not(query: str) -> None:
    async with cluster() as wire:
        wire.server.store.create(config_map("a"))
        answer = await wire.call("DELETE", f"{MAPS}/a{query}")
        assert (answer.code, answer.causes[0][1]) == (422, "propagationPolicy")
        assert wire.server.store.find("v1", "ConfigMap", "a", "default") is not None


@pytest.mark.parametrize(
    ("kind", "path", "finalizers"),
    [
        ("Job", "/apis/batch/v1/namespaces/default/jobs", ["orphan"]),
        ("ReplicationController", "/api/v1/namespaces/default/replicationcontrollers", ["orphan"]),
        ("Deployment", "/apis/apps/v1/namespaces/default/deployments", None),
    ],
)
async def test_kinds_older_than_garbage_collection_leave_their_pods(
    kind: str, path: str, finalizers: list[str] | None
) -> None:
    async with cluster() as wire:
        made = wire.server.store.create(workload(kind))
        await wire.call("DELETE", f"{path}/web")
        left = wire.server.store.find(text(made, "apiVersion"), kind, "web", "default")
        assert (child(left, "metadata")["finalizers"] if left else None) == finalizers
