"""One span for each resize, from the patch to its end (spec: product:10)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from autoscaling.pod import Pod
from autoscaling.runtime.spans import FinishedSpan, SpanSink
from updater.decision import Decision
from updater.resize_journeys import Arrival, Journey, JourneyEnd, Journeys

_NAME: Final = "resize"


@dataclass(slots=True)
class ResizeSpans:
    """Follows the resizes of one process.

    Args:
        sink: Where their spans go.
    """

    sink: SpanSink
    _journeys: Journeys = field(default_factory=Journeys)

    def began(self, decision: Decision, generation: int, asked: datetime) -> None:
        """Follow a resize that was accepted."""
        self._journeys, arrivals = self._journeys.beginning(Journey(decision, generation, asked))
        self._send(arrivals)

    def evicted(self, uid: str, now: datetime) -> None:
        """Take note that a pod was evicted."""
        self._journeys, arrivals = self._journeys.ending(uid, JourneyEnd.FAILED, now)
        self._send(arrivals)

    def look(self, pods: Sequence[Pod], now: datetime) -> None:
        """Send what has ended since the last look."""
        self._journeys, arrivals = self._journeys.seeing(pods, now)
        self._send(arrivals)

    async def close(self, now: datetime) -> None:
        """Send what is under way as unfinished, and all that waits to be sent."""
        self._send(self._journeys.closing(now))
        self._journeys = Journeys()
        await self.sink.close()

    def _send(self, arrivals: Iterable[Arrival]) -> None:
        for arrival in arrivals:
            self.sink.add(span_of(arrival))


def span_of(arrival: Arrival) -> FinishedSpan:
    """Return what is sent; containers, resources and amounts are lists of one length, an entry for each change."""
    decision = arrival.journey.decision
    changes = decision.audit.changes() if decision.audit is not None else ()
    return FinishedSpan(
        _NAME,
        arrival.journey.asked,
        max(arrival.at, arrival.journey.asked),
        {
            "k8s.namespace.name": decision.ref.namespace,
            "k8s.pod.name": decision.ref.name,
            "k8s.pod.uid": decision.uid,
            "evenkeel.vpa": decision.scope.vpa.name if decision.scope is not None else "",
            "evenkeel.reason": decision.reason.value,
            "evenkeel.outcome": arrival.end.value,
            "evenkeel.container": [change.container for change in changes],
            "evenkeel.resource": [change.resource for change in changes],
            "evenkeel.old": [change.old for change in changes],
            "evenkeel.new": [change.new for change in changes],
        },
        is_error=arrival.end is JourneyEnd.FAILED,
    )
