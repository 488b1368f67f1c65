"""What happens to pods while they are resized."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.matching import NOTHING
from autoscaling.objectref import ObjectRef
from autoscaling.pod import (
    RESIZE_IN_PROGRESS,
    RESIZE_PENDING,
    ConditionStatus,
    ContainerStatus,
    Owner,
    Pod,
    PodCondition,
)
from autoscaling.resources import ContainerResources
from autoscaling.workload import Workload
from evenkeel.inspection.history import ToldEvent
from evenkeel.inspection.observation import (
    Happening,
    What,
    belongs,
    event_happening,
    is_of_resizes,
    line_of,
    metric_happenings,
    pod_happenings,
)
from evenkeel.inspection.resize_report import ResizeReport, ResizeVerdict, resize_report
from tests.builders import T0, amounts, container, pod

BEHAVIOUR = Behaviour.of(Profile.EVENKEEL)


def seen(desired: str = "100m/-", actual: str = "100m/-", restarts: int = 0, *conditions: PodCondition) -> Pod:
    resources = ContainerResources(amounts(actual))
    status = ContainerStatus("main", resources, amounts(actual), restart_count=restarts, is_running=True)
    return replace(pod(container("main", desired)), statuses=(status,), conditions=conditions)


def report(of: Pod) -> ResizeReport:
    return resize_report(of, BEHAVIOUR)


def told(old: Pod | None, new: Pod | None) -> list[tuple[What, str]]:
    before, after = (report(each) if each is not None else None for each in (old, new))
    return [(each.what, each.text) for each in pod_happenings(before, after, T0)]


def condition(kind: str, reason: str = "", message: str = "") -> PodCondition:
    return PodCondition(kind, ConditionStatus.TRUE, reason, message, T0, 1)


DEFERRED = condition(RESIZE_PENDING, "Deferred", "no room")
STARTED = condition(RESIZE_IN_PROGRESS)
BACK = ResizeVerdict.CONVERGED.meaning
KILLING = "Container a resize requires restart"

ROWS = [
    ("resize:3.4 first", None, seen(), [(What.POD, f"is converged: {BACK}")]),
    ("resize:3.4 replaced", seen(), replace(seen(), uid="other"), [(What.POD, f"is converged: {BACK}")]),
    ("resize:3.4 gone", seen(), None, [(What.POD, "is gone")]),
    ("resize:3.4 nothing", seen(), seen(), []),
    ("resize:3.4 never there", None, None, []),
    ("resize:3.8", seen(restarts=1), seen(restarts=2), [(What.RESTART, "main was restarted, 2 times so far")]),
    (
        "beyond:B-45 asked for",
        seen(),
        seen("200m/-"),
        [
            (What.AMOUNT, "main cpu request: desired 100m→200m"),
            (
                What.VERDICT,
                f"converged→requested: {ResizeVerdict.REQUESTED.meaning}",
            ),
        ],
    ),
    (
        "resize:3.2",
        seen("200m/-"),
        seen("200m/-", "100m/-", 0, DEFERRED),
        [
            (What.CONDITION, "PodResizePending Deferred no room"),
            (
                What.VERDICT,
                f"requested→deferred: {ResizeVerdict.DEFERRED.meaning}",
            ),
        ],
    ),
    (
        "resize:3.4 cleared",
        seen("200m/-", "100m/-", 0, STARTED),
        seen("200m/-", "200m/-"),
        [
            (What.AMOUNT, "main cpu request: allocated 100m→200m, actual 100m→200m"),
            (What.CONDITION, "PodResizeInProgress is gone"),
            (What.VERDICT, f"inProgress→converged: {BACK}"),
        ],
    ),
    ("beyond:B-45 added", seen(), seen("100m/1Mi", "100m/1Mi"), [
        (What.AMOUNT, "main memory request: desired none→1Mi, allocated none→1Mi, actual none→1Mi"),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("row", "old", "new", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_pods(row: str, old: Pod | None, new: Pod | None, expected: list[tuple[What, str]]) -> None:
    assert told(old, new) == expected


EVENTS = [
    ("resize:3.11", "ResizeStarted", "Pod resize started: {}", 1, "ResizeStarted: Pod resize started: {}"),
    ("resize:3.11 counted", "ResizeError", "x", 3, "ResizeError (3 times): x"),
    ("resize:3.11 killing", "Killing", KILLING, 1, f"Killing: {KILLING}"),
    ("resize:3.11 other killing", "Killing", "Stopping container a", 1, None),
    ("beyond:B-42", "InPlaceResizedByVPA", "y", 1, "InPlaceResizedByVPA: y"),
    ("resize:3.11 other", "Scheduled", "z", 1, None),
]  # fmt: skip


@pytest.mark.parametrize(("row", "reason", "message", "count", "text"), EVENTS, ids=[row[0] for row in EVENTS])
def test_events(row: str, reason: str, message: str, count: int, text: str | None) -> None:
    found = event_happening(ToldEvent(T0, ObjectRef("Pod", "default", "p"), reason, message, count))
    assert (found.text if found else None) == text
    assert found is None or (found.subject, found.what, found.at) == ("p", What.EVENT, T0)


SERIES = [
    ("resize:3.12", 'kubelet_pod_pending_resizes{reason="deferred"} 1', True),
    ("resize:3.12 plain", "kubelet_pod_in_progress_resizes 0", True),
    ("resize:3.12 sum", 'kubelet_pod_resize_duration_milliseconds_sum{success="true"} 3', True),
    ("resize:3.12 bucket", 'kubelet_pod_resize_duration_milliseconds_bucket{success="true",le="10"} 3', False),
    ("resize:8 the articles' name", "kubelet_pod_resize_duration_seconds 3", False),
    ("resize:3.12 another", "kubelet_running_pods 3", False),
]


@pytest.mark.parametrize(("row", "line", "is_one"), SERIES, ids=[row[0] for row in SERIES])
def test_series(row: str, line: str, is_one: bool) -> None:
    assert is_of_resizes(line) is is_one


def test_metrics_that_changed() -> None:
    """resize:3.12."""
    pending = ("kubelet_pod_pending_resizes", (("reason", "deferred"),))
    busy = ("kubelet_pod_in_progress_resizes", ())
    title = 'kubelet_pod_pending_resizes{reason="deferred"}'
    found = list(metric_happenings("n", {pending: 1.0, busy: 2.0}, {busy: 2.0}, T0))
    assert [(each.subject, each.text) for each in found] == [("n", f"{title} 1→0")]
    found = list(metric_happenings("n", {}, {pending: 1.0, busy: 0.0}, T0))
    assert [each.text for each in found] == [f"{title} 0→1"]


def owned(kind: str, name: str, controller: bool = True) -> Pod:
    return replace(pod(), owners=(Owner("apps/v1", kind, name, controller=controller),))


def workload(kind: str, name: str, owner: str) -> Workload:
    return Workload(kind, "default", name, NOTHING, owners=(Owner("apps/v1", owner, "web", controller=True),))


SETS = {("default", "web-1"): workload("ReplicaSet", "web-1", "Deployment")}

BELONGS: list[tuple[str, Pod, str, str, bool]] = [
    ("beyond:B-30 directly", owned("StatefulSet", "db"), "StatefulSet", "db", True),
    ("beyond:B-30 by a ReplicaSet", owned("ReplicaSet", "web-1"), "Deployment", "web", True),
    ("beyond:B-30 the ReplicaSet itself", owned("ReplicaSet", "web-1"), "ReplicaSet", "web-1", True),
    ("beyond:B-30 another name", owned("ReplicaSet", "web-1"), "Deployment", "api", False),
    ("beyond:B-30 unknown ReplicaSet", owned("ReplicaSet", "web-2"), "Deployment", "web", False),
    ("beyond:B-30 no controller", owned("ReplicaSet", "web-1", controller=False), "Deployment", "web", False),
    ("beyond:B-30 a Job of that name", owned("Job", "web-1"), "Deployment", "web", False),
    ("beyond:B-30 the pod", pod(name="p"), "Pod", "p", True),
    ("beyond:B-30 another pod", pod(name="p"), "Pod", "q", False),
]


@pytest.mark.parametrize(("row", "of", "kind", "name", "is_one"), BELONGS, ids=[row[0] for row in BELONGS])
def test_whose_pods(row: str, of: Pod, kind: str, name: str, is_one: bool) -> None:
    assert belongs(of, kind, name, SETS) is is_one


def test_a_line() -> None:
    happening = Happening(T0 + timedelta(hours=1, seconds=2), "web-0", What.EVENT, "text")
    assert line_of(happening, 8) == "01:00:02  web-0     event      text"
