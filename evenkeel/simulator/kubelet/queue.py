"""The resizes that wait for room: their order, and when they are tried again (spec: in-place-resize 3.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

LAST = datetime.max.replace(tzinfo=UTC)
"""Stands for a resize that has not waited yet."""


class Trigger(StrEnum):
    """What makes the kubelet try again, in the words of its metric."""

    POD_UPDATED = "pod_updated"
    PODS_ADDED = "pods_added"
    PODS_REMOVED = "pods_removed"
    POD_RESIZED = "pod_resized"
    PERIODIC = "periodic_retry"


@dataclass(frozen=True, slots=True, order=True)
class Urgency:
    """Where a resize stands in the queue; the smallest goes first.

    Args:
        raises: Whether it asks for more cpu or memory.
        below_priority: The pod's priority, negated.
        not_guaranteed: Whether the pod is of another class than Guaranteed.
        waiting_since: When it was first put off; ``LAST`` when it was not yet.
    """

    raises: bool
    below_priority: int
    not_guaranteed: bool
    waiting_since: datetime = LAST


@dataclass(slots=True)
class PendingResizes:
    """Pods with a resize that waits, by uid."""

    uids: list[str] = field(default_factory=list)

    def add(self, uid: str, urgency_of: Callable[[str], Urgency]) -> None:
        """Queue a pod; the order is made anew then, and only then."""
        if uid in self.uids:
            return
        self.uids.append(uid)
        self.uids.sort(key=urgency_of)

    def remove(self, uid: str) -> None:
        """Take a pod out; harmless when it is not in."""
        if uid in self.uids:
            self.uids.remove(uid)

    def __len__(self) -> int:
        return len(self.uids)


def next_retry(last_attempt: datetime | None, first_due: datetime, period: timedelta, now: datetime) -> datetime:
    """Return when the timer that tries again fires next.

    Args:
        last_attempt: When all waiting resizes were last tried, for whatever reason; None for not yet.
        first_due: When the timer fires for the first time after the kubelet's start, unless they are tried before.
        period: Its period; it starts anew at every attempt.
        now: The present.
    """
    base = first_due - period if last_attempt is None else last_attempt
    return base + period * ((now - base) // period + 1)
