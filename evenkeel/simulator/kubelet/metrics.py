"""What a kubelet counts about resizes, and the usage that metrics.k8s.io serves (spec: in-place-resize 3.12 and 5)."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from autoscaling.quantity import Quantity
from autoscaling.resources import ContainerResources
from evenkeel.simulator.api.fields import JsonObject
from evenkeel.simulator.clock import rfc3339
from evenkeel.simulator.kubelet.meters import Meter, Reading
from evenkeel.simulator.kubelet.podview import COMPUTE_PARTS, PodView, Role, section
from evenkeel.simulator.kubelet.runtime import Sandbox

_BUCKETS = (10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000)
_NANO, _KIBI = 10**9, 1024


def operation(new: Quantity | None, old: Quantity | None) -> str:
    """Return what a change does to one amount, empty when it changes nothing."""
    if new == old:
        return ""
    if old is None or new is None:
        return "add" if old is None else "remove"
    return "increase" if new > old else "decrease"


@dataclass(slots=True)
class _Durations:
    """How long resize steps took, one histogram."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(_BUCKETS) + 1))
    total: float = 0.0


class ResizeMetrics(Collector):
    """The six series about resizes of one kubelet process."""

    def __init__(self) -> None:
        self.requested: Counter[tuple[str, str, str]] = Counter()
        self.infeasible: Counter[str] = Counter()
        self.deferred_accepted: Counter[str] = Counter()
        self.pending: Counter[str] = Counter()
        self.in_progress = 0
        self._durations: dict[bool, _Durations] = {}
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def count_request(self, new: ContainerResources, old: ContainerResources) -> None:
        """Count what a changed spec asks for in one container."""
        for which, name in COMPUTE_PARTS:
            done = operation(section(new, which).get(name), section(old, which).get(name))
            if done:
                self.requested[name, which, done] += 1

    def time_step(self, took: timedelta, *, success: bool) -> None:
        """Count one resize step."""
        milliseconds = took / timedelta(milliseconds=1)
        durations = self._durations.setdefault(success, _Durations())
        durations.counts[bisect_left(_BUCKETS, milliseconds)] += 1
        durations.total += milliseconds

    def text(self) -> str:
        """Return the series as a kubelet's ``/metrics`` shows them."""
        return generate_latest(self._registry).decode()

    def collect(self) -> Iterator[Metric]:
        """Yield the series."""
        requested = CounterMetricFamily(
            "kubelet_container_requested_resizes",
            "Changes of container resources that were asked for.",
            labels=("resource", "requirement", "operation"),
        )
        for labels, number in sorted(self.requested.items()):
            requested.add_metric(labels, number)
        yield requested
        yield self._histogram()
        pending = GaugeMetricFamily("kubelet_pod_pending_resizes", "Pods whose resize waits.", labels=("reason",))
        for reason, number in sorted(self.pending.items()):
            pending.add_metric((reason,), number)
        yield pending
        yield GaugeMetricFamily(
            "kubelet_pod_in_progress_resizes", "Pods whose resize is under way.", value=self.in_progress
        )
        yield _counter("kubelet_pod_infeasible_resizes", "Resizes that cannot be.", "reason_detail", self.infeasible)
        yield _counter(
            "kubelet_pod_deferred_accepted_resizes",
            "Resizes that were put off and accepted later.",
            "retry_trigger",
            self.deferred_accepted,
        )

    def _histogram(self) -> HistogramMetricFamily:
        """Return the durations of resize steps."""
        family = HistogramMetricFamily(
            "kubelet_pod_resize_duration_milliseconds", "Time that resize steps took.", labels=("success",)
        )
        for success, durations in sorted(self._durations.items()):
            rising, buckets = 0, []
            for bound, count in zip((*_BUCKETS, "+Inf"), durations.counts, strict=True):
                rising += count
                buckets.append((str(bound) if isinstance(bound, str) else f"{bound:g}", rising))
            family.add_metric(("true" if success else "false",), buckets, durations.total)
        return family


