"""Weights into histograms (spec: recommender:1.2, performance:R-1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recommender.kernels.columns import Floats, Numbers, ReadFlags, ReadFloats, ReadIntegers, ReadNumbers


class Histograms(NamedTuple):
    """The columns of a bank.

    Args:
        weights: float64[rows * buckets], one row after the other.
        totals: float64[rows].
        lowest: int16[rows], first bucket that holds epsilon.
        highest: int16[rows], last one.
        buckets: Number of buckets.
        epsilon: Weight below which a bucket counts as empty.
    """

    weights: Floats
    totals: Floats
    lowest: Numbers
    highest: Numbers
    buckets: int
    epsilon: float


class Additions(NamedTuple):
    """What is added to histograms, in this order.

    Args:
        rows: int64[n].
        buckets: int16[n].
        weights: float64[n], as they count at the reference time of the row.
    """

    rows: ReadIntegers
    buckets: ReadNumbers
    weights: ReadFloats


def add(histograms: Histograms, additions: Additions) -> None:
    """Add weights one after the other.

    Args:
        histograms: Changed; their ranges are those of what they hold, before and after.
        additions: None of their rows needs another reference time.
    """
    weights, totals, lowest, highest, buckets, epsilon = histograms
    rows, places, added = additions
    # Hardly any bucket is in the processor's caches. The shorter this loop, the more of them are fetched at a time.
    for turn in range(len(rows)):
        weights[np.uint64(rows[turn] * buckets + places[turn])] += added[turn]
    for turn in range(len(rows)):
        row, bucket = np.uint64(rows[turn]), places[turn]
        totals[row] += added[turn]
        is_outside = bucket < lowest[row] or bucket > highest[row]
        if is_outside and weights[np.uint64(rows[turn] * buckets + bucket)] >= epsilon:
            lowest[row] = min(lowest[row], bucket)
            highest[row] = max(highest[row], bucket)


def add_or_take(histograms: Histograms, changes: Additions, taken: ReadFlags) -> None:
    """Add and take weights one after the other; what falls below epsilon by taking becomes 0.

    Args:
        histograms: Changed; their ranges are those of what they hold, before and after.
        changes: None of their rows needs another reference time.
        taken: bool[n], whether the weight is taken away.
    """
    weights, totals, lowest, highest, buckets, epsilon = histograms
    for turn in range(len(taken)):
        bucket, weight = changes.buckets[turn], changes.weights[turn]
        row, begin = np.uint64(changes.rows[turn]), changes.rows[turn] * buckets
        cell = np.uint64(begin + bucket)
        if not taken[turn]:
            totals[row] += weight
            weights[cell] += weight
            if weights[cell] >= epsilon:
                lowest[row] = min(lowest[row], bucket)
                highest[row] = max(highest[row], bucket)
            continue
        total, left = totals[row] - weight, weights[cell] - weight
        totals[row] = total if total >= epsilon else 0.0
        weights[cell] = left if left >= epsilon else 0.0
        low, high = int(lowest[row]), int(highest[row])
        while low < buckets - 1 and weights[begin + low] < epsilon:
            low += 1
        while high > 0 and weights[begin + high] < epsilon:
            high -= 1
        lowest[row], highest[row] = low, high
