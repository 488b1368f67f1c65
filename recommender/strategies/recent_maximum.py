"""Largest amount of a sliding window of time: of all samples only those that no later one exceeds are kept.

Those get smaller from the oldest to the newest, so that the first is the maximum, and the next ones are what it becomes
once the first is too old.

Spec: quality Q-6, Q-12, Q-14, Q-15, Q-18.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.rows import grown
from recommender.strategies.interface import JsonObject
from recommender.strategies.packing import Forms, packed, unpacked
from recommender.strategies.steps import Step

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_KEPT: Final = 256
"""Samples kept of a row; of more of them two neighbours become one, which makes the maximum last longer."""

_FIRST_WIDTH: Final = 8
_FORMS: Final[Forms] = {"seconds": np.float64, "amounts": np.float64}


class RecentMaximum:
    """The maximum of each row; exact while no row has more than ``MOST_KEPT`` samples that no later one exceeds.

    Args:
        window_seconds: Length of the window; a sample as old as this is outside.
        rows: How many rows there are at first.
    """

    def __init__(self, window_seconds: float, rows: int) -> None:
        self._window = window_seconds
        self._seconds: Floats = np.zeros((0, _FIRST_WIDTH))
        self._amounts: Floats = np.zeros((0, _FIRST_WIDTH))
        self._begin: Integers = np.zeros(0, dtype=np.int64)
        self._end: Integers = np.zeros(0, dtype=np.int64)
        self.grow(rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        self._seconds, self._amounts = grown(self._seconds, rows, 0), grown(self._amounts, rows, 0)
        self._begin, self._end = grown(self._begin, rows, 0), grown(self._end, rows, 0)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        self._begin[rows] = self._end[rows] = 0

    def take(self, step: Step) -> None:
        """Take in the largest amount of each row of a step."""
        self.add(step.rows, step.seconds, step.largest)

    def add(self, rows: Integers, seconds: Floats, amounts: Floats) -> None:
        """Take in one amount for each row.

        Args:
            rows: int64[n], each once.
            seconds: float64[n], when; what comes late counts as if it came with the last one before.
            amounts: float64[n], the amounts.
        """
        self._expire(rows, seconds)
        has_any = self._begin[rows] < self._end[rows]
        last = np.where(has_any, self._seconds[rows, self._end[rows] - 1], seconds)
        exceeded = np.arange(len(rows))
        while len(exceeded):
            those = rows[exceeded]
            has_more = self._begin[those] < self._end[those]
            exceeded = exceeded[has_more & (self._amounts[those, self._end[those] - 1] <= amounts[exceeded])]
            self._end[rows[exceeded]] -= 1
        self._make_room(rows)
        places = self._end[rows]
        self._seconds[rows, places], self._amounts[rows, places] = np.maximum(seconds, last), amounts
        self._end[rows] += 1

    def estimate(self, moments_seconds: Floats) -> Floats:
        """Return the maximum of each row's window that ends at its moment, float64[rows], NaN where it is empty."""
        rows = np.arange(len(self._end))
        self._expire(rows, moments_seconds)
        places = np.minimum(self._begin, self._amounts.shape[1] - 1)
        return np.where(self._begin < self._end, self._amounts[rows, places], np.nan)

    def of_last(self, rows: Integers, seconds: Floats, windows_seconds: Floats) -> Floats:
        """Return the maxima of shorter windows that end at a moment; nothing is left out for good.

        Args:
            rows: int64[n].
            seconds: float64[n], the moment of each.
            windows_seconds: float64[w], lengths, none above that of the window that is kept.

        Returns:
            float64[n, w], NaN where a window is empty.
        """
        oldest, those = seconds[:, np.newaxis] - windows_seconds, rows[:, np.newaxis]
        end = self._end[those]
        low = np.broadcast_to(self._begin[those], oldest.shape).copy()
        high = np.broadcast_to(end, oldest.shape).copy()
        last_place = self._seconds.shape[1] - 1
        while (is_open := low < high).any():
            middle = (low + high) // 2
            is_old = self._seconds[those, np.minimum(middle, last_place)] <= oldest
            low = np.where(is_open & is_old, middle + 1, low)
            high = np.where(is_open & ~is_old, middle, high)
        return np.where(low < end, self._amounts[those, np.minimum(low, last_place)], np.nan)

    def latest(self, rows: Integers) -> Floats:
        """Return the newest amount of some rows, float64[n], NaN where there is none."""
        has_any = self._begin[rows] < self._end[rows]
        return np.where(has_any, self._amounts[rows, self._end[rows] - 1], np.nan)

    def _expire(self, rows: Integers, seconds: Floats) -> None:
        """Leave out what is too old by then."""
        oldest = seconds - self._window
        while len(rows):
            has_any = self._begin[rows] < self._end[rows]
            rows, oldest = rows[has_any], oldest[has_any]
            is_old = self._seconds[rows, self._begin[rows]] <= oldest
            rows, oldest = rows[is_old], oldest[is_old]
            self._begin[rows] += 1

    def _make_room(self, rows: Integers) -> None:
        """Let each row have a place at its end."""
        full = rows[self._end[rows] == self._amounts.shape[1]]
        if not len(full):
            return
        places = (self._begin[full, np.newaxis] + np.arange(self._amounts.shape[1])) % self._amounts.shape[1]
        self._seconds[full] = np.take_along_axis(self._seconds[full], places, axis=1)
        self._amounts[full] = np.take_along_axis(self._amounts[full], places, axis=1)
        self._end[full] -= self._begin[full]
        self._begin[full] = 0
        still_full = full[self._end[full] == self._amounts.shape[1]]
        if len(still_full) and self._amounts.shape[1] < MOST_KEPT:
            self._widen()
        elif len(still_full):
            self._join_nearest(still_full)

    def _widen(self) -> None:
        """Have room for twice as many samples."""
        self._seconds = np.concatenate([self._seconds, np.zeros_like(self._seconds)], axis=1)
        self._amounts = np.concatenate([self._amounts, np.zeros_like(self._amounts)], axis=1)

    def _join_nearest(self, rows: Integers) -> None:
        """Let the two neighbours that differ least become one: as large as the former, as old as the latter."""
        amounts, seconds = self._amounts[rows], self._seconds[rows]
        nearest = np.argmin(amounts[:, :-1] - amounts[:, 1:], axis=1)
        kept = np.arange(amounts.shape[1] - 1)
        self._amounts[rows, :-1] = np.where(kept <= nearest[:, np.newaxis], amounts[:, :-1], amounts[:, 1:])
        self._seconds[rows, :-1] = np.where(kept < nearest[:, np.newaxis], seconds[:, :-1], seconds[:, 1:])
        self._end[rows] -= 1

    def save(self, row: int) -> JsonObject:
        """Return what is kept of a row."""
        kept = slice(self._begin[row], self._end[row])
        return packed({"seconds": self._seconds[row, kept], "amounts": self._amounts[row, kept]})

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        found = unpacked(saved, _FORMS)
        seconds, amounts = found["seconds"].astype(np.float64), found["amounts"].astype(np.float64)
        if len(seconds) != len(amounts) or len(seconds) > MOST_KEPT:
            raise ValueError("saved state of a row: a maximum has too many samples, or other numbers of them")
        is_possible = np.isfinite(seconds).all() and np.isfinite(amounts).all() and (amounts >= 0.0).all()
        if not is_possible or (np.diff(seconds) < 0.0).any() or (np.diff(amounts) >= 0.0).any():
            raise ValueError("saved state of a row: a maximum has impossible samples, or none that get smaller")
        while self._amounts.shape[1] < len(seconds):
            self._widen()
        self._seconds[row, : len(seconds)], self._amounts[row, : len(seconds)] = seconds, amounts
        self._begin[row], self._end[row] = 0, len(seconds)
