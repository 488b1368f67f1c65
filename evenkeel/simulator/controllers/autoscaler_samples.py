"""What pods used of a resource, read from the objects of the metrics API: pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from autoscaling.runtime.go_literals import parse_duration
from evenkeel.simulator.api.fields import JsonObject, child, quantity, rows, text
from evenkeel.simulator.clock import parse_rfc3339
from evenkeel.simulator.controllers.autoscaler_replicas import NoProposalError, Sample
from evenkeel.simulator.controllers.autoscaler_spec import Metric


def samples_of(metric: Metric, metrics: Iterable[JsonObject], names: Collection[str]) -> dict[str, Sample]:
    """Return what pods used of a metric's resource.

    Args:
        metric: What is looked at.
        metrics: Objects of kind PodMetrics, of one namespace.
        names: The pods that are wanted.

    Returns:
        Samples by the pod's name; pods of which a container does not tell are left out.

    Raises:
        NoProposalError: The metric is not about a resource of pods, or a pod has no container of the name it wants.
    """
    if not metric.is_of_pods:
        raise NoProposalError("this cluster serves no metrics but those of the resources of pods")
    found: dict[str, Sample] = {}
    for row in metrics:
        name = text(row, "metadata", "name")
        milli = _used_milli(metric, row, name) if name in names else None
        if milli is not None:
            found[name] = Sample(milli, parse_rfc3339(text(row, "timestamp")), parse_duration(text(row, "window")))
    return found


def _used_milli(metric: Metric, row: JsonObject, name: str) -> int | None:
    """Return what one pod used, in thousandths; None where a container does not tell."""
    wanted = [one for one in rows(row, "containers") if metric.container in {"", text(one, "name")}]
    if not wanted:
        raise NoProposalError(f"no usage of a container {metric.container!r} is known of pod {name}")
    amounts = [child(one, "usage").get(metric.resource) for one in wanted]
    if any(amount is None for amount in amounts):
        return None
    return sum(quantity(amount).milli_value() for amount in amounts)
