"""Resource amounts: whole millicores of CPU, whole bytes of memory, and the one rule that turns a float into them.

Spec: recommender 0.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from autoscaling.quantity import Format, Quantity, within_64_bits
from autoscaling.resources import CPU

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MAX_AMOUNT: Final = 10**14
"""Largest amount of any resource, in millicores or bytes."""

MILLICORES_PER_CORE: Final = 1000.0
_NOT_A_NUMBER: Final = -(2**63)
_MILLI_PER_UNIT: Final = 1000
_BINARY_STEP: Final = 1024


def truncated(values: Floats) -> Integers:
    """Turn floats into amounts: towards zero, within 0 and 10**14; no number becomes the smallest int64.

    Args:
        values: float64[...], millicores or bytes.

    Returns:
        int64[...] of the same shape and unit. Empty in, empty out.
    """
    if values.min(initial=0.0) >= 0.0 and values.max(initial=0.0) <= MAX_AMOUNT:
        # Most are within these bounds, and no number is neither.
        return values.astype(np.int64)
    missing = np.isnan(values)
    amounts = np.clip(np.where(missing, 0.0, values), 0.0, float(MAX_AMOUNT)).astype(np.int64)
    amounts[missing] = _NOT_A_NUMBER
    return amounts


def scaled(amounts: Integers, factor: Floats | float) -> Integers:
    """Return ``trunc(amount * factor)`` of every element, bounded as amounts are.

    Args:
        amounts: int64[...], millicores or bytes.
        factor: A number, or float64[...] of a shape that fits; infinity and no number are allowed.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return truncated(amounts.astype(np.float64) * factor)


@lru_cache(maxsize=1 << 16)
def as_quantity(amount: int, resource: str) -> Quantity:
    """Return an amount as the quantity it is written as: CPU decimal in thousandths, memory binary in bytes.

    Args:
        amount: Millicores for ``cpu``, bytes for any other resource.
        resource: Name of the resource.

    Amounts come from some hundred buckets and are asked for again and again, so quantities are kept and shared, each
    with the canonical text that it prints in.
    """
    bare = Quantity.of_milli(amount) if resource == CPU else Quantity.of_units(amount, Format.BINARY_SI)
    return Quantity(bare.nano, bare.format, str(bare))


def amount_text(amount: int, resource: str) -> str:
    """Return the text that an amount is written as; most amounts need no quantity for it, see ``as_quantity``.

    Args:
        amount: Millicores for ``cpu``, bytes for any other resource.
        resource: Name of the resource.
    """
    if resource == CPU:
        if amount % _MILLI_PER_UNIT:
            return f"{amount}m"
    elif amount >= _BINARY_STEP and amount % _BINARY_STEP:
        return str(amount)
    return as_quantity(amount, resource).text


def from_quantity(quantity: Quantity | None, resource: str) -> int:
    """Return a quantity as an amount, rounded up; 0 where there is none."""
    if quantity is None:
        return 0
    return within_64_bits(quantity.milli_value() if resource == CPU else quantity.value())
