"""The largest amount of CPU in slots of time (spec: quality Q-15, Q-18)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.strategies.slots import Plane, SlotForm, SlotRing
from recommender.strategies.steps import Step

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_MILLIONTHS: Final = 1e6
_TINY: Final = 1e-3
_MOST: Final = 2.0**32 - 2.0


class SlotPeaks(SlotRing):
    """The peaks of each row, each kept in millionths of a core and one more; 0 is none.

    Args:
        slot_seconds: Length of a slot.
        room: How many slots are kept.
        rows: How many rows there are at first.
    """

    def __init__(self, slot_seconds: int, room: int, rows: int) -> None:
        super().__init__(SlotForm(slot_seconds, room, (Plane("peaks", np.maximum, np.uint32),)), rows)

    def take(self, step: Step) -> None:
        """Take in samples."""
        kept = np.minimum(np.ceil(step.largest * _MILLIONTHS - _TINY), _MOST).astype(np.uint32) + np.uint32(1)
        self.add(step.rows, step.seconds, (kept,))

    def coming(self, moments_seconds: Floats) -> Integers:
        """Return the first slot that begins at each moment or after it, int64[n]."""
        return self._form.slots(moments_seconds) + 1

    def peak(self, rows: Integers, begin: Integers, count: int) -> Floats:
        """Return the largest amount of some slots in a row, float64[n], NaN where there is none.

        Args:
            rows: int64[n].
            begin: int64[n], the first slot for each.
            count: How many slots.
        """
        (peaks,) = self.window(rows, begin, count)
        largest = peaks.astype(np.float64).max(axis=1)
        return np.where(largest > 0.0, (largest - 1.0) / _MILLIONTHS, np.nan)
