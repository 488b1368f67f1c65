"""Values counted by buckets whose ends double (recommender:10)."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.doubling_buckets import DoublingBuckets, Tally
from tests.recommender.scene import integers

BUCKETS = DoublingBuckets(0.01, 17)
NEAR_ENDS = [value for end in BUCKETS.ends for value in (end, math.nextafter(end, 0.0), math.nextafter(end, math.inf))]
MAGNITUDES = st.floats(0.0, 1e300) | st.floats(0.0, 1000.0) | st.sampled_from([0.0, 5e-324, *NEAR_ENDS])


def counted(values: list[float]) -> list[int]:
    """Count values by comparing each with each end."""
    return [*(sum(value <= end for value in values) for end in BUCKETS.ends), len(values)]


def shown(tally: Tally) -> list[int]:
    """Return the counts of a tally."""
    return [int(count) for count in tally.counts]


@given(st.lists(st.tuples(MAGNITUDES, st.booleans())))
def test_values_are_counted_by_sign_as_comparisons_count_them(signed: list[tuple[float, bool]]) -> None:
    values = [-value if is_negative and value > 0.0 else value for value, is_negative in signed]
    below, above = BUCKETS.by_sign(np.array(values, dtype=np.float64))
    assert shown(below) == counted([-value for value in values if value < 0.0])
    assert shown(above) == counted([value for value in values if value >= 0.0])
    assert below.total == pytest.approx(math.fsum(-value for value in values if value < 0.0))
    assert above.total == pytest.approx(math.fsum(value for value in values if value >= 0.0))


@given(st.lists(st.tuples(MAGNITUDES, st.integers(1, 9))))
def test_repeated_values_count_as_often_as_they_occur(pairs: list[tuple[float, int]]) -> None:
    values = np.array([value for value, _ in pairs], dtype=np.float64)
    tally = BUCKETS.repeated(values, integers(*(times for _, times in pairs)))
    spread = [value for value, times in pairs for _ in range(times)]
    assert shown(tally) == counted(spread)
    assert tally.total == pytest.approx(math.fsum(spread))


@pytest.mark.parametrize(("row", "first"), [("recommender:10", 0.01), ("recommender:10", 1e6)])
def test_each_end_is_twice_the_one_before(row: str, first: float) -> None:
    ends = DoublingBuckets(first, 17).ends
    assert ends[0] == first, row
    assert [later / earlier for earlier, later in pairwise(ends)] == [2.0] * 16
