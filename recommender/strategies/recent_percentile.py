"""The largest value that a fading percentile has had in the last hour (spec: quality Q-14)."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.strategies.fading_histogram import Fading, FadingHistogram
from recommender.strategies.interface import JsonObject
from recommender.strategies.packing import nested
from recommender.strategies.recent_maximum import RecentMaximum
from recommender.strategies.steps import Step

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

_HOUR_SECONDS: Final = 3600.0


class RecentPercentile:
    """A percentile of each row, found after every step, and its maximum of the last hour.

    Args:
        fading: How samples count.
        rows: How many rows there are at first.
    """

    def __init__(self, fading: Fading, rows: int) -> None:
        self._histogram = FadingHistogram(fading, rows)
        self._largest = RecentMaximum(_HOUR_SECONDS, rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        self._histogram.grow(rows)
        self._largest.grow(rows)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        self._histogram.clear(rows)
        self._largest.clear(rows)

    def take(self, step: Step) -> None:
        """Take in samples, and note the percentile after them."""
        self._histogram.add(step)
        self._largest.add(step.rows, step.seconds, self._histogram.percentile(step.rows))

    def estimate(self, moments_seconds: Floats) -> Floats:
        """Return the maximum of each row at its moment, float64[rows], NaN where nothing was seen.

        Where nothing came in the last hour, the percentile is what it was.
        """
        largest = self._largest.estimate(moments_seconds)
        return np.fmax(largest, self._histogram.percentile(np.arange(len(largest))))

    def save(self, row: int) -> JsonObject:
        """Return all that is kept of a row."""
        return {"histogram": dict(self._histogram.save(row)), "largest": dict(self._largest.save(row))}

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        self._histogram.restore(row, nested(saved, "histogram"))
        self._largest.restore(row, nested(saved, "largest"))
