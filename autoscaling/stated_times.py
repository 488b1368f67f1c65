"""Times and durations that objects state, held to what can be reckoned with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_LONGEST_SECONDS: Final = 100 * 366 * 86400
_EARLIEST: Final = datetime(1000, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(3000, 1, 1, tzinfo=UTC)


def stated_duration(seconds: int) -> timedelta:
    """Return a number of seconds as a duration of a hundred years at most, forwards or backwards."""
    return timedelta(seconds=max(-_LONGEST_SECONDS, min(seconds, _LONGEST_SECONDS)))


def stated_time(moment: datetime | None) -> datetime | None:
    """Return a time within the years 1000 to 3000, to which durations can be added; None for None.

    Args:
        moment: Counts as UTC where it names no time zone.
    """
    if moment is None:
        return None
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return max(_EARLIEST, min(aware, _LATEST))
