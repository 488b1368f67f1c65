"""The status of quotas: counted at first, when something is given back, and from time to time."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, copy_of, rows
from tests.evenkeel.simulator.api.wire import PODS, STRATEGIC_PATCH, cluster, config_map
from tests.evenkeel.simulator.controllers.ground import MINUTE, SECOND, Ground, workload

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def quota(hard: JsonObject, **spec: object) -> JsonObject:
    metadata: JsonObject = {"name": "q", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": hard, **spec}}


def used(ground: Ground) -> JsonObject:
    return child(ground.read("ResourceQuota", "q"), "status", "used")


def grounded(hard: JsonObject, replicas: int = 2) -> Ground:
    ground = Ground()
    ground.create(workload("Deployment", replicas=replicas))
    ground.run()
    ground.create(quota(hard))
    ground.run()
    return ground


def test_what_is_there_is_counted() -> None:
    hard: JsonObject = {"pods": "9", "requests.cpu": "1", "count/replicasets.apps": "5", "secrets": "3"}
    ground = grounded(hard)
    assert used(ground) == {"pods": "2", "requests.cpu": "200m", "count/replicasets.apps": "1", "secrets": "0"}
    assert child(ground.read("ResourceQuota", "q"), "status", "hard") == hard
    ground.merge("ResourceQuota", "q", spec={"hard": {"pods": "7", "requests.cpu": None}})
    ground.run()
    assert (used(ground)["pods"], "requests.cpu" in used(ground)) == ("2", False)


def test_a_pod_that_goes_or_ends_gives_back() -> None:
    ground = grounded({"pods": "9"}, replicas=3)
    ground.merge("Deployment", "web", spec={"replicas": 2})
    ground.run()
    assert used(ground) == {"pods": "2"}
    ground.plane.stop()
    lonely = grounded({"pods": "9", "count/pods": "9"})
    lonely.merge("Deployment", "web", spec={"replicas": 0})
    lonely.run()
    assert used(lonely) == {"pods": "0", "count/pods": "0"}


def test_an_ended_pod_is_still_counted_as_an_object() -> None:
    ground = Ground()
    ground.create(workload("Job"))
    ground.create(quota({"pods": "9", "count/pods": "9"}))
    ground.run()
    assert used(ground) == {"pods": "1", "count/pods": "1"}
    ground.finish(ground.names()[0])
    ground.run()
    assert used(ground) == {"pods": "0", "count/pods": "1"}


def test_an_object_of_another_kind_gives_back() -> None:
    ground = Ground()
    ground.create(config_map("a"))
    ground.create(quota({"configmaps": "5"}))
    ground.run()
    assert used(ground) == {"configmaps": "2"}
    ground.delete("ConfigMap", "a")
    ground.run()
    assert used(ground) == {"configmaps": "1"}


def test_scopes_decide_what_is_counted() -> None:
    ground = Ground()
    ground.create(workload("Deployment", replicas=2))
    ground.create(quota({"pods": "9"}, scopes=["BestEffort"]))
    ground.run()
    assert used(ground) == {"pods": "0"}


async def resize(ground: Ground, cpu: str) -> int:
    change = {"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": cpu}}}]}}
    async with cluster(ground.server) as wire:
        return (await wire.patch(f"{PODS}/{ground.names()[0]}/resize", change, STRATEGIC_PATCH)).code


def show(ground: Ground, cpu: str) -> None:
    """Report other resources, as a kubelet does once it has resized a pod."""
    pod = ground.read("Pod", ground.names()[0])
    status = copy_of(child(pod, "status"))
    amounts: JsonObject = {"requests": {"cpu": cpu, "memory": "64Mi"}}
    rows(status, "containerStatuses")[0].update({"resources": amounts, "allocatedResources": amounts["requests"]})
    ground.merge("Pod", ground.names()[0], status=status)


async def test_a_decrease_is_given_back_once_the_status_shows_it() -> None:
    """Spec: in-place-resize 1.6."""
    ground = grounded({"requests.cpu": "1"}, replicas=1)
    assert await resize(ground, "50m") == 200
    ground.run(SECOND)
    assert used(ground) == {"requests.cpu": "100m"}
    show(ground, "50m")
    ground.run(SECOND)
    assert used(ground) == {"requests.cpu": "50m"}


async def test_an_increase_is_charged_at_once_and_stays_when_the_status_follows() -> None:
    ground = grounded({"requests.cpu": "1"}, replicas=1)
    assert await resize(ground, "300m") == 200
    assert used(ground) == {"requests.cpu": "300m"}
    show(ground, "300m")
    ground.run(SECOND)
    assert used(ground) == {"requests.cpu": "300m"}


async def test_the_decrease_of_a_pending_pod_waits_for_the_next_full_count() -> None:
    """Spec: in-place-resize 1.6."""
    ground = Ground(0)
    ground.create(workload("Deployment", replicas=1))
    ground.create(quota({"requests.cpu": "1"}))
    ground.run(30 * SECOND)
    assert await resize(ground, "50m") == 200
    ground.run(4 * MINUTE)
    assert used(ground) == {"requests.cpu": "100m"}
    ground.run(MINUTE)
    assert used(ground) == {"requests.cpu": "50m"}


def test_an_infeasible_resize_gives_back_what_is_only_desired() -> None:
    ground = grounded({"requests.cpu": "5"}, replicas=1)
    pod = ground.read("Pod", ground.names()[0])
    child(rows(pod, "spec", "containers")[0], "resources", "requests")["cpu"] = "3"
    ground.server.store.update(pod)
    ground.merge("ResourceQuota", "q", spec={"hard": {"requests.cpu": "6"}})
    ground.run(SECOND)
    assert used(ground) == {"requests.cpu": "3"}
    conditions = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
    ground.merge("Pod", ground.names()[0], status={"conditions": conditions})
    ground.run(SECOND)
    assert used(ground) == {"requests.cpu": "100m"}
