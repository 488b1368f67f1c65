"""The scheduler: fit, order, refusals, and when it tries again."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, rows, text, value_at
from tests.evenkeel.simulator.api.wire import container
from tests.evenkeel.simulator.controllers.ground import MINUTE, SECOND, Ground, workload


def pod(name: str, cpu: str = "1", /, **spec: object) -> JsonObject:
    metadata: JsonObject = {"name": name, "namespace": "default"}
    whole: JsonObject = {"containers": [container(requests={"cpu": cpu})], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole, "status": {"phase": "Pending"}}


def node_of(ground: Ground, name: str) -> str:
    return text(ground.read("Pod", name), "spec", "nodeName")


def scheduled(ground: Ground, name: str) -> tuple[str, str, str]:
    found = rows(ground.read("Pod", name), "status", "conditions")
    row = next(row for row in found if row["type"] == "PodScheduled")
    return text(row, "status"), text(row, "reason"), text(row, "message")


def conditions(ground: Ground, name: str, *rows_: JsonObject) -> None:
    ground.merge("Pod", name, status={"conditions": list(rows_)})


def test_a_pod_is_put_on_a_node() -> None:
    ground = Ground()
    ground.create(pod("a"))
    ground.run(SECOND / 2)
    stored = ground.read("Pod", "a")
    assert node_of(ground, "a") == "n1"
    assert scheduled(ground, "a") == ("True", "", "")
    assert value_at(stored, "metadata", "generation") == 1
    assert ground.reasons("Pod") == ["Scheduled"]


@pytest.mark.parametrize(
    ("row", "parts", "where"),
    [
        ("on a node already", {"nodeName": "elsewhere"}, "elsewhere"),
        ("another scheduler's", {"schedulerName": "mine"}, ""),
        ("gated", {"schedulingGates": [{"name": "example.dev/wait"}]}, ""),
    ],
)
def test_pods_that_are_not_its_own(row: str, parts: JsonObject, where: str) -> None:
    ground = Ground()
    ground.create(pod("a", **parts))
    ground.run()
    assert node_of(ground, "a") == where, row
    assert ground.reasons("Pod") == [], row


def test_a_pod_is_scheduled_once_its_gates_are_gone() -> None:
    ground = Ground()
    ground.create(pod("a", schedulingGates=[{"name": "example.dev/wait"}]))
    ground.run()
    ground.merge("Pod", "a", spec={"schedulingGates": None})
    ground.run(SECOND / 10)
    assert node_of(ground, "a") == "n1"


@pytest.mark.parametrize(
    ("row", "node", "parts", "message"),
    [
        ("cpu", {"cpu": "900m"}, {}, "none of 1 nodes fits: 1 insufficient cpu"),
        ("number of pods", {"pods": 0}, {}, "none of 1 nodes fits: 1 too many pods"),
        (
            "selector",
            {},
            {"nodeSelector": {"disk": "fast"}},
            "none of 1 nodes fits: 1 node selector or affinity not met",
        ),
        (
            "taint",
            {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
            {},
            "none of 1 nodes fits: 1 taint gpu not tolerated",
        ),
        ("cordoned", {"unschedulable": True}, {}, "none of 1 nodes fits: 1 cordoned"),
    ],
)
def test_what_does_not_fit_is_told(row: str, node: dict[str, str], parts: JsonObject, message: str) -> None:
    ground = Ground(0)
    ground.add_node("n1", **node)
    ground.run()
    ground.create(pod("a", **parts))
    ground.run(SECOND / 2)
    assert scheduled(ground, "a") == ("False", "Unschedulable", message), row
    assert ground.reasons("Pod") == ["FailedScheduling"], row
    assert node_of(ground, "a") == "", row


def test_without_nodes_that_is_the_reason() -> None:
    ground = Ground(0)
    ground.create(pod("a"))
    ground.run(SECOND)
    assert scheduled(ground, "a")[2] == "there are no nodes"


def test_reasons_are_counted_over_the_nodes() -> None:
    ground = Ground(0)
    ground.add_node("n1", cpu="100m", memory="1Mi")
    ground.add_node("n2", cpu="100m")
    ground.add_node("n3", taints=[{"key": "x", "effect": "NoExecute"}])
    ground.create(pod("a", containers=[container(requests={"cpu": "1", "memory": "2Mi"})]))
    ground.run(SECOND / 2)
    expected = "none of 3 nodes fits: 2 insufficient cpu, 1 insufficient memory, 1 taint x not tolerated"
    assert scheduled(ground, "a")[2] == expected


def test_tolerations_and_affinity_open_the_way() -> None:
    ground = Ground(1)
    ground.add_node("n2", labels={"disk": "fast"}, taints=[{"key": "gpu", "effect": "NoSchedule"}])
    ground.create(pod("a", nodeSelector={"disk": "fast"}, tolerations=[{"key": "gpu", "operator": "Exists"}]))
    ground.run()
    assert node_of(ground, "a") == "n2"


def test_the_more_important_pod_comes_first() -> None:
    ground = Ground(0)
    for name, priority in (("low", 0), ("high", 1000), ("middle", 10)):
        ground.create(pod(name, "2", priority=priority))
    ground.run()
    ground.add_node("n1", cpu="4")
    ground.run(20 * SECOND)
    assert [node_of(ground, name) for name in ("high", "middle", "low")] == ["n1", "n1", ""]


def test_among_equals_the_earlier_comes_first() -> None:
    ground = Ground(0)
    ground.create(pod("z", "3"))
    ground.run(SECOND / 2)
    ground.create(pod("a", "3"))
    ground.run(SECOND / 2)
    ground.add_node("n1", cpu="4")
    ground.run(20 * SECOND)
    assert (node_of(ground, "z"), node_of(ground, "a")) == ("n1", "")


def test_replicas_spread() -> None:
    ground = Ground(3)
    ground.create(workload("Deployment", replicas=6))
    ground.run()
    nodes = [text(each, "spec", "nodeName") for each in ground.pods()]
    assert sorted(nodes) == ["n1", "n1", "n2", "n2", "n3", "n3"]


def full(ground: Ground) -> None:
    """Fill the only node, and let another pod wait."""
    ground.create(pod("filler", "3500m"))
    ground.run()
    ground.create(pod("waiting", "1"))
    ground.run(20 * SECOND)
    assert scheduled(ground, "waiting")[1] == "Unschedulable"


@pytest.mark.parametrize(
    ("row", "help_"),
    [
        ("a new node", lambda ground: ground.add_node("n2")),
        ("a larger node", lambda ground: ground.merge("Node", "n1", status={"allocatable": {"cpu": "8"}})),
        ("a pod that goes", lambda ground: ground.delete("Pod", "filler")),
        ("a pod that ends", lambda ground: ground.finish("filler")),
    ],
)
def test_what_may_help_makes_it_try_again(row: str, help_: object) -> None:
    ground = Ground()
    full(ground)
    assert callable(help_)
    help_(ground)
    ground.run(SECOND)
    assert node_of(ground, "waiting") != "", row
    assert scheduled(ground, "waiting") == ("True", "", "")


def test_nodes_that_become_suitable_make_it_try_again() -> None:
    ground = Ground(0)
    ground.add_node("n1", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    ground.create(pod("a", nodeSelector={"disk": "fast"}))
    ground.run(20 * SECOND)
    ground.merge("Node", "n1", metadata={"name": "n1", "labels": {"disk": "fast"}})
    ground.run(20 * SECOND)
    assert scheduled(ground, "a")[2].endswith("taint gpu not tolerated")
    ground.merge("Node", "n1", spec={"taints": []})
    ground.run(20 * SECOND)
    assert node_of(ground, "a") == "n1"


def test_without_help_it_tries_again_after_five_minutes_only() -> None:
    ground = Ground()
    full(ground)

    def attempts() -> int:
        events = [e for e in ground.objects("Event") if e["reason"] == "FailedScheduling"]
        return sum(int(str(event["count"])) for event in events)

    before = attempts()
    ground.merge("Node", "n1", status={"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "x"}]})
    ground.run(4 * MINUTE)
    assert attempts() == before
    ground.run(2 * MINUTE)
    assert attempts() == before + 1


def report(ground: Ground, name: str, cpu: str) -> None:
    """Report a pod's actual and allocated cpu, as a kubelet does."""
    status = copy_of(child(ground.read("Pod", name), "status"))
    amounts: JsonObject = {"requests": {"cpu": cpu}}
    rows(status, "containerStatuses")[0].update({"resources": amounts, "allocatedResources": {"cpu": cpu}})
    ground.merge("Pod", name, status=status)


