"""Resizes amid restarts, failures and ends: R44 to R48, R50, R53, R54, R62 to R64, R67."""

from __future__ import annotations

from datetime import datetime, timedelta

from evenkeel.simulator.api.fields import JsonObject, child, number, rows, text
from evenkeel.simulator.clock import parse_rfc3339
from tests.conformance.bench import Ability, Doing, Variant
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
    condition,
    generation_of,
    restarts,
    same_amounts,
    shown,
    status_of,
)
from tests.conformance.registry import row
from tests.conformance.rows_basic import beyond, container_id
from tests.conformance.rows_waiting import deferred

FAILED_STEPS = "kubelet_pod_resize_duration_milliseconds_count"
EXCLUSIVE = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"'


@row("resize:R44", variant=Variant.STATIC_CPU)
def exclusive_cpus_cannot_change(lab: Lab) -> None:
    counter = "kubelet_pod_infeasible_resizes_total"
    before = lab.metric(counter, reason_detail="guaranteed_pod_cpu_manager_static_policy")
    lab.run(lab.pod("g", lab.container(GUARANTEED)))
    for generation, cpu in ((2, "400m"), (3, beyond(lab))):
        lab.resize("g", requests=amounts(cpu), limits=amounts(cpu))
        found = lab.put_off("g", generation, "Infeasible")
        assert text(found, "message") == EXCLUSIVE
    assert same_amounts(actual(lab.read("g")), GUARANTEED)
    lab.told("g", "I2 I3")
    assert lab.metric(counter, reason_detail="guaranteed_pod_cpu_manager_static_policy") == before + 2


@row("resize:R45", variant=Variant.STATIC_CPU)
def their_memory_can(lab: Lab) -> None:
    lab.run(lab.pod("g", lab.container(GUARANTEED)))
    lab.resize("g", requests=amounts(memory="300Mi"), limits=amounts(memory="300Mi"))
    assert shown(lab.settle("g"), "limits", "memory") == "300Mi"
    lab.told("g", "S2 C2")


