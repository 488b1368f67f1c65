"""The admission controller's metric families, named and bucketed as upstream's (spec: admission:11)."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram

from autoscaling.runtime.metric_shapes import EXECUTION_BUCKETS_SECONDS, REQUEST_BUCKETS_SECONDS


@dataclass(frozen=True, slots=True)
class AdmissionMetrics:
    """Every family of the admission controller."""

    pods: Counter
    latency: Histogram
    execution_latency: Histogram

    @classmethod
    def register(cls, registry: CollectorRegistry) -> AdmissionMetrics:
        """Declare the families in a registry."""
        name = "vpa_admission_controller"
        return cls(
            pods=Counter(f"{name}_admission_pods_total", "Pods asked about", ("applied",), registry=registry),
            latency=Histogram(
                f"{name}_admission_latency_seconds",
                "Time to answer a review",
                ("status", "resource"),
                buckets=REQUEST_BUCKETS_SECONDS,
                registry=registry,
            ),
            execution_latency=Histogram(
                f"{name}_execution_latency_seconds",
                "Time of the steps of answering a review",
                ("step",),
                buckets=EXECUTION_BUCKETS_SECONDS,
                registry=registry,
            ),
        )
