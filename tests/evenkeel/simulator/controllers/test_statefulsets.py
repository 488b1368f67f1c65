"""StatefulSets: names, order, updates, status."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, ensure, labels_of, rows, text, value_at
from tests.evenkeel.simulator.api.wire import container
from tests.evenkeel.simulator.controllers.ground import MINUTE, SECOND, Ground, counts, template, workload

NUMBERS = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")


def grounded(replicas: int = 3, **spec: object) -> Ground:
    ground = Ground()
    ground.create(workload("StatefulSet", "db", replicas=replicas, serviceName="peers", **spec))
    ground.run()
    return ground


def update(ground: Ground, cpu: str = "200m", **spec: object) -> None:
    stored = ground.read("StatefulSet", "db")
    ensure(stored, "spec").update({"template": template("db", cpu=cpu), **spec})
    ground.server.store.update(stored)


def requests(ground: Ground) -> list[object]:
    return [child(rows(pod, "spec", "containers")[0], "resources", "requests")["cpu"] for pod in ground.pods()]


def test_pods_have_numbers_and_start_one_after_the_other() -> None:
    ground = grounded()
    creations = [entry for entry in ground.history if entry[1] == "Pod" and entry[3] == "create"]
    assert [name for _, _, name, _ in creations] == ["db-0", "db-1", "db-2"]
    ready = [text(rows(pod, "status", "conditions")[-1], "lastTransitionTime") for pod in ground.pods()]
    born = [text(pod, "metadata", "creationTimestamp") for pod in ground.pods()]
    assert all(before <= after for before, after in zip(ready, born[1:], strict=False))
    revision = text(ground.read("StatefulSet", "db"), "status", "updateRevision")
    pod = ground.read("Pod", "db-1")
    assert labels_of(pod) == {
        "app": "db",
        "statefulset.kubernetes.io/pod-name": "db-1",
        "apps.kubernetes.io/pod-index": "1",
        "controller-revision-hash": revision,
    }
    assert (value_at(pod, "spec", "hostname"), value_at(pod, "spec", "subdomain")) == ("db-1", "peers")
    assert ground.names("ControllerRevision") == [revision]
    assert counts(ground.read("StatefulSet", "db"), *NUMBERS) == (3, 3, 3, 3, 3)
    assert counts(ground.read("StatefulSet", "db"), "observedGeneration") == (1,)


def test_in_parallel_all_start_together() -> None:
    ground = grounded(podManagementPolicy="Parallel")
    assert len({text(pod, "metadata", "creationTimestamp") for pod in ground.pods()}) == 1


def test_ordinals_may_start_later() -> None:
    ground = grounded(2, ordinals={"start": 5})
    assert ground.names() == ["db-5", "db-6"]


def test_a_pod_that_does_not_get_ready_holds_up_the_next() -> None:
    ground = Ground(runs=lambda pod: text(pod, "metadata", "name") != "db-1")
    ground.create(workload("StatefulSet", "db", replicas=3))
    ground.run(MINUTE)
    assert ground.names() == ["db-0", "db-1"]
    assert counts(ground.read("StatefulSet", "db"), *NUMBERS) == (2, 1, 2, 2, 1)


def test_the_highest_number_goes_first_one_at_a_time() -> None:
    ground = grounded(4)
    ground.merge("StatefulSet", "db", spec={"replicas": 1})
    most = 0
    for _ in range(80):
        ground.run(SECOND / 10)
        most = max(most, sum("deletionTimestamp" in child(pod, "metadata") for pod in ground.pods()))
    assert (ground.names(), most) == (["db-0"], 1)
    deletions = [name for _, kind, name, verb in ground.history if kind == "Pod" and verb == "delete"]
    assert deletions == ["db-3", "db-2", "db-1"]


def test_a_lost_pod_comes_back_under_its_name() -> None:
    ground = grounded()
    uid = value_at(ground.read("Pod", "db-1"), "metadata", "uid")
    ground.delete("Pod", "db-1")
    ground.run()
    assert ground.phases() == ["Running"] * 3
    assert value_at(ground.read("Pod", "db-1"), "metadata", "uid") != uid


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_ends_is_replaced(phase: str) -> None:
    ground = grounded(2)
    ground.finish("db-0", phase)
    ground.run()
    assert ground.phases() == ["Running"] * 2
    assert "RecreatingFailedPod" in ground.reasons("StatefulSet")


def test_an_update_goes_from_the_highest_number_down() -> None:
    ground = grounded()
    first = text(ground.read("StatefulSet", "db"), "status", "currentRevision")
    update(ground)
    ground.run(SECOND * 3 / 2)
    status = child(ground.read("StatefulSet", "db"), "status")
    assert (status["currentRevision"], status["updateRevision"] != first) == (first, True)
    ground.run(MINUTE)
    deletions = [name for _, kind, name, verb in ground.history if kind == "Pod" and verb == "delete"]
    assert deletions == ["db-2", "db-1", "db-0"]
    assert requests(ground) == ["200m"] * 3
    status = child(ground.read("StatefulSet", "db"), "status")
    assert status["currentRevision"] == status["updateRevision"] != first
    assert counts(ground.read("StatefulSet", "db"), *NUMBERS) == (3, 3, 3, 3, 3)


def test_a_partition_keeps_the_lower_numbers_at_the_earlier_template() -> None:
    ground = grounded()
    update(ground, updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}})
    ground.run(MINUTE)
    assert requests(ground) == ["100m", "100m", "200m"]
    assert counts(ground.read("StatefulSet", "db"), *NUMBERS) == (3, 3, 2, 1, 3)
    ground.delete("Pod", "db-0")
    ground.delete("Pod", "db-2")
    ground.run()
    assert requests(ground) == ["100m", "100m", "200m"]


def test_by_hand_only_deleted_pods_are_updated() -> None:
    ground = grounded(2, updateStrategy={"type": "OnDelete"})
    update(ground)
    ground.run(MINUTE)
    assert requests(ground) == ["100m"] * 2
    ground.delete("Pod", "db-0")
    ground.run()
    assert requests(ground) == ["200m", "100m"]


def test_several_pods_may_be_updated_at_a_time() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "50%"}}
    ground = grounded(4, podManagementPolicy="Parallel", updateStrategy=rolling)
    update(ground)
    ground.run(SECOND / 2)
    going = [text(pod, "metadata", "name") for pod in ground.pods() if "deletionTimestamp" in child(pod, "metadata")]
    assert going == ["db-2", "db-3"]
    ground.run(MINUTE)
    assert requests(ground) == ["200m"] * 4


def test_going_back_uses_the_earlier_revision_again() -> None:
    ground = grounded(1)
    first = ground.names("ControllerRevision")[0]
    update(ground)
    ground.run(MINUTE)
    update(ground, "100m")
    ground.run(MINUTE)
    assert len(ground.names("ControllerRevision")) == 2
    assert ground.read("ControllerRevision", first)["revision"] == 3
    assert text(ground.read("StatefulSet", "db"), "status", "updateRevision") == first


def test_revisions_are_kept_up_to_the_limit() -> None:
    ground = grounded(1, revisionHistoryLimit=1)
    for cpu in ("200m", "300m", "400m"):
        update(ground, cpu)
        ground.run(MINUTE)
    assert sorted(str(revision["revision"]) for revision in ground.objects("ControllerRevision")) == ["3", "4"]


def test_availability_comes_after_the_time_a_pod_must_be_ready() -> None:
    ground = grounded(2, minReadySeconds=20)
    assert ground.names() == ["db-0"]
    assert counts(ground.read("StatefulSet", "db"), "readyReplicas", "availableReplicas") == (1, 0)
    ground.run(30 * SECOND)
    assert ground.names() == ["db-0", "db-1"]


def test_only_pods_with_its_numbers_are_adopted() -> None:
    ground = Ground()
    for name in ("db-0", "db-x", "other-1"):
        metadata: JsonObject = {"name": name, "namespace": "default", "labels": {"app": "db"}}
        pod: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        ground.create(pod | {"spec": {"containers": [container()]}})
    ground.create(workload("StatefulSet", "db", replicas=1))
    ground.run(MINUTE)
    assert len(ground.names()) == 3
    assert counts(ground.read("StatefulSet", "db"), "replicas", "readyReplicas") == (1, 1)


def test_what_is_refused_is_told() -> None:
    ground = Ground()
    quota: JsonObject = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    ground.create(quota | {"spec": {"hard": {"pods": "0"}}})
    ground.run()
    ground.create(workload("StatefulSet", "db", replicas=1))
    ground.run()
    assert "FailedCreate" in ground.reasons("StatefulSet")
    assert counts(ground.read("StatefulSet", "db"), "replicas", "observedGeneration") == (0, 1)


def test_a_revision_of_the_same_name_that_belongs_to_nobody_makes_another_name_necessary() -> None:
    name = grounded(1).names("ControllerRevision")[0]
    ground = Ground()
    metadata: JsonObject = {"name": name, "namespace": "default"}
    ground.create({"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "revision": 1})
    ground.create(workload("StatefulSet", "db", replicas=1))
    ground.run()
    assert ground.phases() == ["Running"]
    assert text(ground.read("StatefulSet", "db"), "status", "updateRevision") != name


def test_a_removed_set_leaves_nothing() -> None:
    ground = grounded()
    ground.delete("StatefulSet", "db")
    ground.run()
    assert (ground.pods(), ground.names("ControllerRevision")) == ([], [])
