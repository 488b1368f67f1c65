"""Resizes in time: how quickly, what is counted, what is told, what stays behind (in-place-resize 3.3 to 3.12)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, number, rows, text
from evenkeel.simulator.kubelet.settings import MemoryPolicy, Timing
from evenkeel.simulator.workloads.demand import Behaviour, Demand
from evenkeel.simulator.workloads.functions import Constant, Steps
from tests.evenkeel.simulator.kubelet.pods import BURSTABLE, GUARANTEED, MEBIBYTE, container, resources
from tests.evenkeel.simulator.kubelet.stage import NODE, SECOND, Stage

RESTART = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
BIGGER = resources(("500m", "1"), ("128Mi", "256Mi"))
HUGE = resources(("9", "9"), ("128Mi", "256Mi"))


def uid(stage: Stage, name: str) -> str:
    return text(stage.read(name), "metadata", "uid")


def allocated(stage: Stage, name: str = "a") -> object:
    return child(stage.status(name), "allocatedResources").get("cpu")


def actual(stage: Stage, name: str = "a") -> object:
    return child(stage.status(name), "resources", "requests").get("cpu")


def settled(stage: Stage, name: str, resources_wanted: JsonObject) -> bool:
    """Say whether a resize is complete by the status."""
    pod = stage.read(name)
    kinds = {text(row, "type") for row in rows(pod, "status", "conditions")}
    seen = number(pod, "status", "observedGeneration") == number(pod, "metadata", "generation")
    return seen and "PodResizeInProgress" not in kinds and stage.status(name)["resources"] == resources_wanted


@pytest.mark.parametrize("seed", range(6))
def test_a_quiet_pod_is_resized_within_a_second(seed: int) -> None:
    stage = Stage(seed=seed)
    stage.run("a")
    asked = stage.elapsed
    stage.change("a", BIGGER)
    assert stage.until(lambda: allocated(stage) == "500m") - asked < 0.06, "the allocation shows"
    group = stage.kubelet.container_cgroup(uid(stage, "a"), "app")
    stage.advance(0.04)
    group = stage.kubelet.container_cgroup(uid(stage, "a"), "app")
    assert group is not None
    assert group.cpu_quota_us == 100_000, "the control group has changed"
    assert actual(stage) == "100m" or stage.elapsed - asked > 0.1
    assert stage.until(lambda: settled(stage, "a", BIGGER)) - asked <= 1.1


def test_a_pod_that_was_just_resized_takes_two_seconds() -> None:
    stage = Stage()
    stage.run("a")
    stage.change("a", BIGGER)
    stage.until(lambda: settled(stage, "a", BIGGER))
    asked = stage.elapsed
    stage.change("a", BURSTABLE)
    took = stage.until(lambda: settled(stage, "a", BURSTABLE)) - asked
    assert 1.9 < took < 2.1


def test_twelve_pods_at_once() -> None:
    stage = Stage()
    for number_of in range(12):
        stage.create(f"p{number_of}")
    stage.advance(5)
    asked = stage.elapsed
    smaller = resources(("50m", "100m"), ("128Mi", "256Mi"))
    for number_of in range(12):
        stage.change(f"p{number_of}", smaller)
    took = stage.until(lambda: all(settled(stage, f"p{n}", smaller) for n in range(12))) - asked
    assert took < 1.2


def test_an_untrue_completion_of_a_young_pod() -> None:
    stage = Stage(timing=Timing(false_completion=1.0))
    stage.create("a")
    stage.until(lambda: stage.phase("a") == "Running")
    asked = stage.elapsed
    stage.change("a", BIGGER)
    stage.until(lambda: "ResizeCompleted" in stage.reasons("a"))
    assert 0.8 < stage.elapsed - asked < 1.1
    first = next(e for e in stage.server.store.list("v1", "Event") if e["reason"] == "ResizeCompleted")
    assert '"cpu":"100m"' in text(first, "message"), "with the old resources"
    assert '"generation":2' in text(first, "message"), "and the new generation"
    assert number(stage.read("a"), "status", "observedGeneration") == 1, "the status does not lie"
    assert not stage.condition("a", "PodResizeInProgress")
    stage.until(lambda: settled(stage, "a", BIGGER))
    assert 2.8 < stage.elapsed - asked < 3.1
    assert stage.reasons("a").count("ResizeCompleted") == 2


def test_no_untrue_completion_of_an_older_pod() -> None:
    stage = Stage(timing=Timing(false_completion=1.0))
    stage.run("a")
    stage.change("a", BIGGER)
    stage.advance(5)
    assert stage.reasons("a").count("ResizeCompleted") == 1


def resize_often(stage: Stage, times: int) -> list[JsonObject]:
    """Resize a pod again and again, and return the events about it."""
    stage.run("a")
    for step in range(times):
        stage.change("a", resources((f"{200 + step}m", "1"), ("128Mi", "256Mi")))
        stage.advance(4)
    return [e for e in stage.server.store.list("v1", "Event") if text(e, "involvedObject", "name") == "a"]


def test_the_tenth_resize_is_told_in_a_merged_event() -> None:
    events = resize_often(Stage(), 11)
    started = [e for e in events if e["reason"] == "ResizeStarted"]
    merged = [e for e in started if text(e, "message").startswith("(combined from similar events): ")]
    assert (len(started), len(merged)) == (10, 1)
    assert merged[0]["count"] == 2


def test_after_25_events_there_are_no_more() -> None:
    stage = Stage()
    events = resize_often(stage, 16)
    told = sum(count for e in events if isinstance(count := e["count"], int))
    assert told == 25
    assert actual(stage) == "215m", "though all were actuated"


def test_a_changed_reason_does_not_change_the_gauge_until_somebody_else_waits() -> None:
    stage = Stage()
    for name in ("a", "b", "x"):
        stage.create(name, container("app", resources("3500m", "1Mi") if name == "x" else BURSTABLE))
    stage.advance(5)
    stage.change("a", resources(("1", "2"), ("128Mi", "256Mi")))
    stage.advance(0.5)
    assert waiting(stage) == {"deferred": 1}
    stage.change("a", HUGE)
    stage.advance(0.5)
    assert stage.condition("a", "PodResizePending")["reason"] == "Infeasible"
    assert waiting(stage) == {"deferred": 1}
    stage.change("b", resources(("1", "2"), ("128Mi", "256Mi")))
    stage.advance(0.5)
    assert waiting(stage) == {"deferred": 1, "infeasible": 1}
    for name in ("a", "b"):
        stage.change(name, BURSTABLE)
    stage.advance(0.5)
    assert waiting(stage) == {}


def waiting(stage: Stage) -> dict[str, int]:
    """Read the gauge of waiting resizes."""
    assert stage.kubelet.process is not None
    return dict(stage.kubelet.process.context.metrics.pending)


def test_restarting_with_stale_statistics_tells_of_an_error_and_is_complete() -> None:
    stage = Stage()
    holding = Steps(((timedelta(0), Demand(0.1, 226 * MEBIBYTE)),))
    stage.run("a", container(resizePolicy=RESTART), behaviour=Behaviour(holding))
    stage.advance(20)
    stage.catalogue.add("a", Behaviour(Constant(Demand(0.1, 20 * MEBIBYTE))))
    lower = resources(("100m", "200m"), ("128Mi", "200Mi"))
    stage.change("a", lower)
    stage.advance(3)
    told = [r for r in stage.reasons("a") if r.startswith(("Resize", "Killing"))]
    assert told == ["ResizeStarted", "Killing", "ResizeError", "ResizeCompleted"]
    pod_uid = uid(stage, "a")
    group, around = stage.kubelet.container_cgroup(pod_uid, "app"), stage.kubelet.pod_cgroup(pod_uid)
    assert group is not None
    assert around is not None
    assert (group.memory_bytes, around.memory_bytes) == (200 * MEBIBYTE, 256 * MEBIBYTE)
    assert (stage.restarts("a"), settled(stage, "a", lower)) == (1, True)


def test_a_first_reading_that_is_missing_counts_as_nothing() -> None:
    stage = Stage()
    stage.run("a", behaviour=Behaviour(Constant(Demand(0.1, 230 * MEBIBYTE))))
    stage.change("a", resources(("100m", "200m"), ("128Mi", "200Mi")))
    stage.advance(0.5)
    error = next(e for e in stage.server.store.list("v1", "Event") if e["reason"] == "ResizeError")
    assert 'container \\"app\\" memory limit (209715200) below current usage (0)' in text(error, "message")


def test_a_later_memory_resize_of_the_running_container_mends_the_pod() -> None:
    stage = Stage()
    stage.create("a", behaviour=Behaviour(exits_after=2 * SECOND, exit_code=1))
    stage.until(lambda: stage.elapsed > 3 and stage.restarts("a") == 1 and stage.state("a") != "running")
    stage.catalogue.add("a", Behaviour())
    stage.change("a", resources(("100m", "200m"), ("128Mi", "512Mi")))
    stage.advance(5)
    around = stage.kubelet.pod_cgroup(uid(stage, "a"))
    assert around is not None
    assert around.memory_bytes == 256 * MEBIBYTE, "resize:R50"
    stage.change("a", resources(("200m", "400m"), ("128Mi", "512Mi")))
    stage.advance(5)
    around = stage.kubelet.pod_cgroup(uid(stage, "a"))
    assert around is not None
    assert around.memory_bytes == 256 * MEBIBYTE, "a cpu resize does not mend it"
    stage.change("a", resources(("200m", "400m"), ("128Mi", "600Mi")))
    stage.advance(5)
    around = stage.kubelet.pod_cgroup(uid(stage, "a"))
    assert around is not None
    assert around.memory_bytes == 600 * MEBIBYTE


def test_a_container_under_an_old_pod_limit_is_killed_by_it() -> None:
    stage = Stage()
    stage.create("a", behaviour=Behaviour(exits_after=2 * SECOND, exit_code=1))
    stage.until(lambda: stage.elapsed > 3 and stage.restarts("a") == 1 and stage.state("a") != "running")
    stage.catalogue.add("a", Behaviour(Constant(Demand(0.1, 300 * MEBIBYTE))))
    stage.change("a", resources(("100m", "200m"), ("128Mi", "512Mi")))
    stage.until(lambda: stage.state("a") == "terminated OOMKilled", 10)
    group = stage.kubelet.container_cgroup(uid(stage, "a"), "app")
    assert group is not None
    assert group.memory_bytes == 512 * MEBIBYTE, "the container's own limit would allow it"


def test_a_change_of_other_containers_waits_for_the_end_of_a_sync() -> None:
    stage = Stage()
    slow = Behaviour(stops_within=5 * SECOND)
    stage.run("a", container(resizePolicy=RESTART), container("b"), behaviour=slow)
    stage.change("a", resources(("100m", "200m"), ("128Mi", "512Mi")))
    stage.advance(1)
    stage.change("a", BIGGER, "b")
    stage.advance(1)
    group = stage.kubelet.container_cgroup(uid(stage, "a"), "b")
    assert group is not None
    assert group.cpu_quota_us == 20_000, "the sync works with the allocation of its beginning"
    stage.advance(8)
    group = stage.kubelet.container_cgroup(uid(stage, "a"), "b")
    assert group is not None
    assert group.cpu_quota_us == 100_000
    assert stage.restarts("a") == 1


def test_static_memory_refuses_with_an_event() -> None:
    stage = Stage(replace(NODE, memory_policy=MemoryPolicy.STATIC))
    stage.run("a", container("app", GUARANTEED))
    stage.change("a", resources(("500m", "500m"), ("300Mi", "300Mi")))
    stage.advance(1)
    found = stage.condition("a", "PodResizePending")
    assert 'alongside Memory Manager policy "Static"' in text(found, "message")
    assert "ResizeInfeasible" in stage.reasons("a")


def test_a_critical_pod_waits_when_nobody_can_give_way() -> None:
    stage = Stage()
    stage.run("x", container("app", resources("3500m", "1Mi")), priority=2_000_000_000)
    stage.run("k", priority=2_000_000_000)
    stage.change("k", resources(("1", "2"), ("128Mi", "256Mi")))
    stage.advance(2)
    assert stage.condition("k", "PodResizePending")["reason"] == "Deferred"
    assert stage.phase("x") == "Running"


def test_a_pod_that_goes_while_it_waits_leaves_the_queue() -> None:
    stage = Stage()
    stage.run("x", container("app", resources("3500m", "1Mi")))
    stage.run("a")
    stage.change("a", resources(("1", "2"), ("128Mi", "256Mi")))
    stage.advance(1)
    stage.server.store.delete("v1", "Pod", "a", "default")
    stage.advance(1)
    assert stage.kubelet.process is not None
    assert len(stage.kubelet.process.resizes.queue) == 0
    assert dict(stage.kubelet.process.context.metrics.pending) == {}


def test_failing_updates_count_as_such() -> None:
    stage = Stage()
    stage.run("a")
    stage.kubelet.runtime.failures.updates = None
    stage.kubelet.runtime.failures.message = "broken"
    stage.change("a", BIGGER)
    stage.advance(30)
    text_of = stage.kubelet.metrics_text()
    count = next(line for line in text_of.splitlines() if "milliseconds_count" in line)
    assert 'success="false"' in count
    assert 28 <= float(count.rpartition(" ")[2]) <= 31, "about once a second"
    assert "broken" in text(stage.condition("a", "PodResizeInProgress"), "message")
    stage.kubelet.runtime.failures.updates = 0
    stage.advance(3)
    assert settled(stage, "a", BIGGER)
