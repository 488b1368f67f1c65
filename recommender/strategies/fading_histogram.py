"""A percentile of amounts whose weight halves with time, in logarithmic buckets of 2 % (spec: quality Q-14).

The percentile's bucket is followed from sample to sample: how much weight lies above it is known, and it moves until
that is right again. Weights are relative to a moment of their row, which moves in whole half-lives, so that nothing but
their exponents changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender.rows import doubled, grown
from recommender.strategies.interface import JsonObject
from recommender.strategies.packing import Forms, packed, unpacked
from recommender.strategies.steps import Step

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

GROWTH: Final = 1.02
"""Each bucket ends so many times higher than the one below."""

MOST_BUCKETS: Final = 768
"""The last one ends four million times higher than the first; larger amounts count as if they were in it."""

_FIRST_WIDTH: Final = 64
_MOST_HALF_LIVES: Final = 64.0
_TINY: Final = 1e-9
"""Share of the weight that counts for nothing: what sums of floats are off by."""

_FORMS: Final[Forms] = {"weights": np.float64, "reference": np.float64}


@dataclass(frozen=True, slots=True)
class Fading:
    """How amounts count.

    Args:
        half_life_seconds: After which a weight is half of what it was.
        share: 0.95 for the 95th percentile.
        first_end: Where the first bucket ends, in the unit of the amounts.
    """

    half_life_seconds: float
    share: float
    first_end: float


class FadingHistogram:
    """The histogram of each row.

    Args:
        fading: How amounts count.
        rows: How many rows there are at first.
    """

    def __init__(self, fading: Fading, rows: int) -> None:
        self._fading = fading
        self._weights: Floats = np.zeros((0, _FIRST_WIDTH))
        self._total: Floats = np.zeros(0)
        self._reference: Floats = np.zeros(0)
        self._bucket: Integers = np.zeros(0, dtype=np.int64)
        self._above: Floats = np.zeros(0)
        self.grow(rows)

    def grow(self, rows: int) -> None:
        """Have this many rows."""
        self._weights, self._bucket = grown(self._weights, rows, 0), grown(self._bucket, rows, 0)
        self._total, self._above = grown(self._total, rows, 0), grown(self._above, rows, 0)
        self._reference = grown(self._reference, rows, 0)

    def clear(self, rows: Integers) -> None:
        """Forget all that rows have seen."""
        self._weights[rows] = 0.0
        self._total[rows] = self._above[rows] = 0.0
        self._bucket[rows] = 0

    def add(self, step: Step) -> None:
        """Take in samples; each weighs as long as it stands for."""
        is_new = self._total[step.rows] == 0.0
        self._move_references(step.rows, step.seconds)
        samples = step.samples
        ages = (samples.seconds - self._reference[samples.rows]) / self._fading.half_life_seconds
        weights = samples.durations * np.exp2(ages)
        buckets = self._buckets(samples.amounts)
        self._widen(int(buckets.max()))
        np.add.at(self._weights, (samples.rows, buckets), weights)
        np.add.at(self._total, samples.rows, weights)
        np.add.at(self._above, samples.rows, np.where(buckets > self._bucket[samples.rows], weights, 0.0))
        self._find(step.rows[is_new])
        self._follow(step.rows[~is_new])

    def percentile(self, rows: Integers) -> Floats:
        """Return where the percentile's bucket of some rows ends, float64[n], NaN where nothing was seen."""
        ends = self._fading.first_end * GROWTH ** self._bucket[rows].astype(np.float64)
        return np.where(self._total[rows] > 0.0, ends, np.nan)

    def _buckets(self, amounts: Floats) -> Integers:
        """Return the bucket of each amount; its end belongs to it."""
        ratios = np.maximum(amounts / self._fading.first_end, 1.0)
        found: Floats = np.minimum(np.ceil(np.log(ratios) / np.log(GROWTH) - _TINY), MOST_BUCKETS - 1)
        return found.astype(np.int64)

    def _move_references(self, rows: Integers, seconds: Floats) -> None:
        """Keep weights within what floats can hold."""
        empty = self._total[rows] == 0.0
        self._reference[rows[empty]] = seconds[empty]
        ages = np.floor((seconds - self._reference[rows]) / self._fading.half_life_seconds)
        is_far = ages > _MOST_HALF_LIVES
        far, ages = rows[is_far], ages[is_far]
        if not len(far):
            return
        self._weights[far] *= np.exp2(-ages)[:, np.newaxis]
        self._reference[far] += ages * self._fading.half_life_seconds
        self._find(far)

    def _find(self, rows: Integers) -> None:
        """Add the weights up anew and look for the percentile among all buckets."""
        weights = self._weights[rows]
        totals = weights.sum(axis=1)
        # What weighs next to nothing is nothing, and its row begins again with the next sample.
        totals[totals < np.finfo(np.float64).tiny] = 0.0
        above = np.cumsum(weights[:, :0:-1], axis=1)[:, ::-1]
        buckets = np.count_nonzero(above > self._most_above(totals)[:, np.newaxis], axis=1)
        above = np.append(above, np.zeros((len(rows), 1)), axis=1)
        self._total[rows], self._bucket[rows], self._above[rows] = totals, buckets, above[np.arange(len(rows)), buckets]

    def _most_above(self, totals: Floats) -> Floats:
        """Return how much weight may lie above the percentile's bucket."""
        return (1.0 - self._fading.share + _TINY) * totals

    def _follow(self, rows: Integers) -> None:
        """Move to the lowest bucket above which no more than the rest of the weight lies."""
        most = self._most_above(self._total[rows])
        up, highest = rows, most
        while (is_more := self._above[up] > highest).any():
            up, highest = up[is_more], highest[is_more]
            self._bucket[up] += 1
            self._above[up] = np.maximum(self._above[up] - self._weights[up, self._bucket[up]], 0.0)
        down, highest = rows, most
        while len(down):
            with_own = self._above[down] + self._weights[down, self._bucket[down]]
            is_less = (with_own <= highest) & (self._bucket[down] > 0)
            down, highest = down[is_less], highest[is_less]
            self._above[down] = with_own[is_less]
            self._bucket[down] -= 1

    def _widen(self, bucket: int) -> None:
        """Have at least so many buckets, and one more."""
        width = self._weights.shape[1]
        if bucket >= width - 1:
            wider = np.zeros((len(self._weights), doubled(width, bucket + 2)))
            wider[:, :width] = self._weights
            self._weights = wider

    def save(self, row: int) -> JsonObject:
        """Return the weights of a row."""
        used = np.flatnonzero(self._weights[row])
        weights = self._weights[row, : used[-1] + 1] if len(used) else np.zeros(0)
        return packed({"weights": weights, "reference": self._reference[row : row + 1]})

    def restore(self, row: int, saved: JsonObject) -> None:
        """Let a row that has seen nothing go on from what was saved.

        Raises:
            ValueError: It is nothing that ``save`` returns.
        """
        found = unpacked(saved, _FORMS)
        weights, reference = found["weights"].astype(np.float64), found["reference"].astype(np.float64)
        if len(weights) > MOST_BUCKETS or len(reference) != 1:
            raise ValueError("saved state of a row: a histogram has too many buckets, or no reference")
        if not (np.isfinite(weights).all() and np.isfinite(reference).all()) or (weights < 0.0).any():
            raise ValueError("saved state of a row: a histogram has impossible weights")
        self._widen(len(weights))
        self._weights[row, : len(weights)], self._reference[row] = weights, reference[0]
        self._find(np.array([row]))
