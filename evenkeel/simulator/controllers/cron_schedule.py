"""The moments that a CronJob's schedule stands for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol, cast
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from apscheduler.triggers.combining import OrTrigger
from apscheduler.triggers.cron import CronTrigger

_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_NO_MOMENT = timedelta(microseconds=1)


class ScheduleError(ValueError):
    """A schedule or a time zone that cannot be read."""


class _Trigger(Protocol):
    """What is used of a trigger of the scheduling library."""

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime | None:
        """Return the first moment from ``now`` on."""


class CronSchedule:
    """A schedule of five fields, or one of the usual abbreviations.

    Args:
        text: Minute, hour, day of month, month, day of week (0 is Sunday); of two restricted days either will do.
        zone: Name of the time zone; UTC when empty.

    Raises:
        ScheduleError: One of them cannot be read.
    """

    def __init__(self, text: str, zone: str = "") -> None:
        self._trigger = _trigger(text, _zone(zone))

    def after(self, moment: datetime) -> datetime | None:
        """Return the first moment after another one, in UTC; None when there is none."""
        found = self._trigger.get_next_fire_time(None, moment.astimezone(UTC) + _NO_MOMENT)
        return found.astimezone(UTC) if found is not None else None


def _zone(name: str) -> tzinfo:
    """Return a time zone by name."""
    if not name:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ScheduleError(f"time zone {name!r} is not known; use a name such as Europe/Berlin") from error


def _trigger(text: str, zone: tzinfo) -> _Trigger:
    """Return the trigger of a schedule."""
    fields = _MACROS.get(text.strip().lower(), text).replace("?", "*").lower().split()
    if len(fields) != 5:
        raise ScheduleError(f"schedule {text!r} has {len(fields)} fields; write five, such as '*/5 * * * *'")
    minute, hour, day, month, weekday = fields
    try:
        names = _weekday_names(weekday)
        if day.startswith("*") or weekday.startswith("*"):
            return _one(minute, hour, (day, month, names), zone)
        either = [_one(minute, hour, (day, month, "*"), zone), _one(minute, hour, ("*", month, names), zone)]
        return cast("_Trigger", OrTrigger(either))
    except (ValueError, IndexError) as error:
        raise ScheduleError(f"schedule {text!r} cannot be read: {error}") from error


def _one(minute: str, hour: str, date: tuple[str, str, str], zone: tzinfo) -> _Trigger:
    """Return a trigger whose fields must all match."""
    day, month, weekday = date
    trigger = CronTrigger(minute=minute, hour=hour, day=day, month=month, day_of_week=weekday, timezone=zone)
    return cast("_Trigger", trigger)


def _weekday_names(field: str) -> str:
    """Return a day-of-week field by names, as the scheduling library numbers the days from Monday on.

    Ranges and steps are written out, since a range from Sunday on has no other form there.
    """
    if field == "*":
        return field
    days: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = ("0", "", "6") if span == "*" else span.partition("-")
        start = _weekday(first)
        end = _weekday(last) if last else (6 if step else start)
        if start > end:
            raise ValueError(f"day-of-week range {span!r} ends before it begins")
        days.update(range(start, end + 1, int(step or "1")))
    return ",".join(_NAMES[day] for day in sorted(days))


def _weekday(text: str) -> int:
    """Return the number of a day of the week given by number or name."""
    if text in _NAMES:
        return _NAMES.index(text)
    if text.isdecimal() and int(text) < len(_NAMES):
        return int(text)
    raise ValueError(f"{text!r} is no day of the week; use 0 (Sunday) to 6 or names such as mon")
