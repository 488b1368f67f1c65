"""Telling of pods whose nodes lack room, so that somebody, or a node autoscaler, can act on it (beyond:B-41)."""

from __future__ import annotations

from collections import Counter as Tally
from dataclasses import dataclass, field

from prometheus_client import Gauge

from autoscaling.kube.event_ledger import EventDraft, EventKind, InvolvedObject
from autoscaling.kube.events import EventRecorder
from autoscaling.quantity import NANO
from autoscaling.resources import CONTROLLED
from updater.decision import Decision
from updater.ledger import Amounts
from updater.room import in_words

_EVENT_REASON = "ResizeNeedsRoom"


@dataclass(slots=True)
class MissingRoom:
    """What is missing in the round at hand, and what was told of it before.

    Args:
        gauge: Cores and bytes that are missing, by resource and namespace.
        events: Where events go.
        round: What pods lack in this round, by namespace and UID; a later decision on a pod counts for the earlier.
        told: What was last said of each pod, by UID.
    """

    gauge: Gauge
    events: EventRecorder
    round: dict[tuple[str, str], Amounts] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)

    def note(self, decision: Decision) -> None:
        """Take down what a decision says is missing, and tell of it unless just that was told before."""
        if not decision.missing:
            return
        self.round[decision.ref.namespace, decision.uid] = decision.missing
        text = f"{in_words(decision.missing)} missing on the pod's node for the resources that are recommended"
        if self.told.get(decision.uid) != text:
            self.told[decision.uid] = text
            involved = InvolvedObject(decision.ref, "v1", decision.uid)
            self.events.record(EventDraft(involved, EventKind.WARNING, _EVENT_REASON, text))

    def publish(self) -> None:
        """Show the round's sums in place of the last one's, and forget pods that lack nothing any more."""
        sums: Tally[tuple[str, str]] = Tally()
        for (namespace, _), missing in self.round.items():
            for resource in CONTROLLED:
                sums[resource, namespace] += missing.get(resource, 0)
        self.gauge.clear()
        for labels, amount in sums.items():
            self.gauge.labels(*labels).set(amount / NANO)
        lacking = {uid for _, uid in self.round}
        self.told = {uid: text for uid, text in self.told.items() if uid in lacking}
        self.round = {}
