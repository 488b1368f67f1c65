"""Value to bucket and back, for one exponential scheme.

The bucket of a value comes from two logarithms and a division, which is not the inverse of the bucket's start: the
start of bucket b (from 2 on) itself falls into bucket b-1. So a value is never searched for among the starts. Amounts
are whole numbers, for which the smallest amount of each bucket is found once, by that same division; every later
look-up is a comparison of integers.

Spec: recommender 1.1, Appendix B.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recommender import floats
from recommender.amounts import MILLICORES_PER_CORE, Floats, Integers, truncated

Numbers = NDArray[np.int16]
"""Numbers of buckets: narrow ones are looked up and compared several times faster than int64."""

_CELLS_PER_OCTAVE_BITS: Final = 7
"""An octave is cut into 128 cells, each less than 1 % wide, so that a cell meets at most one edge of 5 %."""

_CELL_SHIFT: Final = 52 - _CELLS_PER_OCTAVE_BITS
_FIRST_CELL: Final = 1023 << _CELLS_PER_OCTAVE_BITS
_OCTAVES: Final = 48
_SMALL: Final = 1 << 20
_LARGEST: Final = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class BucketScheme:
    """Exponentially growing buckets over the values of one resource.

    Attributes:
        first: Size of bucket 0, in cores or bytes.
        growth: Ratio of the sizes of neighbouring buckets.
        amounts_per_unit: Amounts in one unit: 1000 millicores in a core, 1 byte in a byte.
        epsilon: Weight below which a bucket counts as empty.
        starts: float64[buckets], the lower edges, in cores or bytes.
        ends: float64[buckets], what a percentile in the bucket returns: the next start, and the last start again.
        largest: int64[buckets], the largest amount that lies in each bucket; in the last one the largest of all.
        cells: int64[cells], bucket of the lowest amount of each look-up cell.
        small: int16[amounts], bucket of every amount, if one table can hold them all; else empty.
    """

    first: float
    growth: float
    amounts_per_unit: float
    epsilon: float
    starts: Floats
    ends: Floats
    largest: Integers
    cells: Integers
    small: Numbers

    @classmethod
    def exponential(
        cls, *, first: float, maximum: float, growth: float, epsilon: float, amounts_per_unit: float
    ) -> BucketScheme:
        """Lay out the buckets and the integer look-up tables.

        Args:
            first: Size of bucket 0, in cores or bytes.
            maximum: A value that must not lie beyond the last bucket.
            growth: Ratio of the sizes of neighbouring buckets.
            epsilon: Weight below which a bucket counts as empty.
            amounts_per_unit: Amounts in one unit of the values.
        """
        step = growth - 1.0
        count = math.ceil(floats.log(maximum * step / first + 1.0) / floats.log(growth)) + 1
        powers = np.array([floats.power(growth, float(b)) for b in range(1, count)])
        starts = np.concatenate(([0.0], first * (powers - 1.0) / step))
        ends = np.concatenate((starts[1:], starts[-1:]))
        unfinished = cls(first, growth, amounts_per_unit, epsilon, starts, ends, _none(), _none(), _small(_none()))
        largest = unfinished._find_largest_amounts()
        cells = np.searchsorted(largest, _lowest_amounts_of_cells(), side="left").astype(np.int64)
        small = _small(largest)
        for table in (starts, ends, largest, cells, small):
            table.flags.writeable = False
        return cls(first, growth, amounts_per_unit, epsilon, starts, ends, largest, cells, small)

    @property
    def count(self) -> int:
        """Number of buckets."""
        return len(self.starts)

    @property
    def edge_amounts(self) -> Integers:
        """int64[buckets], the lower edges as amounts (millicores or bytes)."""
        return truncated(self.starts * self.amounts_per_unit)

    def bucket_of_values(self, values: Floats) -> Integers:
        """Return the bucket of any values.

        Args:
            values: float64[...], cores or bytes, at least 0.

        Returns:
            int64[...] of the same shape, 0 to ``count - 1``. Empty in, empty out.
        """
        position = floats.log_each(values * (self.growth - 1.0) / self.first + 1.0) / floats.log(self.growth)
        buckets = np.minimum(position.astype(np.int64), self.count - 1)
        return np.where(values < self.first, 0, buckets)

    def bucket_of_amounts(self, amounts: Integers) -> Numbers:
        """Return the bucket of whole amounts; the same as of their values, in a tenth of the time.

        Args:
            amounts: int64[...], millicores or bytes, at least 0.

        Returns:
            int16[...] of the same shape, 0 to ``count - 1``. Empty in, empty out.
        """
        if len(self.small):
            return self.small.take(amounts, mode="clip")
        cell = (amounts.astype(np.float64).view(np.int64) >> _CELL_SHIFT) - _FIRST_CELL
        bucket = self.cells.take(cell, mode="clip")
        bucket += amounts > self.largest.take(bucket)
        return bucket.astype(np.int16)

    def _find_largest_amounts(self) -> Integers:
        """Bisect for the largest amount in each bucket."""
        low = np.zeros(self.count - 1, dtype=np.int64)
        high = np.full(self.count - 1, 1 << _OCTAVES, dtype=np.int64)
        wanted = np.arange(1, self.count)
        while np.any(high - low > 1):
            middle = (low + high) // 2
            reached = self.bucket_of_values(middle / self.amounts_per_unit) >= wanted
            high = np.where(reached, middle, high)
            low = np.where(reached, low, middle)
        return np.append(low, _LARGEST)


def _none() -> Integers:
    return np.empty(0, dtype=np.int64)


def _small(largest: Integers) -> Numbers:
    """Return the bucket of every amount up to the first of the last bucket, if these are few."""
    if not len(largest) or largest[-2] >= _SMALL:
        return np.empty(0, dtype=np.int16)
    return np.searchsorted(largest, np.arange(largest[-2] + 2), side="left").astype(np.int16)


def _lowest_amounts_of_cells() -> NDArray[np.int64]:
    """Return the smallest whole amount of each look-up cell, from 1 upward."""
    bits = (np.arange(_OCTAVES << _CELLS_PER_OCTAVE_BITS, dtype=np.int64) + _FIRST_CELL) << _CELL_SHIFT
    return np.ceil(bits.view(np.float64)).astype(np.int64)


CPU_BUCKETS: Final = BucketScheme.exponential(
    first=0.01,
    maximum=1000.0,
    growth=1.0 + 0.05,
    epsilon=0.001 * 0.1,
    amounts_per_unit=MILLICORES_PER_CORE,
)
"""176 buckets from 10 millicores to 1000 cores."""

MEMORY_BUCKETS: Final = BucketScheme.exponential(
    first=1e7,
    maximum=1e12,
    growth=1.0 + 0.05,
    epsilon=0.001 * 0.1,
    amounts_per_unit=1.0,
)
"""176 buckets from 10 MB to 1 TB."""
