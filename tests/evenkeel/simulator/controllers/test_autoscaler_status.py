"""What autoscalers say about themselves."""

from __future__ import annotations

from datetime import timedelta

import pytest

from evenkeel.simulator.api.fields import JsonObject, rows
from evenkeel.simulator.clock import EPOCH, rfc3339
from evenkeel.simulator.controllers.autoscaler_pace import Memory, Settled
from evenkeel.simulator.controllers.autoscaler_replicas import Proposal
from evenkeel.simulator.controllers.autoscaler_spec import Metric, MetricType, Pace, Wish
from evenkeel.simulator.controllers.autoscaler_status import (
    Condition,
    Report,
    metric_row,
    settled_conditions,
    status_of,
)

LATER = EPOCH + timedelta(minutes=1)
WISH = Wish({}, 2, 9, (), Pace())


def test_rows_of_metrics() -> None:
    cpu = Metric(MetricType.RESOURCE, "cpu")
    assert metric_row(cpu, Proposal(3, 70, 35)) == {
        "type": "Resource",
        "resource": {"name": "cpu", "current": {"averageValue": "70m", "averageUtilization": 35}},
    }
    one = Metric(MetricType.CONTAINER_RESOURCE, "memory", "app")
    assert metric_row(one, Proposal(3, 2_048_000)) == {
        "type": "ContainerResource",
        "containerResource": {"name": "memory", "container": "app", "current": {"averageValue": "2048"}},
    }
    assert metric_row(cpu, None) == {"type": ""}


@pytest.mark.parametrize(
    ("held_back", "limited", "reasons", "said"),
    [
        ("", "", ("ReadyForNewScale", "DesiredWithinRange"), "within 2 to 9"),
        ("ScaleDownStabilized", "", ("ScaleDownStabilized", "DesiredWithinRange"), "within"),
        ("ScaleUpStabilized", "ScaleUpLimit", ("ScaleUpStabilized", "ScaleUpLimit"), "5 it is for now"),
        ("", "ScaleDownLimit", ("ReadyForNewScale", "ScaleDownLimit"), "5 it is for now"),
        ("", "TooManyReplicas", ("ReadyForNewScale", "TooManyReplicas"), "maxReplicas, 9"),
        ("", "TooFewReplicas", ("ReadyForNewScale", "TooFewReplicas"), "minReplicas, 2"),
    ],
)
def test_reasons_of_a_decision(held_back: str, limited: str, reasons: tuple[str, str], said: str) -> None:
    able, within = settled_conditions(WISH, Settled(5, held_back, limited, Memory()))
    assert (able.type, able.holds, within.type, within.holds) == (
        "AbleToScale", True, "ScalingLimited", bool(limited),
    )  # fmt: skip
    assert (able.reason, within.reason) == reasons
    assert said in within.message


def conditions(status: JsonObject) -> list[tuple[object, ...]]:
    names = ("type", "status", "reason", "lastTransitionTime")
    return [tuple(row[name] for name in names) for row in rows(status, "conditions")]


def test_conditions_keep_their_time_while_their_status_stays() -> None:
    able = Condition("AbleToScale", holds=True, reason="SucceededGetScale", message="")
    active = Condition("ScalingActive", holds=True, reason="ValidMetricFound", message="")
    first = status_of({}, Report(1, 2, (able, active)), EPOCH)
    ready = Condition("AbleToScale", holds=True, reason="ReadyForNewScale", message="")
    failed = Condition("ScalingActive", holds=False, reason="FailedGetResourceMetric", message="")
    second = status_of({"status": first}, Report(2, 2, (able, failed, ready)), LATER)
    assert conditions(second) == [
        ("AbleToScale", "True", "ReadyForNewScale", rfc3339(EPOCH)),
        ("ScalingActive", "False", "FailedGetResourceMetric", rfc3339(LATER)),
    ]
    third = status_of({"status": second}, Report(2, 2, (ready,)), LATER)
    assert conditions(third) == conditions(second), "what was not looked at stays"


def test_numbers_metrics_and_the_time_of_the_last_change() -> None:
    row: JsonObject = {"type": "Resource"}
    first = status_of({}, Report(1, 2, (), (row,), rescaled=True), EPOCH)
    assert first == {
        "currentReplicas": 1,
        "desiredReplicas": 2,
        "lastScaleTime": rfc3339(EPOCH),
        "currentMetrics": [row],
        "conditions": [],
    }
    second = status_of({"status": first}, Report(2, 2, ()), LATER)
    assert second == {
        "currentReplicas": 2, "desiredReplicas": 2, "lastScaleTime": rfc3339(EPOCH), "conditions": [],
    }  # fmt: skip
