"""Schedules of five fields."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.simulator.controllers.cron_schedule import CronSchedule, ScheduleError

THURSDAY = datetime(2026, 1, 1, tzinfo=UTC)


def moments(text: str, zone: str = "", count: int = 3, start: datetime = THURSDAY) -> list[str]:
    schedule, moment, found = CronSchedule(text, zone), start, list[str]()
    for _ in range(count):
        following = schedule.after(moment)
        if following is None:
            break
        moment = following
        found.append(moment.strftime("%a %m-%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("row", "text", "expected"),
    [
        ("every five minutes", "*/5 * * * *", ["Thu 01-01 00:05", "Thu 01-01 00:10", "Thu 01-01 00:15"]),
        ("0 is Sunday", "0 3 * * 0", ["Sun 01-04 03:00", "Sun 01-11 03:00", "Sun 01-18 03:00"]),
        ("days by name", "0 3 * * Sat,mon", ["Sat 01-03 03:00", "Mon 01-05 03:00", "Sat 01-10 03:00"]),
        ("a range of days", "0 0 * * 5-6", ["Fri 01-02 00:00", "Sat 01-03 00:00", "Fri 01-09 00:00"]),
        ("a range from Sunday on", "0 0 * * sun-mon", ["Sun 01-04 00:00", "Mon 01-05 00:00", "Sun 01-11 00:00"]),
        ("every second day of the week", "0 0 * * */2", ["Sat 01-03 00:00", "Sun 01-04 00:00", "Tue 01-06 00:00"]),
        ("from a day on", "0 0 * * 5/1", ["Fri 01-02 00:00", "Sat 01-03 00:00", "Fri 01-09 00:00"]),
        ("either of two days", "0 3 13 * 5", ["Fri 01-02 03:00", "Fri 01-09 03:00", "Tue 01-13 03:00"]),
        ("a day of the month", "0 3 13 * *", ["Tue 01-13 03:00", "Fri 02-13 03:00", "Fri 03-13 03:00"]),
        ("a question mark", "0 3 ? * 5", ["Fri 01-02 03:00", "Fri 01-09 03:00", "Fri 01-16 03:00"]),
        ("months by name", "0 0 1 FEB *", ["Sun 02-01 00:00", "Mon 02-01 00:00", "Tue 02-01 00:00"]),
        ("hourly", "@hourly", ["Thu 01-01 01:00", "Thu 01-01 02:00", "Thu 01-01 03:00"]),
        ("weekly", "@weekly", ["Sun 01-04 00:00", "Sun 01-11 00:00", "Sun 01-18 00:00"]),
        ("a day that never comes", "0 0 31 2 *", []),
    ],
)
def test_schedules(row: str, text: str, expected: list[str]) -> None:
    assert moments(text) == expected, row


def test_a_time_zone_moves_the_moments_and_summer_time_skips_one() -> None:
    assert moments("30 2 * * *", "Europe/Berlin", 1) == ["Thu 01-01 01:30"]
    spring = datetime(2026, 3, 28, 12, tzinfo=UTC)
    assert moments("0 8 * * *", "Europe/Berlin", 2, spring) == ["Sun 03-29 06:00", "Mon 03-30 06:00"]


@pytest.mark.parametrize(
    ("row", "text", "zone", "message"),
    [
        ("too few fields", "* * * *", "", "has 4 fields"),
        ("a minute that does not exist", "60 * * * *", "", "cannot be read"),
        ("no number", "x * * * *", "", "cannot be read"),
        ("a day that does not exist", "* * * * 7", "", "'7' is no day of the week"),
        ("a range backwards", "* * * * 5-2", "", "ends before it begins"),
        ("an unknown zone", "* * * * *", "Mars/Olympus", "'Mars/Olympus' is not known"),
        ("a zone that is a path", "* * * * *", "../etc", "is not known"),
    ],
)
def test_what_cannot_be_read(row: str, text: str, zone: str, message: str) -> None:
    with pytest.raises(ScheduleError, match=message.replace("(", r"\(")):
        CronSchedule(text, zone)


@given(
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    weekday=st.integers(0, 6),
    start=st.datetimes(datetime(2026, 1, 1), datetime(2028, 1, 1)),  # noqa: DTZ001 - made aware below
)
def test_the_next_moment_is_the_first_that_fits(minute: int, hour: int, weekday: int, start: datetime) -> None:
    """Law: it lies after the start, within a week, and has the minute, hour and day asked for."""
    begin = start.replace(tzinfo=UTC)
    found = CronSchedule(f"{minute} {hour} * * {weekday}").after(begin)
    assert found is not None
    assert 0 < (found - begin).total_seconds() <= 7 * 86400
    assert (found.minute, found.hour, found.isoweekday() % 7, found.second) == (minute, hour, weekday, 0)
