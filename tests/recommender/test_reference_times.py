from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recommender.floats import exp2
from recommender.instants import NEVER, SECOND, instant
from recommender.reference_times import ReferenceTimes, Span
from tests.builders import T0
from tests.recommender.scene import DAY, HOUR, integers

HALF_LIFE = 86400 * SECOND


def times(*references: int, capacity: int = 8) -> ReferenceTimes:
    """Return the reference times of the first rows."""
    found = ReferenceTimes(HALF_LIFE, capacity)
    found[np.arange(len(references))] = integers(*references)
    return found


def test_rows_without_a_reference_time_have_none() -> None:
    found = times(5, 7)
    assert found[integers(1, 0, 3)].tolist() == [7, 5, NEVER]
    assert found.column().tolist() == [5, 7, *[NEVER] * 6]


def test_equal_reference_times_have_one_number() -> None:
    found = times(5, 7, 5)
    found[integers(4, 5)] = integers(7, NEVER)
    assert len(found.distinct) == 3
    assert found.numbers[integers(0, 4)].tolist() == found.numbers[integers(2, 1)].tolist()
    assert found.numbers[5] == 0


def test_new_rows_have_none() -> None:
    found = times(5, capacity=1)
    found.reserve(3)
    assert found.column().tolist() == [5, NEVER, NEVER]


@pytest.mark.parametrize(
    ("after", "expected"), [(2 * DAY, None), (2 * DAY + timedelta(microseconds=1), [False, True, True]), (-HOUR, None)]
)
def test_only_what_lies_more_than_the_age_before_is_older(after: timedelta, expected: list[bool] | None) -> None:
    found = times(instant(T0 + DAY), instant(T0))
    numbers = found.numbers[integers(0, 1, 1)]
    older = found.are_older(numbers, Span.of(np.full(3, instant(T0 + after))), 2 * HALF_LIFE)
    assert (older if older is None else older.tolist()) == expected


def test_never_is_older_than_any_age() -> None:
    found = times(instant(T0))
    older = found.are_older(found.numbers[integers(0, 1)], Span.of(np.full(2, instant(T0))), 2**62)
    assert older is not None
    assert older.tolist() == [False, True]


def test_an_old_reference_met_only_by_early_instants_is_not_older() -> None:
    found = times(instant(T0), instant(T0 + DAY))
    instants = integers(instant(T0), instant(T0 + DAY))
    assert found.are_older(found.numbers[integers(0, 1)], Span.of(instants), HALF_LIFE // 2) is None


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=200),
    st.integers(0, 40),
    st.sampled_from([SECOND, SECOND // 2, 60 * SECOND, HALF_LIFE]),
)
def test_growth_is_the_same_bits_whether_computed_for_each_pair_or_each_sample(
    rows: list[int], spread: int, step: int
) -> None:
    references = [instant(T0 + 17 * n * DAY) for n in range(4)]
    found = times(*references)
    instants = integers(*(instant(T0 + DAY) + place * 7 % (spread + 1) * step for place in range(len(rows))))
    growth = found.growth(found.numbers[integers(*rows)], Span.of(instants))
    expected = [exp2((at - references[row]) / HALF_LIFE) for row, at in zip(rows, instants.tolist(), strict=True)]
    assert growth.tolist() == expected
