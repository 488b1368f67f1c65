"""Each resize of ours from the patch that was accepted to its end, as a reducer (spec: product:10, beyond:B-45).

What is told of it when it ends is what is known when it begins: an observer is to see both in one span.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

from autoscaling.pod import Pod
from updater.convergence import is_converged, is_over
from updater.decision import Decision, Reason


class JourneyEnd(Enum):
    """How a resize ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    """The pod was evicted, or gave its claim back, before it had what it asked for."""
    OVERTAKEN = "overtaken"
    """Another change of the pod's spec came before its end."""
    GONE = "gone"
    """The pod ended or went by itself."""
    UNFINISHED = "unfinished"
    """The updater ended first."""


@dataclass(frozen=True, slots=True)
class Journey:
    """A resize that was accepted.

    Args:
        decision: That led to it.
        generation: The pod's generation that it made.
        asked: When it was sent.
    """

    decision: Decision
    generation: int
    asked: datetime


@dataclass(frozen=True, slots=True)
class Arrival:
    """A resize that has ended."""

    journey: Journey
    end: JourneyEnd
    at: datetime


@dataclass(frozen=True, slots=True)
class Journeys:
    """The resizes under way, by the UIDs of their pods."""

    by_uid: Mapping[str, Journey] = field(default_factory=dict)

    def beginning(self, journey: Journey) -> tuple[Journeys, tuple[Arrival, ...]]:
        """Return the resizes with one more, and the one of the same pod that it puts an end to."""
        decision = journey.decision
        end = JourneyEnd.FAILED if decision.reason is Reason.CLAIM_RELEASED else JourneyEnd.OVERTAKEN
        rest, arrivals = self.ending(decision.uid, end, journey.asked)
        return Journeys({**rest.by_uid, decision.uid: journey}), arrivals

    def ending(self, uid: str, end: JourneyEnd, now: datetime) -> tuple[Journeys, tuple[Arrival, ...]]:
        """Return the resizes without that of one pod, and how that ended; nothing changes where there is none."""
        journey = self.by_uid.get(uid)
        if journey is None:
            return self, ()
        rest = {other: kept for other, kept in self.by_uid.items() if other != uid}
        return Journeys(rest), (Arrival(journey, end, now),)

    def seeing(self, pods: Iterable[Pod], now: datetime) -> tuple[Journeys, tuple[Arrival, ...]]:
        """Return the resizes that go on, and those that have ended since the last look.

        Args:
            pods: All live pods, which may be older than the last resizes.
        """
        if not self.by_uid:
            return self, ()
        seen = {pod.uid: pod for pod in pods if pod.uid in self.by_uid}
        kept: dict[str, Journey] = {}
        arrivals: list[Arrival] = []
        for uid, journey in self.by_uid.items():
            end = _end_of(journey, seen.get(uid))
            if end is None:
                kept[uid] = journey
            else:
                arrivals.append(Arrival(journey, end, now))
        return Journeys(kept), tuple(arrivals)

    def closing(self, now: datetime) -> tuple[Arrival, ...]:
        """Return all that is under way as unfinished."""
        return tuple(Arrival(journey, JourneyEnd.UNFINISHED, now) for journey in self.by_uid.values())


def _end_of(journey: Journey, pod: Pod | None) -> JourneyEnd | None:
    """Say how a resize has ended as far as its pod tells, None where it goes on."""
    if pod is None or is_over(pod):
        return JourneyEnd.GONE
    if pod.generation > journey.generation:
        return JourneyEnd.OVERTAKEN
    return JourneyEnd.COMPLETED if pod.generation == journey.generation and is_converged(pod) else None
