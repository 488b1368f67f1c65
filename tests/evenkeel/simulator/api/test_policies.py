"""The order in which defaults, policies, webhooks and validation act on a write."""

from __future__ import annotations

import base64
import json

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, rows, text, value_at
from tests.evenkeel.simulator.api.hooks import Reply, allow, deny, hook, register, webhook
from tests.evenkeel.simulator.api.test_limits_admission import item, limit_range
from tests.evenkeel.simulator.api.test_quota_admission import seed_quota, used
from tests.evenkeel.simulator.api.wire import PODS, STRATEGIC_PATCH, Wire, cluster, container, pod

pytestmark = pytest.mark.anyio
RESIZES = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods", "pods/resize"],
    "operations": ["CREATE", "UPDATE"],
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def change(cpu: str, limit: str) -> JsonObject:
    amounts = {"requests": {"cpu": cpu}, "limits": {"cpu": limit}}
    return {"spec": {"containers": [{"name": "app", "resources": amounts}]}}


def patching(*operations: JsonObject) -> Reply:
    """Answer with a JSON patch."""

    def reply(_: JsonObject) -> JsonObject:
        patch = base64.b64encode(json.dumps(operations).encode()).decode()
        return {"allowed": True, "patchType": "JSONPatch", "patch": patch}

    return reply


async def resize(wire: Wire, cpu: str, limit: str) -> tuple[int, str]:
    answer = await wire.patch(f"{PODS}/a/resize", change(cpu, limit), STRATEGIC_PATCH)
    return answer.code, text(answer.body, "message")


async def test_validation_comes_before_limit_and_quota() -> None:
    """Spec: in-place-resize 1.3: a resize that breaks both is a 422."""
    async with cluster() as wire:
        await wire.post(PODS, pod())
        seed_quota(wire, {"requests.cpu": "1"}, {"requests.cpu": "1"})
        wire.server.store.create(limit_range(item(max={"cpu": "1"})))
        assert (await resize(wire, "5", "4"))[0] == 422
        code, message = await resize(wire, "4", "5")
        assert (code, "maximum cpu" in message) == (403, True)


async def test_the_limit_range_comes_before_validating_webhooks_and_these_before_the_quota() -> None:
    """Spec: in-place-resize 1.3."""
    async with cluster() as wire, hook(deny) as server:
        await wire.post(PODS, pod())
        seed_quota(wire, {"requests.cpu": "100m"}, {"requests.cpu": "100m"})
        wire.server.store.create(limit_range(item(max={"cpu": "1"})))
        await register(wire, webhook(server, rules=[RESIZES]), kind="Validating")
        assert (await resize(wire, "2", "2"))[0] == 403
        assert server.asked == []
        assert (await resize(wire, "500m", "1"))[0] == 418
        assert used(wire) == {"requests.cpu": "100m"}
    async with cluster() as wire, hook(allow) as server:
        await wire.post(PODS, pod())
        seed_quota(wire, {"requests.cpu": "100m"}, {"requests.cpu": "100m"})
        await register(wire, webhook(server, rules=[RESIZES]), kind="Validating")
        code, message = await resize(wire, "500m", "1")
        assert (code, "exceeded quota" in message, len(server.asked)) == (403, True, 1)


async def test_a_mutating_webhook_sees_what_the_limit_range_has_filled_in() -> None:
    """Spec: in-place-resize 1.3."""
    async with cluster() as wire, hook(allow) as server:
        wire.server.store.create(limit_range(item(default={"cpu": "1"})))
        await register(wire, webhook(server))
        await wire.post(PODS, pod("a", container()))
        seen = rows(server.asked[0], "object", "spec", "containers")[0]
        assert child(seen, "resources", "limits") == {"cpu": "1"}


async def test_what_a_webhook_takes_away_is_filled_in_again() -> None:
    async with cluster() as wire, hook(patching({"op": "remove", "path": "/spec/containers/0/resources"})) as server:
        wire.server.store.create(limit_range(item(default={"cpu": "1"})))
        await register(wire, webhook(server))
        answer = await wire.post(PODS, pod("a", container()))
        assert answer.code == 201
        resources = child(rows(answer.body, "spec", "containers")[0], "resources")
        assert child(resources, "limits") == {"cpu": "1"}


async def test_a_pod_is_charged_for_what_the_webhook_made_of_it() -> None:
    raised: JsonObject = {"op": "add", "path": "/spec/containers/0/resources/requests/cpu", "value": "150m"}
    async with cluster() as wire, hook(patching(raised)) as server:
        seed_quota(wire, {"requests.cpu": "1"}, {"requests.cpu": "0"})
        await register(wire, webhook(server))
        assert (await wire.post(PODS, pod())).code == 201
        assert used(wire) == {"requests.cpu": "150m"}


async def test_a_pod_that_is_going_is_resized_without_the_limit_range() -> None:
    async with cluster() as wire:
        going = pod(node="n1")
        child(going, "metadata").update({"deletionTimestamp": "2026-01-01T00:00:30Z", "deletionGracePeriodSeconds": 30})
        wire.server.store.create(going)
        wire.server.store.create(limit_range(item(max={"cpu": "1"})))
        assert (await resize(wire, "2", "2"))[0] == 200


async def test_a_priority_class_is_not_looked_up_on_a_resize() -> None:
    async with cluster() as wire:
        made = pod()
        child(made, "spec").update({"priorityClassName": "gone", "priority": 7})
        wire.server.store.create(made)
        assert (await resize(wire, "150m", "200m"))[0] == 200
        assert value_at(wire.server.store.read("v1", "Pod", "a", "default"), "spec", "priority") == 7
