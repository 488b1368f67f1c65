"""Time for the embedded cluster: the wall clock, or one that a test moves by hand."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Protocol

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
"""Where a manual clock starts unless it is told otherwise."""


class Timer(Protocol):
    """A call that is due later and can still be called off."""

    def cancel(self) -> None:
        """Call it off; harmless when it has already happened."""


class Clock(Protocol):
    """What the simulator asks about time."""

    def now(self) -> datetime:
        """Return the present moment as an aware UTC datetime."""

    def call_at(self, when: datetime, callback: Callable[[], None]) -> Timer:
        """Call back once this clock reaches a moment; soon, when it has passed already."""


class WallClock:
    """The machine's own time; its timers run in the running event loop, or in threads of their own without one."""

    def now(self) -> datetime:
        """Return the machine's time."""
        return datetime.now(tz=UTC)

    def call_at(self, when: datetime, callback: Callable[[], None]) -> Timer:
        """Call back from the event loop that runs here, or from a thread when none does."""
        return _call_later(max(0.0, (when - self.now()).total_seconds()), callback)


def _call_later(seconds: float, callback: Callable[[], None]) -> Timer:
    """Call back some real time from now, from the event loop that runs here, or else from a thread."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        timer = threading.Timer(seconds, callback)
        timer.daemon = True
        timer.start()
        return timer
    return loop.call_later(seconds, callback)


class SpeedClock:
    """A clock that runs faster or slower than real time by a factor; its timers run as those of the wall clock do.

    For clients that follow no clock but their own: what they do in a real minute then takes more or less of this one.

    Args:
        start: What it shows first.
        speed: Its seconds in a second of real time.
        real: Tells real time in seconds.

    Raises:
        ValueError: The speed is not above zero.
    """

    def __init__(self, start: datetime, speed: float, real: Callable[[], float] = time.monotonic) -> None:
        if speed <= 0:
            raise ValueError(f"speed {speed:g}: a clock must go forward; use a number above zero")
        self._start = start
        self._speed = speed
        self._real = real
        self._began = real()

    def now(self) -> datetime:
        """Return its time."""
        return self._start + timedelta(seconds=(self._real() - self._began) * self._speed)

    def call_at(self, when: datetime, callback: Callable[[], None]) -> Timer:
        """Call back from the event loop that runs here, or from a thread when none does."""
        return _call_later(max(0.0, (when - self.now()).total_seconds()) / self._speed, callback)


class _ManualTimer:
    """One pending call of a manual clock."""

    __slots__ = ("callback", "cancelled")

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        """Call it off."""
        self.cancelled = True


class ManualClock:
    """A clock that stands still until it is set; timers run in the thread that moves it.

    Args:
        start: The first moment it shows.
    """

    def __init__(self, start: datetime = EPOCH) -> None:
        self._now = start
        self._lock = threading.RLock()
        self._order = itertools.count()
        self._timers: list[tuple[datetime, int, _ManualTimer]] = []

    def now(self) -> datetime:
        """Return the moment it was last set to."""
        return self._now

    def call_at(self, when: datetime, callback: Callable[[], None]) -> Timer:
        """Call back when the clock is moved to that moment or beyond; at once when it stands there already."""
        timer = _ManualTimer(callback)
        with self._lock:
            if when > self._now:
                heapq.heappush(self._timers, (when, next(self._order), timer))
                return timer
        callback()
        return timer

    def set(self, moment: datetime) -> None:
        """Show another moment, passing every pending timer on the way in order of its time."""
        while (due := self._next_due(moment)) is not None:
            due.callback()
        with self._lock:
            self._now = moment

    def advance(self, by: timedelta) -> datetime:
        """Move forward and return the new moment."""
        self.set(self._now + by)
        return self._now

    def step(self) -> None:
        """Move to the earliest pending call and let that one happen; others of the same moment stay pending."""
        when = self.next_timer()
        if when is not None and (due := self._next_due(when)) is not None:
            due.callback()

    def next_timer(self) -> datetime | None:
        """Return the moment of the earliest call that is pending, None when there is none."""
        with self._lock:
            while self._timers and self._timers[0][2].cancelled:
                heapq.heappop(self._timers)
            return self._timers[0][0] if self._timers else None

    def _next_due(self, moment: datetime) -> _ManualTimer | None:
        """Take the earliest timer that is due by a moment, and show its time meanwhile."""
        with self._lock:
            while self._timers and self._timers[0][0] <= moment:
                when, _, timer = heapq.heappop(self._timers)
                if not timer.cancelled:
                    self._now = max(self._now, when)
                    return timer
            return None


async def wait_until(clock: Clock, when: datetime) -> None:
    """Wait in the running event loop until a clock reaches a moment; it may be moved from another thread."""
    loop = asyncio.get_running_loop()
    reached = asyncio.Event()
    timer = clock.call_at(when, lambda: _signal(loop, reached))
    try:
        await reached.wait()
    finally:
        timer.cancel()


def _signal(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    """Set an event of a loop from any thread."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(event.set)


def rfc3339(moment: datetime) -> str:
    """Return a moment as Kubernetes writes it in metadata: UTC, whole seconds, ``Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_rfc3339(text: str) -> datetime:
    """Read a moment from a Kubernetes timestamp, with or without a fraction of a second."""
    return datetime.fromisoformat(text).astimezone(UTC)
