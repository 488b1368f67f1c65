"""Times and durations that objects state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoscaling.stated_times import stated_duration, stated_time
from tests.builders import T0


@pytest.mark.parametrize(
    ("row", "seconds", "days"),
    [
        ("beyond:B-32", 86400, 1),
        ("beyond:B-32", -86400, -1),
        ("beyond:B-32", 10**30, 36600),
        ("beyond:B-32", -(10**30), -36600),
        ("beyond:B-32", 2**31 - 1, (2**31 - 1) / 86400),
    ],
)
def test_a_duration_has_a_hundred_years_at_most(row: str, seconds: int, days: float) -> None:
    assert stated_duration(seconds) == timedelta(days=days), row


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (None, None),
        (T0, T0),
        (datetime(2026, 1, 1), T0),  # noqa: DTZ001 - as it may stand in an object
        (datetime.max.replace(tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)),
        (datetime.min.replace(tzinfo=UTC), datetime(1000, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_time_can_be_reckoned_with(stated: datetime | None, expected: datetime | None) -> None:
    assert stated_time(stated) == expected


@given(st.datetimes(), st.integers())
def test_any_duration_can_be_added_to_any_time(stated: datetime, seconds: int) -> None:
    moment = stated_time(stated)
    assert moment is not None
    assert (moment + stated_duration(seconds)).tzinfo is UTC
    assert (moment - stated_duration(seconds)).tzinfo is UTC
