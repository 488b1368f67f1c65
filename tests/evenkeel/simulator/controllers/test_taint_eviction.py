"""Pods leave tainted nodes: at once, after a while, or not at all."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, rows, text, value_at
from tests.evenkeel.simulator.controllers.ground import MINUTE, SECOND, Ground, budget, template, workload

AWAY: JsonObject = {"key": "away", "effect": "NoExecute"}
OTHER: JsonObject = {"key": "other", "effect": "NoExecute"}


def toleration(seconds: int | None = None, key: str = "away") -> JsonObject:
    found: JsonObject = {"key": key, "operator": "Exists", "effect": "NoExecute"}
    return found if seconds is None else {**found, "tolerationSeconds": seconds}


def grounded(*tolerations: JsonObject, replicas: int = 2) -> Ground:
    """Return a cluster with one node that runs pods."""
    ground = Ground()
    made = template("web", tolerations=list(tolerations)) if tolerations else template("web")
    ground.create(workload("ReplicaSet", replicas=replicas, template=made))
    ground.run()
    assert ground.phases() == ["Running"] * replicas
    return ground


def taint(ground: Ground, *taints: JsonObject) -> None:
    ground.merge("Node", "n1", spec={"taints": list(taints)})


def uids(ground: Ground) -> list[object]:
    return [value_at(pod, "metadata", "uid") for pod in ground.pods()]


def going(ground: Ground) -> list[bool]:
    return [bool(text(pod, "metadata", "deletionTimestamp")) for pod in ground.pods()]


def staying(ground: Ground) -> list[object]:
    return [uid for uid, is_going in zip(uids(ground), going(ground), strict=True) if not is_going]


def test_pods_that_do_not_tolerate_a_taint_go_at_once_and_budgets_are_not_asked() -> None:
    ground = grounded()
    ground.create(budget(minAvailable=2))
    ground.run()
    first = uids(ground)
    taint(ground, AWAY)
    ground.run(SECOND / 2)
    left = [pod for pod in ground.pods() if value_at(pod, "metadata", "uid") in first]
    assert all(text(pod, "metadata", "deletionTimestamp") for pod in left)
    told = [row for pod in left for row in rows(pod, "status", "conditions") if row["type"] == "DisruptionTarget"]
    assert [(row["status"], row["reason"]) for row in told] == [("True", "DeletionByTaintManager")] * 2
    assert ground.reasons("Pod").count("TaintManagerEviction") == 2
    ground.run()
    assert not set(first) & set(uids(ground))
    assert ground.phases() == ["Pending", "Pending"], "there is nowhere else to go"


def test_pods_stay_for_as_long_as_they_tolerate_it() -> None:
    ground = grounded(toleration(60))
    first = uids(ground)
    taint(ground, AWAY)
    ground.run(59 * SECOND)
    assert (uids(ground), going(ground)) == (first, [False, False])
    ground.run(2 * SECOND)
    assert not set(first) & set(staying(ground))


def test_a_taint_that_goes_in_time_drives_nobody_away_and_patience_begins_anew() -> None:
    ground = grounded(toleration(60))
    first = uids(ground)
    taint(ground, AWAY)
    ground.run(50 * SECOND)
    taint(ground)
    ground.run(MINUTE)
    assert uids(ground) == first
    assert ground.reasons("Pod").count("TaintManagerEviction") == 2, "they may stay"
    taint(ground, AWAY)
    ground.run(59 * SECOND)
    assert (uids(ground), going(ground)) == (first, [False, False])
    ground.run(10 * SECOND)
    assert not set(first) & set(uids(ground))


def test_a_second_taint_shortens_patience_that_has_begun() -> None:
    ground = grounded(toleration(600), toleration(60, "other"))
    first = uids(ground)
    taint(ground, AWAY)
    ground.run(50 * SECOND)
    taint(ground, AWAY, OTHER)
    ground.run(5 * SECOND)
    assert uids(ground) == first
    ground.run(6 * SECOND)
    assert not set(first) & set(staying(ground))


def test_pods_that_tolerate_it_for_ever_stay() -> None:
    ground = grounded(toleration())
    first = uids(ground)
    taint(ground, AWAY)
    ground.run(60 * MINUTE)
    assert (uids(ground), going(ground)) == (first, [False, False])


def test_other_effects_and_other_nodes_concern_nobody() -> None:
    ground = grounded()
    ground.add_node("n2", taints=[AWAY])
    first = uids(ground)
    taint(ground, {"key": "away", "effect": "NoSchedule"})
    ground.run(MINUTE)
    assert uids(ground) == first


def test_pods_that_come_to_a_tainted_node_stay_no_longer_than_others() -> None:
    ground = grounded()
    ground.server.store.delete("apps/v1", "ReplicaSet", "web", "default")
    ground.run()
    taint(ground, AWAY)
    late = workload("ReplicaSet", "late", replicas=1, template=template("late", tolerations=[toleration(60)]))
    ground.create(late)
    ground.run(30 * SECOND)
    first = uids(ground)
    assert ground.phases() == ["Running"]
    ground.run(40 * SECOND)
    assert uids(ground) != first


def test_ended_pods_are_left_alone() -> None:
    ground = Ground()
    ground.create(workload("Job", template=template("web", restartPolicy="Never")))
    ground.run()
    ground.finish(ground.names()[0])
    first = uids(ground)
    taint(ground, AWAY)
    ground.run()
    assert uids(ground) == first


@pytest.mark.parametrize("moment", ["before", "after"])
def test_what_is_there_at_the_start_counts(moment: str) -> None:
    ground = Ground(0, plane=False)
    ground.add_node("n1", taints=[AWAY] if moment == "before" else [])
    body = template("web")
    pod: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}
    spec = body["spec"]
    assert isinstance(spec, dict)
    ground.create(pod | {"spec": {**spec, "nodeName": "n1"}})
    ground.plane.start()
    ground.run()
    if moment == "after":
        assert ground.phases() == ["Running"]
        taint(ground, AWAY)
        ground.run()
    assert ground.pods() == []


def test_a_node_that_goes_takes_its_taints_along() -> None:
    ground = grounded(toleration(60))
    taint(ground, AWAY)
    ground.run(SECOND)
    ground.delete("Node", "n1")
    ground.add_node("n1")
    first = uids(ground)
    ground.run(2 * MINUTE)
    assert uids(ground) == first
