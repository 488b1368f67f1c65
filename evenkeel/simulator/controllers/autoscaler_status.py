"""What a HorizontalPodAutoscaler says about itself: pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from autoscaling.quantity import Quantity
from evenkeel.simulator.api.fields import JsonObject, child, rows, text
from evenkeel.simulator.clock import rfc3339
from evenkeel.simulator.controllers.autoscaler_pace import Settled
from evenkeel.simulator.controllers.autoscaler_replicas import Proposal
from evenkeel.simulator.controllers.autoscaler_spec import Metric, Wish

ABLE, ACTIVE, LIMITED = "AbleToScale", "ScalingActive", "ScalingLimited"


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition.

    Args:
        type: Its type.
        holds: Whether it is True.
        reason: Machine-readable reason.
        message: The same in words.
    """

    type: str
    holds: bool
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """What one look at an autoscaler came to.

    Args:
        current: Replicas that the target asked for.
        desired: Replicas that it shall have.
        conditions: The conditions that were found; others stay as they were.
        metrics: Rows of ``status.currentMetrics``; None leaves out what was known of them.
        rescaled: Whether the target was told another number.
    """

    current: int
    desired: int
    conditions: tuple[Condition, ...]
    metrics: tuple[JsonObject, ...] | None = None
    rescaled: bool = False


def metric_row(metric: Metric, proposal: Proposal | None) -> JsonObject:
    """Return the present value of a metric, an empty row where it is not known, so that rows keep their places.

    Args:
        metric: The metric.
        proposal: What was found of it.
    """
    if proposal is None:
        return {"type": ""}
    current: JsonObject = {"averageValue": str(Quantity.of_milli(proposal.average_milli))}
    if proposal.utilization is not None:
        current["averageUtilization"] = proposal.utilization
    part: JsonObject = {"name": metric.resource, "current": current}
    if metric.container:
        part["container"] = metric.container
    return {"type": metric.type.value, metric.type.part: part}


def settled_conditions(wish: Wish, settled: Settled) -> tuple[Condition, Condition]:
    """Return what a decision says of windows and of bounds."""
    able = Condition(ABLE, holds=True, reason="ReadyForNewScale", message="no earlier recommendation stands against it")
    if settled.held_back:
        direction = "higher" if settled.held_back == "ScaleDownStabilized" else "lower"
        message = f"{settled.replicas} replicas stay, as recent recommendations were {direction} than this one"
        able = Condition(ABLE, holds=True, reason=settled.held_back, message=message)
    if not settled.limited:
        within = f"{settled.replicas} replicas are within {wish.least} to {wish.most}"
        return able, Condition(LIMITED, holds=False, reason="DesiredWithinRange", message=within)
    message = {
        "TooFewReplicas": f"the metrics call for fewer than minReplicas, {wish.least}",
        "TooManyReplicas": f"the metrics call for more than maxReplicas, {wish.most}",
        "ScaleUpLimit": f"the metrics call for more than may be added at a time; {settled.replicas} it is for now",
        "ScaleDownLimit": f"the metrics call for fewer than may be left at a time; {settled.replicas} it is for now",
    }[settled.limited]
    return able, Condition(LIMITED, holds=True, reason=settled.limited, message=message)


def status_of(body: JsonObject, report: Report, now: datetime) -> JsonObject:
    """Return the status of an autoscaler after a look at it.

    Args:
        body: The autoscaler as it is.
        report: What the look came to.
        now: The present.
    """
    earlier = child(body, "status")
    status: JsonObject = {"currentReplicas": report.current, "desiredReplicas": report.desired}
    if report.rescaled:
        status["lastScaleTime"] = rfc3339(now)
    elif "lastScaleTime" in earlier:
        status["lastScaleTime"] = earlier["lastScaleTime"]
    if report.metrics:
        status["currentMetrics"] = list(report.metrics)
    status["conditions"] = _merged(rows(earlier, "conditions"), report.conditions, now)
    return status


def _merged(earlier: Sequence[JsonObject], found: Iterable[Condition], now: datetime) -> list[JsonObject]:
    """Return conditions with what was found, in place of what they said before; the last word on each type counts."""
    merged = {text(row, "type"): row for row in earlier}
    for condition in found:
        value = "True" if condition.holds else "False"
        before = merged.get(condition.type, {})
        changed = text(before, "lastTransitionTime") if text(before, "status") == value else rfc3339(now)
        merged[condition.type] = {
            "type": condition.type,
            "status": value,
            "lastTransitionTime": changed,
            "reason": condition.reason,
            "message": condition.message,
        }
    return list(merged.values())
