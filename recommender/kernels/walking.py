"""Percentiles of histograms (spec: recommender:1.2, performance:R-3)."""

from __future__ import annotations

from typing import NamedTuple

from recommender.kernels.columns import Floats, ReadFloats, ReadIntegers
from recommender.kernels.folding import Histograms


class Shares(NamedTuple):
    """Which percentiles.

    Args:
        shares: float64[k], shares of the weight, ascending.
        places: int64[k], row of the result that each belongs to.
    """

    shares: ReadFloats
    places: ReadIntegers


def walk(histograms: Histograms, rows: ReadIntegers, shares: Shares, ends: ReadFloats, found: Floats) -> None:
    """Find the end of the bucket below which shares of each row's weight lie.

    Args:
        histograms: The bank.
        rows: int64[n].
        shares: The shares.
        ends: float64[buckets], what a percentile in a bucket is.
        found: float64[k * n], one share after the other; receives percentiles, and stays as it is where a row is empty.
    """
    weights, totals, lowest, highest, buckets, epsilon = histograms
    count = len(rows)
    for place in range(count):
        row = rows[place]
        bucket, last, begin = lowest[row], highest[row], row * buckets
        if weights[begin + bucket] < epsilon:
            continue
        reached = weights[begin + bucket]
        for turn in range(len(shares.shares)):
            limit = shares.shares[turn] * totals[row]
            while bucket < last and reached < limit:
                bucket += 1
                reached += weights[begin + bucket]
            found[shares.places[turn] * count + place] = ends[bucket]
