"""Shows how resizes fare: how many are under way, and how long they took (beyond:B-45)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, Histogram

from autoscaling.behaviour import Behaviour
from autoscaling.pod import Pod
from updater.decision import Decision
from updater.resize_outcomes import Requests, ResizeOutcome
from updater.resize_status import ResizeStatus

_BUCKETS_SECONDS: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0)


@dataclass(frozen=True, slots=True)
class ResizeMetrics:
    """The families that are about resizes under way."""

    convergence: Histogram
    resizes: Gauge

    @classmethod
    def register(cls, registry: CollectorRegistry) -> ResizeMetrics:
        """Declare the families in a registry."""
        made = cls(
            convergence=Histogram(
                "evenkeel_updater_resize_convergence_seconds",
                "Time from an accepted resize to the first round that saw the pod with what it asks for, or to its end",
                ("outcome",),
                buckets=_BUCKETS_SECONDS,
                registry=registry,
            ),
            resizes=Gauge(
                "evenkeel_updater_resizes",
                "Pods in the middle of a resize by how far that has come, as of the last round",
                ("state",),
                registry=registry,
            ),
        )
        for outcome in ResizeOutcome:
            made.convergence.labels(outcome.value)
        return made


@dataclass(slots=True)
class ConvergenceMeter:
    """Follows the requests of one process.

    Args:
        metrics: Where it shows.
        behaviour: How the state of a resize is told.
        requests: As of the last look.
    """

    metrics: ResizeMetrics
    behaviour: Behaviour
    requests: Requests = field(default_factory=Requests)

    def look(self, pods: Sequence[Pod], now: datetime) -> None:
        """Take down what has converged, and show what is under way."""
        self.requests, took = self.requests.seeing(pods, now)
        for time in took:
            self.metrics.convergence.labels(ResizeOutcome.COMPLETED.value).observe(time.total_seconds())
        counts = self.requests.states(pods, self.behaviour)
        for status in ResizeStatus:
            self.metrics.resizes.labels(status.value).set(counts[status])

    def changed(self, decision: Decision, now: datetime) -> None:
        """Take down what a change that succeeded put an end to."""
        self.requests, took = self.requests.failing(decision, now)
        if took is not None:
            self.metrics.convergence.labels(ResizeOutcome.FAILED.value).observe(took.total_seconds())
