"""Instants as whole nanoseconds since the Unix epoch, as the arrays of this process hold them.

An instant that never was (upstream's zero instant, the start of year 1) has no place in that range. Where it may occur
it is the value ``NEVER``, which is before every real instant.

Spec: recommender 0, 1.3.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

NEVER: Final = -(2**63)
"""The instant of something that has not happened."""

LATEST: Final = 2**63 - 1
SECOND: Final = 10**9
MINUTE: Final = 60 * SECOND

LATEST_MOMENT: Final = 4_102_444_800 * SECOND
"""The start of the year 2100: what claims to be of later is held to be of then, so that times can be added to it."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_ONE_TO_EPOCH: Final = 62_135_596_800 * SECOND
_MICROSECOND: Final = timedelta(microseconds=1)


def nanoseconds(duration: timedelta) -> int:
    """Return a duration in nanoseconds, held within the range of an int64."""
    return max(NEVER, min(LATEST, duration // _MICROSECOND * 1000))


@lru_cache(maxsize=4096)
def instant(moment: datetime | None) -> int:
    """Return a moment as nanoseconds since the Unix epoch; ``NEVER`` for None.

    Args:
        moment: In UTC where it names no time zone; outside the years 1678 to 2099 the nearest instant in range.

    The time of a round is asked for with each of its pods, so that what is made of moments is kept.
    """
    if moment is None:
        return NEVER
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(NEVER + 1, min(LATEST_MOMENT, (moment - _EPOCH) // _MICROSECOND * 1000))


@lru_cache(maxsize=4096)
def moment(at: int) -> datetime | None:
    """Return an instant as an aware UTC datetime, cut to the microsecond; None for ``NEVER``.

    Samples of one fetch share few instants, so that what is made of them is kept and shared, its hash included.
    """
    return None if at == NEVER else _EPOCH + timedelta(microseconds=at // 1000)


def rounded(instants: Integers, step: int) -> Integers:
    """Round to the nearest multiple of a step counted from the start of year 1, halves up.

    Args:
        instants: int64[...], none of them ``NEVER``.
        step: Nanoseconds, positive.
    """
    offset = _YEAR_ONE_TO_EPOCH % step
    since_epoch = np.mod(instants, step)
    over = np.where(since_epoch >= step - offset, since_epoch - (step - offset), since_epoch + offset)
    return instants - over + np.where(over >= step - over, step, 0)


def elapsed(later: Integers, earlier: Integers) -> Integers:
    """Return ``later - earlier`` in nanoseconds, held within the range of an int64.

    ``NEVER`` lies so far back that it is a saturated duration away from every real instant, and 0 away from itself.
    """
    difference = later - earlier
    overflown = ((later >= 0) != (earlier >= 0)) & ((difference >= 0) != (later >= 0))
    difference = np.where(overflown, np.where(later >= 0, LATEST, NEVER), difference)
    difference = np.where((earlier == NEVER) & (later != NEVER), LATEST, difference)
    return np.where((later == NEVER) & (earlier != NEVER), NEVER, difference)