def desire(ground: Ground, name: str, cpu: str) -> None:
    """Change a pod's requests, as a resize does."""
    stored = ground.read("Pod", name)
    child(rows(stored, "spec", "containers")[0], "resources", "requests")["cpu"] = cpu
    ground.server.store.update(stored)


def test_r49_a_pending_pod_is_tried_again_with_its_new_size() -> None:
    """Row resize:R49 of the scenarios."""
    ground = Ground()
    full(ground)
    desire(ground, "waiting", "400m")
    ground.run(SECOND)
    assert node_of(ground, "waiting") == "n1"


def test_a_downsize_frees_room_only_when_the_status_shows_it() -> None:
    """Spec: in-place-resize 2 and R17."""
    ground = Ground()
    full(ground)
    desire(ground, "filler", "100m")
    ground.run(4 * MINUTE)
    assert node_of(ground, "waiting") == ""
    report(ground, "filler", "100m")
    ground.run(SECOND)
    assert node_of(ground, "waiting") == "n1"


def test_a_deferred_upsize_holds_its_room_and_an_infeasible_one_does_not() -> None:
    """Spec: in-place-resize 2, R12 and R15."""
    ground = Ground()
    ground.create(pod("grows", "500m"))
    ground.run()
    ready = rows(ground.read("Pod", "grows"), "status", "conditions")[-1]
    pending: JsonObject = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
    desire(ground, "grows", "3500m")
    conditions(ground, "grows", ready, pending)
    ground.create(pod("other", "1"))
    ground.run(20 * SECOND)
    assert node_of(ground, "other") == ""
    conditions(ground, "grows", ready, pending | {"reason": "Infeasible"})
    ground.run(SECOND)
    assert node_of(ground, "other") == "n1"


