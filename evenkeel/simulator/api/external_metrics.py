"""external.metrics.k8s.io: values of metrics with labels, answered from a source that the owner of the server sets.

As with a real adapter each metric is a resource of its own, so one that nobody declared is not there at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from evenkeel.simulator.api.calls import Call
from evenkeel.simulator.api.fields import JsonObject, child, encode, rows, text
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.metrics import MetricsSource
from evenkeel.simulator.api.selectors import predicate
from evenkeel.simulator.clock import rfc3339

GROUP = "external.metrics.k8s.io"
_VERSION = "v1beta1"
_LIST = "ExternalMetricValueList"


class ExternalSource(Protocol):
    """Whoever knows the values: each is a whole ExternalMetricValue."""

    def names(self) -> Collection[str]:
        """Return the metrics there are, whether they have values or not."""

    def values(self, namespace: str, metric: str) -> list[JsonObject]:
        """Return the values of a metric in a namespace, whatever their labels."""


@dataclass(slots=True)
class StaticExternalMetrics:
    """A source that repeats what it was given.

    Args:
        given: Values by metric and namespace.
    """

    given: dict[str, dict[str, list[JsonObject]]] = field(default_factory=dict)

    def declare(self, *metrics: str) -> None:
        """Let metrics exist without values."""
        for metric in metrics:
            self.given.setdefault(metric, {})

    def put(self, metric: str, namespace: str, labels: Mapping[str, str], value: str, at: datetime) -> None:
        """Set the value with these labels, after those of other labels that are there already."""
        self.declare(metric)
        body: JsonObject = {
            "metricName": metric,
            "metricLabels": dict(labels),
            "timestamp": rfc3339(at),
            "value": value,
        }
        found = self.given[metric].setdefault(namespace, [])
        for place, old in enumerate(found):
            if old["metricLabels"] == body["metricLabels"]:
                found[place] = body
                return
        found.append(body)

    def names(self) -> Collection[str]:
        """Return the metrics there are."""
        return tuple(self.given)

    def values(self, namespace: str, metric: str) -> list[JsonObject]:
        """Return the values of a metric in a namespace."""
        return self.given.get(metric, {}).get(namespace, [])


@dataclass(frozen=True, slots=True)
class UsageAsExternalMetrics:
    """What metrics.k8s.io says of pods, as external metrics with the labels of the pods.

    Args:
        usage: The source of metrics.k8s.io.
        metrics: Resource to metric.
        container_label: Label that names the container; the label ``pod`` names the pod.
    """

    usage: MetricsSource
    metrics: Mapping[str, str]
    container_label: str = "name"

    def names(self) -> Collection[str]:
        """Return the metrics there are."""
        return tuple(self.metrics.values())

    def values(self, namespace: str, metric: str) -> list[JsonObject]:
        """Return the values of a metric in a namespace."""
        return [
            value
            for row in self.usage.pods()
            if text(row, "metadata", "namespace") == namespace
            for value in self._values_of(row, metric)
        ]

    def _values_of(self, row: JsonObject, metric: str) -> Iterator[JsonObject]:
        resource = next(name for name, own in self.metrics.items() if own == metric)
        labels = {**child(row, "metadata", "labels"), "pod": text(row, "metadata", "name")}
        for container in rows(row, "containers"):
            own = {**labels, self.container_label: text(container, "name")}
            value = child(container, "usage").get(resource)
            if value is None:
                continue
            yield {"metricName": metric, "metricLabels": own, "timestamp": row["timestamp"], "value": value}


def kind_of(metric: str) -> Kind:
    """Return what serves one metric."""
    return Kind(GROUP, _VERSION, _LIST, metric, verbs=("list",), singular=metric, list_kind=_LIST)


def answer_external(source: ExternalSource, call: Call) -> bytes:
    """Return the values of one metric that the label selector asks for, as JSON text.

    Raises:
        StatusError: The selector cannot be read.
    """
    target = call.target
    passes = predicate(call.query.get("labelSelector", ""), "", target.kind.plural)
    items = [
        value
        for value in source.values(target.namespace, target.kind.plural)
        if passes is None or passes({"metadata": {"labels": child(value, "metricLabels")}})
    ]
    return encode({"kind": _LIST, "apiVersion": target.kind.api_version, "metadata": {}, "items": items})
