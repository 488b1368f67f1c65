"""The recommender's metric families, named and bucketed as upstream's (spec: recommender:10)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from autoscaling.resources import CPU
from autoscaling.runtime.exposition import BareCounter
from autoscaling.runtime.metric_shapes import EXECUTION_BUCKETS_SECONDS, REQUEST_BUCKETS_SECONDS
from autoscaling.vpa import UpdateMode
from recommender.aggregation import UPDATE_MODES as STATED_MODES
from recommender.doubling_buckets import DoublingBuckets, Tally
from recommender.quality import TargetChanges, UsageQuality, size_class
from recommender.resource_reads import Source
from recommender.shell.bulk_histogram import BulkHistogram
from recommender.shell.freshness import FreshnessMetrics
from recommender.shell.history_metrics import HistoryMetrics
from recommender.shell.usage_standing import UsageMetrics

LATENCY_BUCKETS_SECONDS = (
    *(1.0, 2.0, 5.0, 7.5, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0),
    *(90.0, 120.0, 150.0, 180.0, 240.0, 300.0, 600.0, 900.0, 1800.0),
)
CPU_BUCKETS_CORES = DoublingBuckets(0.01, 17)
MEMORY_BUCKETS_BYTES = DoublingBuckets(1e6, 17)
RELATIVE_BUCKETS = (
    *(-1.0, -0.75, -0.5, -0.25, -0.1, -0.05, -0.025, -0.01, -0.005, -0.0025, -0.001, 0.0),
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0),
)
UPDATE_MODES = ("Off", "Initial", "Recreate", "Auto", "InPlaceOrRecreate", "InPlace")
API_VERSIONS = ("v1beta1", "v1beta2", "v1")

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_QUALITY, _RECOMMENDER = "vpa_quality", "vpa_recommender"
_TRUTH = ("false", "true")
_MODE_RESOURCE_OOM = ("update_mode", "resource", "is_oom")


@dataclass(frozen=True, slots=True)
class QualityMetrics:
    """How far recommendations are from what containers use; labels in the order of the declarations."""

    relative_diffs: BulkHistogram
    missing_recommendations: Counter
    cpu_over_usage: BulkHistogram
    cpu_lower_equal_usage: BulkHistogram
    memory_over_usage: BulkHistogram
    memory_lower_equal_usage: BulkHistogram
    cpu_recommendations: BulkHistogram
    memory_recommendations: BulkHistogram
    relative_changes: BulkHistogram

    @classmethod
    def register(cls, registry: CollectorRegistry) -> QualityMetrics:
        """Declare the families in a registry."""

        def cpu(name: str, about: str, *labels: str) -> BulkHistogram:
            return BulkHistogram(
                f"{_QUALITY}_{name}", about, ("update_mode", *labels), CPU_BUCKETS_CORES.ends, registry
            )

        def memory(name: str, about: str, *labels: str) -> BulkHistogram:
            return BulkHistogram(
                f"{_QUALITY}_{name}", about, ("update_mode", *labels), MEMORY_BUCKETS_BYTES.ends, registry
            )

        def relative(name: str, about: str, *labels: str) -> BulkHistogram:
            return BulkHistogram(f"{_QUALITY}_{name}", about, labels, RELATIVE_BUCKETS, registry)

        over, below = "Recommendation minus usage, where it exceeds", "Usage minus recommendation, where it reaches"
        return cls(
            relative_diffs=relative(
                "usage_recommendation_relative_diffs",
                "Usage relative to the recommendation, minus one",
                *_MODE_RESOURCE_OOM,
            ),
            missing_recommendations=BareCounter(
                f"{_QUALITY}_usage_sample_missing_recommendation_count",
                "Usage samples of containers that have no recommendation",
                _MODE_RESOURCE_OOM,
                registry=registry,
            ),
            cpu_over_usage=cpu("cpu_recommendation_over_usage_diffs_cores", f"{over} it", "recommendation_missing"),
            cpu_lower_equal_usage=cpu(
                "cpu_recommendation_lower_equal_usage_diffs_cores", f"{below} it", "recommendation_missing"
            ),
            memory_over_usage=memory(
                "mem_recommendation_over_usage_diffs_bytes", f"{over} it", "recommendation_missing", "is_oom"
            ),
            memory_lower_equal_usage=memory(
                "mem_recommendation_lower_equal_usage_diffs_bytes", f"{below} it", "recommendation_missing", "is_oom"
            ),
            cpu_recommendations=cpu("cpu_recommendations_cores", "Recommended CPU"),
            memory_recommendations=memory("mem_recommendations_bytes", "Recommended memory", "is_oom"),
            relative_changes=relative(
                "relative_recommendation_changes",
                "New recommendation relative to the one before, minus one",
                *("update_mode", "resource", "vpa_size_log2"),
            ),
        )

    def show_usage(self, quality: UsageQuality) -> None:
        """Count samples beside the recommendations of their containers."""
        is_oom = _TRUTH[quality.is_oom]
        for (mode, is_recommended), samples in quality.by_standing():
            name = mode.value if mode else ""
            if is_recommended:
                self._show_targets(name, samples)
                continue
            self.missing_recommendations.labels(name, quality.resource, is_oom).inc(len(samples))
            for usage, _ in samples.pairs():
                self._show_differences(name, _TRUTH[True], samples, _buckets(samples).by_sign(usage))

    def _show_targets(self, mode: str, samples: UsageQuality) -> None:
        """Count the targets that samples stand beside, and how far usage is from them."""
        is_oom, buckets = _TRUTH[samples.is_oom], _buckets(samples)
        for found in samples.comparisons(buckets, self.relative_diffs.buckets):
            self._show_differences(mode, _TRUTH[False], samples, (found.below, found.above))
            self.relative_diffs.add((mode, samples.resource, is_oom), found.relative)
        # All samples of an aggregate stand beside the same target, which is counted once for all of them.
        targets = samples.stood_beside(buckets)
        if samples.resource == CPU:
            self.cpu_recommendations.add((mode,), targets)
        else:
            self.memory_recommendations.add((mode, is_oom), targets)

    def _show_differences(
        self, mode: str, is_missing: str, samples: UsageQuality, differences: tuple[Tally, Tally]
    ) -> None:
        """Count by how much usage stays below targets, and by how much it reaches or exceeds them."""
        if samples.resource == CPU:
            labels: tuple[str, ...] = (mode, is_missing)
            over, below = self.cpu_over_usage, self.cpu_lower_equal_usage
        else:
            labels = mode, is_missing, _TRUTH[samples.is_oom]
            over, below = self.memory_over_usage, self.memory_lower_equal_usage
        excesses, shortfalls = differences
        over.add(labels, excesses)
        below.add(labels, shortfalls)

    def show_changes(self, modes: Integers, pod_counts: Integers, changes: Iterable[TargetChanges]) -> None:
        """Count the changes of targets by the update mode and the size of their VPAs.

        Args:
            modes: int64[vpas], update modes as the VPAs state them, as places in ``STATED_MODES``; changes refer to the
                VPAs by their places.
            pod_counts: int64[vpas], how many pods each of them selects.
            changes: Of CPU and memory.
        """
        if not len(modes):
            return
        counts, places = np.unique(pod_counts, return_inverse=True)
        sizes = np.array([size_class(count) for count in counts.tolist()])[places]
        codes = sizes * len(STATED_MODES) + modes
        kinds = np.unique(codes).tolist()
        for change in changes:
            found = codes.take(change.vpas)
            for code in kinds:
                size, mode = divmod(code, len(STATED_MODES))
                values = change.relative if len(kinds) == 1 else change.relative.compress(found == code)
                stated = STATED_MODES[mode]
                labels = (stated.value if stated else "", change.resource, str(size))
                self.relative_changes.observe_all(labels, values)


def _buckets(samples: UsageQuality) -> DoublingBuckets:
    """Return those of a resource's amounts."""
    return CPU_BUCKETS_CORES if samples.resource == CPU else MEMORY_BUCKETS_BYTES


