"""PriorityClasses at admission."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, text
from tests.evenkeel.simulator.api.wire import PODS, Wire, cluster, pod

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def seed_class(wire: Wire, name: str, value: int, **parts: object) -> None:
    head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
    wire.server.store.create(head | parts)


async def created(wire: Wire, name: str = "a", **spec: object) -> tuple[int, JsonObject]:
    made = pod(name)
    child(made, "spec").update(spec)
    answer = await wire.post(PODS, made)
    return answer.code, child(answer.body, "spec")


@pytest.mark.parametrize(
    ("row", "name", "priority"),
    [
        ("own class", "important", 1000),
        ("for the cluster", "system-cluster-critical", 2_000_000_000),
        ("for nodes", "system-node-critical", 2_000_001_000),
        ("no class", "", 0),
    ],
)
async def test_a_pod_gets_the_priority_of_its_class(row: str, name: str, priority: int) -> None:
    async with cluster() as wire:
        seed_class(wire, "important", 1000)
        code, spec = await created(wire, **({"priorityClassName": name} if name else {}))
        assert (code, spec["priority"]) == (201, priority), row


async def test_a_pod_without_a_class_gets_the_lowest_default() -> None:
    async with cluster() as wire:
        seed_class(wire, "high", 20, globalDefault=True)
        seed_class(wire, "low", 10, globalDefault=True, preemptionPolicy="Never")
        seed_class(wire, "none", 5)
        _, spec = await created(wire)
        assert (spec["priorityClassName"], spec["priority"], spec["preemptionPolicy"]) == ("low", 10, "Never")


async def test_a_class_that_does_not_exist_is_forbidden() -> None:
    async with cluster() as wire:
        answer = await wire.post(PODS, pod() | {"spec": child(pod(), "spec") | {"priorityClassName": "absent"}})
        assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
        assert "'absent'" in text(answer.body, "message")
