"""Samples beside recommendations, counted by buckets (spec: recommender:10, performance:R-1)."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import numpy as np

from recommender.kernels.columns import Floats, Integers, ReadFloats, ReadIntegers, ReadNumbers, Words, readable

_BELOW_CELL: Final = np.uint64(48)
"""Bits of a double below its sign, its exponent and four bits of its fraction, which make up a cell."""

_CELLS: Final = 1 << 16

LANES: Final = 256
"""Sums that are kept side by side: a processor need not wait for one addition to begin the next, and errors of rounding
stay small."""


class Buckets(NamedTuple):
    """Buckets of any numbers, each with an upper end that belongs to it.

    Args:
        ends: float64[k + 1], ascending, the last one infinite.
        first: int16[65536], of the doubles of each cell the first bucket that one of them can lie in; they lie in that
            one or in the next.
    """

    ends: ReadFloats
    first: ReadNumbers

    @staticmethod
    @cache
    def ending_at(ends: tuple[float, ...]) -> Buckets:
        """Return buckets of these ends, and one for all beyond; the same object for the same ends.

        Args:
            ends: Ascending and finite, at least a sixteenth from one to the next.

        Raises:
            ValueError: Two ends lie so near to each other that a cell holds both.
        """
        bits = np.arange(_CELLS, dtype=np.uint64) << _BELOW_CELL
        one_end = bits.view(np.float64)
        other_end = (bits | ((np.uint64(1) << _BELOW_CELL) - np.uint64(1))).view(np.float64)
        # No sample meets the cells without numbers.
        lowest = np.nan_to_num(np.fmin(one_end, other_end), nan=-np.inf, neginf=-np.inf, posinf=np.inf)
        highest = np.nan_to_num(np.fmax(one_end, other_end), nan=-np.inf, neginf=-np.inf, posinf=np.inf)
        bounds = np.array([*ends, np.inf])
        first, last = (np.searchsorted(bounds[:-1], doubles, side="left") for doubles in (lowest, highest))
        crowded = np.flatnonzero(last > first + 1)
        if len(crowded):
            near = bounds[first[crowded[0]] :][:2].tolist()
            raise ValueError(f"buckets that end at {near[0]} and at {near[1]} are told apart by too few bits")
        return Buckets(readable(bounds), readable(first.astype(np.int16)))


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


class Groups(NamedTuple):
    """Samples that stand beside the same target.

    Args:
        rows: int64[n], place of each group's target.
        times: int64[n], how many samples it has.
    """

    rows: ReadIntegers
    times: ReadIntegers


class Tallies(NamedTuple):
    """Values that are counted, not kept.

    Args:
        counts: int64[k + 1], how many lie in each bucket.
        sums: float64[LANES], sums of every so manieth value; of differences first those of all that are negative, then
            those of the others, float64[2 * LANES].
        values: float64[LANES], room for values while they are looked at.
        words: uint64[LANES], the same memory.
    """

    counts: Integers
    sums: Floats
    values: Floats
    words: Words

    @classmethod
    def empty(cls, buckets: Buckets, lanes: int = LANES) -> Tallies:
        """Return those of no value."""
        values = np.empty(LANES)
        return cls(np.zeros(len(buckets.ends), dtype=np.int64), np.zeros(lanes), values, values.view(np.uint64))


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
    # In short loops, each of which does several lanes at once or never has to guess what comes next.
    for begin in range(0, len(amounts), LANES):
        count = min(LANES, len(amounts) - begin)
        for lane in range(count):
            differences.values[lane] = amounts[begin + lane]
            relative.values[lane] = targets[np.uint64(rows[begin + lane])]
        if unit != 1.0:
            for lane in range(count):
                differences.values[lane] /= unit
        for lane in range(count):
            differences.values[lane] -= relative.values[lane]
            relative.values[lane] = differences.values[lane] / relative.values[lane]
        for lane in range(count):
            differences.sums[lane] += min(differences.values[lane], 0.0)
            differences.sums[LANES + lane] += max(differences.values[lane], 0.0)
            relative.sums[lane] += relative.values[lane]
        for lane in range(count):
            bucket = np.uint64(first[differences.words[lane] >> _BELOW_CELL])
            differences.counts[bucket + np.uint64(ends[bucket] < differences.values[lane])] += 1
            bucket = np.uint64(relative_first[relative.words[lane] >> _BELOW_CELL])
            relative.counts[bucket + np.uint64(relative_ends[bucket] < relative.values[lane])] += 1


def count_repeated(targets: ReadFloats, groups: Groups, buckets: Buckets, found: Tallies) -> None:
    """Count the targets of groups of samples, each as often as its group has samples.

    Args:
        targets: float64[rows].
        groups: Where the target of each group is, and how many samples it has.
        buckets: Those of the targets.
        found: Take in the targets.
    """
    ends, first = buckets
    rows, times = groups
    for place in range(len(rows)):
        lane = place & (LANES - 1)
        target = targets[np.uint64(rows[place])]
        found.values[lane] = target
        bucket = np.uint64(first[found.words[lane] >> _BELOW_CELL])
        found.counts[bucket + np.uint64(ends[bucket] < target)] += times[place]
        found.sums[lane] += target * times[place]
