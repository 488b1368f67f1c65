"""The eviction subresource: every row of the eviction scenarios."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, rows, text, value_at
from tests.evenkeel.simulator.api.wire import PODS, Answer, Wire, cluster, pod

pytestmark = pytest.mark.anyio
BUDGET_CAUSE = [("DisruptionBudget", "")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def seed_pod(wire: Wire, *, ready: bool = True, phase: str = "Running") -> JsonObject:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return wire.server.store.create(pod("a", node="n1") | {"status": {"phase": phase, "conditions": conditions}})


def seed_budget(wire: Wire, status: dict[str, int], name: str = "p") -> None:
    healthy = {"desiredHealthy": 2, "currentHealthy": 2, "observedGeneration": 1} | status
    metadata = {"name": name, "namespace": "default"}
    spec = {"minAvailable": 2, "selector": {"matchLabels": {"app": "a"}}}
    budget: JsonObject = {"metadata": metadata, "spec": spec, "status": healthy}
    wire.server.store.create({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"} | budget)


def budget_status(wire: Wire) -> JsonObject:
    return child(wire.server.store.read("policy/v1", "PodDisruptionBudget", "p", "default"), "status")


async def evict(wire: Wire, options: JsonObject | None = None, name: str = "a", query: str = "") -> Answer:
    body: JsonObject = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": "default"},
    }
    if options:
        body["deleteOptions"] = options
    return await wire.post(f"{PODS}/a/eviction{query}", body)


def stored_pod(wire: Wire) -> JsonObject:
    return wire.server.store.read("v1", "Pod", "a", "default")


def is_going(wire: Wire) -> bool:
    return "deletionTimestamp" in child(stored_pod(wire), "metadata")


async def test_e1_a_ready_pod_spends_the_budget_and_goes_gracefully() -> None:
    """Row resize:E1 of the scenarios."""
    async with cluster() as wire:
        seed_pod(wire)
        seed_budget(wire, {"disruptionsAllowed": 1})
        answer = await evict(wire)
        assert (answer.code, answer.body["kind"], answer.body["status"]) == (201, "Status", "Success")
        assert budget_status(wire)["disruptionsAllowed"] == 0
        assert budget_status(wire)["disruptedPods"] == {"a": "2026-01-01T00:00:00Z"}
        assert is_going(wire)
        condition = rows(stored_pod(wire), "status", "conditions")[-1]
        assert (condition["type"], condition["status"], condition["reason"]) == (
            "DisruptionTarget",
            "True",
            "EvictionByEvictionAPI",
        )


async def test_e2_a_spent_budget_refuses_without_naming_a_time() -> None:
    """Row resize:E2 of the scenarios."""
    async with cluster() as wire:
        seed_pod(wire)
        seed_budget(wire, {"disruptionsAllowed": 0})
        answer = await evict(wire)
        assert (answer.code, answer.body["reason"], answer.causes) == (429, "TooManyRequests", BUDGET_CAUSE)
        assert "retry-after" not in answer.headers
        assert not is_going(wire)


async def test_e3_a_budget_that_is_not_evaluated_yet_names_a_time() -> None:
    """Row resize:E3 of the scenarios."""
    async with cluster() as wire:
        seed_pod(wire)
        seed_budget(wire, {"disruptionsAllowed": 1, "observedGeneration": 0})
        answer = await evict(wire)
        assert (answer.code, answer.headers["retry-after"], answer.causes) == (429, "10", BUDGET_CAUSE)
        assert value_at(answer.body, "details", "retryAfterSeconds") == 10


async def test_e4_two_budgets_are_an_error_without_reason() -> None:
    """Row resize:E4 of the scenarios."""
    async with cluster() as wire:
        seed_pod(wire)
        seed_budget(wire, {"disruptionsAllowed": 1})
        seed_budget(wire, {"disruptionsAllowed": 1}, "q")
        answer = await evict(wire)
        assert (answer.code, answer.causes, "reason" in answer.body) == (500, [], False)


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
async def test_e5_a_pod_that_serves_nobody_asks_no_budget(phase: str) -> None:
    """Row resize:E5 of the scenarios."""
    async with cluster() as wire:
        seed_pod(wire, phase=phase)
        seed_budget(wire, {"disruptionsAllowed": 0})
        assert (await evict(wire)).code == 201
        assert budget_status(wire)["disruptionsAllowed"] == 0


@pytest.mark.parametrize(
    ("row", "policy", "status", "code"),
    [
        ("resize:E6", "IfHealthyBudget", {"disruptionsAllowed": 0, "currentHealthy": 2}, 201),
        ("resize:E6 without policy", "", {"disruptionsAllowed": 0, "currentHealthy": 2}, 201),
        ("resize:E6 nothing desired", "", {"disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 0}, 429),
        ("resize:E7", "IfHealthyBudget", {"disruptionsAllowed": 0, "currentHealthy": 1}, 429),
        ("resize:E8", "AlwaysAllow", {"disruptionsAllowed": 0, "currentHealthy": 1}, 201),
    ],
)
async def test_e6_to_e8_pods_that_are_not_ready(row: str, policy: str, status: dict[str, int], code: int) -> None:
    async with cluster() as wire:
        seed_pod(wire, ready=False)
        seed_budget(wire, status)
        if policy:
            budget = wire.server.store.read("policy/v1", "PodDisruptionBudget", "p", "default")
            child(budget, "spec")["unhealthyPodEvictionPolicy"] = policy
            child(budget, "status")["observedGeneration"] = 2
            wire.server.store.update(budget)
        assert (await evict(wire)).code == code, row
        assert budget_status(wire)["disruptionsAllowed"] == 0
        assert is_going(wire) is (code == 201)


@pytest.mark.parametrize(("options", "query"), [({"dryRun": ["All"]}, ""), ({}, "?dryRun=All")])
async def test_e9_a_dry_run_changes_nothing(options: JsonObject, query: str) -> None:
    """Row resize:E9 of the scenarios."""
    async with cluster() as wire:
        before = seed_pod(wire)
        seed_budget(wire, {"disruptionsAllowed": 1})
        assert (await evict(wire, options, query=query)).code == 201
        assert stored_pod(wire) == before
        assert budget_status(wire)["disruptionsAllowed"] == 1


async def test_contradicting_dry_runs_are_a_bad_request() -> None:
    async with cluster() as wire:
        seed_pod(wire)
        assert (await evict(wire, {"dryRun": ["Some"]}, query="?dryRun=All")).code == 400


async def test_e10_another_name_in_the_body_is_a_bad_request() -> None:
    """Row resize:E10 of the scenarios."""
    async with cluster() as wire:
        seed_pod(wire)
        answer = await evict(wire, name="b")
        assert (answer.code, answer.body["reason"]) == (400, "BadRequest")


async def test_e11_a_pod_that_has_gone_is_not_found() -> None:
    """Row resize:E11 of the scenarios."""
    async with cluster() as wire:
        answer = await evict(wire)
        assert (answer.code, answer.body["message"]) == (404, 'pods "a" not found')


async def test_a_failed_precondition_has_spent_the_budget() -> None:
    """in-place-resize 4: the budget is spent before the delete is tried."""
    async with cluster() as wire:
        seed_pod(wire)
        seed_budget(wire, {"disruptionsAllowed": 1})
        answer = await evict(wire, {"preconditions": {"uid": "another"}})
        assert (answer.code, answer.body["reason"]) == (409, "Conflict")
        assert (budget_status(wire)["disruptionsAllowed"], "a" in child(budget_status(wire), "disruptedPods")) == (
            0,
            True,
        )
        assert not is_going(wire)
        assert all(text(row, "type") != "DisruptionTarget" for row in rows(stored_pod(wire), "status", "conditions"))


async def test_fitting_preconditions_and_grace_are_obeyed() -> None:
    async with cluster() as wire:
        stored = seed_pod(wire)
        metadata = child(stored, "metadata")
        conditions = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        assert (await evict(wire, {"preconditions": conditions, "gracePeriodSeconds": 7})).code == 201
        assert child(stored_pod(wire), "metadata")["deletionGracePeriodSeconds"] == 7


@pytest.mark.parametrize("status", [{"disruptionsAllowed": -1}, {"disruptionsAllowed": 1, "pods": 2001}])
async def test_budgets_that_cannot_be_right_forbid(status: dict[str, int]) -> None:
    async with cluster() as wire:
        seed_pod(wire)
        seed_budget(wire, {"disruptionsAllowed": status["disruptionsAllowed"]})
        budget = wire.server.store.read("policy/v1", "PodDisruptionBudget", "p", "default")
        child(budget, "status")["disruptedPods"] = {f"p{n}": "x" for n in range(status.get("pods", 0))}
        wire.server.store.update(budget)
        answer = await evict(wire)
        assert (answer.code, answer.body["reason"]) == (403, "Forbidden")


async def test_budgets_elsewhere_or_for_others_do_not_count() -> None:
    async with cluster() as wire:
        seed_pod(wire)
        for namespace, selector in (("kube-system", {}), ("default", {"matchLabels": {"app": "b"}})):
            metadata = {"name": "p", "namespace": namespace}
            budget: JsonObject = {"metadata": metadata, "spec": {"selector": selector}}
            wire.server.store.create({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"} | budget)
        unreadable = {"matchExpressions": [{"key": "app", "operator": "Near"}]}
        broken: JsonObject = {"metadata": {"name": "q", "namespace": "default"}, "spec": {"selector": unreadable}}
        wire.server.store.create({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"} | broken)
        assert (await evict(wire)).code == 201
