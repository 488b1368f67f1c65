"""The updater's metric families, against the table of what upstream exposes."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from autoscaling.runtime.exposition import exposition
from tests.exposed_families import EXECUTION, Family, exposed, family
from updater.shell.metrics import RoundCounts, UpdaterMetrics, size_label

CONVERGENCE = "0.5 1 2 5 10 30 60 120 300 600 1200 1800 3600 +Inf"
SIZE, MODE, VPA = "vpa_size_log2", "vpa_size_log2 update_mode", "vpa_name vpa_namespace"
FAMILIES = [
    ("updater:7", "controlled_pods_total", family("gauge", MODE)),
    ("updater:7", "evictable_pods_total", family("gauge", MODE)),
    ("updater:7", "vpas_with_evictable_pods_total", family("gauge", MODE)),
    ("updater:7", "evicted_pods_total", family("counter", f"{MODE} {VPA}")),
    ("updater:7", "vpas_with_evicted_pods_total", family("gauge", MODE)),
    ("updater:7", "failed_eviction_attempts_total", family("counter", f"{MODE} reason {VPA}")),
    ("updater:7", "in_place_updatable_pods_total", family("gauge", SIZE)),
    ("updater:7", "vpas_with_in_place_updatable_pods_total", family("gauge", SIZE)),
    ("updater:7", "in_place_updated_pods_total", family("counter", f"{SIZE} {VPA}")),
    ("updater:7", "vpas_with_in_place_updated_pods_total", family("gauge", SIZE)),
    ("updater:7", "failed_in_place_update_attempts_total", family("counter", f"{SIZE} reason {VPA}")),
    ("upstream-1.8.1:2.6", "in_place_infeasible_skip_pods_total", family("counter", f"{SIZE} {VPA}")),
    ("upstream-1.8.1:2.6", "admission_controller_status_invalid_total", family("counter", "reason")),
    ("updater:7", "execution_latency_seconds", family("histogram", "step", EXECUTION)),
]


def _registered() -> tuple[UpdaterMetrics, CollectorRegistry]:
    registry = CollectorRegistry()
    return UpdaterMetrics.register(registry), registry


def _touch(metrics: UpdaterMetrics) -> None:
    """Give every family a sample."""
    counts, key = RoundCounts(), ("1", "Recreate")
    counts.controlled_pods[key] += 1
    counts.evictable_pods[key] += 1
    counts.vpas_with_evictable_pods[key] += 1
    counts.vpas_with_evicted_pods[key] += 1
    metrics.round.publish(counts)
    metrics.evicted_pods.labels(*key, "web", "shop").inc()
    metrics.failed_evictions.labels(*key, "EvictionError", "web", "shop").inc()
    metrics.in_place_updated_pods.labels("1", "web", "shop").inc()
    metrics.failed_in_place_updates.labels("1", "InPlaceUpdateError", "web", "shop").inc()
    metrics.infeasible_skips.labels("1", "web", "shop").inc()
    metrics.admission_status_invalid.labels("error").inc()
    metrics.missing_room.labels("cpu", "shop").set(1)
    metrics.resizes.resizes.labels("deferred").set(1)
    metrics.decided.decisions.labels("skip", "no_room").set(1)
    metrics.decided.held_back.labels("no_room", "web", "shop").set(1)
    metrics.execution_latency.labels("total").observe(1)


@pytest.mark.parametrize(("row", "name", "expected"), FAMILIES)
def test_families_have_upstreams_names_types_labels_and_buckets(row: str, name: str, expected: Family) -> None:
    metrics, registry = _registered()
    _touch(metrics)
    assert exposed(registry, "")[f"vpa_updater_{name}"] == expected


OWN_FAMILIES = [
    ("beyond:B-41", "missing_room", family("gauge", "resource namespace")),
    ("product:10", "decisions", family("gauge", "action reason")),
    ("product:9", "held_back_pods", family("gauge", f"reason {VPA}")),
    ("beyond:B-45", "resizes", family("gauge", "state")),
    ("beyond:B-45", "resize_convergence_seconds", family("histogram", "outcome", CONVERGENCE)),
]


@pytest.mark.parametrize(("row", "name", "expected"), OWN_FAMILIES)
def test_own_families(row: str, name: str, expected: Family) -> None:
    metrics, registry = _registered()
    _touch(metrics)
    assert exposed(registry, "")[f"evenkeel_updater_{name}"] == expected, row


def test_there_is_no_other_family() -> None:
    metrics, registry = _registered()
    _touch(metrics)
    upstreams = {f"vpa_updater_{name}" for _, name, _ in FAMILIES}
    assert exposed(registry, "").keys() == upstreams | {f"evenkeel_updater_{name}" for _, name, _ in OWN_FAMILIES}


def _samples(registry: CollectorRegistry, name: str) -> list[str]:
    return [line for line in exposition(registry).splitlines() if line.startswith(f"vpa_updater_{name}{{")]


def test_a_gauge_by_size_shows_every_size_and_one_by_mode_only_what_was_counted() -> None:
    metrics, registry = _registered()
    counts = RoundCounts()
    counts.controlled_pods[("2", "InPlace")] += 5
    counts.in_place_updatable_pods[("2",)] += 4
    metrics.round.publish(counts)
    assert _samples(registry, "controlled_pods_total") == [
        'vpa_updater_controlled_pods_total{update_mode="InPlace",vpa_size_log2="2"} 5'
    ]
    by_size = _samples(registry, "in_place_updatable_pods_total")
    assert len(by_size) == 20
    assert [line for line in by_size if not line.endswith(" 0")] == [
        'vpa_updater_in_place_updatable_pods_total{vpa_size_log2="2"} 4'
    ]
    assert len(_samples(registry, "vpas_with_in_place_updated_pods_total")) == 20


def test_the_next_round_replaces_what_the_last_one_showed() -> None:
    metrics, registry = _registered()
    _touch(metrics)
    metrics.round.publish(RoundCounts())
    assert _samples(registry, "controlled_pods_total") == []
    assert len(_samples(registry, "evicted_pods_total")) == 1, "counters stay"


def test_a_counter_is_created_at_zero_by_naming_its_labels() -> None:
    metrics, registry = _registered()
    metrics.in_place_updated_pods.labels(size_label(4), "web", "shop")
    assert _samples(registry, "in_place_updated_pods_total") == [
        'vpa_updater_in_place_updated_pods_total{vpa_name="web",vpa_namespace="shop",vpa_size_log2="2"} 0'
    ]
