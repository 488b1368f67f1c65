"""Resizes that go through, and those that cannot: R01 to R14, R36, R37, R51, R52, R56, R61."""

from __future__ import annotations

from datetime import timedelta

from evenkeel.simulator.api.fields import child, number, rows, text
from evenkeel.simulator.kubelet.accounting import requests_of
from tests.conformance.bench import Ability, Doing
from tests.conformance.lab import (
    BURSTABLE,
    GUARANTEED,
    IN_PROGRESS,
    MEBIBYTE,
    PENDING,
    RESTARTS,
    SECOND,
    Lab,
    actual,
    amounts,
    change,
    condition,
    generation_of,
    restarts,
    same_amounts,
    shown,
    sized,
    spec_of,
    status_of,
)
from tests.conformance.registry import row

BIGGER = (amounts("500m"), amounts("1"))
REQUESTED = "kubelet_container_requested_resizes_total"


@row("resize:R01")
def cpu_is_raised(lab: Lab) -> None:
    before = lab.run(lab.pod("b"))
    asked = lab.metric(REQUESTED, resource="cpu", requirement="requests", operation="increase")
    assert generation_of(lab.resize("b", *BIGGER)) == 2
    after = lab.settle("b")
    assert same_amounts(actual(after), sized(amounts("500m", "128Mi"), amounts("1", "256Mi")))
    assert text(status_of(after), "allocatedResources", "cpu") == "500m"
    assert number(after, "status", "observedGeneration") == 2
    assert restarts(after) == 0
    assert status_of(after)["containerID"] == status_of(before)["containerID"]
    lab.told("b", "S2 C2")
    for seen in lab.versions("b", since=2):
        progress = condition(seen.pod, IN_PROGRESS)
        if progress:
            assert (number(progress, "observedGeneration"), text(progress, "reason")) == (2, "")
    assert lab.metric(REQUESTED, resource="cpu", requirement="requests", operation="increase") == asked + 1


