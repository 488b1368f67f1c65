"""The admission controller's own metrics, beside those it has from upstream."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge


@dataclass(frozen=True, slots=True)
class AdmissionMeasures:
    """Every own family of the admission controller."""

    reviews: Counter
    dry_runs: Counter
    certificate_end: Gauge
    certificate_left: Gauge
    certificate_problem: Counter
    certificate_step: Counter
    registered: Gauge
    proven: Gauge

    @classmethod
    def register(cls, registry: CollectorRegistry) -> AdmissionMeasures:
        """Declare the families in a registry."""
        name = "evenkeel_admission"
        return cls(
            reviews=Counter(
                f"{name}_reviews_total",
                "Reviews by kind of object and by the reason for their verdict, without dry runs",
                ("resource", "reason"),
                registry=registry,
            ),
            dry_runs=Counter(
                f"{name}_dry_runs_total", "Dry runs by object and reason", ("resource", "reason"), registry=registry
            ),
            certificate_end=Gauge(
                f"{name}_certificate_not_after_timestamp_seconds",
                "When a certificate of the webhook expires",
                ("certificate",),
                registry=registry,
            ),
            certificate_left=Gauge(
                f"{name}_certificate_seconds_to_expiry",
                "Seconds until a certificate of the webhook expires, below zero once it has",
                ("certificate",),
                registry=registry,
            ),
            certificate_problem=Counter(
                f"{name}_certificate_problems_total",
                "Times that certificates could not be read or used, so that those in force stayed",
                ("problem",),
                registry=registry,
            ),
            certificate_step=Counter(
                f"{name}_certificate_steps_total",
                "Steps taken to make, renew and retire certificates",
                ("step",),
                registry=registry,
            ),
            registered=Gauge(
                f"{name}_registered",
                "Whether the webhook's registration is as this process wants it; only where it is the one to see to it",
                registry=registry,
            ),
            proven=Gauge(
                f"{name}_webhook_proven",
                "Whether a handshake that trusts what is registered succeeded at the last try",
                registry=registry,
            ),
        )
