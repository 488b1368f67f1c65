"""The time as one process in lock-step knows it: it stands still, jumps when the clock says so, and ends up real."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

Callback = Callable[[], object]


@dataclass(order=True, slots=True)
class Alarm:
    """Something to be called when the clock shows a time."""

    when: datetime
    number: int
    callback: Callback = field(compare=False)
    is_off: bool = field(default=False, compare=False)


class Timeline:
    """The time as one process knows it.

    Args:
        origin: Where monotonic time begins.
        now: The present.
        real: Seconds of real time, for a process that has left.
    """

    def __init__(self, origin: datetime, now: datetime, real: Callable[[], float] = time.monotonic) -> None:
        self._origin = origin
        self._now = now
        self._real = real
        self._left: float | None = None
        self._numbers = itertools.count()
        self._alarms: list[Alarm] = []

    @property
    def now(self) -> datetime:
        """The date; it stands still once the process has left."""
        return self._now

    @property
    def has_left(self) -> bool:
        """Whether time is real by now."""
        return self._left is not None

    def seconds(self) -> float:
        """Return monotonic time."""
        beyond = 0.0 if self._left is None else self._real() - self._left
        return (self._now - self._origin).total_seconds() + beyond

    def set_alarm(self, when: datetime, callback: Callback) -> Alarm:
        """Have something called when the clock shows a time."""
        alarm = Alarm(when, next(self._numbers), callback)
        if self.has_left:
            _call_really(alarm, self._now)
        else:
            heapq.heappush(self._alarms, alarm)
        return alarm

    def next_alarm(self) -> datetime | None:
        """Return when the next alarm is due, None when there is none."""
        while self._alarms and self._alarms[0].is_off:
            heapq.heappop(self._alarms)
        return self._alarms[0].when if self._alarms else None

    def show(self, now: datetime) -> None:
        """Move to a time."""
        self._now = now

    def take_due(self) -> list[Callback]:
        """Return what is due by now, in order."""
        due = []
        while (when := self.next_alarm()) is not None and when <= self._now:
            due.append(heapq.heappop(self._alarms).callback)
        return due

    def leave(self) -> None:
        """Go on in real time, in which the alarms that are set run too."""
        if not self.has_left:
            self._left = self._real()
            for alarm in sorted(self._alarms):
                _call_really(alarm, self._now)
            self._alarms.clear()


def _call_really(alarm: Alarm, now: datetime) -> None:
    """Have an alarm's callback called after a real pause."""
    if not alarm.is_off:
        asyncio.get_running_loop().call_later(max(0.0, (alarm.when - now).total_seconds()), alarm.callback)