@row("resize:R02")
def cpu_is_lowered_again(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    lab.resize("b", *BIGGER)
    lab.settle("b")
    lab.bench.pass_time(3 * SECOND)
    answer = lab.resize("b", requests=amounts("100m"), limits=amounts("200m"))
    assert requests_of(answer).cpu_millis == 500, "room is freed by the status, not by the wish"
    after = lab.settle("b")
    assert requests_of(after).cpu_millis == 100
    assert same_amounts(actual(after), BURSTABLE)
    lab.told("b", "S2 C2 S3 C3")


def restarting(lab: Lab) -> None:
    """Run a Burstable pod whose memory is resized by a restart."""
    lab.run(lab.pod("br", lab.container(BURSTABLE, resizePolicy=RESTARTS)))


@row("resize:R03")
def memory_restarts_by_policy(lab: Lab) -> None:
    restarting(lab)
    before = lab.read("br")
    lab.resize("br", requests=amounts(memory="256Mi"), limits=amounts(memory="512Mi"))
    after = lab.settle("br")
    assert restarts(after) == 1
    assert status_of(after)["containerID"] != status_of(before)["containerID"]
    assert child(status_of(after), "lastState", "terminated")["containerID"] == status_of(before)["containerID"]
    for path in (("metadata", "uid"), ("status", "podIP"), ("spec", "nodeName")):
        assert text(after, *path) == text(before, *path) != ""
    told = [event.reason for event in lab.events("br")]
    killing = next(event for event in lab.events("br") if event.reason == "Killing")
    assert "resize requires restart" in killing.message
    assert told.index("ResizeStarted") < told.index("Killing") < told.index("ResizeCompleted")
    starts = [event for event in lab.events("br") if event.reason == "Started"]
    assert sum(event.count for event in starts) == 2
    assert not any(condition(s.pod, "Ready", "False") for s in lab.versions("br", since=2))


@row("resize:R04")
def cpu_does_not_restart(lab: Lab) -> None:
    restarting(lab)
    lab.resize("br", *BIGGER)
    assert restarts(lab.settle("br")) == 0
    lab.told("br", "S2 C2")


@row("resize:R05")
def both_restart_once(lab: Lab) -> None:
    restarting(lab)
    lab.resize("br", requests=amounts("500m", "256Mi"), limits=amounts("1", "512Mi"))
    after = lab.settle("br")
    assert restarts(after) == 1
    assert same_amounts(actual(after), sized(amounts("500m", "256Mi"), amounts("1", "512Mi")))
    lab.told("br", "S2 C2")


@row("resize:R06")
def memory_is_raised(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    lab.resize("b", requests=amounts(memory="256Mi"), limits=amounts(memory="512Mi"))
    after = lab.settle("b")
    assert restarts(after) == 0
    assert shown(after, "limits", "memory") == "512Mi"
    lab.told("b", "S2 C2")


@row("resize:R07")
def a_memory_limit_is_lowered(lab: Lab) -> None:
    lab.run(lab.pod("b", lab.container(BURSTABLE, does=Doing(memory_bytes=100 * MEBIBYTE))))
    lab.bench.pass_time(20 * SECOND)
    lab.resize("b", limits=amounts(memory="200Mi"))
    after = lab.settle("b")
    assert shown(after, "limits", "memory") == "200Mi"
    assert lab.bench.memory_limit_bytes(text(after, "metadata", "uid"), container_id(lab, "b")) == 200 * MEBIBYTE
    lab.told("b", "S2 C2")


def container_id(lab: Lab, pod: str, name: str = "app") -> str:
    """Return the id of a container as the status shows it."""
    return text(status_of(lab.read(pod), name), "containerID")


def too_much_held(lab: Lab, releases_after: timedelta | None = None) -> None:
    """Lower the memory limit of a pod below what it uses."""
    does = Doing(memory_bytes=220 * MEBIBYTE, releases_after=releases_after)
    lab.run(lab.pod("b", lab.container(BURSTABLE, does=does)))
    lab.bench.pass_time(20 * SECOND)
    lab.resize("b", limits=amounts(memory="200Mi"))


@row("resize:R08")
def a_memory_limit_below_usage_fails(lab: Lab) -> None:
    before = lab.metric("kubelet_pod_resize_duration_milliseconds_count", success="false")
    too_much_held(lab)
    lab.acknowledged("b", 2)
    lab.wait(lambda: lab.resize_events("b").startswith("S2 E2"), "the error is told at once", 2)
    started = lab.bench.now()
    first = condition(lab.read("b"), IN_PROGRESS)
    assert first, "in progress"
    assert text(first, "reason") == "", "the error shows one sync late"
    shows = lab.failing("b")
    assert lab.bench.now() - started > 8 * SECOND
    assert "cannot decrease memory limits" in text(shows, "message")
    assert f"memory limit ({200 * MEBIBYTE})" in text(shows, "message")
    pod = lab.read("b")
    assert shown(pod, "limits", "memory") == "256Mi"
    assert text(spec_of(pod), "resources", "limits", "memory") == "200Mi"
    failures = "kubelet_pod_resize_duration_milliseconds_count"
    lab.wait(lambda: lab.metric(failures, success="false") >= before + 3, "it is tried again", 40)
    assert lab.metric("kubelet_pod_in_progress_resizes") >= 1


@row("resize:R09")
def falling_usage_lets_it_through(lab: Lab) -> None:
    too_much_held(lab, releases_after=45 * SECOND)
    lab.failing("b")
    after = lab.settle("b", seconds=120)
    assert shown(after, "limits", "memory") == "200Mi"
    assert lab.resize_events("b").endswith("C2")
    assert restarts(after) == 0


@row("resize:R10")
def going_back_ends_a_failing_resize(lab: Lab) -> None:
    too_much_held(lab)
    lab.failing("b")
    lab.bench.pass_time(3 * SECOND)
    asked = lab.bench.now()
    lab.resize("b", limits=amounts(memory="256Mi"))
    after = lab.settle("b")
    assert lab.bench.now() - asked < SECOND + lab.bench.slack, "nothing has to be done"
    assert lab.resize_events("b").endswith("S3 C3")
    assert shown(after, "limits", "memory") == "256Mi"


@row("resize:R11")
def cpu_waits_for_memory(lab: Lab) -> None:
    lab.run(lab.pod("b", lab.container(BURSTABLE, does=Doing(memory_bytes=220 * MEBIBYTE))))
    lab.bench.pass_time(20 * SECOND)
    pod = lab.resize("b", requests=amounts("500m"), limits=amounts("1", "200Mi"))
    lab.failing("b")
    assert same_amounts(actual(lab.read("b")), BURSTABLE)
    assert lab.bench.cpu_quota_us(text(pod, "metadata", "uid"), container_id(lab, "b")) == 20_000


def beyond(lab: Lab) -> str:
    """Return more CPU than the node could ever give."""
    return f"{lab.bench.absolute.cpu_millis + 1000}m"


def make_infeasible(lab: Lab) -> None:
    """Ask for more CPU than the node has."""
    lab.run(lab.pod("b"))
    lab.resize("b", requests=amounts(beyond(lab)), limits=amounts(beyond(lab)))
    found = lab.put_off("b", 2, "Infeasible")
    capacity = lab.bench.absolute.cpu_millis
    assert text(found, "message") == (
        f"Node didn't have enough capacity: cpu, requested: {capacity + 1000}, capacity: {capacity}"
    )


@row("resize:R12")
def more_than_the_node_has_is_infeasible(lab: Lab) -> None:
    counter = "kubelet_pod_infeasible_resizes_total"
    before = lab.metric(counter, reason_detail="insufficient_node_allocatable")
    make_infeasible(lab)
    pod = lab.read("b")
    assert same_amounts(actual(pod), BURSTABLE)
    assert number(pod, "status", "observedGeneration") == 2
    assert requests_of(pod).cpu_millis == 100, "the wish does not count"
    lab.told("b", "I2")
    lab.bench.pass_time(200 * SECOND)
    assert lab.metric(counter, reason_detail="insufficient_node_allocatable") == before + 1, "never tried again"
    assert lab.metric("kubelet_pod_pending_resizes", reason="infeasible") == 1


@row("resize:R13")
def a_smaller_wish_follows(lab: Lab) -> None:
    make_infeasible(lab)
    lab.resize("b", requests=amounts("1"), limits=amounts("1"))
    assert shown(lab.settle("b"), "requests", "cpu") == "1"
    lab.told("b", "I2 S3 C3")


@row("resize:R14")
def the_old_values_end_it_silently(lab: Lab) -> None:
    make_infeasible(lab)
    lab.resize("b", requests=amounts("100m"), limits=amounts("200m"))
    lab.settle("b")
    lab.told("b", "I2")
    assert not any(condition(s.pod, IN_PROGRESS) for s in lab.versions("b"))
    assert lab.metric("kubelet_pod_pending_resizes", reason="infeasible") == 0


@row("resize:R27")
def a_guaranteed_pod_stays_guaranteed(lab: Lab) -> None:
    lab.run(lab.pod("g", lab.container(GUARANTEED)))
    lab.resize("g", requests=amounts("1"), limits=amounts("1"))
    after = lab.settle("g")
    assert text(after, "status", "qosClass") == "Guaranteed"
    assert shown(after, "limits", "cpu") == "1"
    lab.told("g", "S2 C2")


@row("resize:R36")
def a_limit_is_added(lab: Lab) -> None:
    before = lab.metric(REQUESTED, resource="cpu", requirement="limits", operation="add")
    lab.run(lab.pod("b", lab.container(sized(amounts("100m", "128Mi")))))
    pod = lab.resize("b", limits=amounts("500m"))
    after = lab.settle("b")
    assert shown(after, "limits", "cpu") == "500m"
    lab.told("b", "S2 C2")
    assert lab.metric(REQUESTED, resource="cpu", requirement="limits", operation="add") == before + 1
    assert lab.bench.cpu_quota_us(text(pod, "metadata", "uid"), container_id(lab, "b")) == 50_000


@row("resize:R37")
def a_sidecar_is_resized(lab: Lab) -> None:
    proxy = lab.container(BURSTABLE, "proxy", restartPolicy="Always")
    lab.run(lab.pod("b", initContainers=[proxy]))
    answer = lab.patch("b", change(amounts("150m"), container="proxy", group="initContainers"))
    assert answer.code == 200, answer
    lab.told("b", "S2 C2")
    after = lab.settle("b")
    assert shown(after, "requests", "cpu", "proxy") == "150m"
    assert [text(s, "name") for s in rows(after, "status", "initContainerStatuses")] == ["proxy"]
    summary = lab.events("b")[-1].summary
    assert [text(c, "name") for c in rows(summary, "initContainers")] == ["proxy"]
    assert [text(c, "name") for c in rows(summary, "containers")] == ["app"]


@row("resize:R51", Ability.RUNTIME_CALLS)
def several_containers_change_in_order(lab: Lab) -> None:
    held = [lab.container(BURSTABLE, name) for name in ("a", "b", "c")]
    pod = lab.run(lab.pod("three", *held))
    uid = text(pod, "metadata", "uid")
    before = len(lab.bench.runtime_calls(uid))
    limits = {"a": "400m", "b": "100m", "c": "250m"}
    parts = [{"name": name, "resources": {"limits": {"cpu": limit}}} for name, limit in limits.items()]
    assert lab.patch("three", {"spec": {"containers": parts}}).code == 200
    after = lab.settle("three")
    assert {name: shown(after, "limits", "cpu", name) for name in limits} == limits
    calls = lab.bench.runtime_calls(uid)[before:]
    assert [call.container for call in calls] == ["", "b", "a", "c"]
    assert [call.cpu_quota_us for call in calls] == [75_000, 10_000, 40_000, 25_000]
    lab.told("three", "S2 C2")


@row("resize:R52")
def two_wishes_become_one_completion(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    lab.resize("b", requests=amounts("300m"), limits=amounts("600m"))
    lab.bench.pass_time(SECOND / 10)
    lab.resize("b", *BIGGER)
    after = lab.settle("b")
    assert number(after, "status", "observedGeneration") == 3
    assert shown(after, "requests", "cpu") == "500m"
    lab.told("b", "S2 S3 C3")


@row("resize:R56")
def tiny_amounts_compare_equal(lab: Lab) -> None:
    pod = lab.run(lab.pod("b"))
    lab.resize("b", requests=amounts("1m"), limits=amounts("5m"))
    after = lab.settle("b")
    assert (shown(after, "requests", "cpu"), shown(after, "limits", "cpu")) == ("1m", "5m")
    assert lab.bench.cpu_quota_us(text(pod, "metadata", "uid"), container_id(lab, "b")) == 1_000
    lab.told("b", "S2 C2")


@row("resize:R61")
def the_same_values_change_nothing(lab: Lab) -> None:
    before = lab.run(lab.pod("b"))
    after = lab.resize("b", amounts("100m", "128Mi"), amounts("200m", "256Mi"))
    assert generation_of(after) == 1
    assert text(after, "metadata", "resourceVersion") == text(before, "metadata", "resourceVersion")
    lab.told("b", "")


@row("resize:R66")
def one_container_holds_up_the_other(lab: Lab) -> None:
    greedy = lab.container(BURSTABLE, "a", does=Doing(memory_bytes=220 * MEBIBYTE))
    pod = lab.run(lab.pod("two", greedy, lab.container(BURSTABLE, "b")))
    lab.bench.pass_time(20 * SECOND)
    parts = [
        {"name": "a", "resources": {"limits": {"memory": "200Mi"}}},
        {"name": "b", "resources": {"requests": {"cpu": "300m"}, "limits": {"cpu": "600m"}}},
    ]
    assert lab.patch("two", {"spec": {"containers": parts}}).code == 200
    lab.failing("two")
    after = lab.read("two")
    for name in ("a", "b"):
        assert same_amounts(actual(after, name), BURSTABLE)
    assert lab.bench.cpu_quota_us(text(pod, "metadata", "uid"), container_id(lab, "two", "b")) == 20_000
    assert condition(after, PENDING) is None
