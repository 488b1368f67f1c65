"""Whether usage comes from where it should, for VPA conditions and metrics (spec: beyond:B-44)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from prometheus_client import CollectorRegistry, Counter, Gauge

from autoscaling.pod import ConditionStatus
from autoscaling.vpa import VpaCondition
from recommender.status import USAGE_FALLBACK


class Shortfall(Enum):
    """Why Prometheus does not tell usage."""

    FAILED = "PrometheusFailed"
    LAGGING = "PrometheusLags"


@dataclass(frozen=True, slots=True)
class UsageMetrics:
    """The families about where usage comes from."""

    is_fallback: Gauge
    fallbacks: Counter

    @classmethod
    def register(cls, registry: CollectorRegistry) -> UsageMetrics:
        """Declare the families in a registry."""
        fallbacks = Counter(
            "evenkeel_recommender_usage_fallbacks",
            "Rounds whose usage came from the metrics API because Prometheus did not tell it, by reason",
            ("reason",),
            registry=registry,
        )
        for shortfall in Shortfall:
            fallbacks.labels(shortfall.value)
        about = "Whether the usage of the last round came from the metrics API instead of Prometheus"
        return cls(Gauge("evenkeel_recommender_usage_fallback", about, registry=registry), fallbacks)


@dataclass(slots=True)
class UsageStanding:
    """Whether usage comes from where it should.

    Attributes:
        shortfall: Why not; None where it does.
    """

    metrics: UsageMetrics
    shortfall: Shortfall | None = None

    def note(self, shortfall: Shortfall | None) -> None:
        """Note where the usage of a round came from."""
        self.shortfall = shortfall
        self.metrics.is_fallback.set(shortfall is not None)
        if shortfall is not None:
            self.metrics.fallbacks.labels(shortfall.value).inc()

    def conditions(self) -> tuple[VpaCondition, ...]:
        """Return the condition that every VPA has meanwhile."""
        if self.shortfall is None:
            return ()
        message = "Usage comes from the metrics API until Prometheus tells it again; peaks between two looks are missed"
        return (VpaCondition(USAGE_FALLBACK, ConditionStatus.TRUE, self.shortfall.value, message),)
