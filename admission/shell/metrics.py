"""The admission controller's metric families, named and bucketed as upstream's (spec: admission:11)."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter

from admission.shell.durations import DurationFamily
from autoscaling.runtime.metric_shapes import EXECUTION_BUCKETS_SECONDS, REQUEST_BUCKETS_SECONDS


@dataclass(frozen=True, slots=True)
class AdmissionMetrics:
    """Every family of the admission controller."""

    pods: Counter
    latency: DurationFamily
    execution_latency: DurationFamily

    @classmethod
    def register(cls, registry: CollectorRegistry) -> AdmissionMetrics:
        """Declare the families in a registry."""
        name = "vpa_admission_controller"
        latency = DurationFamily(
            f"{name}_admission_latency_seconds",
            "Time to answer a review",
            ("status", "resource"),
            REQUEST_BUCKETS_SECONDS,
        )
        execution_latency = DurationFamily(
            f"{name}_execution_latency_seconds",
            "Time of the steps of answering a review",
            ("step",),
            EXECUTION_BUCKETS_SECONDS,
        )
        pods = Counter(f"{name}_admission_pods_total", "Pods asked about", ("applied",), registry=registry)
        latency.register(registry)
        execution_latency.register(registry)
        return cls(pods, latency, execution_latency)
