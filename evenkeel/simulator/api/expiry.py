"""Events are kept for an hour after their last change, as real servers keep them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from evenkeel.simulator.api.builtin import EVENTS
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.store import Change, ChangeType, Key

EVENT_LIFETIME = timedelta(hours=1)


@dataclass(slots=True)
class EventExpiry:
    """Removes events that nobody has written for a while.

    Args:
        objects: Where they are stored, and the clock that counts.
        lifetime: How long they are kept.
    """

    objects: ObjectStore
    lifetime: timedelta = EVENT_LIFETIME
    _due: deque[tuple[datetime, Key, int]] = field(default_factory=deque)

    def start(self) -> None:
        """Follow the events from now on."""
        self.objects.versions.observe(EVENTS, self._follow)

    def _follow(self, change: Change) -> None:
        """Note when an event will have to go."""
        if change.type is ChangeType.DELETED:
            return
        self._due.append((self.objects.now() + self.lifetime, change.after.key, change.after.revision))
        if len(self._due) == 1:
            self._wait()

    def _wait(self) -> None:
        """Come back when the first event has to go."""
        self.objects.clock.call_at(self._due[0][0], self._expire)

    def _expire(self) -> None:
        """Remove the events whose time has come, unless they were written again meanwhile."""
        with self.objects.versions.lock:
            while self._due and self._due[0][0] <= self.objects.now():
                _, key, revision = self._due.popleft()
                stored = self.objects.versions.read(EVENTS, key)
                if stored is not None and stored.revision == revision:
                    self.objects.versions.remove(EVENTS, key)
            if self._due:
                self._wait()
