"""DaemonSets on nodes that come, go and change."""

from __future__ import annotations

from evenkeel.simulator.api.fields import JsonObject, child, ensure, labels_of, rows, text
from tests.evenkeel.simulator.controllers.ground import MINUTE, SECOND, Ground, counts, template, workload

NUMBERS = (
    "desiredNumberScheduled", "currentNumberScheduled", "numberReady", "updatedNumberScheduled", "numberAvailable",
    "numberUnavailable", "numberMisscheduled",
)  # fmt: skip


def grounded(nodes: int = 3, **spec: object) -> Ground:
    ground = Ground(nodes)
    ground.create(workload("DaemonSet", "agent", **spec))
    ground.run()
    return ground


def update(ground: Ground, cpu: str = "200m") -> None:
    stored = ground.read("DaemonSet", "agent")
    ensure(stored, "spec")["template"] = template("agent", cpu=cpu)
    ground.server.store.update(stored)


def where(ground: Ground) -> list[str]:
    return sorted(text(pod, "spec", "nodeName") for pod in ground.pods())


def requests(ground: Ground) -> list[object]:
    return [child(rows(pod, "spec", "containers")[0], "resources", "requests")["cpu"] for pod in ground.pods()]


def test_each_node_has_one_pod() -> None:
    ground = grounded()
    assert where(ground) == ["n1", "n2", "n3"]
    assert counts(ground.read("DaemonSet", "agent"), *NUMBERS) == (3, 3, 3, 3, 3, 0, 0)
    assert counts(ground.read("DaemonSet", "agent"), "observedGeneration") == (1,)
    labels = labels_of(ground.pods()[0])
    assert labels["pod-template-generation"] == "1"
    assert ground.names("ControllerRevision") == [f"agent-{labels['controller-revision-hash']}"]


def test_a_new_node_gets_a_pod_and_a_lost_one_loses_it() -> None:
    ground = grounded(1)
    ground.add_node("n9")
    ground.run()
    assert where(ground) == ["n1", "n9"]
    ground.delete("Node", "n1")
    ground.run()
    assert where(ground) == ["n9"]


def test_a_node_selector_is_followed_when_labels_change() -> None:
    ground = Ground(2)
    ground.create(workload("DaemonSet", "agent", template=template("agent", nodeSelector={"disk": "fast"})))
    ground.run()
    assert where(ground) == []
    ground.merge("Node", "n2", metadata={"name": "n2", "labels": {"disk": "fast"}})
    ground.run()
    assert where(ground) == ["n2"]
    ground.merge("Node", "n2", metadata={"name": "n2", "labels": {"disk": "slow"}})
    ground.run()
    assert where(ground) == []


def test_it_runs_on_cordoned_nodes_and_not_on_tainted_ones() -> None:
    ground = Ground(0)
    ground.add_node("n1", unschedulable=True)
    ground.add_node("n2", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    ground.create(workload("DaemonSet", "agent"))
    ground.run()
    assert where(ground) == ["n1"]
    ground.merge("Node", "n1", spec={"taints": [{"key": "gpu", "effect": "NoSchedule"}]})
    ground.run()
    assert where(ground) == ["n1"]
    assert counts(ground.read("DaemonSet", "agent"), "numberMisscheduled", "desiredNumberScheduled") == (1, 0)
    ground.merge("Node", "n1", spec={"taints": [{"key": "gpu", "effect": "NoExecute"}]})
    ground.run()
    assert where(ground) == []


def test_a_heart_beat_of_a_node_concerns_no_set() -> None:
    ground = grounded(1)
    before = len(ground.history)
    ground.merge("Node", "n1", status={"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "x"}]})
    ground.run()
    assert [entry[1] for entry in ground.history[before:]] == ["Node"]


def test_a_full_node_leaves_its_pod_pending() -> None:
    ground = Ground(0)
    ground.add_node("n1", cpu="50m")
    ground.create(workload("DaemonSet", "agent"))
    ground.run()
    assert ground.phases() == ["Pending"]
    assert counts(ground.read("DaemonSet", "agent"), "numberReady", "numberUnavailable") == (0, 1)


def test_an_update_keeps_all_but_one_node_served() -> None:
    ground = grounded()
    update(ground)
    least = 3
    for _ in range(150):
        ground.run(SECOND / 10)
        least = min(least, counts(ground.read("DaemonSet", "agent"), "numberAvailable")[0])
    assert (requests(ground), least) == (["200m"] * 3, 2)
    assert labels_of(ground.pods()[0])["pod-template-generation"] == "2"


def test_with_surge_no_node_is_without() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    ground = grounded(updateStrategy=rolling)
    update(ground)
    least, most = 3, 3
    for _ in range(150):
        ground.run(SECOND / 10)
        least = min(least, counts(ground.read("DaemonSet", "agent"), "numberAvailable")[0])
        most = max(most, sum("deletionTimestamp" not in child(pod, "metadata") for pod in ground.pods()))
    assert (requests(ground), least, most) == (["200m"] * 3, 3, 4)


def test_by_hand_only_deleted_pods_are_updated() -> None:
    ground = grounded(2, updateStrategy={"type": "OnDelete"})
    update(ground)
    ground.run(MINUTE)
    assert requests(ground) == ["100m"] * 2
    ground.delete("Pod", ground.names()[0])
    ground.run()
    assert sorted(map(str, requests(ground))) == ["100m", "200m"]
    assert counts(ground.read("DaemonSet", "agent"), "updatedNumberScheduled") == (1,)


def test_a_pod_that_keeps_ending_is_replaced_ever_later() -> None:
    ground = grounded(1)
    replaced = 0
    for _ in range(60):
        if ground.phases() == ["Running"]:
            ground.finish(ground.names()[0], "Failed")
            replaced += 1
        ground.run(2 * SECOND)
    assert 4 <= replaced <= 8
    assert "FailedDaemonPod" in ground.reasons("DaemonSet")


def test_what_is_refused_is_told() -> None:
    ground = Ground()
    quota: JsonObject = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    ground.create(quota | {"spec": {"hard": {"pods": "0"}}})
    ground.run()
    ground.create(workload("DaemonSet", "agent"))
    ground.run()
    assert "FailedCreate" in ground.reasons("DaemonSet")
    assert counts(ground.read("DaemonSet", "agent"), "desiredNumberScheduled", "numberUnavailable") == (1, 1)


def test_a_free_pod_is_adopted() -> None:
    ground = grounded(1)
    pod = ground.pods()[0]
    del ensure(pod, "metadata")["ownerReferences"]
    ground.server.store.update(pod)
    ground.run()
    assert ground.names() == [text(pod, "metadata", "name")]


def test_availability_comes_after_the_time_a_pod_must_be_ready() -> None:
    ground = grounded(1, minReadySeconds=20)
    assert counts(ground.read("DaemonSet", "agent"), "numberReady", "numberAvailable") == (1, 0)
    ground.run(15 * SECOND)
    assert counts(ground.read("DaemonSet", "agent"), "numberReady", "numberAvailable") == (1, 1)


def test_a_removed_set_leaves_nothing() -> None:
    ground = grounded()
    ground.delete("DaemonSet", "agent")
    ground.run()
    assert (ground.pods(), ground.names("ControllerRevision")) == ([], [])
