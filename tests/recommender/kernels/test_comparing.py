"""Buckets as kernels look them up, and sums as they build them (recommender:10)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.kernels.comparing import LANES, Buckets, in_lanes
from recommender.shell.metrics import CPU_BUCKETS_CORES, MEMORY_BUCKETS_BYTES, RELATIVE_BUCKETS

CELL = 48


@pytest.mark.parametrize(
    ("row", "ends"),
    [
        ("recommender:10", RELATIVE_BUCKETS),
        ("recommender:10", CPU_BUCKETS_CORES.ends),
        ("recommender:10", tuple(CPU_BUCKETS_CORES.buckets.ends[:-1].tolist())),
        ("recommender:10", tuple(MEMORY_BUCKETS_BYTES.buckets.ends[:-1].tolist())),
    ],
)
def test_no_double_lies_before_the_first_bucket_of_its_cell(row: str, ends: tuple[float, ...]) -> None:
    """It is the bucket of every double of the cell, or the next one is."""
    buckets = Buckets.ending_at(ends)
    for end in (*ends, 0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308):
        for value in (end, math.nextafter(end, -math.inf), math.nextafter(end, math.inf)):
            first = int(buckets.first[int(np.float64(value).view(np.uint64)) >> CELL])
            bucket = sum(each < value for each in ends)
            assert first <= bucket <= first + 1, (row, value)
            assert buckets.ends[bucket] >= value, (row, value)


@pytest.mark.parametrize("ends", [(1.0, 1.0625), (-1.0625, -1.0), (0.0, 1e-300, 1.0)])
def test_ends_that_lie_far_enough_apart_are_told_apart(ends: tuple[float, ...]) -> None:
    assert Buckets.ending_at(ends).ends.tolist() == [*ends, math.inf]


@pytest.mark.parametrize("ends", [(1.0, 1.03), (-1.05, -1.03), (1.01, 1.05, 2.0)])
def test_ends_that_lie_too_near_to_each_other_are_refused(ends: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=f"end at {ends[0]} and at {ends[1]} are told apart by too few bits"):
        Buckets.ending_at(ends)


@given(st.lists(st.floats(-1e9, 1e9), max_size=3 * LANES))
def test_each_lane_adds_up_its_values_in_order(values: list[float]) -> None:
    expected = [0.0] * LANES
    for place, value in enumerate(values):
        expected[place % LANES] += value
    assert in_lanes(np.array(values, dtype=np.float64)).tolist() == expected
