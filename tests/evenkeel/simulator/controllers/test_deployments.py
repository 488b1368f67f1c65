"""Deployments from creation to removal."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, ensure, labels_of, number, rows, text, value_at
from evenkeel.simulator.controllers.revision_annotations import REVISION
from tests.evenkeel.simulator.controllers.ground import MINUTE, SECOND, Ground, counts, template, workload

NUMBERS = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")


def grounded(replicas: int = 3, **spec: object) -> Ground:
    ground = Ground(2)
    ground.create(workload("Deployment", replicas=replicas, **spec))
    ground.run()
    return ground


def update(ground: Ground, cpu: str = "200m", **spec: object) -> None:
    deployment = ground.read("Deployment", "web")
    ensure(deployment, "spec").update({"template": template(cpu=cpu), **spec})
    ground.server.store.update(deployment)


def requests(pods: list[JsonObject]) -> list[object]:
    return [child(rows(pod, "spec", "containers")[0], "resources", "requests")["cpu"] for pod in pods]


def condition(ground: Ground, kind: str) -> tuple[str, str]:
    found = rows(ground.read("Deployment", "web"), "status", "conditions")
    row = next(row for row in found if row["type"] == kind)
    return text(row, "status"), text(row, "reason")


def revisions(ground: Ground) -> list[tuple[object, int]]:
    """Revision and size of every set, oldest revision first."""
    sets = ground.objects("ReplicaSet")
    pairs = [(child(s, "metadata", "annotations").get(REVISION), number(s, "spec", "replicas")) for s in sets]
    return sorted(pairs, key=str)


def test_a_deployment_makes_one_set_that_makes_its_pods() -> None:
    ground = grounded()
    deployment, replica_set = ground.read("Deployment", "web"), ground.objects("ReplicaSet")[0]
    digest = labels_of(replica_set)["pod-template-hash"]
    assert text(replica_set, "metadata", "name") == f"web-{digest}"
    assert value_at(replica_set, "spec", "selector") == {"matchLabels": {"app": "web", "pod-template-hash": digest}}
    assert rows(replica_set, "metadata", "ownerReferences")[0]["uid"] == value_at(deployment, "metadata", "uid")
    assert [labels_of(pod) for pod in ground.pods()] == [{"app": "web", "pod-template-hash": digest}] * 3
    assert counts(deployment, *NUMBERS) == (3, 3, 3, 3, 0)
    assert counts(deployment, "observedGeneration") == (1,)
    assert child(deployment, "metadata", "annotations")[REVISION] == "1"
    assert condition(ground, "Available") == ("True", "MinimumReplicasAvailable")
    assert condition(ground, "Progressing") == ("True", "NewReplicaSetAvailable")
    assert ground.reasons("Deployment") == ["ScalingReplicaSet"]
    assert revisions(ground) == [("1", 3)]


def test_before_its_pods_are_ready_it_is_not_available() -> None:
    ground = Ground(runs=lambda _: False)
    ground.create(workload("Deployment", replicas=3))
    ground.run()
    assert condition(ground, "Available") == ("False", "MinimumReplicasUnavailable")
    assert condition(ground, "Progressing") == ("True", "ReplicaSetUpdated")
    assert counts(ground.read("Deployment", "web"), *NUMBERS) == (3, 3, 0, 0, 3)


def test_a_rolling_update_keeps_its_bounds_all_the_way() -> None:
    ground = grounded(4, strategy={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}})
    seen: set[tuple[int, int]] = set()
    update(ground)
    for _ in range(400):
        ground.run(SECOND / 20)
        deployment = ground.read("Deployment", "web")
        told = sum(number(each, "spec", "replicas") for each in ground.objects("ReplicaSet"))
        seen.add((told, number(deployment, "status", "availableReplicas")))
    assert max(told for told, _ in seen) == 5
    assert min(available for _, available in seen) == 3
    assert requests(ground.pods()) == ["200m"] * 4
    assert revisions(ground) == [("1", 0), ("2", 4)]
    assert child(ground.read("Deployment", "web"), "metadata", "annotations")[REVISION] == "2"


def test_an_update_whose_pods_never_get_ready_stops_half_way() -> None:
    ground = Ground(runs=lambda pod: requests([pod]) == ["100m"])
    ground.create(workload("Deployment", replicas=4))
    ground.run()
    update(ground)
    ground.run(5 * MINUTE)
    assert counts(ground.read("Deployment", "web"), *NUMBERS) == (5, 2, 3, 3, 2)
    assert condition(ground, "Progressing") == ("True", "ReplicaSetUpdated")


def test_going_back_uses_the_earlier_set_again() -> None:
    ground = grounded(2)
    update(ground)
    ground.run(MINUTE)
    update(ground, "100m")
    ground.run(MINUTE)
    assert revisions(ground) == [("2", 0), ("3", 2)]
    back = next(s for s in ground.objects("ReplicaSet") if number(s, "spec", "replicas"))
    assert child(back, "metadata", "annotations")["deployment.kubernetes.io/revision-history"] == "1"
    assert requests(ground.pods()) == ["100m"] * 2


def test_recreate_waits_until_the_last_old_pod_has_gone() -> None:
    ground = grounded(3, strategy={"type": "Recreate"})
    update(ground)
    mixed = False
    for _ in range(100):
        ground.run(SECOND / 10)
        mixed = mixed or len(set(map(str, requests(ground.pods())))) > 1
    assert not mixed
    assert requests(ground.pods()) == ["200m"] * 3
    assert condition(ground, "Available")[0] == "True"


def test_history_is_kept_up_to_its_limit() -> None:
    ground = grounded(1, revisionHistoryLimit=1)
    for cpu in ("200m", "300m", "400m"):
        update(ground, cpu, revisionHistoryLimit=1)
        ground.run(MINUTE)
    assert revisions(ground) == [("3", 0), ("4", 1)]


@pytest.mark.parametrize(("row", "replicas"), [("up", 5), ("down", 1), ("to nothing", 0)])
def test_another_size_goes_to_the_only_active_set(row: str, replicas: int) -> None:
    ground = grounded(3)
    ground.merge("Deployment", "web", spec={"replicas": replicas})
    ground.run()
    assert len(ground.pods()) == replicas, row
    assert len(ground.objects("ReplicaSet")) == 1, row
    assert counts(ground.read("Deployment", "web"), "replicas", "unavailableReplicas") == (replicas, 0), row


def test_another_size_during_a_rollout_is_shared_out() -> None:
    ground = Ground(4, runs=lambda pod: requests([pod]) == ["100m"])
    bounds = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}
    ground.create(workload("Deployment", replicas=10, strategy=bounds))
    ground.run()
    update(ground)
    ground.run()
    assert revisions(ground) == [("1", 8), ("2", 5)]
    ground.merge("Deployment", "web", spec={"replicas": 15})
    ground.run()
    assert revisions(ground) == [("1", 11), ("2", 7)]


def test_a_paused_deployment_is_scaled_and_not_updated() -> None:
    ground = grounded(2, paused=True)
    assert ground.objects("ReplicaSet") == []
    ground.merge("Deployment", "web", spec={"paused": False})
    ground.run()
    update(ground, paused=True)
    ground.run()
    assert revisions(ground) == [("1", 2)]
    ground.merge("Deployment", "web", spec={"replicas": 4})
    ground.run()
    assert revisions(ground) == [("1", 4)]
    ground.merge("Deployment", "web", spec={"paused": False})
    ground.run(MINUTE)
    assert revisions(ground) == [("1", 0), ("2", 4)]


def test_a_set_of_the_same_name_that_belongs_to_nobody_makes_another_name_necessary() -> None:
    ground = grounded(1)
    name = ground.names("ReplicaSet")[0]
    other = Ground(1)
    taken = workload("ReplicaSet", replicas=0)
    ensure(taken, "metadata")["name"] = name
    ensure(taken, "spec")["selector"] = {"matchLabels": {"app": "other"}}
    ensure(taken, "spec")["template"] = template("other")
    other.create(taken)
    other.create(workload("Deployment", replicas=1))
    other.run()
    assert other.phases() == ["Running"]
    assert counts(other.read("Deployment", "web"), "collisionCount") == (1,)
    assert len(other.names("ReplicaSet")) == 2


def test_a_free_set_is_adopted_with_its_pods() -> None:
    ground = grounded(2)
    replica_set = ground.objects("ReplicaSet")[0]
    del ensure(replica_set, "metadata")["ownerReferences"]
    ground.plane.stop()
    ground.delete("Deployment", "web")
    ground.server.store.update(replica_set)
    fresh = Ground(2)
    for kind in ("ReplicaSet", "Pod"):
        for obj in ground.objects(kind):
            fresh.create(obj)
    fresh.create(workload("Deployment", replicas=2))
    fresh.run()
    assert fresh.names() == ground.names()
    owner = rows(fresh.objects("ReplicaSet")[0], "metadata", "ownerReferences")[0]
    assert owner["uid"] == value_at(fresh.read("Deployment", "web"), "metadata", "uid")
    assert child(fresh.read("Deployment", "web"), "metadata", "annotations")[REVISION] == "1"


def test_how_long_pods_must_be_ready_reaches_the_set() -> None:
    ground = grounded(1, minReadySeconds=15)
    assert counts(ground.read("Deployment", "web"), "availableReplicas") == (0,)
    assert number(ground.objects("ReplicaSet")[0], "spec", "minReadySeconds") == 15
    ground.run(timedelta(seconds=7))
    assert counts(ground.read("Deployment", "web"), "availableReplicas") == (1,)
    ground.merge("Deployment", "web", spec={"minReadySeconds": 0})
    ground.run()
    assert number(ground.objects("ReplicaSet")[0], "spec", "minReadySeconds") == 0


def test_a_refused_pod_shows_at_the_deployment() -> None:
    ground = Ground()
    quota: JsonObject = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    ground.create(quota | {"spec": {"hard": {"pods": "0"}}})
    ground.run()
    ground.create(workload("Deployment", replicas=1))
    ground.run()
    assert condition(ground, "ReplicaFailure") == ("True", "FailedCreate")


def test_a_removed_deployment_leaves_nothing() -> None:
    ground = grounded(3)
    ground.delete("Deployment", "web")
    ground.run()
    assert ground.objects("ReplicaSet") == []
    assert ground.pods() == []


def test_a_deployment_that_is_going_makes_nothing_new() -> None:
    ground = Ground()
    going = workload("Deployment", replicas=2)
    ensure(going, "metadata").update({"deletionTimestamp": "2026-01-01T00:01:00Z", "finalizers": ["x/y"]})
    ground.create(going)
    ground.run()
    assert ground.objects("ReplicaSet") == []
    assert counts(ground.read("Deployment", "web"), "observedGeneration") == (1,)
