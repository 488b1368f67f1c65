"""ReplicaSets and ReplicationControllers."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, ensure, rows, text, value_at
from evenkeel.simulator.controllers.index import controller_uid
from tests.evenkeel.simulator.api.wire import container
from tests.evenkeel.simulator.controllers.ground import MINUTE, SECOND, Ground, counts, template, workload

KINDS = ["ReplicaSet", "ReplicationController"]


def grounded(kind: str = "ReplicaSet", replicas: int = 3, **spec: object) -> Ground:
    ground = Ground()
    ground.create(workload(kind, replicas=replicas, **spec))
    ground.run()
    return ground


def bare_pod(name: str, app: str = "web") -> JsonObject:
    metadata = {"name": name, "namespace": "default", "labels": {"app": app}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container()]}}


@pytest.mark.parametrize("kind", KINDS)
def test_as_many_pods_run_as_asked_for(kind: str) -> None:
    ground = grounded(kind)
    owner = ground.read(kind, "web")
    assert ground.phases() == ["Running"] * 3
    for pod in ground.pods():
        assert text(pod, "metadata", "name").startswith("web-")
        assert rows(pod, "metadata", "ownerReferences") == [
            {
                "apiVersion": owner["apiVersion"],
                "kind": kind,
                "name": "web",
                "uid": value_at(owner, "metadata", "uid"),
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    assert counts(owner, "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas") == (3, 3, 3, 3)
    assert counts(owner, "observedGeneration") == (1,)
    assert ground.reasons(kind) == ["SuccessfulCreate"] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_follows_the_spec_both_ways(kind: str) -> None:
    ground = grounded(kind)
    ground.merge(kind, "web", spec={"replicas": 5})
    ground.run()
    assert len(ground.pods()) == 5
    ground.merge(kind, "web", spec={"replicas": 1})
    ground.run()
    assert ground.phases() == ["Running"]
    assert counts(ground.read(kind, "web"), "replicas", "observedGeneration") == (1, 3)
    ground.merge(kind, "web", spec={"replicas": 0})
    ground.run()
    assert ground.pods() == []
    assert counts(ground.read(kind, "web"), "replicas", "readyReplicas") == (0, 0)


@pytest.mark.parametrize(("row", "phase"), [("failed", "Failed"), ("succeeded", "Succeeded")])
def test_a_pod_that_ends_is_replaced(row: str, phase: str) -> None:
    ground = grounded(replicas=1)
    ground.finish(ground.names()[0], phase)
    ground.run()
    assert sorted(ground.phases()) == sorted([phase, "Running"]), row
    assert counts(ground.read("ReplicaSet", "web"), "replicas") == (1,)


def test_a_pod_that_goes_is_replaced_at_once_and_shown_as_terminating() -> None:
    ground = grounded(replicas=1)
    name = ground.names()[0]
    ground.merge("Pod", name, metadata={"name": name, "deletionTimestamp": "2026-01-01T00:01:00Z"})
    ground.run(SECOND / 2)
    assert len(ground.pods()) == 2
    assert counts(ground.read("ReplicaSet", "web"), "replicas", "terminatingReplicas") == (1, 1)
    ground.run()
    assert ground.phases() == ["Running"]
    assert counts(ground.read("ReplicaSet", "web"), "replicas", "terminatingReplicas") == (1, 0)


def test_availability_comes_after_the_time_a_pod_must_be_ready() -> None:
    ground = grounded(replicas=2, minReadySeconds=30)
    numbers = ("readyReplicas", "availableReplicas")
    assert counts(ground.read("ReplicaSet", "web"), *numbers) == (2, 0)
    ground.run(20 * SECOND)
    assert counts(ground.read("ReplicaSet", "web"), *numbers) == (2, 0)
    ground.run(5 * SECOND)
    assert counts(ground.read("ReplicaSet", "web"), *numbers) == (2, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_a_free_pod_that_the_selector_finds_is_adopted(kind: str) -> None:
    ground = Ground()
    ground.create(bare_pod("stray"))
    ground.create(bare_pod("other", "db"))
    owner = ground.create(workload(kind, replicas=2))
    ground.run()
    assert len(ground.pods("web")) == 2
    assert controller_uid(ground.read("Pod", "stray")) == value_at(owner, "metadata", "uid")
    assert controller_uid(ground.read("Pod", "other")) == ""
    ground.create(bare_pod("late"))
    ground.run()
    assert len(ground.pods("web")) == 2


def test_a_pod_that_the_selector_finds_no_longer_is_released_and_replaced() -> None:
    ground = grounded(replicas=1)
    name = ground.names()[0]
    ground.merge("Pod", name, metadata={"name": name, "labels": {"app": "debug"}})
    ground.run()
    assert controller_uid(ground.read("Pod", name)) == ""
    assert "ownerReferences" not in child(ground.read("Pod", name), "metadata")
    assert len(ground.pods("web")) == 1


def test_a_pod_of_another_controller_is_left_alone() -> None:
    ground = Ground()
    taken = bare_pod("taken")
    reference = {"apiVersion": "example.dev/v1", "kind": "Other", "name": "o", "uid": "1", "controller": True}
    ground.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "o", "uid": "1"}})
    ensure(taken, "metadata")["ownerReferences"] = [reference]
    ground.create(taken)
    ground.create(workload("ReplicaSet", replicas=1))
    ground.run()
    assert len(ground.pods()) == 2
    assert controller_uid(ground.read("Pod", "taken")) == "1"


def test_a_set_that_is_going_adopts_and_creates_nothing() -> None:
    ground = Ground()
    going = workload("ReplicaSet", replicas=2)
    ensure(going, "metadata").update({"deletionTimestamp": "2026-01-01T00:01:00Z", "finalizers": ["x/y"]})
    ground.create(going)
    ground.create(bare_pod("stray"))
    ground.run()
    assert controller_uid(ground.read("Pod", "stray")) == ""
    assert ground.names() == ["stray"]


def test_what_is_refused_is_told_and_tried_again() -> None:
    ground = Ground()
    quota: JsonObject = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    ground.create(quota | {"spec": {"hard": {"pods": "1"}}})
    ground.run()
    ground.create(workload("ReplicaSet", replicas=3))
    ground.run(MINUTE)
    stored = ground.read("ReplicaSet", "web")
    conditions = rows(stored, "status", "conditions")
    assert [(row["type"], row["status"], row["reason"]) for row in conditions] == [
        ("ReplicaFailure", "True", "FailedCreate")
    ]
    assert "exceeded quota: q" in text(conditions[0], "message")
    assert counts(stored, "replicas") == (1,)
    assert "FailedCreate" in ground.reasons("ReplicaSet")
    tries = len([reason for reason in ground.reasons("ReplicaSet") if reason == "FailedCreate"])
    ground.run(10 * MINUTE)
    assert len([reason for reason in ground.reasons("ReplicaSet") if reason == "FailedCreate"]) < tries + 8
    ground.merge("ResourceQuota", "q", spec={"hard": {"pods": "3"}})
    ground.run(20 * MINUTE)
    assert ground.phases() == ["Running"] * 3
    assert rows(ground.read("ReplicaSet", "web"), "status", "conditions") == []


def test_pods_that_matter_less_go_first() -> None:
    ground = grounded(replicas=3)
    keep = ground.names()[0]
    for name in ground.names()[1:]:
        cost = {"controller.kubernetes.io/pod-deletion-cost": "-1"}
        ground.merge("Pod", name, metadata={"name": name, "annotations": cost})
    ground.merge("ReplicaSet", "web", spec={"replicas": 1})
    ground.run()
    assert ground.names() == [keep]


def test_r67_a_replacement_is_made_from_the_template_again() -> None:
    """Row resize:R67 of the scenarios, without a webhook: a resize is lost with its pod."""
    ground = grounded(replicas=1)
    name = ground.names()[0]
    pod = ground.read("Pod", name)
    resized = rows(pod, "spec", "containers")
    child(resized[0], "resources", "requests")["cpu"] = "777m"
    ground.server.store.update(pod)
    ground.delete("Pod", name)
    ground.run()
    replacement = ground.pods()[0]
    assert text(replacement, "metadata", "name") != name
    requests = child(rows(replacement, "spec", "containers")[0], "resources", "requests")
    assert requests == child(rows(template(), "spec", "containers")[0], "resources", "requests")


def test_a_namespace_that_ends_is_not_filled_again() -> None:
    ground = grounded(replicas=1)
    namespace = ground.read("Namespace", "default")
    child(namespace, "metadata")["deletionTimestamp"] = "2026-01-01T01:00:00Z"
    ground.server.store.update(namespace)
    ground.delete("Pod", ground.names()[0])
    ground.run(MINUTE)
    assert ground.pods() == []
    assert "FailedCreate" not in ground.reasons("ReplicaSet")
