"""The life of containers: start, readiness, crashes, restarts, ends (in-place-resize 3.6, 3.8)."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from evenkeel.simulator.api.fields import child, number, rows, text
from evenkeel.simulator.kubelet.settings import NodeSettings, Timing
from evenkeel.simulator.workloads.demand import Behaviour, Demand
from evenkeel.simulator.workloads.functions import Constant
from tests.evenkeel.simulator.kubelet.pods import BURSTABLE, MEBIBYTE, container, resources
from tests.evenkeel.simulator.kubelet.stage import SECOND, Stage

HOUR = timedelta(hours=1)
CRASHING = Behaviour(exits_after=SECOND, exit_code=3)
RESTART = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]


def test_a_pod_comes_up() -> None:
    stage = Stage()
    stage.create("a")
    stage.advance(0.1)
    assert (stage.phase("a"), stage.state("a")) == ("Pending", "waiting ContainerCreating")
    assert number(stage.read("a"), "status", "observedGeneration") == 1
    assert text(stage.condition("a", "Ready"), "reason") == "ContainersNotReady"
    assert "resources" not in stage.status("a")
    came = stage.until(lambda: stage.phase("a") == "Running")
    assert came < 2
    pod, status = stage.read("a"), stage.status("a")
    assert status["ready"] is True
    assert status["started"] is True
    assert status["resources"] == BURSTABLE
    assert status["allocatedResources"] == {"cpu": "100m", "memory": "128Mi"}
    assert text(pod, "status", "podIP")
    kinds = [text(row, "type") for row in rows(pod, "status", "conditions")]
    assert kinds == ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
    assert all(row["status"] == "True" for row in rows(pod, "status", "conditions"))
    assert all(row["observedGeneration"] == 1 for row in rows(pod, "status", "conditions"))
    assert stage.reasons("a") == ["Pulled", "Created", "Started"]


def test_a_pod_becomes_ready_in_its_own_time() -> None:
    stage = Stage()
    stage.create("a", behaviour=Behaviour(ready_after=20 * SECOND))
    stage.advance(19)
    assert (stage.phase("a"), stage.status("a")["ready"]) == ("Running", False)
    stage.advance(4)
    assert stage.status("a")["ready"] is True


def test_init_containers_run_in_turn_and_sidecars_stay() -> None:
    stage = Stage()
    proxy = container("proxy", restartPolicy="Always")
    stage.create("a", initContainers=[container("setup"), proxy])
    stage.advance(0.8)
    assert stage.state("a") == "waiting PodInitializing"
    assert text(stage.condition("a", "Initialized"), "reason") == "ContainersNotInitialized"
    stage.until(lambda: stage.phase("a") == "Running")
    assert [stage.state("a", name) for name in ("setup", "proxy", "app")] == [
        "terminated Completed",
        "running",
        "running",
    ]
    started = {name: child(stage.status("a", name), "state", "running") for name in ("proxy", "app")}
    assert text(started["proxy"], "startedAt") <= text(started["app"], "startedAt")
    assert stage.status("a", "setup")["ready"] is True
    stage.kubelet.runtime.end(uid(stage, "a"), "proxy", 1)
    stage.advance(3)
    assert number(stage.status("a", "proxy"), "restartCount") == 1


def uid(stage: Stage, name: str) -> str:
    return text(stage.read(name), "metadata", "uid")


POLICIES = [
    # restart policy, exit code, phase afterwards, restarts
    ("Always", 0, "Running", 1),
    ("Always", 1, "Running", 1),
    ("OnFailure", 0, "Succeeded", 0),
    ("OnFailure", 1, "Running", 1),
    ("Never", 0, "Succeeded", 0),
    ("Never", 1, "Failed", 0),
]


@pytest.mark.parametrize(("policy", "code", "phase", "restarts"), POLICIES)
def test_what_the_end_of_a_container_leads_to(policy: str, code: int, phase: str, restarts: int) -> None:
    stage = Stage()
    stage.create("a", behaviour=Behaviour(exits_after=5 * SECOND, exit_code=code), restartPolicy=policy)
    stage.advance(9)
    assert (stage.phase("a"), stage.restarts("a")) == (phase, restarts)
    if phase != "Running":
        reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
        assert text(stage.condition("a", "Ready"), "reason") == reason
        assert stage.condition("a", "PodReadyToStartContainers")["status"] == "False"
    else:
        last = child(stage.status("a"), "lastState", "terminated")
        assert (last["exitCode"], last["reason"]) == (code, "Completed" if code == 0 else "Error")


def test_a_failing_init_container_ends_a_pod_that_never_restarts() -> None:
    stage = Stage()
    stage.create("a", behaviour=CRASHING, initContainers=[container("setup")], restartPolicy="Never")
    stage.advance(5)
    assert (stage.phase("a"), stage.state("a", "setup")) == ("Failed", "terminated Error")


def test_a_failing_init_container_is_started_again_otherwise() -> None:
    stage = Stage()
    stage.create("a", behaviour=CRASHING, initContainers=[container("setup")])
    stage.advance(6)
    assert (stage.phase("a"), number(stage.status("a", "setup"), "restartCount")) == ("Pending", 1)


def test_a_sidecar_does_not_keep_a_job_alive() -> None:
    stage = Stage()
    stage.catalogue.add("job", Behaviour(exits_after=5 * SECOND))
    stage.catalogue.add("idle", Behaviour())
    pod = stage.create("a", initContainers=[container("proxy", restartPolicy="Always")], restartPolicy="Never")
    pod["metadata"] = {**child(pod, "metadata"), "annotations": {"simulator.evenkeel.dev/usage": "app=job,proxy=idle"}}
    stage.server.store.update(pod)
    stage.advance(12)
    assert (stage.phase("a"), stage.state("a", "proxy")) == ("Succeeded", "terminated Completed")


def starts(stage: Stage, seconds: float) -> list[float]:
    """When a container started, as its statuses tell."""
    stage.advance(seconds)
    calls = [call for call in stage.kubelet.runtime.calls if call.verb.value == "start"]
    return [(call.at - stage.start).total_seconds() for call in calls]


def test_a_crash_loop_waits_ever_longer() -> None:
    stage = Stage()
    stage.create("a", behaviour=CRASHING)
    times = starts(stage, 3600)
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps[0] < 3, "the first restart is at once"
    for gap, delay in zip(gaps[1:], [10, 20, 40, 80, 160, 300, 300, 300], strict=False):
        assert delay < gap < 1.5 * delay + 4, (gap, delay)
    assert "BackOff" in stage.reasons("a")[-1] or any(r.startswith("BackOff[") for r in stage.reasons("a"))


def test_a_long_run_ends_a_crash_loop() -> None:
    stage = Stage(timing=Timing(longest_back_off=20 * SECOND))
    stage.create("a", behaviour=CRASHING)
    stage.advance(120)
    stage.catalogue.add("a", Behaviour(exits_after=60 * SECOND, exit_code=1))
    times = starts(stage, 400)
    late = [b - a for a, b in pairwise(times)][-3:]
    assert all(60 < gap < 65 for gap in late), "each crash counts as the first again"


def test_the_back_off_shows_when_it_is_over_and_the_crash_before() -> None:
    stage = Stage()
    stage.create("a", behaviour=CRASHING)
    stage.until(lambda: stage.elapsed > 3 and stage.restarts("a") == 1 and stage.state("a") != "running")
    assert stage.state("a") == "terminated Error"
    stage.until(lambda: stage.state("a") == "waiting CrashLoopBackOff")
    waiting = child(stage.status("a"), "state", "waiting")
    assert "back-off 10s" in text(waiting, "message")
    assert child(stage.status("a"), "lastState", "terminated")["exitCode"] == 3
    stage.until(lambda: stage.restarts("a") == 2)


def test_changed_resources_end_the_back_off() -> None:
    stage = Stage()
    stage.create("a", behaviour=CRASHING)
    stage.until(lambda: stage.elapsed > 3 and stage.restarts("a") == 1 and stage.state("a") != "running")
    asked = stage.elapsed
    stage.change("a", resources(("100m", "200m"), ("128Mi", "512Mi")))
    assert stage.until(lambda: stage.restarts("a") == 2) - asked < 2.5


def test_too_much_memory_is_killed_and_started_again() -> None:
    stage = Stage()
    stage.run("a", behaviour=Behaviour(Constant(Demand(0.1, 200 * MEBIBYTE))))
    stage.catalogue.add("a", Behaviour(Constant(Demand(0.1, 300 * MEBIBYTE))))
    stage.advance(2.5)
    last = child(stage.status("a"), "lastState", "terminated") or child(stage.status("a"), "state", "terminated")
    assert (last["reason"], last["exitCode"]) == ("OOMKilled", 137)
    stage.catalogue.add("a", Behaviour(Constant(Demand(0.1, 200 * MEBIBYTE))))
    stage.advance(30)
    assert stage.state("a") == "running"
    assert stage.restarts("a") >= 1


def test_a_container_that_cannot_start_is_tried_again() -> None:
    stage = Stage()
    stage.kubelet.runtime.failures.starts = 1
    stage.create("a")
    stage.advance(3)
    stage.until(lambda: stage.state("a") != "waiting ContainerCreating")
    assert stage.state("a") == "waiting RunContainerError"
    assert "Failed" in stage.reasons("a")
    stage.advance(20)
    assert stage.state("a") == "running"


def test_on_cgroup_v1_a_crashed_container_cannot_take_more_cpu_than_its_pod() -> None:
    stage = Stage(NodeSettings("n", cgroup_version=1))
    stage.create("a", behaviour=CRASHING)
    stage.until(lambda: stage.elapsed > 3 and stage.restarts("a") == 1 and stage.state("a") != "running")
    stage.change("a", resources(("100m", "900m"), ("128Mi", "256Mi")))
    stage.until(lambda: stage.state("a") == "waiting RunContainerError")


DELETIONS = [
    # id, what it does on its end, grace, seconds until gone at least and at most, phase before
    ("at once", Behaviour(), 30, 0.0, 1.3, "Succeeded"),
    ("with an exit code", Behaviour(stop_code=5), 30, 0.0, 1.3, "Failed"),
    ("slowly", Behaviour(stops_within=5 * SECOND), 30, 5.0, 6.3, "Succeeded"),
    ("after its hook", Behaviour(pre_stop=3 * SECOND, stops_within=2 * SECOND), 30, 5.0, 6.3, "Succeeded"),
    ("killed", Behaviour(stops_within=HOUR), 7, 7.0, 8.3, "Failed"),
    ("killed after two seconds at least", Behaviour(stops_within=HOUR), 0, 2.0, 3.3, "Failed"),
]


@pytest.mark.parametrize(("case", "behaviour", "grace", "least", "most", "phase"), DELETIONS)
def test_deletion(case: str, behaviour: Behaviour, grace: int, least: float, most: float, phase: str) -> None:
    stage = Stage()
    stage.run("a", behaviour=behaviour)
    stage.delete("a", grace)
    asked = stage.elapsed
    gone = stage.until(lambda: not stage.exists("a"))
    assert least <= gone - asked <= most
    assert text(stage.versions[-1][1], "status", "phase") == phase
    assert "Killing" in stage.reasons("a")
    stage.advance(0.1)
    assert stage.kubelet.runtime.sandboxes == {}


def test_sidecars_end_after_the_others() -> None:
    stage = Stage()
    stage.run(
        "a",
        behaviour=Behaviour(stops_within=2 * SECOND),
        initContainers=[container("one", restartPolicy="Always"), container("two", restartPolicy="Always")],
    )
    stage.delete("a")
    stage.until(lambda: not stage.exists("a"))
    stops = [(call.container, call.at) for call in stage.kubelet.runtime.calls if call.verb.value == "stop"]
    assert [name for name, _ in stops] == ["app", "two", "one"]
    assert stops[1][1] - stops[0][1] == 2 * SECOND


def test_a_finalizer_holds_the_object_but_not_the_pod() -> None:
    stage = Stage()
    pod = stage.run("a")
    child(pod, "metadata")["finalizers"] = ["example.dev/hold"]
    stage.server.store.update(pod)
    stage.delete("a")
    stage.advance(5)
    held = stage.read("a")
    assert (stage.phase("a"), number(held, "metadata", "deletionGracePeriodSeconds", default=-1)) == ("Succeeded", 0)
    child(held, "metadata")["finalizers"] = []
    stage.server.store.update(held)
    stage.advance(1)


def test_an_object_that_vanishes_takes_its_containers_with_it() -> None:
    stage = Stage()
    stage.run("a")
    stage.server.store.delete("v1", "Pod", "a", "default")
    stage.advance(0.1)
    assert stage.kubelet.runtime.sandboxes == {}


def test_a_deletion_interrupts_a_sync() -> None:
    stage = Stage()
    stage.run("a", container(resizePolicy=RESTART), behaviour=Behaviour(stops_within=HOUR))
    stage.change("a", resources(("100m", "200m"), ("256Mi", "512Mi")))
    stage.advance(3)
    stage.delete("a", 2)
    stage.until(lambda: not stage.exists("a"), 6)
    assert not any(number(row, "restartCount") for row in rows(stage.versions[-1][1], "status", "containerStatuses"))


def test_resyncs_change_nothing() -> None:
    stage = Stage()
    stage.run("a")
    stage.advance(60)
    seen = len(stage.versions)
    stage.advance(600)
    assert len(stage.versions) == seen
