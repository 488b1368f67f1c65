"""The admission controller's metric families, against the table of what upstream exposes."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from admission.shell.metrics import AdmissionMetrics
from tests.exposed_families import EXECUTION, REQUEST, exposed, family


def test_families_have_upstreams_names_types_labels_and_buckets() -> None:
    """Spec: admission:11.1, admission:11.2, admission:11.3."""
    registry = CollectorRegistry()
    metrics = AdmissionMetrics.register(registry)
    metrics.pods.labels("true").inc()
    metrics.latency["applied", "Pod"].observe(0.1)
    metrics.execution_latency[("admit",)].observe(0.1)
    assert exposed(registry, "") == {
        "vpa_admission_controller_admission_pods_total": family("counter", "applied"),
        "vpa_admission_controller_admission_latency_seconds": family("histogram", "status resource", REQUEST),
        "vpa_admission_controller_execution_latency_seconds": family("histogram", "step", EXECUTION),
    }
