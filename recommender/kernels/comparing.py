"""Samples beside recommendations, counted by buckets (spec: recommender:10, performance:R-1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from recommender.kernels.columns import Floats, Integers, ReadFloats, ReadIntegers, ReadNumbers, readable

_BELOW_CELL: Final = 48
"""Bits of a double below its sign, its exponent and four bits of its fraction, which make up a cell."""

_CELLS: Final = 1 << 16

LANES: Final = 256
"""Sums that are kept side by side: a processor need not wait for one addition to begin the next, and errors of rounding
stay small."""


class Buckets(NamedTuple):
    """Buckets of any numbers, each with an upper end that belongs to it.

    Args:
        ends: float64[k + 1], ascending, the last one infinite.
        first: int16[65536], of the doubles of each cell the first bucket that one of them can lie in.
    """

    ends: ReadFloats
    first: ReadNumbers

    @classmethod
    def ending_at(cls, ends: Sequence[float]) -> Buckets:
        """Return buckets of these ends, and one for all beyond.

        Args:
            ends: Ascending and finite.
        """
        bits = np.arange(_CELLS, dtype=np.uint64) << np.uint64(_BELOW_CELL)
        one_end = bits.view(np.float64)
        other_end = (bits | np.uint64((1 << _BELOW_CELL) - 1)).view(np.float64)
        # The lowest double of a cell; of those without numbers, which no sample meets, what is there does not matter.
        lowest = np.nan_to_num(np.where(np.signbit(one_end), other_end, one_end), nan=-np.inf)
        bounds = np.array([*ends, np.inf])
        first = np.searchsorted(bounds[:-1], lowest, side="left").astype(np.int16)
        return cls(readable(bounds), readable(first))


class Samples(NamedTuple):
    """Samples and what they stand beside.

    Args:
        amounts: int64[n], millicores or bytes.
        rows: int64[n], place of each sample's target.
        targets: float64[rows], above 0 where a sample stands beside it.
        unit: Amounts in one unit of the targets.
    """

    amounts: ReadIntegers
    rows: ReadIntegers
    targets: ReadFloats
    unit: float


class Tallies(NamedTuple):
    """Values that are counted, not kept.

    Args:
        counts: int64[k + 1], how many lie in each bucket.
        sums: float64[LANES], sums of every so manieth value; of differences first those of all that are negative, then
            those of the others, float64[2 * LANES].
        value: float64[LANES], room for values while they are looked at.
        bits: int64[LANES], the same memory.
    """

    counts: Integers
    sums: Floats
    value: Floats
    bits: Integers

    @classmethod
    def empty(cls, buckets: Buckets, lanes: int = LANES) -> Tallies:
        """Return those of no value."""
        value = np.empty(LANES)
        return cls(np.zeros(len(buckets.ends), dtype=np.int64), np.zeros(lanes), value, value.view(np.int64))


def in_lanes(values: Floats) -> Floats:
    """Add up every so manieth value, in order, as a kernel does too.

    Args:
        values: float64[n].

    Returns:
        float64[LANES].
    """
    whole = len(values) // LANES * LANES
    lanes: Floats = np.add.reduce(values[:whole].reshape(-1, LANES), axis=0)
    lanes[: len(values) - whole] += values[whole:]
    return lanes


def compare(
    samples: Samples, buckets: Buckets, differences: Tallies, relative_buckets: Buckets, relative: Tallies
) -> None:
    """Compare samples with their targets, and count the differences.

    Args:
        samples: The samples.
        buckets: Those of differences in the unit of the targets.
        differences: Take in use minus target, by sign.
        relative_buckets: Those of differences by the target.
        relative: Take in use minus target, by the target.
    """
    amounts, rows, targets, unit = samples
    ends, first = buckets
    relative_ends, relative_first = relative_buckets
    for place in range(len(amounts)):
        lane = place & (LANES - 1)
        target = targets[rows[place]]
        difference = amounts[place] / unit - target
        differences.value[lane] = difference
        bucket = int(first[(differences.bits[lane] >> _BELOW_CELL) & (_CELLS - 1)])
        while ends[bucket] < difference:
            bucket += 1
        differences.counts[bucket] += 1
        # Both, for the processor could not foretell which of them.
        differences.sums[lane] += min(difference, 0.0)
        differences.sums[LANES + lane] += max(difference, 0.0)
        difference /= target
        relative.value[lane] = difference
        bucket = int(relative_first[(relative.bits[lane] >> _BELOW_CELL) & (_CELLS - 1)])
        while relative_ends[bucket] < difference:
            bucket += 1
        relative.counts[bucket] += 1
        relative.sums[lane] += difference
