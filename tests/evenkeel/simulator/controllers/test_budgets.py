"""Disruption budgets: the controller's status, and the eviction scenarios on top of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, ensure, rows, text, value_at
from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.controllers.pod_state import is_going, is_ready
from tests.evenkeel.simulator.api.wire import PODS, Answer, Wire, cluster, container, definition
from tests.evenkeel.simulator.controllers.ground import MINUTE, SECOND, Ground, budget, counts, template, workload

pytestmark = pytest.mark.anyio
NUMBERS = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
BUDGET_CAUSE = [("DisruptionBudget", "")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def status(ground: Ground) -> JsonObject:
    return child(ground.read("PodDisruptionBudget", "p"), "status")


def verdict(ground: Ground) -> tuple[str, str]:
    condition = rows(ground.read("PodDisruptionBudget", "p"), "status", "conditions")[0]
    return text(condition, "status"), text(condition, "reason")


def grounded(spec: JsonObject, kind: str = "Deployment", replicas: int = 4) -> Ground:
    ground = Ground()
    ground.create(budget(**spec))
    ground.create(workload(kind, replicas=replicas))
    ground.run()
    return ground


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "ReplicationController", "StatefulSet"])
@pytest.mark.parametrize(
    ("row", "spec", "numbers"),
    [
        ("a number", {"minAvailable": 3}, (4, 3, 4, 1)),
        ("a share", {"minAvailable": "51%"}, (4, 3, 4, 1)),
        ("a number missing", {"maxUnavailable": 1}, (4, 3, 4, 1)),
        ("a share missing", {"maxUnavailable": "30%"}, (4, 2, 4, 2)),
        ("none may go", {"maxUnavailable": 0}, (4, 4, 4, 0)),
    ],
)
def test_numbers(row: str, kind: str, spec: JsonObject, numbers: tuple[int, ...]) -> None:
    """Spec: in-place-resize 4."""
    ground = grounded(spec, kind)
    ground.run()
    assert counts(ground.read("PodDisruptionBudget", "p"), *NUMBERS) == numbers, (row, kind)
    assert counts(ground.read("PodDisruptionBudget", "p"), "observedGeneration") == (1,)
    assert verdict(ground) == (("True", "SufficientPods") if numbers[3] else ("False", "InsufficientPods"))


def test_expected_pods_follow_the_spec_of_the_owner_for_shares_and_what_is_there_for_numbers() -> None:
    ground = grounded({"maxUnavailable": 1})
    ground.merge("Node", "n1", spec={"unschedulable": True})
    ground.merge("Deployment", "web", spec={"replicas": 6})
    ground.run()
    assert counts(ground.read("PodDisruptionBudget", "p"), *NUMBERS) == (6, 5, 4, 0)
    ground.merge("PodDisruptionBudget", "p", spec={"maxUnavailable": None, "minAvailable": 3})
    ground.run()
    assert counts(ground.read("PodDisruptionBudget", "p"), *NUMBERS) == (6, 3, 4, 1)
    assert counts(ground.read("PodDisruptionBudget", "p"), "observedGeneration") == (2,)


def test_bare_pods_are_not_expected_by_shares() -> None:
    """Spec: in-place-resize 4: with maxUnavailable bare pods give expected 0 and allowed 0."""
    ground = Ground()
    metadata: JsonObject = {"name": "bare", "namespace": "default", "labels": {"app": "web"}}
    ground.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container()]}})
    ground.create(budget(maxUnavailable=1))
    ground.run()
    assert counts(ground.read("PodDisruptionBudget", "p"), *NUMBERS) == (0, 0, 1, 0)
    ground.merge("PodDisruptionBudget", "p", spec={"maxUnavailable": None, "minAvailable": 0})
    ground.run()
    assert counts(ground.read("PodDisruptionBudget", "p"), *NUMBERS) == (1, 0, 1, 1)


def test_owners_without_a_scale_make_shares_fail() -> None:
    ground = Ground()
    ground.create(workload("DaemonSet"))
    ground.create(budget(maxUnavailable=1))
    ground.run()
    assert verdict(ground) == ("False", "SyncFailed")
    assert status(ground)["disruptionsAllowed"] == 0
    assert "CalculateExpectedPodCountFailed" in ground.reasons("PodDisruptionBudget")


def test_owners_of_custom_kinds_are_asked_for_their_scale() -> None:
    ground = Ground()
    schema: JsonObject = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    made = definition(schema)
    version = rows(made, "spec", "versions")[0]
    version["subresources"] = {"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}}
    ground.create(made)
    owner = ground.create(
        {
            "apiVersion": "example.dev/v1",
            "kind": "Widget",
            "metadata": {"name": "w", "namespace": "default"},
            "spec": {"size": 7},
        }
    )
    reference = {"apiVersion": "example.dev/v1", "kind": "Widget", "name": "w", "controller": True}
    metadata: JsonObject = {"name": "a", "namespace": "default", "labels": {"app": "web"}}
    metadata["ownerReferences"] = [reference | {"uid": value_at(owner, "metadata", "uid")}]
    ground.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container()]}})
    ground.create(budget(maxUnavailable=5))
    ground.run()
    assert counts(ground.read("PodDisruptionBudget", "p"), *NUMBERS) == (7, 2, 1, 0)


@pytest.mark.parametrize(("selector", "found"), [({}, 2), ({"matchLabels": {"app": "db"}}, 0), (None, 0)])
def test_selectors(selector: JsonObject | None, found: int) -> None:
    ground = Ground()
    ground.create(workload("Deployment", replicas=2))
    ground.create(budget(minAvailable=1, selector=selector))
    ground.run()
    assert counts(ground.read("PodDisruptionBudget", "p"), "expectedPods", "currentHealthy") == (found, found)


def test_a_selector_that_cannot_be_read_finds_nothing() -> None:
    ground = Ground()
    ground.create(workload("Deployment", replicas=2))
    ground.create(budget(minAvailable=1, selector={"matchExpressions": [{"key": "a", "operator": "Near"}]}))
    ground.run()
    assert counts(ground.read("PodDisruptionBudget", "p"), *NUMBERS) == (0, 1, 0, 0)


def test_an_evicted_pod_that_stays_counts_again_after_two_minutes() -> None:
    ground = grounded({"minAvailable": 2})
    name = ground.names()[0]
    stored = ground.read("PodDisruptionBudget", "p")
    child(stored, "status")["disruptedPods"] = {name: "2026-01-01T00:00:10Z"}
    ground.server.store.update(stored)
    ground.run(SECOND)
    assert counts(ground.read("PodDisruptionBudget", "p"), *NUMBERS) == (4, 2, 3, 1)
    ground.run(118 * SECOND)
    assert counts(ground.read("PodDisruptionBudget", "p"), "currentHealthy") == (3,)
    ground.run(2 * SECOND)
    assert counts(ground.read("PodDisruptionBudget", "p"), "currentHealthy") == (4,)
    assert "disruptedPods" not in status(ground)
    assert "NotDeleted" in ground.reasons("PodDisruptionBudget")


def test_a_pod_that_has_gone_is_dropped_from_the_disrupted_ones_at_once() -> None:
    ground = grounded({"minAvailable": 2})
    stored = ground.read("PodDisruptionBudget", "p")
    child(stored, "status")["disruptedPods"] = {"long-gone": "2026-01-01T00:00:10Z"}
    ground.server.store.update(stored)
    ground.run(SECOND)
    assert "disruptedPods" not in status(ground)


def test_the_time_of_the_condition_changes_with_its_status_only() -> None:
    ground = grounded({"minAvailable": 3})
    before = text(rows({"s": status(ground)}, "s", "conditions")[0], "lastTransitionTime")
    ground.run(MINUTE)
    ground.merge("Deployment", "web", spec={"replicas": 5})
    ground.run()
    assert text(rows({"s": status(ground)}, "s", "conditions")[0], "lastTransitionTime") == before
    ground.merge("Deployment", "web", spec={"replicas": 1})
    ground.run()
    assert verdict(ground) == ("False", "InsufficientPods")
    assert text(rows({"s": status(ground)}, "s", "conditions")[0], "lastTransitionTime") > before


@asynccontextmanager
async def scene(*budgets: JsonObject, replicas: int = 3, ready: bool = True) -> AsyncIterator[tuple[Ground, Wire]]:
    """A Deployment with budgets, served over HTTP; its pods are ready or only running."""
    ground = Ground(runs=lambda _: ready)
    for made in budgets:
        ground.create(made)
    ground.create(workload("Deployment", replicas=replicas))
    ground.run()
    async with cluster(ground.server) as wire:
        yield ground, wire


async def evict(ground: Ground, wire: Wire, index: int = 0, **parts: object) -> Answer:
    name = ground.names()[index]
    body: JsonObject = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}} | parts
    return await wire.post(f"{PODS}/{name}/eviction", body)


async def test_e1_and_e2_one_may_go_and_no_second_until_it_is_replaced() -> None:
    """Rows resize:E1 and resize:E2 of the scenarios, with the controller that counts."""
    async with scene(budget(minAvailable=2)) as (ground, wire):
        assert counts(ground.read("PodDisruptionBudget", "p"), *NUMBERS) == (3, 2, 3, 1)
        first = await evict(ground, wire)
        assert first.code == 201
        assert status(ground)["disruptionsAllowed"] == 0
        going = ground.pods()[0]
        assert "deletionTimestamp" in child(going, "metadata")
        assert rows(going, "status", "conditions")[-1]["type"] == "DisruptionTarget"
        second = await evict(ground, wire, 1)
        assert (second.code, second.causes, "retry-after" in second.headers) == (429, BUDGET_CAUSE, False)
        ground.run(SECOND / 2)
        assert counts(ground.read("PodDisruptionBudget", "p"), "currentHealthy", "disruptionsAllowed") == (2, 0)
        staying = [is_ready(pod) and not is_going(pod) for pod in ground.pods()]
        assert (len(staying), staying.count(True)) == (4, 2)
        assert (await evict(ground, wire, staying.index(True))).code == 429
        ground.run()
        assert counts(ground.read("PodDisruptionBudget", "p"), *NUMBERS) == (3, 2, 3, 1)
        assert (await evict(ground, wire)).code == 201


async def test_e3_a_changed_budget_is_not_asked_before_it_is_evaluated() -> None:
    """Row resize:E3 of the scenarios."""
    async with scene(budget(minAvailable=2)) as (ground, wire):
        ground.merge("PodDisruptionBudget", "p", spec={"minAvailable": 1})
        answer = await evict(ground, wire)
        assert (answer.code, answer.headers["retry-after"], answer.causes) == (429, "10", BUDGET_CAUSE)
        ground.run()
        assert (await evict(ground, wire)).code == 201


async def test_e4_two_budgets_are_an_error() -> None:
    """Row resize:E4 of the scenarios."""
    async with scene(budget("p", minAvailable=1), budget("q", minAvailable=1)) as (ground, wire):
        answer = await evict(ground, wire)
        assert (answer.code, answer.causes, "reason" in answer.body) == (500, [], False)


async def test_e5_a_pending_pod_asks_no_budget() -> None:
    """Row resize:E5 of the scenarios."""
    async with scene(budget(minAvailable=3), ready=False) as (ground, wire):
        assert counts(ground.read("PodDisruptionBudget", "p"), *NUMBERS) == (3, 3, 0, 0)
        assert (await evict(ground, wire)).code == 201


@pytest.mark.parametrize(
    ("row", "policy", "minimum", "code"),
    [
        ("resize:E6", "IfHealthyBudget", 1, 201),
        ("resize:E6 without policy", None, 1, 201),
        ("resize:E7", "IfHealthyBudget", 3, 429),
        ("resize:E8", "AlwaysAllow", 3, 201),
    ],
)
async def test_e6_to_e8_pods_that_are_not_ready(row: str, policy: str | None, minimum: int, code: int) -> None:
    """Rows resize:E6 to resize:E8 of the scenarios."""
    spec: JsonObject = {"minAvailable": minimum} | ({"unhealthyPodEvictionPolicy": policy} if policy else {})
    async with scene(budget(**spec)) as (ground, wire):
        sick = ground.names()[0]
        ground.merge("Pod", sick, status={"conditions": [{"type": "Ready", "status": "False"}]})
        if minimum == 1:
            other = ground.names()[1]
            ground.merge("Pod", other, status={"conditions": [{"type": "Ready", "status": "False"}]})
        ground.run(SECOND)
        before = status(ground)["disruptionsAllowed"]
        assert (before, (await evict(ground, wire)).code) == (0, code), row
        assert status(ground)["disruptionsAllowed"] == 0, row
        assert ("deletionTimestamp" in child(ground.read("Pod", sick), "metadata")) is (code == 201), row


async def test_e9_a_dry_run_changes_nothing() -> None:
    """Row resize:E9 of the scenarios."""
    async with scene(budget(minAvailable=2)) as (ground, wire):
        before = len(ground.history)
        assert (await evict(ground, wire, deleteOptions={"dryRun": ["All"]})).code == 201
        ground.run()
        assert len(ground.history) == before


async def test_e10_another_name_is_a_bad_request() -> None:
    """Row resize:E10 of the scenarios."""
    async with scene(budget(minAvailable=2)) as (ground, wire):
        assert (await evict(ground, wire, metadata={"name": "other"})).code == 400


async def test_e11_a_pod_that_has_gone_is_not_found() -> None:
    """Row resize:E11 of the scenarios."""
    async with scene(budget(minAvailable=2)) as (ground, wire):
        name = ground.names()[0]
        assert (await evict(ground, wire)).code == 201
        ground.run()
        body: JsonObject = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        assert (await wire.post(f"{PODS}/{name}/eviction", body)).code == 404


async def test_a_failed_precondition_spends_the_budget_until_the_controller_counts_again() -> None:
    """Trap of in-place-resize 4: deletes nothing, and leaves the pod among the disrupted for two minutes."""
    async with scene(budget(minAvailable=2)) as (ground, wire):
        wrong: JsonObject = {"preconditions": {"uid": "wrong"}}
        assert (await evict(ground, wire, deleteOptions=wrong)).code == 409
        ground.run(SECOND)
        assert counts(ground.read("PodDisruptionBudget", "p"), *NUMBERS) == (3, 2, 2, 0)
        ground.run(2 * MINUTE)
        assert counts(ground.read("PodDisruptionBudget", "p"), *NUMBERS) == (3, 2, 3, 1)


async def test_a_resize_never_asks_a_budget() -> None:
    """Spec: in-place-resize 4."""
    async with scene(budget(minAvailable=3)) as (ground, wire):
        name = ground.names()[0]
        change = {"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "150m"}}}]}}
        path = f"{PODS}/{name}/resize"
        assert (await wire.patch(path, change, "application/strategic-merge-patch+json")).code == 200
        assert status(ground)["disruptionsAllowed"] == 0


async def test_evictions_one_after_the_other_never_break_the_budget() -> None:
    async with scene(budget(maxUnavailable="34%"), replicas=6) as (ground, wire):
        least, evicted = 6, 0
        for _ in range(50):
            candidates = [i for i, pod in enumerate(ground.pods()) if "deletionTimestamp" not in child(pod, "metadata")]
            answer = await evict(ground, wire, candidates[0])
            evicted += answer.code == 201
            ground.run(SECOND / 5)
            least = min(least, counts(ground.read("PodDisruptionBudget", "p"), "currentHealthy")[0])
        assert least == 3
        assert evicted > 6
        assert ground.clock.now() > EPOCH


def test_a_budget_that_is_going_is_left_alone() -> None:
    ground = Ground()
    made = budget(minAvailable=1)
    ensure(made, "metadata").update({"deletionTimestamp": "2026-01-01T00:01:00Z", "finalizers": ["x/y"]})
    ground.create(made)
    ground.create(workload("Deployment", template=template()))
    ground.run()
    assert status(ground) == {}
