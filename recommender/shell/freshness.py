"""How old recommendations are at most: when the last round ended, and of when its usage was (spec: product:9)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from prometheus_client import CollectorRegistry, Gauge

from recommender.instants import SECOND, instant
from recommender.samples import UsageColumns

_PREFIX = "evenkeel_recommender"


@dataclass(frozen=True, slots=True)
class FreshnessMetrics:
    """The families about the age of recommendations; 0 before there is any."""

    last_round: Gauge
    newest_usage: Gauge

    @classmethod
    def register(cls, registry: CollectorRegistry) -> FreshnessMetrics:
        """Declare the families in a registry."""
        return cls(
            last_round=Gauge(
                f"{_PREFIX}_last_round_timestamp_seconds",
                "When the last round ended that came to its end",
                registry=registry,
            ),
            newest_usage=Gauge(
                f"{_PREFIX}_newest_usage_timestamp_seconds",
                "Of when the newest usage of a container is that was taken in",
                registry=registry,
            ),
        )

    def round_ended(self, now: datetime) -> None:
        """Note that a round came to its end."""
        self.last_round.set(now.timestamp())

    def took(self, usage: UsageColumns, now: datetime) -> None:
        """Note what was taken in; what claims to be of later than now is of now, and no samples change nothing."""
        if usage.instants.size:
            self.newest_usage.set(min(int(usage.instants.max()), instant(now)) / SECOND)
