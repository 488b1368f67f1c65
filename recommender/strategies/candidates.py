"""The targets that an adaptive strategy chooses from (spec: quality Q-18).

Each is an estimate times a factor. All estimates of a resource come from a few columns: what a sliding maximum keeps
tells the maxima of all shorter windows, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from recommender.strategies.fading_histogram import Fading, FadingHistogram
from recommender.strategies.interface import JsonObject
from recommender.strategies.packing import nested
from recommender.strategies.recent_maximum import RecentMaximum
from recommender.strategies.slot_peaks import SlotPeaks
from recommender.strategies.steps import Step

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_SLOT: Final = 15 * _MINUTE
_SLOTS_PER_HOUR: Final = _HOUR // _SLOT
_SLOTS_PER_DAY: Final = _DAY // _SLOT
_DAYS: Final = 7

_LEAST_CORES: Final = 0.01
_LARGEST_FACTOR: Final = 1.15

_CPU_WINDOWS: Final = np.array([_HOUR / 2, _HOUR, 3.0 * _HOUR, _DAY])
_CPU_PERCENTILES: Final = tuple(
    # What is below the floor with the largest factor on it need not be told apart.
    Fading(half_life, share, _LEAST_CORES / _LARGEST_FACTOR)
    for half_life, share in ((12.0 * _HOUR, 0.9), (7.0 * _DAY, 0.9), (3.0 * _DAY, 0.98))
)
_MEMORY_WINDOWS: Final = np.array([3.0, 12.0, 24.0, 72.0, 168.0]) * _HOUR


@dataclass(frozen=True, slots=True)
class Family:
    """Which targets there are of a resource: each estimate times each factor, estimate by estimate.

    Args:
        estimates: What each estimate is, in words.
        factors: What each is multiplied by.
        floor: Least target, cores or bytes.
        source: Returns what makes the estimates for so many rows.
    """

    estimates: tuple[str, ...]
    factors: tuple[float, ...]
    floor: float
    source: Callable[[int], Estimating]

    def __len__(self) -> int:
        """Number of targets."""
        return len(self.estimates) * len(self.factors)

    @property
    def names(self) -> tuple[str, ...]:
        """What each target is, in words."""
        return tuple(_with_factor(name, factor) for name in self.estimates for factor in self.factors)

    def targets(self, estimates: Floats) -> Floats:
        """Return the targets, float64[n, targets].

        Args:
            estimates: float64[n, estimates].
        """
        products = estimates[:, :, np.newaxis] * np.array(self.factors)
        targets: Floats = np.maximum(products.reshape(len(estimates), len(self)), self.floor)
        return targets


def _with_factor(name: str, factor: float) -> str:
    return name if factor == 1.0 else f"{name} times {factor:g}"


class Estimating(Protocol):
    """What was seen of one resource of all rows."""

    def grow(self, rows: int) -> None:
        """Have this many rows, never fewer than before."""

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""

    def take(self, step: Step) -> Floats:
        """Take in samples, and return the estimates of the step's rows after it, float64[n, estimates]; none is NaN."""

    def latest(self, rows: Integers) -> Floats:
        """Return the largest amount of the last step of some rows, float64[n], NaN where nothing was seen."""

    def save(self, row: int) -> JsonObject:
        """Return all that is kept of a row."""

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved."""


class CpuEstimates:
    """Maxima of a while, fading percentiles, and the coming hour as it was.

    Args:
        rows: How many rows there are at first.
    """

    def __init__(self, rows: int) -> None:
        self._maximum = RecentMaximum(float(_CPU_WINDOWS.max()), rows)
        self._histograms = tuple(FadingHistogram(fading, rows) for fading in _CPU_PERCENTILES)
        self._slots = SlotPeaks(_SLOT, _DAYS * _SLOTS_PER_DAY, rows)

    def _parts(self) -> Iterable[tuple[str, RecentMaximum | FadingHistogram | SlotPeaks]]:
        """Yield all that is kept, by the name that it is saved by."""
        yield "maximum", self._maximum
        yield "slots", self._slots
        for number, histogram in enumerate(self._histograms):
            yield f"histogram{number}", histogram

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        for _, part in self._parts():
            part.grow(rows)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        for _, part in self._parts():
            part.clear(rows)

    def take(self, step: Step) -> Floats:
        """Take in samples, and return the estimates after them, float64[n, estimates]."""
        rows = step.rows
        self._maximum.take(step)
        self._slots.take(step)
        for histogram in self._histograms:
            histogram.add(step)
        maxima = self._maximum.of_last(rows, step.seconds, _CPU_WINDOWS)
        percentiles = [histogram.percentile(rows) for histogram in self._histograms]
        return np.column_stack([maxima, *percentiles, *self._coming(step, maxima)])

    def _coming(self, step: Step, maxima: Floats) -> tuple[Floats, Floats]:
        """Return what the coming hour was a day and a week ago, and no less than what has been just now.

        What is not known yet is what is known of a day ago, and that the maximum of the last day.
        """
        coming = self._slots.coming(step.seconds)
        day, week = (
            self._slots.peak(step.rows, coming - days * _SLOTS_PER_DAY, _SLOTS_PER_HOUR) for days in (1, _DAYS)
        )
        day = np.where(np.isnan(day), maxima[:, -1], day)
        week = np.where(np.isnan(week), day, week)
        return np.maximum(day, maxima[:, 0]), np.maximum(week, maxima[:, 0])

    def latest(self, rows: Integers) -> Floats:
        """Return the largest amount of the last step of some rows, float64[n]."""
        return self._maximum.latest(rows)

    def save(self, row: int) -> JsonObject:
        """Return all that is kept of a row."""
        return {name: dict(part.save(row)) for name, part in self._parts()}

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        for name, part in self._parts():
            part.restore(row, nested(saved, name))


class MemoryEstimates:
    """Maxima of several windows.

    Args:
        rows: How many rows there are at first.
    """

    def __init__(self, rows: int) -> None:
        self._maximum = RecentMaximum(float(_MEMORY_WINDOWS.max()), rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        self._maximum.grow(rows)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        self._maximum.clear(rows)

    def take(self, step: Step) -> Floats:
        """Take in samples, and return the estimates after them, float64[n, estimates]."""
        self._maximum.take(step)
        return self._maximum.of_last(step.rows, step.seconds, _MEMORY_WINDOWS)

    def latest(self, rows: Integers) -> Floats:
        """Return the largest amount of the last step of some rows, float64[n]."""
        return self._maximum.latest(rows)

    def save(self, row: int) -> JsonObject:
        """Return all that is kept of a row."""
        return self._maximum.save(row)

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        self._maximum.restore(row, saved)


CPU_FAMILY: Final = Family(
    (
        "largest of 30 minutes",
        "largest of 1 hour",
        "largest of 3 hours",
        "largest of 24 hours",
        "90th percentile, half-life 12 hours",
        "90th percentile, half-life 7 days",
        "98th percentile, half-life 3 days",
        "this time yesterday, or right now",
        "this time last week, or right now",
    ),
    (1.0, _LARGEST_FACTOR),
    _LEAST_CORES,
    CpuEstimates,
)

MEMORY_FAMILY: Final = Family(
    ("largest of 3 hours", "largest of 12 hours", "largest of 24 hours", "largest of 3 days", "largest of 7 days"),
    (1.05, 1.15, 1.3, 1.6, 2.0),
    1e7,
    MemoryEstimates,
)
