from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recommender.instants import LATEST, LATEST_MOMENT, NEVER, elapsed, instant, moment, nanoseconds, rounded
from tests.builders import T0
from tests.recommender.scene import DAY, HOUR, SECOND, integers


def test_moments_become_nanoseconds_and_come_back() -> None:
    assert instant(T0) == 1_767_225_600 * 10**9
    assert moment(instant(T0 + timedelta(microseconds=7))) == T0 + timedelta(microseconds=7)
    assert instant(None) == NEVER
    assert moment(NEVER) is None


def test_moments_beyond_the_range_are_the_nearest_in_it() -> None:
    """Spec: recommender:0."""
    assert instant(datetime.min.replace(tzinfo=UTC)) == NEVER + 1
    assert instant(datetime.max.replace(tzinfo=UTC)) == LATEST_MOMENT == instant(datetime(2100, 1, 1, tzinfo=UTC))
    assert nanoseconds(timedelta.max) == LATEST
    assert nanoseconds(timedelta.min) == NEVER


@pytest.mark.parametrize(
    ("at", "step", "expected"),
    [
        (T0, DAY, T0),
        (T0 + 12 * HOUR - SECOND, DAY, T0),
        (T0 + 12 * HOUR, DAY, T0 + DAY),
        (T0 + 18 * HOUR, DAY, T0 + DAY),
        (datetime(1969, 12, 31, 11, 59, tzinfo=UTC), DAY, datetime(1969, 12, 31, tzinfo=UTC)),
        (datetime(1969, 12, 31, 12, tzinfo=UTC), DAY, datetime(1970, 1, 1, tzinfo=UTC)),
        # The start of year 1 was a Monday.
        (datetime(2026, 1, 7, tzinfo=UTC), 7 * DAY, datetime(2026, 1, 5, tzinfo=UTC)),
        (datetime(2026, 1, 9, tzinfo=UTC), 7 * DAY, datetime(2026, 1, 12, tzinfo=UTC)),
    ],
)
def test_rounding_counts_from_the_start_of_year_one(at: datetime, step: timedelta, expected: datetime) -> None:
    """Spec: recommender:1.3."""
    assert moment(int(rounded(integers(instant(at)), nanoseconds(step))[0])) == expected


@given(st.integers(-(2**61), 2**61), st.integers(1, 2**59))
def test_rounding_finds_the_nearest_multiple(at: int, step: int) -> None:
    offset = 62_135_596_800 * 10**9
    found = int(rounded(integers(at), step)[0])
    assert (found + offset) % step == 0
    assert -step < 2 * (at - found) < step or 2 * (found - at) == step


@pytest.mark.parametrize(
    ("later", "earlier", "expected"),
    [
        (5, 3, 2),
        (3, 5, -2),
        (NEVER, NEVER, 0),
        (5, NEVER, LATEST),
        (NEVER, 5, NEVER),
        (LATEST, -5, LATEST),
        (NEVER + 1, 5, NEVER),
    ],
)
def test_time_between_instants_does_not_overflow(later: int, earlier: int, expected: int) -> None:
    assert elapsed(integers(later), integers(earlier)).tolist() == [expected]
