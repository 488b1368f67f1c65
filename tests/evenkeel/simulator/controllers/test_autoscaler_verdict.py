"""Several metrics together: the most counts, and silence forbids shrinking."""

from __future__ import annotations

import pytest

from evenkeel.simulator.controllers.autoscaler_replicas import Proposal
from evenkeel.simulator.controllers.autoscaler_spec import Metric, MetricType
from evenkeel.simulator.controllers.autoscaler_verdict import Finding, inactive, judge

CPU, MEMORY = Metric(MetricType.RESOURCE, "cpu"), Metric(MetricType.RESOURCE, "memory")
QUEUE = Metric(MetricType.EXTERNAL)


def says(metric: Metric, replicas: int) -> Finding:
    return Finding(metric, Proposal(replicas, 100, 50))


SILENT, SILENT_QUEUE = Finding(CPU, problem="why"), Finding(QUEUE, problem="other")

ROWS: list[tuple[str, list[Finding], int | None, str, str]] = [
    ("one", [says(CPU, 3)], 3, "cpu", "ValidMetricFound"),
    ("the most", [says(CPU, 3), says(MEMORY, 7)], 7, "memory", "ValidMetricFound"),
    ("the first of equal ones", [says(CPU, 3), says(MEMORY, 3)], 3, "cpu", "ValidMetricFound"),
    ("one silent, others grow", [SILENT, says(MEMORY, 6)], 6, "memory", "ValidMetricFound"),
    ("one silent, others stay", [SILENT, says(MEMORY, 5)], 5, "memory", "ValidMetricFound"),
    ("one silent, others shrink", [says(MEMORY, 4), SILENT], None, "", "FailedGetResourceMetric"),
    ("all silent", [SILENT_QUEUE, SILENT], None, "", "FailedGetExternalMetric"),
]


@pytest.mark.parametrize(("row", "findings", "desired", "leader", "reason"), ROWS, ids=[row[0] for row in ROWS])
def test_together(row: str, findings: list[Finding], desired: int | None, leader: str, reason: str) -> None:
    verdict = judge(findings, 5)
    assert (verdict.desired, verdict.leader, verdict.active.reason) == (desired, leader, reason), row
    assert verdict.active.holds is (desired is not None)
    assert [len(shown) > 1 for shown in verdict.rows] == [finding.proposal is not None for finding in findings]


def test_a_failure_is_told_in_the_words_of_the_first_silent_metric() -> None:
    assert judge([SILENT_QUEUE, SILENT], 5).active.message == "other"


def test_where_no_metric_can_be_asked() -> None:
    verdict = inactive("InvalidSelector", "no selector")
    assert (verdict.desired, verdict.active.holds, verdict.active.reason) == (None, False, "InvalidSelector")
