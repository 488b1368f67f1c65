"""Pods as the kubelet takes them in: admission, rejection, static pods, overwritten statuses, restarts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, ensure, number, rows, text
from evenkeel.simulator.kubelet.settings import NodeSettings, Timing
from evenkeel.simulator.workloads.demand import Behaviour
from tests.evenkeel.simulator.kubelet.pods import container, resources
from tests.evenkeel.simulator.kubelet.stage import NODE, SECOND, Stage

LARGE = resources("3500m", "1Mi")

REJECTED: list[tuple[str, JsonObject, JsonObject, str]] = [
    ("cpu", resources("5"), {}, "OutOfcpu"),
    ("memory", resources("", "9Gi"), {}, "OutOfmemory"),
    ("selector", resources("1m"), {"x": "y"}, "NodeAffinity"),
]


@pytest.mark.parametrize(("case", "wants", "selector", "reason"), REJECTED, ids=[row[0] for row in REJECTED])
def test_a_pod_that_does_not_fit_is_rejected(case: str, wants: JsonObject, selector: JsonObject, reason: str) -> None:
    stage = Stage()
    stage.create("a", container("app", wants), nodeSelector=selector)
    stage.advance(1)
    status = child(stage.read("a"), "status")
    assert (status["phase"], status["reason"], status["observedGeneration"]) == ("Failed", reason, 1)
    assert text(status, "message").startswith("Pod was rejected: ")
    assert "containerStatuses" not in status
    assert stage.reasons("a") == [reason]
    assert stage.kubelet.runtime.sandboxes == {}


def test_a_rejected_pod_takes_no_room() -> None:
    stage = Stage()
    stage.run("x", container("app", LARGE))
    stage.create("a", container("app", LARGE))
    stage.advance(1)
    assert stage.phase("a") == "Failed"
    stage.run("b", container("app", resources("500m")))


def test_a_waiting_wish_takes_no_room_from_new_pods() -> None:
    stage = Stage()
    stage.run("x", container("app", resources("3000m", "1Mi")))
    stage.run("a")
    stage.change("a", resources(("2", "3"), ("128Mi", "256Mi")))
    stage.advance(1)
    stage.run("b", container("app", resources("900m")))


def test_a_critical_pod_makes_room_for_itself() -> None:
    stage = Stage()
    stage.run("x", container("app", LARGE))
    stage.create("k", container("app", resources("1")), priority=2_000_000_000)
    stage.advance(5)
    assert (stage.phase("x"), stage.phase("k")) == ("Failed", "Running")
    assert text(stage.read("x"), "status", "reason") == "Preempting"
    assert stage.condition("x", "DisruptionTarget")["reason"] == "TerminationByKubelet"
    assert "Preempting" in stage.reasons("x")


def test_a_critical_pod_that_cannot_is_rejected() -> None:
    stage = Stage()
    stage.create("k", container("app", resources("9")), priority=2_000_000_000)
    stage.advance(1)
    assert text(stage.read("k"), "status", "reason") == "OutOfcpu"


def test_even_the_quickest_watch_does_nothing_within_a_write() -> None:
    stage = Stage(timing=Timing(watch=timedelta(0)))
    stage.create("a")
    process = stage.kubelet.process
    assert process is not None
    assert not process.context.pods
    stage.advance(3)
    assert stage.phase("a") == "Running"


def test_a_pod_that_has_ended_is_left_alone() -> None:
    stage = Stage()
    stage.kubelet.stop()
    pod = stage.create("a")
    ensure(pod, "status")["phase"] = "Succeeded"
    stage.server.store.update(pod)
    stage.kubelet.start()
    stage.advance(3)
    assert stage.kubelet.runtime.sandboxes == {}
    assert stage.phase("a") == "Succeeded"


def test_a_pod_that_is_being_deleted_already_is_let_go() -> None:
    stage = Stage()
    stage.kubelet.stop()
    stage.create("a")
    stage.delete("a")
    stage.kubelet.start()
    stage.advance(5)
    assert not stage.exists("a")


def test_the_deletion_of_a_pod_that_has_ended_is_finished() -> None:
    stage = Stage()
    stage.create("a", behaviour=Behaviour(exits_after=2 * SECOND), restartPolicy="Never")
    stage.advance(6)
    assert stage.phase("a") == "Succeeded"
    stage.delete("a", 0)
    stage.advance(2)
    assert not stage.exists("a")


def test_an_overwritten_status_is_put_right() -> None:
    stage = Stage()
    pod = stage.run("a")
    ensure(pod, "status")["phase"] = "Failed"
    stage.server.store.update(pod)
    stage.advance(9)
    assert stage.phase("a") == "Failed"
    stage.advance(2)
    assert stage.phase("a") == "Running"


def test_conditions_of_others_are_kept() -> None:
    stage = Stage()
    pod = stage.run("a")
    conditions = rows(pod, "status", "conditions")
    ensure(pod, "status")["conditions"] = [*conditions, {"type": "DisruptionTarget", "status": "True"}]
    stage.server.store.update(pod)
    stage.advance(20)
    stage.change("a", resources(("200m", "400m"), ("128Mi", "256Mi")))
    stage.advance(3)
    assert stage.condition("a", "DisruptionTarget") == {"type": "DisruptionTarget", "status": "True"}


def test_labels_change_without_a_trace() -> None:
    stage = Stage()
    pod = stage.run("a")
    ensure(pod, "metadata")["labels"] = {"x": "y"}
    stage.server.store.update(pod)
    seen = len(stage.versions)
    stage.advance(5)
    assert len(stage.versions) == seen


def test_a_restarted_kubelet_goes_by_what_it_granted() -> None:
    stage = Stage()
    stage.run("x", container("app", LARGE))
    stage.run("a")
    stage.kubelet.stop()
    stage.change("a", resources(("2", "3"), ("128Mi", "256Mi")))
    stage.kubelet.start()
    begun = stage.elapsed
    stage.advance(5)
    assert (stage.phase("a"), stage.restarts("a")) == ("Running", 0), "the wish does not count at its admission"
    assert number(stage.read("a"), "status", "observedGeneration") == 2
    assert not stage.condition("a", "PodResizePending"), "nothing is known of it for half a minute"
    came = stage.until(lambda: bool(stage.condition("a", "PodResizePending")))
    assert 31.2 < came - begun < 31.5
    process = stage.kubelet.process
    assert process is not None
    assert not process.context.metrics.requested, "and it is not counted"


def test_a_resize_patched_while_the_kubelet_was_down_is_allocated_by_the_timer() -> None:
    stage = Stage()
    stage.run("a")
    stage.kubelet.stop()
    bigger = resources(("200m", "400m"), ("128Mi", "256Mi"))
    stage.change("a", bigger)
    stage.kubelet.start()
    begun = stage.elapsed
    stage.advance(3)
    assert number(stage.read("a"), "status", "observedGeneration") == 2
    assert child(stage.status("a"), "resources", "requests")["cpu"] == "100m"
    came = stage.until(lambda: "ResizeStarted" in stage.reasons("a"))
    assert 31.2 < came - begun < 31.5
    stage.advance(2)
    assert child(stage.status("a"), "resources")["requests"] == bigger["requests"]
    process = stage.kubelet.process
    assert process is not None
    assert not process.context.metrics.deferred_accepted


def test_containers_run_and_end_while_the_kubelet_is_down() -> None:
    stage = Stage()
    stage.run("a", behaviour=Behaviour(exits_after=10 * SECOND))
    stage.kubelet.stop()
    stage.advance(30)
    assert stage.state("a") == "running", "nobody writes statuses"
    stage.kubelet.start()
    stage.advance(4)
    assert stage.restarts("a") == 1


def test_a_kubelet_started_under_pressure_evicts_instead_of_deferring() -> None:
    stage = Stage()
    stage.run("a")
    stage.kubelet.stop()
    stage.kubelet.set_pressure("DiskPressure", holds=True)
    stage.change("a", resources(("50m", "100m"), ("128Mi", "256Mi")))
    stage.kubelet.start()
    stage.advance(4)
    assert stage.phase("a") == "Failed"
    assert text(stage.read("a"), "status", "reason") == "Evicted"
    assert stage.state("a") == "terminated Completed"


def test_a_stop_in_the_middle_of_a_preemption() -> None:
    stage = Stage()
    stage.run("x", container("app", LARGE), behaviour=Behaviour(stops_within=20 * SECOND))
    stage.create("k", container("app", resources("1")), priority=2_000_000_000)
    stage.advance(2)
    stage.kubelet.restart(SECOND)
    stage.advance(40)
    assert (stage.phase("x"), stage.phase("k")) == ("Failed", "Running")


def manifest(cpu: str = "100m") -> JsonObject:
    """A static pod."""
    spec = {"containers": [container("app", resources(cpu))]}
    return {"metadata": {"name": "web", "namespace": "kube-system"}, "spec": spec}


def test_static_pods_show_as_mirrors_and_are_replaced_with_their_manifest() -> None:
    stage = Stage()
    stage.kubelet.manifests.files["web.yaml"] = manifest()
    stage.advance(24)
    first = stage.server.store.read("v1", "Pod", "web-n", "kube-system")
    assert text(first, "status", "phase") == "Running"
    assert "observedGeneration" not in child(first, "status")
    assert all("observedGeneration" not in row for row in rows(first, "status", "conditions"))
    stage.kubelet.manifests.files["web.yaml"] = manifest("200m")
    stage.advance(24)
    second = stage.server.store.read("v1", "Pod", "web-n", "kube-system")
    assert text(second, "metadata", "uid") != text(first, "metadata", "uid")
    assert text(second, "status", "phase") == "Running"
    del stage.kubelet.manifests.files["web.yaml"]
    stage.advance(21)
    assert stage.server.store.find("v1", "Pod", "web-n", "kube-system") is None
    assert stage.kubelet.runtime.sandboxes == {}


def test_a_static_pod_is_taken_on_a_full_and_pressed_node() -> None:
    stage = Stage()
    stage.run("x", container("app", LARGE))
    stage.kubelet.set_pressure("DiskPressure", holds=True)
    stage.kubelet.manifests.files["web.yaml"] = manifest("1")
    stage.advance(30)
    mirror = stage.server.store.read("v1", "Pod", "web-n", "kube-system")
    assert text(mirror, "status", "phase") == "Running"
    assert stage.phase("x") == "Failed"


def test_a_mirror_that_somebody_removed_comes_back() -> None:
    stage = Stage()
    stage.kubelet.manifests.files["web.yaml"] = manifest()
    stage.advance(24)
    stage.server.store.delete("v1", "Pod", "web-n", "kube-system")
    stage.advance(24)
    assert stage.server.store.find("v1", "Pod", "web-n", "kube-system")


def test_the_number_of_pods_is_limited() -> None:
    stage = Stage(replace(NODE, pods=2))
    for name in ("a", "b", "c"):
        stage.create(name)
    stage.advance(3)
    assert [stage.phase(name) for name in ("a", "b", "c")] == ["Running", "Running", "Failed"]
    assert text(stage.read("c"), "status", "reason") == "OutOfpods"


def test_a_node_that_shuts_down_takes_no_pods() -> None:
    stage = Stage(NodeSettings("n"))
    stage.kubelet.shutting_down = True
    stage.create("a")
    stage.advance(1)
    assert text(stage.read("a"), "status", "reason") == "NodeShutdown"
