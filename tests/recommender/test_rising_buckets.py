"""Values counted by buckets with any ends (recommender:10)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.kernels.comparing import LANES
from recommender.rising_buckets import RisingBuckets
from recommender.shell.metrics import RELATIVE_BUCKETS

BUCKETS = RisingBuckets(RELATIVE_BUCKETS)
NEAR_ENDS = [value for end in RELATIVE_BUCKETS for value in (end, math.nextafter(end, -9), math.nextafter(end, 999))]
VALUES = st.lists(st.floats(-2.0, 200.0) | st.sampled_from(NEAR_ENDS), min_size=1, max_size=60)


@given(VALUES)
def test_values_are_counted_as_comparisons_count_them(values: list[float]) -> None:
    tally = BUCKETS.tally(np.array(values))
    expected = [*(sum(value <= end for value in values) for end in RELATIVE_BUCKETS), len(values)]
    assert tally.counts.tolist() == expected
    assert tally.total == pytest.approx(math.fsum(values))


def test_what_kernels_counted_bucket_by_bucket_is_summed_up() -> None:
    buckets = RisingBuckets((-1.0, 0.5))
    tally = buckets.tally_of(np.array([2, 0, 3]), np.array([0.5] * LANES))
    assert tally.counts.tolist() == [2, 2, 5]
    assert tally.total == LANES / 2
