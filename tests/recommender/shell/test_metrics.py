"""The recommender's metric families, against the table of what upstream exposes."""

from __future__ import annotations

import numpy as np
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.samples import Sample

from autoscaling.runtime.exposition import exposition
from autoscaling.vpa import UpdateMode
from recommender.aggregation import UPDATE_MODES
from recommender.quality import STANDINGS, Standing, TargetChanges, UsageQuality
from recommender.rows import Occurrences
from recommender.shell.bulk_histogram import BulkHistogram
from recommender.shell.metrics import RecommenderMetrics
from tests.exposed_families import EXECUTION, REQUEST, Family, exposed, family

LATENCY = "1 2 5 7.5 10 20 30 40 50 60 90 120 150 180 240 300 600 900 1800 +Inf"
CPU = "0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28 2.56 5.12 10.24 20.48 40.96 81.92 163.84 327.68 655.36 +Inf"
MEMORY = (
    "1e+06 2e+06 4e+06 8e+06 1.6e+07 3.2e+07 6.4e+07 1.28e+08 2.56e+08 5.12e+08 1.024e+09 2.048e+09 4.096e+09 "
    "8.192e+09 1.6384e+10 3.2768e+10 6.5536e+10 +Inf"
)
RELATIVE = (
    "-1 -0.75 -0.5 -0.25 -0.1 -0.05 -0.025 -0.01 -0.005 -0.0025 -0.001 0 0.001 0.0025 0.005 0.01 0.025 0.05 0.1 0.25 "
    "0.5 0.75 1 2.5 5 10 25 50 100 +Inf"
)
FAMILIES = [
    (
        "recommender:10",
        "vpa_recommender_vpa_objects_count",
        family("gauge", "update_mode has_recommendation api matches_pods unsupported_config"),
    ),
    ("recommender:10", "vpa_recommender_recommendation_latency_seconds", family("histogram", buckets=LATENCY)),
    ("recommender:10", "vpa_recommender_execution_latency_seconds", family("histogram", "step", EXECUTION)),
    ("recommender:10", "vpa_recommender_aggregate_container_states_count", family("gauge")),
    ("recommender:10", "vpa_recommender_metric_server_responses", family("counter", "is_error client_name")),
    ("recommender:10", "vpa_recommender_prometheus_client_api_requests_count", family("counter", "code method")),
    (
        "recommender:10",
        "vpa_recommender_prometheus_client_api_requests_duration_seconds",
        family("histogram", "code method", REQUEST),
    ),
    (
        "recommender:10",
        "vpa_quality_usage_recommendation_relative_diffs",
        family("histogram", "update_mode resource is_oom", RELATIVE),
    ),
    (
        "recommender:10",
        "vpa_quality_usage_sample_missing_recommendation_count",
        family("counter", "update_mode resource is_oom"),
    ),
    (
        "recommender:10",
        "vpa_quality_cpu_recommendation_over_usage_diffs_cores",
        family("histogram", "update_mode recommendation_missing", CPU),
    ),
    (
        "recommender:10",
        "vpa_quality_cpu_recommendation_lower_equal_usage_diffs_cores",
        family("histogram", "update_mode recommendation_missing", CPU),
    ),
    (
        "recommender:10",
        "vpa_quality_mem_recommendation_over_usage_diffs_bytes",
        family("histogram", "update_mode recommendation_missing is_oom", MEMORY),
    ),
    (
        "recommender:10",
        "vpa_quality_mem_recommendation_lower_equal_usage_diffs_bytes",
        family("histogram", "update_mode recommendation_missing is_oom", MEMORY),
    ),
    ("recommender:10", "vpa_quality_cpu_recommendations_cores", family("histogram", "update_mode", CPU)),
    ("recommender:10", "vpa_quality_mem_recommendations_bytes", family("histogram", "update_mode is_oom", MEMORY)),
    (
        "recommender:10",
        "vpa_quality_relative_recommendation_changes",
        family("histogram", "update_mode resource vpa_size_log2", RELATIVE),
    ),
    ("recommender:10", "vpa_resources_get_resources_count", family("counter", "source")),
]


