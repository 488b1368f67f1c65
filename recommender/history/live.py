"""Usage of now from Prometheus: what is new since the last round, without a gap and without an overlap.

Spec: beyond B-44.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.amounts import MILLICORES_PER_CORE, truncated
from recommender.cluster_model import ClusterModel
from recommender.history.pieces import MILLISECOND, Span
from recommender.history.points import Points, Screened
from recommender.history.series import ContainerKey, Series
from recommender.instants import NEVER, SECOND, nanoseconds
from recommender.usage_table import UsageTable

Integers = NDArray[np.int64]

MOST_SAMPLES: Final = 1440
"""Samples of one container that a gap is filled with at most; in a longer gap each stands for more time."""

REACH: Final = timedelta(minutes=5)
"""How far before a window a counter is looked for, to tell what was used since; a longer gap is no window's."""

NOTHING_USED: Final = UsageTable([], [], [], np.empty(0, np.int64), [], np.empty(0, np.int64), np.empty(0, np.int64))
_NO_SAMPLE: Final = -1
_SHORTEST: Final = SECOND


@dataclass(frozen=True, slots=True)
class Tiles:
    """Windows of equal length that cover the time between two rounds.

    Args:
        span: Their ends.
    """

    span: Span

    def parts(self, most: int) -> Iterator[Tiles]:
        """Cut into parts of at most so many windows, the oldest first."""
        return (Tiles(span) for span in self.span.parts(most))

    @property
    def reach(self) -> str:
        """Time before the end within which everything is asked for, as Prometheus writes it."""
        return f"{(self.span.count * self.span.step + nanoseconds(REACH)) // MILLISECOND}ms"

    def edges(self) -> Integers:
        """Return the beginning of the first window and the ends of all, int64[windows + 1]."""
        return self.span.start + np.arange(-1, self.span.count, dtype=np.int64) * self.span.step


def rates(counter: Series, due: Tiles) -> Series:
    """Return the rate of a counter in each window: what it grew by since the last look before, over the time between.

    A counter that falls has begun anew at zero. Where it was not looked at shortly before a window, its first value in
    the window is what it grew from. A window without a new value has no rate.

    Args:
        counter: As measured, in seconds of CPU.
        due: The windows.

    Returns:
        Cores, at the ends of the windows.
    """
    times, values = counter.instants, counter.values
    if not len(times):
        return counter
    grown = np.diff(values, prepend=values[:1])
    total = np.cumsum(np.where(grown < 0, values, grown))
    bounds = np.searchsorted(times, due.edges(), side="right")
    first, last = bounds[:-1], bounds[1:] - 1
    before = np.maximum(first - 1, 0)
    is_near = (first > 0) & (due.edges()[:-1] - times[np.minimum(before, len(times) - 1)] <= nanoseconds(REACH))
    since = np.where(is_near, before, first)
    counts = np.flatnonzero(last > since)
    since, last = since[counts], last[counts]
    rate = (total[last] - total[since]) / ((times[last] - times[since]) / SECOND)
    return Series(counter.labels, due.edges()[1:][counts], rate)


def peaks(measured: Series, due: Tiles) -> Series:
    """Return the largest value in each window that has one, at the windows' ends."""
    bounds = np.searchsorted(measured.instants, due.edges(), side="right")
    counts = np.flatnonzero(bounds[1:] > bounds[:-1])
    largest = [measured.values[bounds[number] : bounds[number + 1]].max() for number in counts.tolist()]
    return Series(measured.labels, due.edges()[1:][counts], np.array(largest, dtype=np.float64))


def tiles(until: int, now: int, interval: timedelta) -> Tiles | None:
    """Cover the time since the last round.

    Args:
        until: Up to when usage has been counted, nanoseconds since the epoch.
        now: The present.
        interval: Time that a sample is to stand for.

    Returns:
        None where next to no time has passed.
    """
    end = now - now % MILLISECOND
    gap = end - until
    if gap < _SHORTEST:
        return None
    count = min(MOST_SAMPLES, max(1, round(gap / nanoseconds(interval))))
    step = gap // count // MILLISECOND * MILLISECOND
    return Tiles(Span(end - (count - 1) * step, step, count))


def counted_until(model: ClusterModel, now: int, furthest: timedelta) -> int:
    """Return up to when what a model has been loaded with has counted usage.

    Args:
        model: With its checkpoints or history.
        now: The present, nanoseconds since the epoch.
        furthest: How far back usage is asked for at most.

    Returns:
        The latest sample of all, or one minute ago where there is none.
    """
    aggregates = model.aggregates
    latest = int(aggregates.last_sample[: aggregates.rows.end].max(initial=NEVER))
    return now - 60 * SECOND if latest == NEVER else max(latest, now - nanoseconds(furthest))


def usage_table(keys: Mapping[ContainerKey, int], points: Screened, span: Span) -> UsageTable:
    """Return the samples of a piece as the metrics API would tell them, the oldest first.

    A resource without a point has a negative amount there, which counts for nothing.
    """
    order = sorted(keys)
    cpu = _grid(points.cpu, keys, span, MILLICORES_PER_CORE)
    memory = _grid(points.memory, keys, span, 1.0)
    pods = [(pod, [keys[key] for key in group]) for pod, group in groupby(order, key=lambda key: key[:2])]
    names = {number: key[2] for key, number in keys.items()}
    rows = [
        (number, pod, [owner for owner in owners if max(cpu[owner, number], memory[owner, number]) != _NO_SAMPLE])
        for number in range(span.count)
        for pod, owners in pods
    ]
    rows = [row for row in rows if row[2]]
    owners = np.array([owner for _, _, some in rows for owner in some], dtype=np.int64)
    places = np.repeat(np.array([number for number, _, _ in rows], dtype=np.int64), [len(some) for _, _, some in rows])
    return UsageTable(
        [pod[0] for _, pod, _ in rows],
        [pod[1] for _, pod, _ in rows],
        [len(some) for _, _, some in rows],
        np.array([span.start + number * span.step for number, _, _ in rows], dtype=np.int64),
        [names[owner] for owner in owners.tolist()],
        cpu[owners, places],
        memory[owners, places],
    )


def _grid(points: Points, keys: Mapping[ContainerKey, int], span: Span, per_unit: float) -> Integers:
    """Return points as amounts, int64[containers, instants], negative where there is none."""
    amounts = np.full((len(keys), span.count), _NO_SAMPLE, dtype=np.int64)
    places = (points.instants - span.start + span.step // 2) // span.step
    amounts[points.owners, places] = truncated(points.values * per_unit)
    return amounts
