"""Resizes that wait for room: R15 to R25, R49, R55, R65."""

from __future__ import annotations

from evenkeel.simulator.api.fields import JsonObject, number, text
from evenkeel.simulator.kubelet.accounting import requests_of
from tests.conformance.bench import Ability, Doing
from tests.conformance.lab import (
    BURSTABLE,
    IN_PROGRESS,
    MEBIBYTE,
    MOMENT,
    PENDING,
    SECOND,
    Lab,
    actual,
    amounts,
    condition,
    is_settled,
    same_amounts,
    shown,
    sized,
    status_of,
)
from tests.conformance.registry import row
from tests.conformance.rows_basic import beyond, too_much_held

ACCEPTED = "kubelet_pod_deferred_accepted_resizes_total"


def fill(lab: Lab, left_millis: int, **spec: object) -> int:
    """Run a pod X that leaves so much CPU, and return what X requests."""
    size = lab.free().cpu_millis - left_millis
    does = spec.pop("does", Doing())
    assert isinstance(does, Doing)
    lab.run(lab.pod("x", lab.container(sized(amounts(f"{size}m", "32Mi")), does=does), **spec))
    return size


def wants(lab: Lab, name: str, millis: int) -> None:
    """Ask for so much CPU; the limit is half as much again."""
    lab.resize(name, requests=amounts(f"{millis}m"), limits=amounts(f"{millis * 3 // 2}m"))


def deferred(lab: Lab, **spec: object) -> tuple[int, JsonObject]:
    """Let B ask for 700m where only 400m more are left; return what X requests, and the condition."""
    lab.run(lab.pod("b"))
    size = fill(lab, 400, **spec)
    used = lab.bench.allocatable.cpu_millis - lab.free().cpu_millis - 100
    wants(lab, "b", 700)
    found = lab.put_off("b", 2, "Deferred")
    capacity = lab.bench.allocatable.cpu_millis
    assert text(found, "message") == (
        f"Node didn't have enough resource: cpu, requested: 700, used: {used}, capacity: {capacity}"
    )
    return size, found


@row("resize:R15")
def too_little_room_defers(lab: Lab) -> None:
    deferred(lab)
    pod = lab.read("b")
    assert same_amounts(actual(pod), BURSTABLE)
    assert requests_of(pod).cpu_millis == 700, "the scheduler keeps the room for it"
    lab.told("b", "D2")
    assert lab.metric("kubelet_pod_pending_resizes", reason="deferred") == 1


@row("resize:R16")
def a_pod_that_goes_makes_room(lab: Lab) -> None:
    deferred(lab)
    before = lab.metric(ACCEPTED, retry_trigger="pods_removed")
    lab.delete("x")
    gone = lab.bench.now()
    lab.wait(lambda: "S2" in lab.resize_events("b"), "the resize starts", 5)
    assert lab.bench.now() - gone < MOMENT + lab.bench.slack
    lab.settle("b")
    lab.told("b", "D2 S2 C2")
    assert lab.metric(ACCEPTED, retry_trigger="pods_removed") == before + 1


@row("resize:R17")
def a_pod_that_shrinks_makes_room(lab: Lab) -> None:
    deferred(lab)
    before = lab.metric(ACCEPTED, retry_trigger="pod_resized")
    lab.resize("x", requests=amounts("100m"))
    lab.settle("x")
    lab.settle("b")
    lab.told("x", "S2 C2")
    lab.told("b", "D2 S2 C2")
    assert lab.metric(ACCEPTED, retry_trigger="pod_resized") == before + 1
    small = next(s.at for s in lab.versions("x", since=2) if is_settled(s.pod))
    taken = next(
        s.at for s in lab.versions("b", since=2) if text(status_of(s.pod), "allocatedResources", "cpu") == "700m"
    )
    assert small < taken < small + SECOND + lab.bench.slack