def _registered() -> tuple[RecommenderMetrics, CollectorRegistry]:
    registry = CollectorRegistry()
    return RecommenderMetrics.register(registry), registry


def _touch(metrics: RecommenderMetrics) -> None:
    """Give every family a sample."""
    metrics.vpa_objects.labels("Off", "true", "v1", "true", "false").set(1)
    metrics.execution_latency.labels("total").observe(1)
    metrics.metric_server_responses.labels("false", "default-metrics-client").inc()
    metrics.prometheus_requests.labels("200", "POST").inc()
    metrics.prometheus_request_duration.labels("200", "POST").observe(1)
    metrics.resource_reads.labels("Pod.Spec.Containers").inc()
    quality, one = metrics.quality, np.array([1.0])
    quality.missing_recommendations.labels("Off", "cpu", "false").inc()
    bulk: dict[BulkHistogram, tuple[str, ...]] = {
        quality.relative_diffs: ("Off", "cpu", "false"),
        quality.cpu_over_usage: ("Off", "true"),
        quality.cpu_lower_equal_usage: ("Off", "true"),
        quality.memory_over_usage: ("Off", "true", "false"),
        quality.memory_lower_equal_usage: ("Off", "true", "false"),
        quality.cpu_recommendations: ("Off",),
        quality.memory_recommendations: ("Off", "false"),
        quality.relative_changes: ("Off", "cpu", "3"),
    }
    for histogram, labels in bulk.items():
        histogram.observe_all(labels, one)


@pytest.mark.parametrize(("row", "name", "expected"), FAMILIES)
def test_families_have_upstreams_names_types_labels_and_buckets(row: str, name: str, expected: Family) -> None:
    metrics, registry = _registered()
    _touch(metrics)
    assert exposed(registry, "vpa_")[name] == expected


def test_there_is_no_other_family() -> None:
    metrics, registry = _registered()
    _touch(metrics)
    assert exposed(registry, "vpa_").keys() == {name for _, name, _ in FAMILIES}


def test_of_history_every_reason_is_shown_from_the_start() -> None:
    _, registry = _registered()
    lines = exposition(registry).splitlines()
    assert 'evenkeel_recommender_history_bad_series_total{reason="zombie"} 0' in [
        line.removesuffix(".0") for line in lines
    ]


def test_before_the_first_round_the_families_without_labels_are_there() -> None:
    _, registry = _registered()
    assert exposed(registry, "vpa_").keys() == {
        "vpa_recommender_aggregate_container_states_count",
        "vpa_recommender_recommendation_latency_seconds",
    }


def test_every_combination_of_labels_shows_its_objects_or_zero() -> None:
    metrics, registry = _registered()
    some, others = (UpdateMode.OFF, True, "v1", True, False), (UpdateMode.AUTO, False, "v1", False, True)
    metrics.show_objects({some: 3})
    metrics.show_objects({others: 2})
    lines = [line for line in exposition(registry).splitlines() if line.startswith("vpa_recommender_vpa_objects")]
    assert len(lines) == 6 * 2 * 3 * 2 * 2
    (counted,) = (line for line in lines if not line.endswith(" 0"))
    assert counted.endswith(" 2")
    assert 'update_mode="Auto"' in counted


def test_two_processes_in_one_interpreter_share_nothing() -> None:
    first, _ = _registered()
    _, registry = _registered()
    first.resource_reads.labels("Pod.Spec.Containers").inc()
    assert "vpa_resources_get_resources_count" not in exposition(registry)


def _beside(
    resource: str, mode: int, usage: list[float], targets: list[float], *, is_oom: bool = False
) -> UsageQuality:
    """Return samples of one container each, beside their targets."""
    feeding, unit = Occurrences.of(np.arange(len(usage))), 1000.0 if resource == "cpu" else 1.0
    standings = [STANDINGS.index(Standing(UPDATE_MODES[mode], target > 0)) for target in targets]
    amounts = (np.array(usage) * unit).astype(np.int64)
    return UsageQuality(resource, is_oom, feeding, amounts, unit, np.array(standings, np.int8), np.array(targets))


