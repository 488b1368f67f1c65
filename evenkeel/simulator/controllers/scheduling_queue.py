"""The pods that wait for a node: in which order they are tried, and when those that did not fit are tried again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from evenkeel.simulator.api.store import Key
from evenkeel.simulator.controllers.pod_state import LONG_AGO

FIRST_BACKOFF, LONGEST_BACKOFF = timedelta(seconds=1), timedelta(seconds=10)
"""How long after a failed attempt the next one is made at the earliest; twice as long after each further failure."""

PATIENCE = timedelta(minutes=5)
"""After which a pod is tried again although nothing has happened."""


@dataclass(slots=True)
class Waiting:
    """One pod that waits.

    Args:
        key: Which pod.
        priority: Higher ones are tried first.
        since: When it began to wait, or was given back to the queue; earlier ones are tried first.
        order: Breaks ties.
        attempts: How often it did not fit.
        ready_at: From when on it may be tried.
        parked: Whether it waits for something to happen.
        lacking: The resources that it did not find when it was last tried.
    """

    key: Key
    priority: int
    since: datetime
    order: int
    attempts: int = 0
    ready_at: datetime = LONG_AGO
    parked: bool = False
    lacking: frozenset[str] = field(default_factory=frozenset)


class SchedulingQueue:
    """The pods that wait for a node."""

    def __init__(self) -> None:
        self._pods: dict[Key, Waiting] = {}
        self._count = 0

    def __contains__(self, key: Key) -> bool:
        return key in self._pods

    def add(self, key: Key, priority: int, now: datetime) -> None:
        """Let a pod wait, or try one again whose spec has changed; what it has failed before is remembered."""
        earlier = self._pods.get(key)
        if earlier is not None:
            earlier.priority, earlier.parked = priority, False
            return
        self._count += 1
        self._pods[key] = Waiting(key, priority, now, self._count)

    def remove(self, key: Key) -> None:
        """Forget a pod."""
        self._pods.pop(key, None)

    def ready(self, now: datetime) -> list[Key]:
        """Return the pods that are to be tried now, in order: by priority, then by how long they wait."""
        for waiting in self._pods.values():
            if waiting.parked and waiting.since + PATIENCE <= now:
                waiting.parked = False
        due = [waiting for waiting in self._pods.values() if not waiting.parked and waiting.ready_at <= now]
        return [waiting.key for waiting in sorted(due, key=lambda each: (-each.priority, each.since, each.order))]

    def park(self, key: Key, lacking: frozenset[str], now: datetime) -> None:
        """Note that a pod did not fit: it waits until something happens, and at least for its back-off."""
        waiting = self._pods[key]
        waiting.attempts += 1
        waiting.since, waiting.lacking, waiting.parked = now, lacking, True
        doublings: int = 1 << min(waiting.attempts - 1, 10)
        waiting.ready_at = now + min(LONGEST_BACKOFF, FIRST_BACKOFF * doublings)

    def wake(self, concerned: Callable[[Waiting], bool]) -> None:
        """Have those parked pods tried again that something concerns."""
        for waiting in self._pods.values():
            if waiting.parked and concerned(waiting):
                waiting.parked = False

    def next_moment(self) -> datetime | None:
        """Return when the next pod is to be tried, None when none is."""
        moments = [each.since + PATIENCE if each.parked else each.ready_at for each in self._pods.values()]
        return min(moments, default=None)
