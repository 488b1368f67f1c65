"""The updater's metric families, named and bucketed as upstream's (spec: updater:7, upstream-1.8.1:2.6)."""

from __future__ import annotations

from collections import Counter as Tally
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from autoscaling.runtime.metric_shapes import EXECUTION_BUCKETS_SECONDS, LARGEST_SIZE_CLASS, size_class
from updater.shell.convergence_meter import ResizeMetrics
from updater.shell.decision_meter import DecisionMetrics

_SIZE, _SIZE_AND_MODE = ("vpa_size_log2",), ("vpa_size_log2", "update_mode")
_VPA = ("vpa_name", "vpa_namespace")


@dataclass(frozen=True, slots=True)
class RoundCounts:
    """What one round has counted so far.

    The keys are the size class of the VPA as text and, in the first four, the VPA's update mode.
    """

    controlled_pods: Tally[tuple[str, ...]] = field(default_factory=Tally)
    evictable_pods: Tally[tuple[str, ...]] = field(default_factory=Tally)
    vpas_with_evictable_pods: Tally[tuple[str, ...]] = field(default_factory=Tally)
    vpas_with_evicted_pods: Tally[tuple[str, ...]] = field(default_factory=Tally)
    in_place_updatable_pods: Tally[tuple[str, ...]] = field(default_factory=Tally)
    vpas_with_in_place_updatable_pods: Tally[tuple[str, ...]] = field(default_factory=Tally)
    vpas_with_in_place_updated_pods: Tally[tuple[str, ...]] = field(default_factory=Tally)


@dataclass(frozen=True, slots=True)
class RoundGauges:
    """Gauges that show the last round."""

    controlled_pods: Gauge
    evictable_pods: Gauge
    vpas_with_evictable_pods: Gauge
    vpas_with_evicted_pods: Gauge
    in_place_updatable_pods: Gauge
    vpas_with_in_place_updatable_pods: Gauge
    vpas_with_in_place_updated_pods: Gauge

    @classmethod
    def register(cls, registry: CollectorRegistry) -> RoundGauges:
        """Declare the families in a registry."""

        def gauge(name: str, about: str, labels: tuple[str, ...]) -> Gauge:
            return Gauge(f"vpa_updater_{name}_total", about, labels, registry=registry)

        return cls(
            controlled_pods=gauge("controlled_pods", "Live pods under a VPA", _SIZE_AND_MODE),
            evictable_pods=gauge("evictable_pods", "Pods worth evicting", _SIZE_AND_MODE),
            vpas_with_evictable_pods=gauge("vpas_with_evictable_pods", "VPAs that have such pods", _SIZE_AND_MODE),
            vpas_with_evicted_pods=gauge("vpas_with_evicted_pods", "VPAs of which a pod was evicted", _SIZE_AND_MODE),
            in_place_updatable_pods=gauge("in_place_updatable_pods", "Pods worth updating in place", _SIZE),
            vpas_with_in_place_updatable_pods=gauge(
                "vpas_with_in_place_updatable_pods", "VPAs that have such pods", _SIZE
            ),
            vpas_with_in_place_updated_pods=gauge(
                "vpas_with_in_place_updated_pods", "VPAs of which a pod was updated in place", _SIZE
            ),
        )

    def publish(self, counts: RoundCounts) -> None:
        """Show a round's counts in place of the last one's.

        Gauges by size alone show every size class, zeros included; those by update mode only what was counted.
        """
        by_mode = (
            (self.controlled_pods, counts.controlled_pods),
            (self.evictable_pods, counts.evictable_pods),
            (self.vpas_with_evictable_pods, counts.vpas_with_evictable_pods),
            (self.vpas_with_evicted_pods, counts.vpas_with_evicted_pods),
        )
        by_size = (
            (self.in_place_updatable_pods, counts.in_place_updatable_pods),
            (self.vpas_with_in_place_updatable_pods, counts.vpas_with_in_place_updatable_pods),
            (self.vpas_with_in_place_updated_pods, counts.vpas_with_in_place_updated_pods),
        )
        zeros = {(str(size),): 0 for size in range(LARGEST_SIZE_CLASS)}
        for gauge, tally in (*by_mode, *((gauge, zeros | dict(tally)) for gauge, tally in by_size)):
            gauge.clear()
            for labels, count in tally.items():
                gauge.labels(*labels).set(count)


@dataclass(frozen=True, slots=True)
class UpdaterMetrics:
    """Every family of the updater."""

    round: RoundGauges
    evicted_pods: Counter
    failed_evictions: Counter
    in_place_updated_pods: Counter
    failed_in_place_updates: Counter
    infeasible_skips: Counter
    admission_status_invalid: Counter
    missing_room: Gauge
    decided: DecisionMetrics
    resizes: ResizeMetrics
    execution_latency: Histogram

    @classmethod
    def register(cls, registry: CollectorRegistry) -> UpdaterMetrics:
        """Declare the families in a registry."""

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"vpa_updater_{name}_total", about, labels, registry=registry)

        return cls(
            round=RoundGauges.register(registry),
            evicted_pods=counter("evicted_pods", "Pods evicted", *_SIZE_AND_MODE, *_VPA),
            failed_evictions=counter(
                "failed_eviction_attempts", "Evictions that failed", *_SIZE_AND_MODE, "reason", *_VPA
            ),
            in_place_updated_pods=counter("in_place_updated_pods", "Pods updated in place", *_SIZE, *_VPA),
            failed_in_place_updates=counter(
                "failed_in_place_update_attempts", "In-place updates that failed", *_SIZE, "reason", *_VPA
            ),
            infeasible_skips=counter(
                "in_place_infeasible_skip_pods",
                "Times a pod was left alone because its node refused such a resize before",
                *_SIZE,
                *_VPA,
            ),
            admission_status_invalid=counter(
                "admission_controller_status_invalid",
                "Rounds left out because the admission controller did not show that it is alive",
                "reason",
            ),
            missing_room=Gauge(
                "evenkeel_updater_missing_room",
                "Cores and bytes that nodes lack for what their pods should get, as of the last round",
                ("resource", "namespace"),
                registry=registry,
            ),
            decided=DecisionMetrics.register(registry),
            resizes=ResizeMetrics.register(registry),
            execution_latency=Histogram(
                "vpa_updater_execution_latency_seconds",
                "Duration of a round and of its steps",
                ("step",),
                buckets=EXECUTION_BUCKETS_SECONDS,
                registry=registry,
            ),
        )


def size_label(pods: int) -> str:
    """Return the value of the label ``vpa_size_log2`` for a number of live controlled pods."""
    return str(size_class(pods))
