"""Sharing out what there is among those who ask for more than there is.

Each gets the same share of what it asks for, but no less than its least amount as long as there is enough for all least
amounts; then the others' share is smaller. Where there is not even enough for these, each gets the same share of its
least amount. So what one gets never jumps when amounts move a little.

Spec: beyond:B-11.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def shared_out(asked: Integers, least: Integers, owners: Integers, rooms: Integers) -> Integers:
    """Return what each gets of what its owner has, rounded down.

    Args:
        asked: int64[n], what each asks for, 0 to 10**14.
        least: int64[n], what each should get at least; no more than it asks for counts.
        owners: int64[n], whose room it is to be taken from, places in ``rooms``.
        rooms: int64[m], what there is of each owner, likewise.

    Returns:
        int64[n], in the unit of ``asked``; what was asked for where there is enough.
    """
    least = np.minimum(asked, least)
    at_least = _sums(least, owners, rooms)
    is_scarce = (_sums(asked, owners, rooms) > rooms)[owners]
    is_too_scarce = (at_least > rooms)[owners]
    is_settled = ~is_scarce | is_too_scarce
    given = np.where(is_scarce, _share(least, rooms[owners], at_least[owners]), asked)
    is_held = np.zeros(len(asked), dtype=np.bool_)
    while True:
        left = rooms - _sums(np.where(is_held, least, 0), owners, rooms)
        others = np.where(is_held, 0, asked)
        shares = np.where(is_held, least, _share(others, left[owners], _sums(others, owners, rooms)[owners]))
        falls_short = ~is_settled & (shares < least)
        if not falls_short.any():
            return np.where(is_settled, given, shares)
        is_held |= falls_short


def _sums(amounts: Integers, owners: Integers, rooms: Integers) -> Integers:
    """Return int64[m], the sum of each owner's amounts; exact below 2**53."""
    return np.bincount(owners, amounts, len(rooms)).astype(np.int64)


def _share(amounts: Integers, parts: Integers, wholes: Integers) -> Integers:
    """Return ``amount * part // whole`` of every element, to the last unit; 0 where the whole is 0.

    The product is larger than an integer may be. What is left of it beside an estimate is not, and comes out right
    although both wrap around.

    Args:
        amounts: int64[n], 0 to 10**14.
        parts: int64[n], likewise.
        wholes: int64[n], no less than the amounts.
    """
    divisors = np.maximum(wholes, 1)
    estimates = (amounts * (parts / divisors)).astype(np.int64)
    return estimates + (amounts * parts - estimates * divisors) // divisors
