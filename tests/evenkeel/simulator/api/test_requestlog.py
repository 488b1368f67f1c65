"""The log of requests."""

from __future__ import annotations

import asyncio

import pytest

from evenkeel.simulator.clock import EPOCH
from tests.evenkeel.simulator.api.wire import PODS, STRATEGIC_PATCH, cluster, pod

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_every_call_is_recorded_with_its_outcome() -> None:
    async with cluster() as wire:
        await wire.post(PODS, pod())
        await wire.patch(f"{PODS}/a/resize?fieldManager=me", {"spec": {}}, STRATEGIC_PATCH)
        await wire.get(f"{PODS}/b")
        await wire.get("/version")
        async with wire.watch(PODS):
            pass
        log = wire.server.requests
        shown = [(call.verb, call.resource, call.path, call.status) for call in log.entries]
        assert shown == [
            ("create", "pods", PODS, 201),
            ("patch", "pods/resize", f"{PODS}/a/resize", 200),
            ("get", "pods", f"{PODS}/b", 404),
            ("get", "", "/version", 200),
            ("watch", "pods", PODS, 200),
        ]
        patch = log.calls("patch")[0]
        assert (patch.query, patch.content_type, patch.json) == ({"fieldManager": "me"}, STRATEGIC_PATCH, {"spec": {}})
        assert (patch.user, patch.at) == ("kubernetes-admin", EPOCH)
        assert log.calls("get", path="/version$")[0].json is None
        assert [call.verb for call in log.calls(resource="pods")] == ["create", "get", "watch"]
        assert log.total["get", "pods"] == 1
        log.clear()
        assert (log.calls(), log.total["get", "pods"]) == ([], 0)


async def test_a_test_can_wait_for_calls() -> None:
    async with cluster() as wire:
        log = wire.server.requests
        waiting = asyncio.ensure_future(log.until(lambda seen: len(seen.calls("list")) == 2))
        await wire.get(PODS)
        assert not waiting.done()
        await wire.get(PODS)
        await asyncio.wait_for(waiting, 10)
        with pytest.raises(TimeoutError):
            await log.until(lambda seen: bool(seen.calls("delete")), timeout_seconds=0.01)
