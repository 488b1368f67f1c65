"""How far the loading of history is, and what was wrong with its series (spec: beyond:B-7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge

from recommender.history.series import Flaw

_PREFIX = "evenkeel_recommender_history"


@dataclass(frozen=True, slots=True)
class HistoryMetrics:
    """The families about history."""

    progress: Gauge
    samples: Gauge
    bad_series: Counter

    @classmethod
    def register(cls, registry: CollectorRegistry) -> HistoryMetrics:
        """Declare the families in a registry, with a series for every reason."""
        bad_series = Counter(
            f"{_PREFIX}_bad_series",
            "Series of history that do not count, or not all of them, by what is wrong with them",
            ("reason",),
            registry=registry,
        )
        for flaw in Flaw:
            bad_series.labels(flaw.value)
        return cls(
            progress=Gauge(f"{_PREFIX}_progress_ratio", "Share of the history that has been loaded", registry=registry),
            samples=Gauge(f"{_PREFIX}_samples", "Samples of history that have been taken in", registry=registry),
            bad_series=bad_series,
        )

    def show_flaws(self, counts: Mapping[Flaw, int]) -> None:
        """Add the bad series of one load."""
        for flaw, count in counts.items():
            self.bad_series.labels(flaw.value).inc(count)
