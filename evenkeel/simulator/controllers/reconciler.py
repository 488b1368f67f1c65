"""The base of all controllers: changes mark keys, marked keys are reconciled a little later, failures again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from evenkeel.simulator.api.kinds import GroupResource
from evenkeel.simulator.api.status import StatusError
from evenkeel.simulator.api.store import Change, Key
from evenkeel.simulator.clock import Timer
from evenkeel.simulator.controllers.actor import Actor
from evenkeel.simulator.controllers.context import Context
from evenkeel.simulator.controllers.recorder import Recorder

FIRST_RETRY = timedelta(milliseconds=5)
LONGEST_RETRY = timedelta(seconds=1000)
_MOST_DOUBLINGS = 20


@dataclass(slots=True, eq=False)
class _Mark:
    """A key that waits for its moment."""

    due: datetime
    timer: Timer | None = None


class Reconciler(ABC):
    """Keeps the objects of one kind as they are declared.

    A subclass says in ``start`` what it follows and in ``reconcile`` what is to be done about one key. Changes only
    mark keys; whatever is written is written at a later moment of the server's clock, in a turn of its own.

    Args:
        context: The cluster.
    """

    component: ClassVar[str]
    """Name of the controller, as user of the API server and as source of events."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.actor = Actor(context.server, self.component)
        self.recorder = Recorder(context.objects, self.component)
        self._marks: dict[Key, _Mark] = {}
        self._failures: dict[Key, int] = {}
        self._stops: list[Callable[[], None]] = []
        self._stopped = False

    @abstractmethod
    def start(self) -> None:
        """Take in what is there, and follow it from now on."""

    @abstractmethod
    async def reconcile(self, key: Key) -> None:
        """Do what is to be done about one object, which may have gone.

        Raises:
            StatusError: The API server refused something; the same key is tried again later.
        """

    def stop(self) -> None:
        """Act no more."""
        self._stopped = True
        for stop in self._stops:
            stop()

    def follow(self, resource: GroupResource, keys: Callable[[Change], Iterable[Key]]) -> None:
        """Mark the keys that each change of a kind concerns."""

        def observe(change: Change) -> None:
            for key in keys(change):
                self.mark(key)

        self._stops.append(self.context.versions.observe(resource, observe))

    def follow_own(self, resource: GroupResource) -> None:
        """Mark what is there of a kind, and whatever of it changes."""
        self.follow(resource, lambda change: [change.after.key])
        for stored in self.context.versions.snapshot(resource):
            self.mark(stored.key)

    def mark(self, key: Key, after: timedelta = timedelta(0)) -> None:
        """Have a key reconciled after a while, but not before the usual latency, nor later than marked already."""
        due = self.context.now() + max(after, self.context.settings.latency)
        with self.context.versions.lock:
            earlier = self._marks.get(key)
            if self._stopped or (earlier is not None and earlier.due <= due):
                return
            if earlier is not None and earlier.timer is not None:
                earlier.timer.cancel()
            mark = self._marks[key] = _Mark(due)
        mark.timer = self.context.server.clock.call_at(due, lambda: self._take_turn(key, mark))

    def mark_at(self, key: Key, moment: datetime) -> None:
        """Have a key reconciled at a moment."""
        self.mark(key, moment - self.context.now())

    def _take_turn(self, key: Key, mark: _Mark) -> None:
        """Queue the reconciliation of a key whose moment has come."""
        with self.context.versions.lock:
            if self._stopped or self._marks.get(key) is not mark:
                return
            del self._marks[key]
        self.context.turns.take(lambda: self._round(key))

    async def _round(self, key: Key) -> None:
        """Reconcile a key; when the server refuses, do it again later, and later each time."""
        if self._stopped:
            return
        try:
            await self.reconcile(key)
        except StatusError:
            failed = self._failures[key] = min(self._failures.get(key, 0) + 1, _MOST_DOUBLINGS)
            self.mark(key, min(LONGEST_RETRY, FIRST_RETRY * 2 ** (failed - 1)))
        else:
            self._failures.pop(key, None)