def _differences(side: str, difference: float, relative: float, target: float) -> dict[tuple[str, str], float]:
    """Return what is shown of one sample of CPU."""
    return {
        ("usage_recommendation_relative_diffs", "false cpu "): relative,
        (f"cpu_recommendation_{side}_diffs_cores", "false "): difference,
        ("cpu_recommendations_cores", ""): target,
    }


@pytest.mark.parametrize(
    ("row", "quality", "expected"),
    [
        (
            "recommender:10",
            _beside("cpu", 6, [0.25, 0.5], [0.5, 0.0]),
            {
                ("usage_recommendation_relative_diffs", "false cpu InPlace"): -0.5,
                ("usage_sample_missing_recommendation_count", "false cpu InPlace"): 1,
                ("cpu_recommendation_over_usage_diffs_cores", "false InPlace"): 0.25,
                ("cpu_recommendation_lower_equal_usage_diffs_cores", "true InPlace"): 0.5,
                ("cpu_recommendations_cores", "InPlace"): 0.5,
            },
        ),
        (
            "recommender:10",
            _beside("memory", 0, [3e8], [2e8], is_oom=True),
            {
                ("usage_recommendation_relative_diffs", "true memory "): 0.5,
                ("mem_recommendation_lower_equal_usage_diffs_bytes", "true false "): 1e8,
                ("mem_recommendations_bytes", "true "): 2e8,
            },
        ),
        ("recommender:10", _beside("cpu", 0, [0.25], [0.5]), _differences("over_usage", 0.25, -0.5, 0.5)),
        ("recommender:10", _beside("cpu", 0, [0.5], [0.5]), _differences("lower_equal_usage", 0.0, 0.0, 0.5)),
        ("recommender:10", _beside("cpu", 0, [1.0], [0.5]), _differences("lower_equal_usage", 0.5, 1.0, 0.5)),
        ("recommender:10", _beside("cpu", 0, [0.0], [0.5]), _differences("over_usage", 0.5, -1.0, 0.5)),
        (
            "recommender:10",
            _beside("cpu", 0, [0.0], [0.0]),
            {
                ("usage_sample_missing_recommendation_count", "false cpu "): 1,
                ("cpu_recommendation_lower_equal_usage_diffs_cores", "true "): 0.0,
            },
        ),
    ],
)
def test_samples_are_counted_beside_recommendations(
    row: str, quality: UsageQuality, expected: dict[tuple[str, str], float]
) -> None:
    metrics, registry = _registered()
    metrics.quality.show_usage(quality)
    shown = {
        _short(sample): sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name.startswith("vpa_quality") and sample.name.endswith(("_sum", "recommendation_count"))
    }
    assert shown == expected, row


def test_changes_are_counted_by_mode_and_size() -> None:
    metrics, registry = _registered()
    both = TargetChanges("cpu", np.array([0, 1, 1]), np.array([0.5, 0.25, -0.5]))
    nobody, modes = np.zeros(0, dtype=np.int64), [UpdateMode.OFF, None]
    metrics.quality.show_changes(nobody, nobody, [both])
    metrics.quality.show_changes(np.array([UPDATE_MODES.index(m) for m in modes]), np.array([2, 2]), [both])
    counted = {_short(s): s.value for f in registry.collect() for s in f.samples if s.name.endswith("_changes_sum")}
    assert counted == {
        ("relative_recommendation_changes", "cpu Off 1"): 0.5,
        ("relative_recommendation_changes", "cpu  1"): -0.25,
    }


def _short(sample: Sample) -> tuple[str, str]:
    """Return a sample's name and the values of its labels in the order of their names."""
    labels = " ".join(value for _, value in sorted(sample.labels.items()))
    return sample.name.removeprefix("vpa_quality_").removesuffix("_sum"), labels
