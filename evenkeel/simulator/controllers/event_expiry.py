"""The end of events: an hour after they were last written they are removed."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from evenkeel.simulator.api.builtin import EVENTS
from evenkeel.simulator.api.store import Change, ChangeType, Key
from evenkeel.simulator.controllers.reconciler import Reconciler


class EventExpiry(Reconciler):
    """Removes events that nobody has written for some time."""

    component: ClassVar[str] = "event-expiry"

    def start(self) -> None:
        """Follow events."""
        self._written: dict[Key, datetime] = {}
        lifetime = self.context.settings.event_lifetime
        for stored in self.context.versions.snapshot(EVENTS):
            self._written[stored.key] = self.context.now()
            self.mark(stored.key, lifetime)
        self._stops.append(self.context.versions.observe(EVENTS, self._note))

    async def reconcile(self, key: Key) -> None:
        """Remove an event whose time has come, and come again for one that was written meanwhile."""
        written = self._written.get(key)
        if written is None:
            return
        ends = written + self.context.settings.event_lifetime
        if ends > self.context.now():
            self.mark_at(key, ends)
        else:
            self.context.versions.remove(EVENTS, key)

    def _note(self, change: Change) -> None:
        """Note when an event was written."""
        if change.type is ChangeType.DELETED:
            self._written.pop(change.after.key, None)
            return
        self._written[change.after.key] = self.context.now()
        self.mark(change.after.key, self.context.settings.event_lifetime)
