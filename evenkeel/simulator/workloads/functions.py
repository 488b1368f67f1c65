"""Usage as functions of time: the shapes that workloads are made of.

All are pure and depend on nothing but their arguments; ``replica`` matters only to those that say so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

from evenkeel.simulator.workloads.demand import NOTHING, Demand, Usage
from evenkeel.simulator.workloads.variation import between

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Constant:
    """Always the same."""

    demand: Demand

    def at(self, elapsed: timedelta, replica: int) -> Demand:
        """Return the demand."""
        del elapsed, replica
        return self.demand


@dataclass(frozen=True, slots=True)
class Diurnal:
    """A smooth wave, by default one a day.

    Args:
        low: Demand at the trough.
        high: Demand at the peak.
        peak_at: Time of the first peak.
        period: From peak to peak.
    """

    low: Demand
    high: Demand
    peak_at: timedelta = timedelta(hours=14)
    period: timedelta = DAY

    def at(self, elapsed: timedelta, replica: int) -> Demand:
        """Return the demand."""
        del replica
        phase = (elapsed - self.peak_at) / self.period
        return self.low.towards(self.high, 0.5 + 0.5 * math.cos(2.0 * math.pi * phase))


@dataclass(frozen=True, slots=True)
class Burst:
    """A steady demand with short bursts at even distances.

    Args:
        base: Demand between bursts.
        peak: Demand during a burst.
        every: From the start of a burst to the start of the next.
        lasting: Length of a burst.
        first: Start of the first burst.
        spread: Each replica's bursts are late by a time of its own, up to this.
    """

    base: Demand
    peak: Demand
    every: timedelta
    lasting: timedelta
    first: timedelta = timedelta(0)
    spread: timedelta = timedelta(0)

    def at(self, elapsed: timedelta, replica: int) -> Demand:
        """Return the demand."""
        since = elapsed - self.first - self.spread * between(0.0, 1.0, ("burst", replica))
        bursting = since >= timedelta(0) and since % self.every < self.lasting
        return self.peak if bursting else self.base


@dataclass(frozen=True, slots=True)
class Ramp:
    """A steady growth from one demand to another, held from then on; a leak when memory grows.

    Args:
        first: Demand at the start.
        last: Demand at the end.
        over: How long the growth takes.
    """

    first: Demand
    last: Demand
    over: timedelta

    def at(self, elapsed: timedelta, replica: int) -> Demand:
        """Return the demand."""
        del replica
        return self.first.towards(self.last, min(1.0, max(0.0, elapsed / self.over)))


@dataclass(frozen=True, slots=True)
class StartupSpike:
    """A high demand at first that fades to a steady one.

    Args:
        spike: Demand at first.
        steady: Demand after that.
        lasting: How long the spike holds.
        fading: How long it then takes to fade.
    """

    spike: Demand
    steady: Demand
    lasting: timedelta
    fading: timedelta = timedelta(0)

    def at(self, elapsed: timedelta, replica: int) -> Demand:
        """Return the demand."""
        del replica
        if elapsed < self.lasting:
            return self.spike
        if elapsed >= self.lasting + self.fading:
            return self.steady
        return self.spike.towards(self.steady, (elapsed - self.lasting) / self.fading)


@dataclass(frozen=True, slots=True)
class Heap:
    """A managed heap, as a JVM keeps it: touched memory grows by doublings and is never given back.

    Garbage grows at an even rate and is collected whenever it fills what the heap has; a heap whose survivors leave
    too little room doubles, up to its largest size.

    Args:
        live_bytes: What survives each collection.
        initial_bytes: Size of the heap at first.
        largest_bytes: What it never exceeds.
        garbage_bytes_per_second: How fast garbage is made.
        base: CPU, and memory outside the heap, at all times.
        collecting_cores: CPU while collecting.
        collecting: How long a collection takes.
    """

    live_bytes: int
    initial_bytes: int
    largest_bytes: int
    garbage_bytes_per_second: int
    base: Demand = NOTHING
    collecting_cores: float = 0.5
    collecting: timedelta = timedelta(seconds=1)

    def at(self, elapsed: timedelta, replica: int) -> Demand:
        """Return the demand."""
        del replica
        size, touched_before, since = self._cycle(max(0.0, elapsed.total_seconds()))
        survivors = self.live_bytes if touched_before else 0
        filled = min(size, survivors + round(since * self.garbage_bytes_per_second))
        collecting = touched_before > 0 and since < self.collecting.total_seconds()
        return self.base.plus(Demand(self.collecting_cores if collecting else 0.0, max(touched_before, filled)))

    def _cycle(self, age_seconds: float) -> tuple[int, int, float]:
        """Return the heap's size, what of it was touched before the last collection, and the time since that."""
        rate = max(1, self.garbage_bytes_per_second)
        size, touched, room = self.initial_bytes, 0, self.initial_bytes
        while age_seconds >= room / rate:
            age_seconds -= room / rate
            touched = size
            if size >= self.largest_bytes or self.live_bytes * 2 <= size:
                room = max(1, size - self.live_bytes)
                return size, touched, age_seconds % (room / rate)
            size = min(self.largest_bytes, size * 2)
            room = max(1, size - self.live_bytes)
        return size, touched, age_seconds


@dataclass(frozen=True, slots=True)
class Batch:
    """Work that is done after a time; the process may idle on or end with it.

    Args:
        working: Demand while it works.
        lasting: How long it works.
        idle: Demand afterwards.
    """

    working: Demand
    lasting: timedelta
    idle: Demand = NOTHING

    def at(self, elapsed: timedelta, replica: int) -> Demand:
        """Return the demand."""
        del replica
        return self.working if elapsed < self.lasting else self.idle


@dataclass(frozen=True, slots=True)
class Steps:
    """A demand that jumps at given times.

    Args:
        steps: From when on each demand holds, ascending; nothing is wanted before the first.
    """

    steps: tuple[tuple[timedelta, Demand], ...]

    def at(self, elapsed: timedelta, replica: int) -> Demand:
        """Return the demand."""
        del replica
        return next((demand for since, demand in reversed(self.steps) if elapsed >= since), NOTHING)


@dataclass(frozen=True, slots=True)
class Total:
    """The sum of several usages."""

    parts: tuple[Usage, ...]

    def at(self, elapsed: timedelta, replica: int) -> Demand:
        """Return the demand."""
        total = NOTHING
        for part in self.parts:
            total = total.plus(part.at(elapsed, replica))
        return total
