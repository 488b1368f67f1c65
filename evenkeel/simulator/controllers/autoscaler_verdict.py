"""What the metrics of a HorizontalPodAutoscaler call for together: pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.controllers.autoscaler_replicas import Proposal
from evenkeel.simulator.controllers.autoscaler_spec import Metric
from evenkeel.simulator.controllers.autoscaler_status import ACTIVE, Condition, metric_row


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one metric.

    Args:
        metric: The metric.
        proposal: What it calls for; None where it says nothing.
        problem: Why it says nothing.
    """

    metric: Metric
    proposal: Proposal | None = None
    problem: str = ""

    @property
    def reason(self) -> str:
        """Reason of the events and conditions that tell of the problem."""
        return f"FailedGet{self.metric.type}Metric"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What all metrics call for.

    Args:
        active: The condition ScalingActive.
        desired: The most replicas that any metric calls for; None where that is not known.
        leader: The metric that calls for them.
        rows: Rows of ``status.currentMetrics``.
    """

    active: Condition
    desired: int | None = None
    leader: str = ""
    rows: tuple[JsonObject, ...] = ()


def inactive(reason: str, message: str) -> Verdict:
    """Return the verdict where no metric can be asked.

    Args:
        reason: Reason of the condition.
        message: The same in words.
    """
    return Verdict(Condition(ACTIVE, holds=False, reason=reason, message=message))


def judge(findings: Sequence[Finding], current: int) -> Verdict:
    """Return what metrics call for together: the most that any of them does.

    Where one of them says nothing, the others can make the target grow, but not shrink.

    Args:
        findings: What came of each metric.
        current: How many replicas there are.
    """
    shown = tuple(metric_row(finding.metric, finding.proposal) for finding in findings)
    silent = [finding for finding in findings if finding.proposal is None]
    known = [(finding.proposal.replicas, str(finding.metric)) for finding in findings if finding.proposal is not None]
    # Of equal ones the first is named.
    desired, leader = max(known, key=lambda pair: pair[0], default=(0, ""))
    if silent and (not known or desired < current):
        failed = Condition(ACTIVE, holds=False, reason=silent[0].reason, message=silent[0].problem)
        return Verdict(failed, rows=shown)
    message = f"{leader} says how many replicas there should be"
    return Verdict(Condition(ACTIVE, holds=True, reason="ValidMetricFound", message=message), desired, leader, shown)