@row("resize:R46", variant=Variant.STATIC_CPU)
def shared_cpus_can(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    lab.resize("b", requests=amounts("300m"), limits=amounts("600m"))
    assert shown(lab.settle("b"), "requests", "cpu") == "300m"
    lab.told("b", "S2 C2")


@row("resize:R47", variant=Variant.LIMITED_SWAP)
def what_may_swap_cannot_change(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    lab.resize("b", requests=amounts(memory="200Mi"))
    found = lab.put_off("b", 2, "Infeasible")
    assert "swap" in text(found, "message").lower()
    assert same_amounts(actual(lab.read("b")), BURSTABLE)
    lab.told("b", "")


@row("resize:R48", variant=Variant.LIMITED_SWAP)
def but_may_restart(lab: Lab) -> None:
    lab.run(lab.pod("br", lab.container(BURSTABLE, resizePolicy=RESTARTS)))
    lab.resize("br", requests=amounts(memory="200Mi"))
    after = lab.settle("br")
    assert restarts(after) == 1
    assert shown(after, "requests", "memory") == "200Mi"
    lab.told("br", "S2 C2")


@row("resize:R50")
def a_crashed_container_gets_half_of_it(lab: Lab) -> None:
    does = Doing(exits_after=3 * SECOND, exit_code=1)
    assert lab.create(lab.pod("b", lab.container(BURSTABLE, does=does))).code == 201
    lab.wait(lambda: _crashed_again(lab), "the back-off", 60)
    lab.bench.pass_time(2 * SECOND)
    assert _crashed_again(lab), "it waits out its back-off"
    asked = lab.bench.now()
    pod = lab.resize("b", requests=amounts(memory="256Mi"), limits=amounts(memory="512Mi"))
    lab.wait(lambda: "C2" in lab.resize_events("b"), "the completion", 2)
    lab.wait(lambda: "running" in child(status_of(lab.read("b")), "state"), "it starts at once", 5)
    assert lab.bench.now() - asked < 3 * SECOND + lab.bench.slack
    uid = text(pod, "metadata", "uid")
    assert lab.bench.memory_limit_bytes(uid, container_id(lab, "b")) == 512 * MEBIBYTE
    assert lab.bench.memory_limit_bytes(uid) == 256 * MEBIBYTE, "the pod's own limit stays behind"
    after = lab.read("b")
    assert shown(after, "limits", "memory") == "512Mi"
    assert number(after, "status", "observedGeneration") == 2
    lab.told("b", "S2 C2")


def _crashed_again(lab: Lab) -> bool:
    """Say whether the container has crashed twice and does not run."""
    listed = rows(lab.read("b"), "status", "containerStatuses")
    return bool(listed) and number(listed[0], "restartCount") == 1 and "running" not in child(listed[0], "state")


@row("resize:R53", Ability.KUBELET_RESTART)
def a_waiting_resize_survives_the_kubelet(lab: Lab) -> None:
    _, before = deferred(lab)
    lab.bench.pass_time(3 * SECOND)

    def remove_x() -> None:
        now: JsonObject = {"gracePeriodSeconds": 0}
        assert lab.bench.call("DELETE", lab.path("x"), now).code == 200

    started = lab.bench.restart_kubelet(2 * SECOND, remove_x)
    renewed = lab.wait(lambda: _since(lab, "b", PENDING, text(before, "lastTransitionTime")), "the condition anew", 10)
    assert text(renewed, "message") == text(before, "message"), "nothing was decided again"
    assert parse_rfc3339(text(renewed, "lastTransitionTime")) >= started - SECOND
    assert same_amounts(actual(lab.read("b")), BURSTABLE)
    lab.wait(lambda: "S2" in lab.resize_events("b"), "the first retry", 45)
    waited = lab.bench.now() - started
    assert 30 * SECOND < waited < 33 * SECOND + lab.bench.slack, waited
    lab.settle("b")
    lab.told("b", "D2 S2 C2")


def _since(lab: Lab, name: str, kind: str, before: str) -> JsonObject | None:
    """Return a condition of a pod once its time of change is another."""
    found = condition(lab.read(name), kind)
    return found if found and text(found, "lastTransitionTime") != before else None


@row("resize:R54", Ability.KUBELET_RESTART, Ability.FAILING_UPDATES)
def an_allocated_resize_survives_the_kubelet(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    lab.bench.fail_updates(None)
    lab.resize("b", requests=amounts("300m"), limits=amounts("600m"))
    before = lab.failing("b")
    lab.bench.pass_time(3 * SECOND)
    started = lab.bench.restart_kubelet(2 * SECOND, lambda: lab.bench.fail_updates(0))
    lab.settle("b", seconds=15)
    assert lab.bench.now() - started < 4 * SECOND + lab.bench.slack
    assert shown(lab.read("b"), "requests", "cpu") == "300m"
    assert lab.resize_events("b").endswith("C2")
    restored = [
        row
        for seen in lab.bench.history("b")
        if (row := condition(seen.pod, IN_PROGRESS)) and _at(row) > _at(before) and seen.at >= started
    ]
    assert restored
    assert (text(restored[0], "reason"), text(restored[0], "message")) == ("Error", text(before, "message"))
    assert _at(restored[0]) >= started - SECOND


def _at(condition_row: JsonObject) -> datetime:
    """Return when a condition last changed."""
    return parse_rfc3339(text(condition_row, "lastTransitionTime"))


@row("resize:R62", Ability.FAILING_UPDATES)
def a_failing_runtime_is_asked_every_second(lab: Lab) -> None:
    lab.run(lab.pod("b"))
    before = lab.metric(FAILED_STEPS, success="false")
    lab.bench.fail_updates(4)
    asked = lab.bench.now()
    lab.resize("b", requests=amounts("300m"), limits=amounts("600m"))
    lab.wait(lambda: lab.resize_events("b").startswith("S2 E2"), "the error is told at once", 2)
    first = condition(lab.read("b"), IN_PROGRESS)
    assert text(first or {}, "reason") == ""
    found = lab.failing("b")
    assert lab.bench.now() - asked < 2 * SECOND + lab.bench.slack
    assert text(found, "message")
    lab.settle("b", seconds=15)
    assert 4 * SECOND < lab.bench.now() - asked < 7 * SECOND + lab.bench.slack
    lab.told("b", "S2 E2 C2")
    assert lab.metric(FAILED_STEPS, success="false") == before + 4


@row("resize:R63")
def a_pod_that_has_ended_follows_no_more(lab: Lab) -> None:
    does = Doing(exits_after=3 * SECOND)
    assert lab.create(lab.pod("done", lab.container(BURSTABLE, does=does), restartPolicy="Never")).code == 201
    lab.wait(lambda: text(lab.read("done"), "status", "phase") == "Succeeded", "the end", 60)
    lab.bench.pass_time(2 * SECOND)
    assert generation_of(lab.resize("done", requests=amounts("150m"))) == 2
    lab.bench.pass_time(5 * SECOND)
    after = lab.read("done")
    assert number(after, "status", "observedGeneration") == 1
    assert text(status_of(after), "allocatedResources", "cpu") == "100m"
    assert shown(after, "requests", "cpu") == "100m"
    assert not condition(after, PENDING)
    assert not condition(after, IN_PROGRESS)
    assert lab.resize_events("done") == "S2"


@row("resize:R64")
def a_wish_during_the_grace_waits_for_its_end(lab: Lab) -> None:
    deaf = lab.container(BURSTABLE, does=Doing(deaf=True), resizePolicy=RESTARTS)
    lab.run(lab.pod("br", deaf, terminationGracePeriodSeconds=8))
    asked = lab.bench.now()
    lab.resize("br", requests=amounts(memory="256Mi"), limits=amounts(memory="512Mi"))
    lab.acknowledged("br", 2)
    lab.bench.pass_time(3 * SECOND)
    lab.resize("br", requests=amounts("300m"), limits=amounts("600m"))
    lab.wait(lambda: "S3" in lab.resize_events("br"), "the second one starts at once", 1)
    waiting = lab.read("br")
    assert (number(waiting, "status", "observedGeneration"), restarts(waiting)) == (2, 0)
    assert condition(waiting, IN_PROGRESS)
    after = lab.settle("br", seconds=30)
    took = lab.bench.now() - asked
    assert 8 * SECOND < took < timedelta(seconds=13) + lab.bench.slack, took
    assert restarts(after) == 1
    assert (shown(after, "requests", "cpu"), shown(after, "limits", "memory")) == ("300m", "512Mi")
    lab.told("br", "S2 S3 C3")


@row("resize:R67")
def a_replacement_has_the_size_of_the_template(lab: Lab) -> None:
    pod = lab.pod("unused", nodeName=None)
    template = {"metadata": {"labels": {"app": "web"}}, "spec": child(pod, "spec")}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    answer = lab.create({"metadata": {"name": "web"}, "spec": spec}, "deployments", "/apis/apps/v1")
    assert answer.code == 201, answer
    old = lab.wait(lambda: _ready_pod(lab, ""), "the first pod", 60)
    lab.bench.pass_time(3 * SECOND)
    lab.resize(old, requests=amounts("300m"), limits=amounts("600m"))
    assert shown(lab.settle(old), "requests", "cpu") == "300m"
    eviction: JsonObject = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": old}}
    assert lab.bench.call("POST", lab.path(old, "eviction"), eviction).code == 201
    new = lab.wait(lambda: _ready_pod(lab, old), "its replacement", 60)
    assert same_amounts(actual(lab.read(new)), BURSTABLE)


def _ready_pod(lab: Lab, other_than: str) -> str:
    """Return the name of a ready pod of the workload, other than a given one."""
    listed = lab.bench.call("GET", f"/api/v1/namespaces/{lab.bench.namespace}/pods?labelSelector=app=web")
    names = [text(p, "metadata", "name") for p in rows(listed.body, "items") if condition(p, "Ready", "True")]
    return next((name for name in names if name != other_than), "")
