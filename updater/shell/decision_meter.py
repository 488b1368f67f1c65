"""Shows what was decided in the last round, and which VPAs' pods are kept from what they should get (spec: product:10).

How often something was decided tells nothing, as what is left alone is decided anew in each round; so these are gauges.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Gauge

from updater.conditions import TYPE_OF_REASON
from updater.decision import Action, Decision, Reason


@dataclass(frozen=True, slots=True)
class DecisionMetrics:
    """The families about decisions."""

    decisions: Gauge
    held_back: Gauge

    @classmethod
    def register(cls, registry: CollectorRegistry) -> DecisionMetrics:
        """Declare the families in a registry."""
        return cls(
            decisions=Gauge(
                "evenkeel_updater_decisions",
                "Decisions of the last round about pods and VPAs, by what is done and by the reason",
                ("action", "reason"),
                registry=registry,
            ),
            held_back=Gauge(
                "evenkeel_updater_held_back_pods",
                "Pods kept from what is recommended for a reason that a condition of their VPA tells",
                ("reason", "vpa_name", "vpa_namespace"),
                registry=registry,
            ),
        )


@dataclass(slots=True)
class DecisionMeter:
    """Counts the decisions of one round.

    Args:
        metrics: Where they show.
    """

    metrics: DecisionMetrics
    _taken: Tally[tuple[Action, Reason]] = field(default_factory=Tally)

    def note(self, decision: Decision) -> None:
        """Count one decision."""
        self._taken[decision.action, decision.reason] += 1

    def publish(self, noteworthy: Iterable[Decision]) -> None:
        """Show the round in place of the last one.

        Args:
            noteworthy: Those of the round's decisions that bear on conditions.
        """
        self.metrics.decisions.clear()
        for (action, reason), count in self._taken.items():
            self.metrics.decisions.labels(action.value, reason.value).set(count)
        self.metrics.held_back.clear()
        for labels, count in _held_back(noteworthy).items():
            self.metrics.held_back.labels(*labels).set(count)


def _held_back(noteworthy: Iterable[Decision]) -> Tally[tuple[str, str, str]]:
    """Return the numbers of pods by reason, name and namespace of their VPA."""
    counts: Tally[tuple[str, str, str]] = Tally()
    for decision in noteworthy:
        if decision.scope is not None and decision.reason in TYPE_OF_REASON:
            vpa = decision.scope.vpa
            counts[decision.reason.value, vpa.name, vpa.namespace] += 1
    return counts