def test_only_pods_that_lack_what_is_freed_are_woken() -> None:
    ground = Ground()
    ground.create(pod("cpu", "3500m"))
    ground.run()
    ground.create(pod("wide", containers=[container(requests={"memory": "9Gi"})]))
    ground.run(30 * SECOND)
    event = next(e for e in ground.objects("Event") if e["reason"] == "FailedScheduling")
    desire(ground, "cpu", "100m")
    report(ground, "cpu", "100m")
    ground.run(30 * SECOND)
    assert ground.read("Event", text(event, "metadata", "name"))["count"] == event["count"]


def test_a_waiting_pod_that_is_removed_or_placed_by_hand_is_forgotten() -> None:
    ground = Ground(0)
    ground.create(pod("a"))
    ground.create(pod("b"))
    ground.run()
    ground.delete("Pod", "a")
    placed = ground.read("Pod", "b")
    ensure(placed, "spec")["nodeName"] = "hand"
    ground.server.store.update(placed)
    ground.add_node("n1")
    ground.run(20 * SECOND)
    assert (ground.names(), node_of(ground, "b")) == (["b"], "hand")


def test_what_was_there_before_is_taken_in() -> None:
    ground = Ground(1, plane=False)
    ground.create(pod("filler", "3500m", nodeName="n1"))
    ground.create(pod("small", "500m"))
    ground.create(pod("large", "1"))
    ground.plane.start()
    ground.run()
    assert (node_of(ground, "small"), node_of(ground, "large")) == ("n1", "")


def test_a_lost_node_takes_no_more_pods() -> None:
    ground = Ground(2)
    ground.run()
    ground.delete("Node", "n1")
    ground.create(pod("a"))
    ground.run()
    assert node_of(ground, "a") == "n2"


def test_the_condition_keeps_its_time_while_it_says_no() -> None:
    ground = Ground(0)
    ground.create(pod("a"))
    ground.run(SECOND)
    ground.add_node("n1", cpu="1m")
    ground.run(timedelta(minutes=1))
    row = rows(ground.read("Pod", "a"), "status", "conditions")[0]
    assert (text(row, "message"), text(row, "lastTransitionTime")) == (
        "none of 1 nodes fits: 1 insufficient cpu",
        "2026-01-01T00:00:00Z",
    )
    assert row["observedGeneration"] == 1


def test_in_a_large_cluster_not_every_node_is_looked_at() -> None:
    ground = Ground(300)
    for number in range(4):
        ground.create(pod(f"p{number}"))
    ground.run()
    assert len({node_of(ground, f"p{number}") for number in range(4)}) == 4
    ground.create(pod("chosen", nodeSelector={"kubernetes.io/hostname": "n250"}))
    ground.run()
    assert node_of(ground, "chosen") == "n250"