ObjectLabels = tuple[UpdateMode, bool, str, bool, bool]
"""Update mode in force, whether there is a recommendation, API version, whether there are pods, and whether the target
cannot be used."""


@dataclass(frozen=True, slots=True)
class RecommenderMetrics:
    """Every family of the recommender."""

    vpa_objects: Gauge
    recommendation_latency: Histogram
    execution_latency: Histogram
    aggregates: Gauge
    metric_server_responses: Counter
    prometheus_requests: Counter
    prometheus_request_duration: Histogram
    history: HistoryMetrics
    usage: UsageMetrics
    freshness: FreshnessMetrics
    resource_reads: Counter
    oom_kills: Counter
    left_out: Counter
    strategy_errors: Counter
    quality: QualityMetrics

    @classmethod
    def register(cls, registry: CollectorRegistry) -> RecommenderMetrics:
        """Declare the families in a registry."""

        def gauge(name: str, about: str, *labels: str) -> Gauge:
            return Gauge(f"{_RECOMMENDER}_{name}", about, labels, registry=registry)

        def counter(name: str, about: str, *labels: str) -> BareCounter:
            return BareCounter(name, about, labels, registry=registry)

        def own(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"evenkeel_recommender_{name}", about, labels, registry=registry)

        def histogram(name: str, about: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(f"{_RECOMMENDER}_{name}", about, labels, buckets=buckets, registry=registry)

        object_labels = ("update_mode", "has_recommendation", "api", "matches_pods", "unsupported_config")
        request, requests = ("code", "method"), f"{_RECOMMENDER}_prometheus_client_api_requests_count"
        first = "Time from the creation of a VerticalPodAutoscaler to its first recommendation"
        answers = f"{_RECOMMENDER}_metric_server_responses"
        return cls(
            vpa_objects=gauge("vpa_objects_count", "VerticalPodAutoscalers served", *object_labels),
            recommendation_latency=histogram("recommendation_latency_seconds", first, LATENCY_BUCKETS_SECONDS),
            execution_latency=histogram(
                "execution_latency_seconds", "Duration of a round and of its steps", EXECUTION_BUCKETS_SECONDS, "step"
            ),
            aggregates=gauge("aggregate_container_states_count", "Container histories in memory"),
            metric_server_responses=counter(answers, "Answers of the metrics API", "is_error", "client_name"),
            prometheus_requests=counter(requests, "Requests to Prometheus", *request),
            prometheus_request_duration=histogram(
                "prometheus_client_api_requests_duration_seconds",
                "Duration of requests to Prometheus",
                REQUEST_BUCKETS_SECONDS,
                *request,
            ),
            history=HistoryMetrics.register(registry),
            usage=UsageMetrics.register(registry),
            freshness=FreshnessMetrics.register(registry),
            resource_reads=counter(
                "vpa_resources_get_resources_count", "Where a container's actual resources were read from", "source"
            ),
            oom_kills=own("oom_kills", "OOM kills noticed, by what became of them", "outcome"),
            left_out=own("objects_left_out", "States of objects that could not be read, by kind", "kind"),
            strategy_errors=own(
                "strategy_errors", "Failures of strategies that other distributions bring", "strategy", "reason"
            ),
            quality=QualityMetrics.register(registry),
        )

    def show_left_out(self, counts: Mapping[str, int]) -> None:
        """Count states of objects that could not be read, by kind."""
        for kind, count in counts.items():
            self.left_out.labels(kind).inc(count)

    def show_readings(self, counts: Mapping[Source, int]) -> None:
        """Count the readings of containers' resources by their sources."""
        for source, count in counts.items():
            self.resource_reads.labels(source.value).inc(count)

    def show_objects(self, counts: Mapping[ObjectLabels, int]) -> None:
        """Show the number of objects for every combination of labels, zero where there is none."""
        shown = dict.fromkeys(itertools.product(UPDATE_MODES, _TRUTH, API_VERSIONS, _TRUTH, _TRUTH), 0)
        for (mode, has_recommendation, version, has_pods, is_unsupported), count in counts.items():
            truths = _TRUTH[has_recommendation], _TRUTH[has_pods], _TRUTH[is_unsupported]
            shown[mode.value, truths[0], version, truths[1], truths[2]] = count
        for labels, count in shown.items():
            self.vpa_objects.labels(*labels).set(count)
