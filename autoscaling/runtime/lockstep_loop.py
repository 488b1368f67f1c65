"""An event loop in simulated time, and the place where it waits, which is where its process is at rest."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar, TypeVarTuple

from autoscaling.runtime.lockstep_channel import Channel, LockstepLostError, Moment, Report
from autoscaling.runtime.lockstep_timeline import Callback, Timeline
from autoscaling.runtime.lockstep_traffic import LockstepTraffic

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Events = list[tuple[selectors.SelectorKey, int]]

_PATIENCE_SECONDS = 0.05
"""A request that is not answered within this real time may be kept waiting by the clock, so the clock is told of it."""

_RESOLUTION_SECONDS = 1e-6
"""The clock counts microseconds; timers that end between two of them are due at the nearer one."""


class LockstepSelector(selectors.BaseSelector):
    """The place where an event loop waits, which is where its process is at rest.

    Args:
        channel: The line to the clock.
        timeline: What is known of the time.
        traffic: What the process has under way.
    """

    def __init__(self, channel: Channel, timeline: Timeline, traffic: LockstepTraffic) -> None:
        self.deliver: Callable[[Callback], object] = _drop
        self.on_lost: Callable[[LockstepLostError], object] = _drop
        self._channel = channel
        self._timeline = timeline
        self._traffic = traffic
        self._turns = 1
        self._reports = 0
        self._inner = selectors.DefaultSelector()
        self._inner.register(channel, selectors.EVENT_READ, channel)

    def register(self, fileobj: FileDescriptorLike, events: int, data: object = None) -> selectors.SelectorKey:
        """Look at a descriptor."""
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: FileDescriptorLike) -> selectors.SelectorKey:
        """Look at a descriptor no more."""
        return self._inner.unregister(fileobj)

    def modify(self, fileobj: FileDescriptorLike, events: int, data: object = None) -> selectors.SelectorKey:
        """Look at a descriptor for other events."""
        return self._inner.modify(fileobj, events, data)

    def get_map(self) -> Mapping[FileDescriptorLike, selectors.SelectorKey]:
        """Return what is looked at."""
        return self._inner.get_map()

    def close(self) -> None:
        """Look at nothing any more."""
        self._inner.close()

    def select(self, timeout: float | None = None) -> Events:
        """Return what can be read or written, waiting in simulated time."""
        if self._timeline.has_left:
            return self._inner.select(timeout)
        events, _ = self._look(0)
        if events or (timeout is not None and timeout < _RESOLUTION_SECONDS / 2):
            return events
        try:
            return self._rest(timeout)
        except LockstepLostError as error:
            self.leave()
            self.on_lost(error)
            return []

    def leave(self) -> None:
        """Go on without the clock."""
        if not self._timeline.has_left:
            self._inner.unregister(self._channel)
            self._channel.leave()
            self._timeline.leave()

    def _look(self, timeout: float | None) -> tuple[Events, bool]:
        """Wait in real time; returns the events, and whether there is something on the line to the clock."""
        events = self._inner.select(timeout)
        others = [event for event in events if event[0].data is not self._channel]
        return others, len(others) < len(events)

    def _rest(self, timeout: float | None) -> Events:
        """Wait until the clock wakes this process or something happens."""
        if self._traffic.calls:
            # Requests seldom go by the clock, so their answers are worth waiting for.
            events, is_called = self._look(_PATIENCE_SECONDS)
            if is_called:
                raise LockstepLostError(f"the simulated clock spoke to {self._channel.name}, which does not rest")
            if events:
                return events
        self._channel.rest(self._report(timeout))
        events, is_called = self._look(None)
        self._move(self._channel.turn() if is_called else self._channel.go_on(self._reports))
        return events

    def _report(self, timeout: float | None) -> Report:
        """Say that there is nothing left to do before some time."""
        now = self._timeline.now
        due = [] if timeout is None else [now + timedelta(seconds=timeout)]
        if (alarm := self._timeline.next_alarm()) is not None:
            due.append(alarm)
        if self._traffic.is_blocked:
            due.append(now)
        lines, ended = self._traffic.take_news()
        self._reports += 1
        return Report(self._reports, self._turns, min(due, default=None), self._traffic.calls, lines, ended)

    def _move(self, moment: Moment) -> None:
        """Take over the clock's time and, if it is this process's turn, do what is due by then."""
        self._timeline.show(moment.now)
        if moment.turns > self._turns:
            self._turns = moment.turns
            self._traffic.pass_parked()
            for callback in self._timeline.take_due():
                self.deliver(callback)


def _drop(_unheard: object) -> None:
    """Let something go that nobody is there for."""


class LockstepLoop(asyncio.SelectorEventLoop):
    """An event loop that lives in simulated time.

    Args:
        selector: Where it waits.
        timeline: Its time.
    """

    def __init__(self, selector: LockstepSelector, timeline: Timeline) -> None:
        self._timeline = timeline
        super().__init__(selector)
        # What the library counts as the same time: its own idea of it is finer than a float is after some months.
        self._clock_resolution = _RESOLUTION_SECONDS
        selector.deliver = self.call_soon

    def time(self) -> float:
        """Return monotonic time."""
        return self._timeline.seconds()

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Run something at once instead of in a thread, whose end would come when the machine likes."""
        if self._timeline.has_left:
            return super().run_in_executor(executor, func, *args)
        ended: asyncio.Future[T] = self.create_future()
        try:
            ended.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - whoever awaits it gets it
            ended.set_exception(error)
        return ended