@row("resize:R18")
def a_pod_that_ends_makes_room_only_with_time(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    fill(lab, 400, does=Doing(exits_after=20 * SECOND), restartPolicy="Never")
    before = lab.metric(ACCEPTED, retry_trigger="periodic_retry")
    asked = lab.bench.now()
    wants(lab, "b", 700)
    lab.put_off("b", 2, "Deferred")
    lab.wait(lambda: text(lab.read("x"), "status", "phase") == "Succeeded", "X ends", 60)
    lab.bench.pass_time(10 * SECOND)
    assert condition(lab.read("b"), PENDING), "nobody looks"
    lab.wait(lambda: "S2" in lab.resize_events("b"), "the periodic retry", 185)
    waited = lab.bench.now() - asked
    assert 178 * SECOND < waited < 182 * SECOND + lab.bench.slack
    lab.settle("b")
    lab.told("b", "D2 S2 C2")
    assert lab.metric(ACCEPTED, retry_trigger="periodic_retry") == before + 1


@row("resize:R19", Ability.EVICTION_THRESHOLD)
def between_allocatable_and_absolute_is_deferred_for_ever(lab: Lab) -> None:
    bench = lab.bench
    between = (bench.allocatable.memory_bytes + bench.absolute.memory_bytes) // 2 // MEBIBYTE
    lab.run(lab.pod("b"))
    lab.resize("b", requests=amounts(memory=f"{between}Mi"), limits=amounts(memory=f"{between + 1}Mi"))
    found = lab.put_off("b", 2, "Deferred")
    assert f"memory, requested: {between * MEBIBYTE}" in text(found, "message")
    bench.pass_time(190 * SECOND)
    still = condition(lab.read("b"), PENDING)
    assert still
    assert text(still, "lastTransitionTime") == text(found, "lastTransitionTime")
    lab.told("b", "D2")


def two_waiting(lab: Lab, freed_millis: int) -> str:
    """Let a pod of high priority wait for 600m more and another for 200m, then free some CPU.

    Returns:
        When the pod of low priority began to wait.
    """
    name = f"{lab.bench.namespace}-high"
    group = "/apis/scheduling.k8s.io/v1/priorityclasses"
    lab.bench.call("POST", group, {"metadata": {"name": name}, "value": 1000})
    lab.run(lab.pod("low"))
    lab.run(lab.pod("high", priorityClassName=name))
    lab.run(lab.pod("y", lab.container(sized(amounts(f"{freed_millis}m")))))
    fill(lab, 50)
    wants(lab, "low", 300)
    since = text(lab.put_off("low", 2, "Deferred"), "lastTransitionTime")
    lab.bench.pass_time(2 * SECOND)
    wants(lab, "high", 700)
    lab.put_off("high", 2, "Deferred")
    lab.bench.pass_time(2 * SECOND)
    lab.delete("y")
    return since


@row("resize:R20")
def priority_goes_first(lab: Lab) -> None:
    since = two_waiting(lab, 600)
    lab.settle("high")
    lab.told("high", "D2 S2 C2")
    left = condition(lab.read("low"), PENDING)
    assert left
    assert text(left, "lastTransitionTime") == since
    used = lab.bench.allocatable.cpu_millis - lab.free().cpu_millis - 300
    assert f"used: {used}" in text(left, "message"), "the message is renewed"
    lab.told("low", "D2")


@row("resize:R21")
def a_big_one_does_not_hold_up_a_small_one(lab: Lab) -> None:
    two_waiting(lab, 200)
    lab.settle("low")
    lab.told("low", "D2 S2 C2")
    assert condition(lab.read("high"), PENDING)
    lab.told("high", "D2")


@row("resize:R22")
def among_equals_the_older_goes_first(lab: Lab) -> None:
    for name in ("a", "b2"):
        lab.run(lab.pod(name))
    lab.run(lab.pod("y", lab.container(sized(amounts("250m")))))
    fill(lab, 50)
    for name in ("a", "b2"):
        wants(lab, name, 300)
        lab.put_off(name, 2, "Deferred")
        lab.bench.pass_time(2 * SECOND)
    lab.delete("y")
    lab.settle("a")
    lab.told("a", "D2 S2 C2")
    assert condition(lab.read("b2"), PENDING)
    lab.told("b2", "D2")


@row("resize:R23")
def another_wish_that_does_not_fit_keeps_the_time(lab: Lab) -> None:
    _, first = deferred(lab)
    lab.bench.pass_time(2 * SECOND)
    wants(lab, "b", 800)
    second = lab.put_off("b", 3, "Deferred")
    assert text(second, "lastTransitionTime") == text(first, "lastTransitionTime")
    lab.told("b", "D2 D3")


@row("resize:R24")
def a_wish_beyond_the_node_is_another_reason(lab: Lab) -> None:
    _, first = deferred(lab)
    lab.bench.pass_time(2 * SECOND)
    lab.resize("b", requests=amounts(beyond(lab)), limits=amounts(beyond(lab)))
    second = lab.put_off("b", 3, "Infeasible")
    assert text(second, "lastTransitionTime") > text(first, "lastTransitionTime")
    lab.told("b", "D2 I3")
    assert lab.metric("kubelet_pod_pending_resizes", reason="deferred") == 1, "a changed reason is not counted anew"
    lab.delete("x")
    lab.bench.pass_time(SECOND)
    assert condition(lab.read("b"), PENDING), "it has left the queue"


@row("resize:R25")
def both_conditions_stand_side_by_side(lab: Lab) -> None:
    too_much_held(lab)
    lab.failing("b")
    lab.resize("b", requests=amounts(beyond(lab)), limits=amounts(beyond(lab)))
    lab.put_off("b", 3, "Infeasible")
    pod = lab.read("b")
    failing, pending = condition(pod, IN_PROGRESS), condition(pod, PENDING)
    assert failing
    assert pending
    assert (text(failing, "reason"), number(failing, "observedGeneration")) == ("Error", 2)
    assert number(pending, "observedGeneration") == 3
    assert same_amounts(actual(pod), BURSTABLE)


@row("resize:R49")
def an_unscheduled_pod_starts_at_its_new_size(lab: Lab) -> None:
    too_big = sized(amounts(beyond(lab)))
    selector = {"kubernetes.io/hostname": lab.bench.node}
    assert lab.create(lab.pod("p", lab.container(too_big), nodeName=None, nodeSelector=selector)).code == 201
    lab.wait(lambda: condition(lab.read("p"), "PodScheduled", "False"), "the scheduler gives up")
    lab.resize("p", requests=amounts("200m"))
    lab.wait(lambda: condition(lab.read("p"), "Ready", "True"), "p runs", 60)
    pod = lab.read("p")
    assert number(pod, "metadata", "generation") == 2
    assert shown(pod, "requests", "cpu") == "200m"
    lab.told("p", "")
    assert not any(condition(s.pod, kind) for s in lab.versions("p") for kind in (PENDING, IN_PROGRESS))


@row("resize:R55")
def a_critical_pod_makes_others_give_way(lab: Lab) -> None:
    lab.run(lab.pod("k", lab.container(sized(amounts("100m", "32Mi"))), priorityClassName="system-node-critical"))
    victim = lab.container(sized(amounts("300m", "32Mi")), does=Doing(deaf=True))
    lab.run(lab.pod("v", victim))
    fill(lab, 50)
    asked = lab.bench.now()
    lab.resize("k", requests=amounts("400m"))
    after = lab.settle("k")
    assert SECOND < lab.bench.now() - asked < 6 * SECOND
    assert shown(after, "requests", "cpu") == "400m"
    assert not any(condition(s.pod, PENDING) for s in lab.versions("k"))
    lab.told("k", "S2 C2")
    dead = [name for name in ("v", "x") if text(lab.read(name), "status", "phase") == "Failed"]
    assert len(dead) == 1
    gone = lab.read(dead[0])
    assert text(gone, "status", "reason") == "Preempting"
    disruption = condition(gone, "DisruptionTarget", "True")
    assert disruption
    assert text(disruption, "reason") == "TerminationByKubelet"
    assert [e.reason for e in lab.events(dead[0]) if e.type == "Warning"] == ["Preempting"]
    died = next(s.at for s in lab.versions(dead[0]) if text(s.pod, "status", "phase") == "Failed")
    begun = next(s.at for s in lab.versions("k") if condition(s.pod, IN_PROGRESS))
    assert died <= begun + SECOND


@row("resize:R65", Ability.NODE_PRESSURE)
def pressure_defers_even_a_smaller_wish(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    lab.bench.set_disk_pressure(holds=True)
    lab.resize("b", requests=amounts("50m"), limits=amounts("100m"))
    found = lab.put_off("b", 2, "Deferred")
    assert text(found, "message") == "The node had condition: [DiskPressure]. "
    assert same_amounts(actual(lab.read("b")), BURSTABLE)
    lab.told("b", "D2")
    lab.bench.set_disk_pressure(holds=False)
    lab.wait(lambda: "S2" in lab.resize_events("b"), "a retry after the pressure", 185)
    assert shown(lab.settle("b"), "requests", "cpu") == "50m"
