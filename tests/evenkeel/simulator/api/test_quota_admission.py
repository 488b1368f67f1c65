"""ResourceQuotas at admission: what is charged, what is refused."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, text
from tests.evenkeel.simulator.api.wire import PODS, STRATEGIC_PATCH, Answer, Wire, cluster, config_map, container, pod

pytestmark = pytest.mark.anyio
CRITICAL = "system-node-critical"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def seed_quota(
    wire: Wire, hard: JsonObject, used: JsonObject, name: str = "q", scopes: JsonObject | None = None
) -> None:
    metadata: JsonObject = {"name": name, "namespace": "default"}
    quota: JsonObject = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata}
    wire.server.store.create(quota | {"spec": {"hard": hard} | (scopes or {}), "status": {"hard": hard, "used": used}})


def class_scope(operator: str) -> JsonObject:
    values = [CRITICAL] if operator in {"In", "NotIn"} else []
    expression = {"scopeName": "PriorityClass", "operator": operator, "values": values}
    return {"scopeSelector": {"matchExpressions": [expression]}}


def used(wire: Wire, name: str = "q") -> JsonObject:
    return child(wire.server.store.read("v1", "ResourceQuota", name, "default"), "status", "used")


async def create(wire: Wire, name: str = "a", cpu: str = "500m", query: str = "") -> Answer:
    return await wire.post(PODS + query, pod(name, container(requests={"cpu": cpu}, limits={"cpu": "2"})))


async def resize(wire: Wire, cpu: str, query: str = "") -> Answer:
    change = {"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": cpu}}}]}}
    return await wire.patch(f"{PODS}/a/resize{query}", change, STRATEGIC_PATCH)


def report(wire: Wire, cpu: str, reason: str = "") -> None:
    """What the kubelet would say of the pod: its actual cpu, and a pending resize."""
    conditions = [{"type": "PodResizePending", "status": "True", "reason": reason}] if reason else []
    shown = {"resources": {"requests": {"cpu": cpu}}, "allocatedResources": {"cpu": cpu}}
    statuses = [{"name": "app", "state": {"running": {}}} | shown]
    status = {"phase": "Running", "containerStatuses": statuses, "conditions": conditions}
    metadata = {"name": "a", "namespace": "default"}
    wire.server.store.merge({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status})


async def test_r42_a_resize_beyond_the_quota_is_forbidden() -> None:
    """Row resize:R42 of the scenarios."""
    async with cluster() as wire:
        await create(wire)
        seed_quota(wire, {"requests.cpu": "1"}, {"requests.cpu": "900m"})
        answer = await resize(wire, "1")
        assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
        expected = "exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=900m, limited: requests.cpu=1"
        assert expected in text(answer.body, "message")
        assert used(wire) == {"requests.cpu": "900m"}
        pod_now = wire.server.store.read("v1", "Pod", "a", "default")
        assert child(pod_now, "metadata")["generation"] == 1


async def test_r43_an_infeasible_pod_passes_any_quota() -> None:
    """Row resize:R43 of the scenarios."""
    async with cluster() as wire:
        await create(wire)
        seed_quota(wire, {"requests.cpu": "1"}, {"requests.cpu": "900m"})
        report(wire, "500m", "Infeasible")
        assert (await resize(wire, "1")).code == 200
        assert used(wire) == {"requests.cpu": "900m"}


@pytest.mark.parametrize(
    ("row", "wanted", "code", "left"),
    [
        ("exactly what is left", "600m", 200, "1"),
        ("one thousandth too much", "601m", 403, "900m"),
        ("less than before is given back later", "100m", 200, "900m"),
        ("nothing changes", "500m", 200, "900m"),
    ],
)
async def test_a_resize_is_charged_with_what_it_adds(row: str, wanted: str, code: int, left: str) -> None:
    """Spec: in-place-resize 1.6."""
    async with cluster() as wire:
        await create(wire)
        seed_quota(wire, {"requests.cpu": "1"}, {"requests.cpu": "900m"})
        assert (await resize(wire, wanted)).code == code, row
        assert used(wire) == {"requests.cpu": left}, row


async def test_what_is_still_actual_counts_until_the_status_shows_less() -> None:
    async with cluster() as wire:
        await create(wire)
        seed_quota(wire, {"requests.cpu": "1"}, {"requests.cpu": "500m"})
        report(wire, "500m")
        assert (await resize(wire, "200m")).code == 200
        assert (await resize(wire, "400m")).code == 200
        assert used(wire) == {"requests.cpu": "500m"}


@pytest.mark.parametrize(
    ("row", "hard", "before", "code", "after"),
    [
        (
            "cpu under both names",
            {"cpu": "1", "requests.cpu": "1"},
            {"cpu": "0", "requests.cpu": "0"},
            201,
            {"cpu": "500m", "requests.cpu": "500m"},
        ),
        ("limits", {"limits.cpu": "3"}, {"limits.cpu": "1"}, 201, {"limits.cpu": "3"}),
        ("limits exceeded", {"limits.cpu": "3"}, {"limits.cpu": "1100m"}, 403, {"limits.cpu": "1100m"}),
        ("pods", {"pods": "1"}, {"pods": "0"}, 201, {"pods": "1"}),
        ("pods exceeded", {"pods": "1"}, {"pods": "1"}, 403, {"pods": "1"}),
        ("counted by kind", {"count/pods": "3"}, {"count/pods": "2"}, 201, {"count/pods": "3"}),
        ("something that pods do not use", {"services": "0"}, {"services": "0"}, 201, {"services": "0"}),
        ("use that is not known yet", {"pods": "5"}, {}, 403, {}),
        (
            "what a quota counts must be set",
            {"limits.memory": "1Gi"},
            {"limits.memory": "0"},
            403,
            {"limits.memory": "0"},
        ),
    ],
)
async def test_a_new_pod_is_charged(
    row: str, hard: JsonObject, before: JsonObject, code: int, after: JsonObject
) -> None:
    async with cluster() as wire:
        seed_quota(wire, hard, before)
        assert (await create(wire)).code == code, row
        assert used(wire) == after, row


async def test_the_containers_that_leave_something_open_are_named() -> None:
    async with cluster() as wire:
        seed_quota(wire, {"limits.memory": "1Gi", "memory": "1Gi"}, {"limits.memory": "0", "memory": "0"})
        message = text((await create(wire)).body, "message")
        assert "must specify limits.memory for: app; memory for: app" in message


async def test_every_quota_must_have_room_and_none_is_charged_otherwise() -> None:
    async with cluster() as wire:
        seed_quota(wire, {"pods": "5"}, {"pods": "0"}, "large")
        seed_quota(wire, {"pods": "0"}, {"pods": "0"}, "small")
        assert (await create(wire)).code == 403
        assert used(wire, "large") == {"pods": "0"}


async def test_a_quota_without_status_does_not_hold_yet() -> None:
    async with cluster() as wire:
        seed_quota(wire, {"pods": "0"}, {})
        wire.server.store.merge(
            {
                "apiVersion": "v1",
                "kind": "ResourceQuota",
                "metadata": {"name": "q", "namespace": "default"},
                "status": None,
            }
        )
        assert (await create(wire)).code == 201


async def test_a_dry_run_is_checked_and_not_charged() -> None:
    async with cluster() as wire:
        seed_quota(wire, {"pods": "1"}, {"pods": "0"})
        assert (await create(wire, query="?dryRun=All")).code == 201
        assert used(wire) == {"pods": "0"}
        await create(wire)
        assert (await create(wire, "b", query="?dryRun=All")).code == 403


async def test_only_the_main_resource_and_resizes_are_charged() -> None:
    async with cluster() as wire:
        await create(wire)
        seed_quota(wire, {"pods": "1"}, {"pods": "1"})
        assert (await wire.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "y"}}})).code == 200
        assert (await wire.patch(f"{PODS}/a/status", {"status": {"phase": "Running"}})).code == 200


async def test_objects_of_other_kinds_are_counted_too() -> None:
    async with cluster() as wire:
        seed_quota(wire, {"configmaps": "1", "count/configmaps": "1"}, {"configmaps": "0", "count/configmaps": "0"})
        path = "/api/v1/namespaces/default/configmaps"
        assert (await wire.post(path, config_map("one"))).code == 201
        assert used(wire) == {"configmaps": "1", "count/configmaps": "1"}
        assert (await wire.post(path, config_map("two"))).code == 403


@pytest.mark.parametrize(
    ("row", "spec", "parts", "counted"),
    [
        ("with a deadline", {"scopes": ["Terminating"]}, {"activeDeadlineSeconds": 5}, True),
        ("without a deadline", {"scopes": ["Terminating"]}, {}, False),
        ("not terminating", {"scopes": ["NotTerminating"]}, {}, True),
        ("best effort", {"scopes": ["BestEffort"]}, {}, False),
        ("not best effort", {"scopes": ["NotBestEffort"]}, {}, True),
        ("all scopes must hold", {"scopes": ["NotBestEffort", "Terminating"]}, {}, False),
        ("an unknown scope", {"scopes": ["CrossNamespacePodAffinity"]}, {}, False),
        ("priority class in", class_scope("In"), {"priorityClassName": CRITICAL}, True),
        ("priority class not in", class_scope("NotIn"), {}, True),
        ("priority class exists", class_scope("Exists"), {}, False),
        ("no priority class", class_scope("DoesNotExist"), {}, True),
    ],
)
async def test_scopes(row: str, spec: JsonObject, parts: JsonObject, counted: bool) -> None:
    async with cluster() as wire:
        seed_quota(wire, {"pods": "5"}, {"pods": "0"}, scopes=spec)
        made = pod()
        child(made, "spec").update(parts)
        assert (await wire.post(PODS, made)).code == 201, row
        assert used(wire) == {"pods": "1" if counted else "0"}, row


async def test_a_scoped_quota_counts_pods_only() -> None:
    async with cluster() as wire:
        seed_quota(wire, {"configmaps": "5"}, {"configmaps": "0"}, scopes={"scopes": ["NotTerminating"]})
        assert (await wire.post("/api/v1/namespaces/default/configmaps", config_map("one"))).code == 201
        assert used(wire) == {"configmaps": "0"}
