"""The largest use of the hour that comes, one to four weeks ago, and what is used right now (spec: quality Q-15)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.rows import grown
from recommender.strategies.interface import JsonObject
from recommender.strategies.packing import nested, packed, unpacked_amount
from recommender.strategies.recent_samples import RecentSamples, Window
from recommender.strategies.slot_peaks import SlotPeaks
from recommender.strategies.steps import Step

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_HOUR: Final = 3600
_SLOT: Final = 300
_SLOTS_PER_HOUR: Final = _HOUR // _SLOT
_SLOTS_PER_DAY: Final = 24 * _SLOTS_PER_HOUR
_SLOTS_PER_WEEK: Final = 7 * _SLOTS_PER_DAY
_WEEKS: Final = 4

NOW: Final = Window(seconds=2 * _HOUR, cell_seconds=60, room=256)
"""What counts as right now."""

_NOW_SHARE: Final = 0.99


class WeeklyPeak:
    """The peak of each row, to a millionth of a core; exact in time for samples that are five minutes apart.

    Args:
        rows: How many rows there are at first.
    """

    def __init__(self, rows: int) -> None:
        self._slots = SlotPeaks(_SLOT, _WEEKS * _SLOTS_PER_WEEK, rows)
        self._recent = RecentSamples(NOW, _NOW_SHARE, rows)
        self._largest: Floats = np.zeros(0)
        self.grow(rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        self._slots.grow(rows)
        self._recent.grow(rows)
        self._largest = grown(self._largest, rows, np.nan)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        self._slots.clear(rows)
        self._recent.clear(rows)
        self._largest[rows] = np.nan

    def take(self, step: Step) -> None:
        """Take in samples."""
        self._slots.take(step)
        self._recent.take(step)
        self._largest[step.rows] = np.fmax(self._largest[step.rows], step.largest)

    def estimate(self, moments_seconds: Floats) -> Floats:
        """Return what each row is to expect from its moment on, float64[rows], NaN where nothing was seen."""
        rows = np.arange(len(self._largest))
        coming = self._slots.coming(moments_seconds)
        seen = np.full(len(rows), np.nan)
        for week in range(1, _WEEKS + 1):
            seen = np.fmax(seen, self._slots.peak(rows, coming - week * _SLOTS_PER_WEEK, _SLOTS_PER_HOUR))
        seen = np.where(np.isnan(seen), self._slots.peak(rows, coming - _SLOTS_PER_DAY, _SLOTS_PER_HOUR), seen)
        seen = np.where(np.isnan(seen), self._largest, seen)
        expected: Floats = np.fmax(seen, self._recent.estimate(moments_seconds))
        return expected

    def save(self, row: int) -> JsonObject:
        """Return all that is kept of a row."""
        largest = packed({"largest": self._largest[row : row + 1]})
        return {"slots": dict(self._slots.save(row)), "recent": dict(self._recent.save(row)), **largest}

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        largest = unpacked_amount(saved, "largest")
        self._slots.restore(row, nested(saved, "slots"))
        self._recent.restore(row, nested(saved, "recent"))
        self._largest[row] = largest
