"""What a pod tells of its resize."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaling.behaviour import Behaviour, Profile
from autoscaling.pod import (
    RESIZE_IN_PROGRESS,
    RESIZE_PENDING,
    ConditionStatus,
    ContainerStatus,
    Pod,
    PodCondition,
    PodPhase,
)
from autoscaling.resources import ContainerResources
from evenkeel.inspection.documents import Table, document
from evenkeel.inspection.resize_report import ResizeVerdict, resize_blocks, resize_report, verdict_of
from tests.builders import T0, amounts, container, pod

BEHAVIOUR = Behaviour.of(Profile.EVENKEEL)


def resized(actual: str, allocated: str, *conditions: PodCondition, observed: int = 2) -> Pod:
    """A pod of generation 2 that asks for 200m/100Mi with limits 400m/200Mi."""
    status = ContainerStatus(
        "main",
        ContainerResources(amounts(actual), amounts("400m/200Mi")),
        amounts(allocated),
        restart_count=3,
        is_running=True,
    )
    base = pod(container("main", "200m/100Mi", "400m/200Mi"))
    return replace(base, generation=2, observed_generation=observed, statuses=(status,), conditions=conditions)


def condition(kind: str, reason: str = "", generation: int = 2) -> PodCondition:
    return PodCondition(kind, ConditionStatus.TRUE, reason, "words", T0, generation)


NEW, OLD = "200m/100Mi", "100m/100Mi"

ROWS = [
    ("beyond:B-45", resized(NEW, NEW), ResizeVerdict.CONVERGED),
    ("resize:3.4 a restarted node has seen it and shows no condition", resized(OLD, OLD), ResizeVerdict.REQUESTED),
    ("resize:3.11 accepted, not in force", resized(OLD, NEW), ResizeVerdict.REQUESTED),
    ("beyond:B-45 not seen", resized(NEW, NEW, observed=1), ResizeVerdict.REQUESTED),
    ("resize:3.4", resized(OLD, NEW, condition(RESIZE_IN_PROGRESS)), ResizeVerdict.IN_PROGRESS),
    ("resize:3.6", resized(OLD, NEW, condition(RESIZE_IN_PROGRESS, "Error")), ResizeVerdict.ERROR),
    ("resize:3.2 step 8", resized(OLD, OLD, condition(RESIZE_PENDING, "Deferred")), ResizeVerdict.DEFERRED),
    ("resize:3.2 step 7", resized(OLD, OLD, condition(RESIZE_PENDING, "Infeasible")), ResizeVerdict.INFEASIBLE),
    ("updater K-19", resized(OLD, OLD, condition(RESIZE_PENDING, "Deferred", 1)), ResizeVerdict.REQUESTED),
    ("updater K-19 reason", resized(OLD, OLD, condition(RESIZE_PENDING, "Queued")), ResizeVerdict.UNKNOWN),
    ("resize:1.7", replace(resized(OLD, OLD), phase=PodPhase.SUCCEEDED), ResizeVerdict.OVER),
    ("resize:1.7 going", replace(resized(OLD, OLD), is_terminating=True), ResizeVerdict.OVER),
    ("resize:3.9", resized("1m/100Mi", "1m/100Mi"), ResizeVerdict.REQUESTED),
]


@pytest.mark.parametrize(("row", "seen", "verdict"), ROWS, ids=[row[0] for row in ROWS])
def test_verdicts(row: str, seen: Pod, verdict: ResizeVerdict) -> None:
    assert verdict_of(seen, BEHAVIOUR) is verdict
    assert resize_report(seen, BEHAVIOUR).verdict is verdict


CODES = [
    ("beyond:B-45", ResizeVerdict.CONVERGED, 0, True),
    ("beyond:B-45", ResizeVerdict.REQUESTED, 3, False),
    ("beyond:B-45", ResizeVerdict.IN_PROGRESS, 3, False),
    ("beyond:B-45", ResizeVerdict.DEFERRED, 4, False),
    ("resize:3.2 never retried", ResizeVerdict.INFEASIBLE, 5, True),
    ("beyond:B-45", ResizeVerdict.ERROR, 6, False),
    ("beyond:B-45", ResizeVerdict.UNKNOWN, 6, False),
    ("beyond:B-45", ResizeVerdict.OVER, 7, True),
    ("beyond:B-45", ResizeVerdict.GONE, 7, True),
]


@pytest.mark.parametrize(("row", "verdict", "code", "is_final"), CODES, ids=[row[1].name for row in CODES])
def test_exit_codes(row: str, verdict: ResizeVerdict, code: int, is_final: bool) -> None:
    assert (verdict.exit_code, verdict.is_final) == (code, is_final)


def test_a_pod_that_is_gone_is_reported_as_last_seen() -> None:
    report = resize_report(resized(OLD, OLD), BEHAVIOUR, is_gone=True)
    assert report.verdict is ResizeVerdict.GONE
    assert report.amounts


def test_amounts_in_their_states() -> None:
    report = resize_report(resized(OLD, NEW, condition(RESIZE_IN_PROGRESS, generation=1)), BEHAVIOUR)
    told = document(report)
    assert isinstance(told, dict)
    assert told["pod"] == "Pod default/p"
    assert told["verdict"] == "inProgress"
    assert (told["generation"], told["observedGeneration"]) == (2, 2)
    assert told["containers"] == [{"name": "main", "restartCount": 3, "isRunning": True}]
    first = {"container": "main", "resource": "cpu", "kind": "request"}
    assert told["amounts"] == [
        first | {"desired": "200m", "allocated": "200m", "actual": "100m"},
        first | {"kind": "limit", "desired": "400m", "allocated": None, "actual": "400m"},
        first | {"resource": "memory", "desired": "100Mi", "allocated": "100Mi", "actual": "100Mi"},
        first | {"resource": "memory", "kind": "limit", "desired": "200Mi", "allocated": None, "actual": "200Mi"},
    ]
    (shown,) = report.conditions
    assert shown.is_stale
    assert shown.since == T0 + timedelta(0)


def test_blocks_have_a_row_for_each_amount_and_condition() -> None:
    report = resize_report(resized(OLD, NEW, condition(RESIZE_PENDING, "Deferred", generation=1)), BEHAVIOUR)
    head, amounts_shown, containers, conditions = resize_blocks(report)
    assert head.startswith("Pod default/p: requested (generation 2, of which the node has seen 2)\n")  # type: ignore[union-attr]
    assert isinstance(amounts_shown, Table)
    assert amounts_shown.rows[0] == ("main", "cpu request", "200m", "200m", "100m")
    assert isinstance(containers, Table)
    assert containers.rows == (("main", "3", "yes"),)
    assert isinstance(conditions, Table)
    row = ("PodResizePending", "Deferred (about generation 1)", "2026-01-01 00:00:00", "words")
    assert conditions.rows == (row,)


def test_a_container_that_has_not_started() -> None:
    report = resize_report(pod(container("main", "100m/-")), BEHAVIOUR)
    assert [(a.resource, a.actual) for a in report.amounts] == [("cpu", None)]
    assert not report.containers[0].is_running
