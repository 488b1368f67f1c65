"""Rounds over pods that a disruption budget protects, against the embedded API server."""

from __future__ import annotations

import pytest

from autoscaling.behaviour import Profile
from evenkeel.simulator.api.server import ApiServer
from tests.embedded import Json, api_server, deploy, node_object, recommended_status, vpa_object
from tests.updater.shell.stage import updater

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def budget(name: str, allowed: int) -> Json:
    """Return a disruption budget over the pods of Deployment ``web``."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default", "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 1},
        "status": {"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 2},
    }


def evictable(*budgets: Json) -> ApiServer:
    """Return a cluster of one pod that is to be evicted, and these budgets."""
    server = api_server()
    deploy(server)
    server.store.create(node_object())
    policy = {"updateMode": "Recreate", "minReplicas": 1}
    server.store.create(vpa_object(status=recommended_status("400m", "100Mi"), updatePolicy=policy))
    for each in budgets:
        server.store.create(each)
    return server


@pytest.mark.parametrize(
    ("row", "budgets", "calls"),
    [
        ("beyond:B-43", (), [201]),
        ("beyond:B-43", (budget("one", 1),), [201]),
        ("beyond:B-43", (budget("one", 0),), []),
        ("beyond:B-43", (budget("one", 1), budget("two", 1)), []),
    ],
)
async def test_what_a_budget_protects_is_not_even_tried(row: str, budgets: tuple[Json, ...], calls: list[int]) -> None:
    server = evictable(*budgets)
    async with updater(server, Profile.EVENKEEL, looks_around=True) as loop:
        await loop.run_round()
    assert [call.status for call in server.requests.calls(path="/eviction$")] == calls, row


async def test_profile_upstream_leaves_it_to_the_api() -> None:
    server = evictable(budget("one", 0))
    async with updater(server, Profile.UPSTREAM, looks_around=True) as loop:
        await loop.run_round()
    assert [call.status for call in server.requests.calls(path="/eviction$")] == [429], "updater:R-7"
