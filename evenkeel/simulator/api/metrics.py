"""metrics.k8s.io: usage of pods and nodes, answered from a source that the owner of the server sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from evenkeel.simulator.api.calls import Call
from evenkeel.simulator.api.fields import JsonObject, encode, text
from evenkeel.simulator.api.selectors import predicate
from evenkeel.simulator.api.status import not_found
from evenkeel.simulator.clock import rfc3339


class MetricsSource(Protocol):
    """Whoever knows the usage: each row is a whole PodMetrics or NodeMetrics object without kind and apiVersion."""

    def pods(self) -> list[JsonObject]:
        """Return the metrics of all pods."""

    def nodes(self) -> list[JsonObject]:
        """Return the metrics of all nodes."""


@dataclass(frozen=True, slots=True)
class Window:
    """When usage was measured: from ``timestamp - length`` to ``timestamp``."""

    timestamp: datetime
    length: timedelta = timedelta(seconds=15)

    def body(self) -> JsonObject:
        """Return the two fields that say so."""
        return {"timestamp": rfc3339(self.timestamp), "window": f"{self.length.total_seconds():g}s"}


@dataclass(slots=True)
class StaticMetrics:
    """A source that repeats what it was given; usage is written as (cpu, memory) quantities."""

    pod_rows: dict[tuple[str, str], JsonObject] = field(default_factory=dict)
    node_rows: dict[str, JsonObject] = field(default_factory=dict)

    def put_pod(
        self,
        pod: tuple[str, str],
        usage: Mapping[str, tuple[str, str]],
        window: Window,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Set the usage of a pod, given as namespace and name, by container."""
        namespace, name = pod
        metadata = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
        metadata["creationTimestamp"] = rfc3339(window.timestamp)
        containers = [{"name": c, "usage": {"cpu": cpu, "memory": memory}} for c, (cpu, memory) in usage.items()]
        self.pod_rows[pod] = {"metadata": metadata, **window.body(), "containers": containers}

    def put_node(self, name: str, usage: tuple[str, str], window: Window) -> None:
        """Set the usage of a node."""
        metadata = {"name": name, "creationTimestamp": rfc3339(window.timestamp)}
        self.node_rows[name] = {"metadata": metadata, **window.body(), "usage": {"cpu": usage[0], "memory": usage[1]}}

    def pods(self) -> list[JsonObject]:
        """Return the metrics of all pods."""
        return [self.pod_rows[key] for key in sorted(self.pod_rows)]

    def nodes(self) -> list[JsonObject]:
        """Return the metrics of all nodes."""
        return [self.node_rows[key] for key in sorted(self.node_rows)]


def answer_metrics(source: MetricsSource, call: Call) -> bytes:
    """Return one object, or a list, of metrics as JSON text.

    Raises:
        StatusError: There are none of that name, or a selector cannot be read.
    """
    target, kind = call.target, call.target.kind
    found = source.pods() if kind.namespaced else source.nodes()
    if target.namespace:
        found = [row for row in found if text(row, "metadata", "namespace") == target.namespace]
    named = {"kind": kind.kind, "apiVersion": kind.api_version}
    if target.name:
        one = next((row for row in found if text(row, "metadata", "name") == target.name), None)
        if one is None:
            raise not_found(kind.subject(target.name))
        return encode(named | one)
    passes = predicate(call.query.get("labelSelector", ""), call.query.get("fieldSelector", ""), kind.plural)
    items = [row for row in found if passes is None or passes(row)]
    return encode({"kind": kind.list_name, "apiVersion": kind.api_version, "metadata": {}, "items": items})