def _counter(name: str, help_text: str, label: str, counts: Counter[str]) -> CounterMetricFamily:
    """Return a counter with one label."""
    family = CounterMetricFamily(name, help_text, labels=(label,))
    for value, number in sorted(counts.items()):
        family.add_metric((value,), number)
    return family


@dataclass(frozen=True, slots=True)
class MeteredPod:
    """A pod whose usage may be shown."""

    view: PodView
    sandbox: Sandbox


@dataclass(frozen=True, slots=True)
class MeteredNode:
    """A node whose usage may be shown."""

    name: str
    meter: Meter
    pods: Sequence[MeteredPod]


class NodeMetricsSource:
    """metrics.k8s.io over all nodes: what was known when usage was last collected.

    Args:
        nodes: Gives the nodes, by name.
        now: Gives the present.
        start: When collecting began.
        period: How often usage is collected.
    """

    def __init__(
        self,
        nodes: Callable[[], Iterable[MeteredNode]],
        now: Callable[[], datetime],
        start: datetime,
        period: timedelta,
    ) -> None:
        self._nodes = nodes
        self._now = now
        self._start = start
        self._period = period

    def pods(self) -> list[JsonObject]:
        """Return the metrics of all pods of which every running container has two readings."""
        moment = self._collected()
        found = [_pod_row(pod, moment) for node in self._nodes() for pod in node.pods]
        rows = [row for row in found if row is not None]
        return sorted(rows, key=_sort_key)

    def nodes(self) -> list[JsonObject]:
        """Return the metrics of all nodes that have two readings."""
        moment = self._collected()
        rows: list[JsonObject] = []
        for node in self._nodes():
            window = node.meter.window_until(moment)
            if window is not None:
                metadata = {"name": node.name, "creationTimestamp": rfc3339(self._now())}
                rows.append({"metadata": metadata, **_times(window), "usage": _usage(window)})
        return rows

    def _collected(self) -> datetime:
        """Return when usage was last collected."""
        return self._start + (self._now() - self._start) // self._period * self._period


def _sort_key(row: JsonObject) -> tuple[str, str]:
    """Return namespace and name of a row."""
    metadata = row["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata["namespace"]), str(metadata["name"])


def _pod_row(pod: MeteredPod, moment: datetime) -> JsonObject | None:
    """Return the metrics of one pod, None while a container lacks them."""
    windows: dict[str, tuple[Reading, Reading]] = {}
    for container in pod.view.containers:
        made = pod.sandbox.containers.get(container.name)
        if made is None or not made.running:
            if container.role is Role.INIT:
                continue
            return None
        window = made.meter.window_until(moment)
        if window is None:
            return None
        windows[container.name] = window
    if not windows:
        return None
    oldest = min(windows.values(), key=lambda window: window[1].at)
    labels = pod.view.body.get("metadata")
    return {
        "metadata": {
            "name": pod.view.name,
            "namespace": pod.view.namespace,
            "labels": dict(labels.get("labels") or {}) if isinstance(labels, dict) else {},
            "creationTimestamp": rfc3339(moment),
        },
        **_times(oldest),
        "containers": [{"name": name, "usage": _usage(window)} for name, window in windows.items()],
    }


def _times(window: tuple[Reading, Reading]) -> JsonObject:
    """Return when usage was measured."""
    length = (window[1].at - window[0].at).total_seconds()
    return {"timestamp": rfc3339(window[1].at), "window": f"{length:.3f}".rstrip("0").rstrip(".") + "s"}


def _usage(window: tuple[Reading, Reading]) -> JsonObject:
    """Return the mean CPU of a window and the memory at its end, as metrics-server prints them."""
    earlier, later = window
    seconds = (later.at - earlier.at).total_seconds()
    cores = (later.cpu_core_seconds - earlier.cpu_core_seconds) / seconds
    return {"cpu": f"{round(cores * _NANO)}n", "memory": f"{later.working_set_bytes // _KIBI}Ki"}
