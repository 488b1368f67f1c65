"""Statuses: phases, states and conditions in cases that a whole life seldom shows."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import JsonObject, child, rows, text
from evenkeel.simulator.clock import EPOCH
from evenkeel.simulator.kubelet.cgroups import Cgroup
from evenkeel.simulator.kubelet.meters import Meter
from evenkeel.simulator.kubelet.records import Ending, PodRecord, Stage, Waiting
from evenkeel.simulator.kubelet.runtime import Container, Sandbox
from evenkeel.simulator.kubelet.status import Scene, differs, merged_status, phase_of, pod_status
from tests.evenkeel.simulator.kubelet.pods import BURSTABLE, container, view

RUNNING, GOOD, BAD, ABSENT = "running", "good", "bad", "absent"


def made(name: str, how: str) -> Container:
    """A container that runs or has ended."""
    found = Container(f"id-{name}", name, 0, EPOCH, Cgroup(102, 20_000, 2**28), Meter(EPOCH))
    if how != RUNNING:
        found.finished, found.exit_code = EPOCH, 0 if how == GOOD else 1
        found.reason = "Completed" if how == GOOD else "Error"
    return found


def scene(
    states: dict[str, str], policy: str = "Always", stage: Stage = Stage.ACTIVE, ready: frozenset[str] | None = None
) -> Scene:
    """A pod whose containers are in these states; names that begin with i are init containers, with s sidecars."""
    initial = [container(name) for name in states if name[0] == "i"]
    initial += [container(name, restartPolicy="Always") for name in states if name[0] == "s"]
    regular = [container(name) for name in states if name[0] not in "is"]
    pod = view("a", *regular, initContainers=initial, restartPolicy=policy)
    sandbox = Sandbox("uid-a", "10.0.0.1", EPOCH, Cgroup(), Meter(EPOCH))
    sandbox.containers = {name: made(name, how) for name, how in states.items() if how != ABSENT}
    record = PodRecord(pod, EPOCH, stage=stage, synced_generation=1)
    everything = frozenset(states) if ready is None else ready
    return Scene(record, sandbox, pod.desired, pod.desired, everything, "10.0.0.9", EPOCH)


PHASES: list[tuple[str, dict[str, str], str, Stage, str]] = [
    ("not begun", {"a": ABSENT}, "Always", Stage.ACTIVE, "Pending"),
    ("runs", {"a": RUNNING}, "Always", Stage.ACTIVE, "Running"),
    ("one is missing", {"a": RUNNING, "b": ABSENT}, "Always", Stage.ACTIVE, "Pending"),
    ("one has ended", {"a": RUNNING, "b": GOOD}, "Never", Stage.ACTIVE, "Running"),
    ("all ended, Always", {"a": GOOD}, "Always", Stage.ACTIVE, "Running"),
    ("all ended, OnFailure", {"a": GOOD, "b": GOOD}, "OnFailure", Stage.ACTIVE, "Succeeded"),
    ("one failed, OnFailure", {"a": GOOD, "b": BAD}, "OnFailure", Stage.ACTIVE, "Running"),
    ("one failed, Never", {"a": GOOD, "b": BAD}, "Never", Stage.ACTIVE, "Failed"),
    ("stopped well", {"a": GOOD}, "Always", Stage.FINISHED, "Succeeded"),
    ("stopped badly", {"a": BAD}, "OnFailure", Stage.FINISHED, "Failed"),
    ("still stopping", {"a": RUNNING}, "Always", Stage.TERMINATING, "Running"),
    ("init runs", {"i": RUNNING, "a": ABSENT}, "Always", Stage.ACTIVE, "Pending"),
    ("init done, app not begun", {"i": GOOD, "a": ABSENT}, "Always", Stage.ACTIVE, "Pending"),
    ("init failed, Never", {"i": BAD, "a": ABSENT}, "Never", Stage.ACTIVE, "Failed"),
    ("init failed, Always", {"i": BAD, "a": ABSENT}, "Always", Stage.ACTIVE, "Pending"),
    ("init failed, given up", {"i": BAD, "a": ABSENT}, "Always", Stage.FINISHED, "Failed"),
    ("sidecar missing", {"s": ABSENT, "a": ABSENT}, "Always", Stage.ACTIVE, "Pending"),
    ("sidecar ended later", {"s": BAD, "a": RUNNING}, "Always", Stage.ACTIVE, "Running"),
]


@pytest.mark.parametrize(("case", "states", "policy", "stage", "phase"), PHASES, ids=[row[0] for row in PHASES])
def test_phases(case: str, states: dict[str, str], policy: str, stage: Stage, phase: str) -> None:
    assert phase_of(scene(states, policy, stage)) == phase


def conditions(status: JsonObject) -> dict[str, str]:
    """Conditions in short: status and reason by type."""
    listed = rows(status, "conditions")
    return {text(c, "type"): f"{text(c, 'status')} {text(c, 'reason')}".strip() for c in listed}


CONDITIONS: list[tuple[str, Scene, dict[str, str]]] = [
    (
        "unready",
        scene({"a": RUNNING, "b": RUNNING}, ready=frozenset({"a"})),
        {"Ready": "False ContainersNotReady", "ContainersReady": "False ContainersNotReady", "Initialized": "True"},
    ),
    (
        "an unready sidecar counts",
        scene({"s": RUNNING, "a": RUNNING}, ready=frozenset({"a"})),
        {"Ready": "False ContainersNotReady"},
    ),
    (
        "succeeded",
        scene({"a": GOOD}, "Never"),
        {"Ready": "False PodCompleted", "Initialized": "True PodCompleted", "PodReadyToStartContainers": "False"},
    ),
    ("failed", scene({"a": BAD}, "Never"), {"Ready": "False PodFailed", "Initialized": "True"}),
    ("not initialized", scene({"i": RUNNING, "a": ABSENT}), {"Initialized": "False ContainersNotInitialized"}),
]


@pytest.mark.parametrize(("case", "seen", "expected"), CONDITIONS, ids=[row[0] for row in CONDITIONS])
def test_conditions(case: str, seen: Scene, expected: dict[str, str]) -> None:
    found = conditions(pod_status(seen))
    assert {kind: found[kind] for kind in expected} == expected


def test_a_pod_without_sandbox() -> None:
    pod = view()
    bare = Scene(PodRecord(pod, EPOCH), None, pod.desired, {}, frozenset(), "10.0.0.9", EPOCH)
    status = pod_status(bare)
    assert "podIP" not in status
    assert conditions(status)["PodReadyToStartContainers"] == "False"
    assert status["hostIP"] == "10.0.0.9"


def test_resize_conditions_vanish_with_the_end() -> None:
    running, ended = scene({"a": RUNNING}), scene({"a": GOOD}, "Never")
    for seen in (running, ended):
        seen.record.conditions.begin(2, EPOCH)
    assert "PodResizeInProgress" in conditions(pod_status(running))
    assert "PodResizeInProgress" not in conditions(pod_status(ended))


def test_a_condition_keeps_its_time_until_its_status_changes() -> None:
    seen = scene({"a": RUNNING})
    before = {"type": "Ready", "status": "True", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    other = {"type": "ContainersReady", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z"}
    seen.record.status = {"conditions": [before, other]}
    times = {text(c, "type"): text(c, "lastTransitionTime") for c in rows(pod_status(seen), "conditions")}
    assert times["Ready"] == "2020-01-01T00:00:00Z"
    assert times["ContainersReady"] == "2026-01-01T00:00:00Z"


def test_a_waiting_container_shows_its_last_run_as_the_last_state() -> None:
    seen = scene({"a": BAD})
    seen.record.waiting["a"] = Waiting("CrashLoopBackOff", "soon")
    (shown,) = rows(pod_status(seen), "containerStatuses")
    assert child(shown, "state") == {"waiting": {"reason": "CrashLoopBackOff", "message": "soon"}}
    assert child(shown, "lastState", "terminated")["exitCode"] == 1


def test_an_ended_container_shows_what_it_was_granted() -> None:
    seen = scene({"a": BAD})
    (shown,) = rows(pod_status(seen), "containerStatuses")
    assert shown["resources"] == BURSTABLE
    assert shown["allocatedResources"] == {"cpu": "100m", "memory": "128Mi"}


def test_a_pod_without_requests_has_no_allocation_to_show() -> None:
    pod = view("a", {"name": "a", "image": "x", "resources": {}})
    sandbox = Sandbox("uid-a", "10.0.0.1", EPOCH, Cgroup(), Meter(EPOCH))
    sandbox.containers = {"a": made("a", RUNNING)}
    bare = Scene(PodRecord(pod, EPOCH), sandbox, pod.desired, {}, frozenset(), "", EPOCH)
    (shown,) = rows(pod_status(bare), "containerStatuses")
    assert shown["resources"] == {}
    assert "allocatedResources" not in shown


def test_a_pod_that_the_kubelet_ended() -> None:
    seen = scene({"a": GOOD}, stage=Stage.FINISHED)
    seen.record.ending = Ending("Evicted", "too much", "told so")
    status = pod_status(seen)
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "Evicted", "too much")
    assert conditions(status)["DisruptionTarget"] == "True TerminationByKubelet"
    seen.record.ending = Ending("OutOfcpu", "full", rejected=True)
    assert "conditions" not in pod_status(seen)


READY: JsonObject = {"type": "Ready", "status": "True"}
MERGES: list[tuple[str, JsonObject, JsonObject, JsonObject]] = [
    (
        "others are kept",
        {"conditions": [{"type": "X"}]},
        {"conditions": [READY]},
        {"conditions": [READY, {"type": "X"}]},
    ),
    ("own ones are replaced", {"conditions": [{"type": "Ready"}]}, {"conditions": [READY]}, {"conditions": [READY]}),
    ("resize conditions vanish", {"conditions": [{"type": "PodResizePending"}]}, {"a": 1}, {"a": 1}),
    ("the nominated node stays", {"nominatedNodeName": "n"}, {"a": 1}, {"a": 1, "nominatedNodeName": "n"}),
    ("anything else goes", {"b": 2}, {"a": 1}, {"a": 1}),
]


@pytest.mark.parametrize(("case", "stored", "own", "expected"), MERGES, ids=[row[0] for row in MERGES])
def test_merging(case: str, stored: JsonObject, own: JsonObject, expected: JsonObject) -> None:
    assert merged_status(stored, own) == expected


def test_the_time_of_looking_makes_no_difference() -> None:
    early: JsonObject = {"conditions": [READY | {"lastProbeTime": "1"}]}
    late: JsonObject = {"conditions": [READY | {"lastProbeTime": "2"}]}
    assert not differs(early, late)
    assert differs(early, {"conditions": [READY | {"reason": "x"}]})
    assert differs({"phase": "Running"}, {"phase": "Failed"})
