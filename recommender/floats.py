"""Logarithm, power of two and power whose results do not depend on the C library.

Histogram weights are stored and compared bit for bit, so the three functions below are written out from the published
algorithms (FreeBSD's ``e_log`` and ``e_exp`` kernels, and binary exponentiation on a separate mantissa and exponent)
in plain IEEE-754 double steps. The scalar and the vectorised form share one kernel and agree in every bit.

Spec: recommender Appendix A.
"""

from __future__ import annotations

import math
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_Number = TypeVar("_Number", float, Floats)

_LN2_HIGH: Final = 6.93147180369123816490e-01
_LN2_LOW: Final = 1.90821492927058770002e-10
_EXP_1: Final = 1.66666666666666657415e-01
_EXP_2: Final = -2.77777777770155933842e-03
_EXP_3: Final = 6.61375632143793436117e-05
_EXP_4: Final = -1.65339022054652515390e-06
_EXP_5: Final = 4.13813679705723846039e-08
_LOG_1: Final = 6.666666666666735130e-01
_LOG_2: Final = 3.999999999940941908e-01
_LOG_3: Final = 2.857142874366239149e-01
_LOG_4: Final = 2.222219843214978396e-01
_LOG_5: Final = 1.818357216161805012e-01
_LOG_6: Final = 1.531383769920937332e-01
_LOG_7: Final = 1.479819860511658591e-01

_EXP2_OVERFLOW: Final = 1.0239999999999999e03
_EXP2_UNDERFLOW: Final = -1.0740e03
_EXP2_ORDINARY: Final = 1020.0


def _exp_mantissa(fraction: _Number) -> _Number:
    """Return ``2**fraction`` for a fraction within ±1/2."""
    high = fraction * _LN2_HIGH
    low = -fraction * _LN2_LOW
    r = high - low
    s = r * r
    c = r - s * (_EXP_1 + s * (_EXP_2 + s * (_EXP_3 + s * (_EXP_4 + s * _EXP_5))))
    return 1.0 - ((low - (r * c) / (2.0 - c)) - high)


def _log_mantissa(f: _Number, exponent: _Number) -> _Number:
    """Return ``log((1 + f) * 2**exponent)`` for 1 + f within [sqrt(1/2), sqrt(2))."""
    s = f / (2.0 + f)
    s2 = s * s
    s4 = s2 * s2
    t1 = s2 * (_LOG_1 + s4 * (_LOG_3 + s4 * (_LOG_5 + s4 * _LOG_7)))
    t2 = s4 * (_LOG_2 + s4 * (_LOG_4 + s4 * _LOG_6))
    half_square = 0.5 * f * f
    return exponent * _LN2_HIGH - ((half_square - (s * (half_square + (t1 + t2)) + exponent * _LN2_LOW)) - f)


def exp2(x: float) -> float:
    """Return ``2**x`` for one finite number; infinity above the range of a double, 0.0 below it."""
    if x > _EXP2_OVERFLOW:
        return math.inf
    if x < _EXP2_UNDERFLOW:
        return 0.0
    k = math.trunc(x + math.copysign(0.5, x))
    return math.ldexp(_exp_mantissa(x - k), k)


def exp2_each(x: Floats) -> Floats:
    """Return ``2**x`` of every element.

    Args:
        x: float64[...], finite or infinite, no unit.

    Returns:
        float64[...] of the same shape; infinity and 0.0 beyond the range of a double. Empty in, empty out.
    """
    if np.all(np.abs(x) < _EXP2_ORDINARY):
        return _exp2_in_range(x)
    with np.errstate(over="ignore", under="ignore"):
        result = _exp2_in_range(np.clip(x, _EXP2_UNDERFLOW - 1.0, _EXP2_OVERFLOW + 1.0))
    result[x > _EXP2_OVERFLOW] = np.inf
    result[x < _EXP2_UNDERFLOW] = 0.0
    return result


def _exp2_in_range(x: Floats) -> Floats:
    k = np.trunc(x + np.copysign(0.5, x))
    result: Floats = np.ldexp(_exp_mantissa(x - k), k.astype(np.int32))
    return result


def log(x: float) -> float:
    """Return the natural logarithm of one positive finite number.

    Raises:
        ValueError: ``x`` is not positive and finite.
    """
    if not (x > 0.0 and math.isfinite(x)):
        raise ValueError(f"logarithm of {x!r}: pass a positive finite number")
    mantissa, exponent = math.frexp(x)
    if mantissa < math.sqrt(2.0) / 2.0:
        mantissa *= 2.0
        exponent -= 1
    return _log_mantissa(mantissa - 1.0, float(exponent))


def log_each(x: Floats) -> Floats:
    """Return the natural logarithm of every element.

    Args:
        x: float64[...], each positive and finite.

    Returns:
        float64[...] of the same shape. Empty in, empty out.

    Raises:
        ValueError: an element is not positive and finite.
    """
    if not np.all((x > 0.0) & np.isfinite(x)):
        raise ValueError("logarithm of an array: every element must be a positive finite number")
    mantissa, exponent = np.frexp(x)
    small = mantissa < math.sqrt(2.0) / 2.0
    mantissa = np.where(small, mantissa * 2.0, mantissa)
    return _log_mantissa(mantissa - 1.0, exponent.astype(np.float64) - small)


def _checked_exponent(y: float) -> None:
    if not (y.is_integer() or abs(y) == 0.5):
        raise ValueError(f"power with exponent {y!r}: only whole numbers and ±0.5 are exact")


def power(x: float, y: float) -> float:
    """Return ``x**y`` for one number; see ``power_each``."""
    return float(power_each(np.array([x]), y)[0])


def _power_of_finite(x: Floats, y: int) -> Floats:
    """Return ``x**y`` of finite elements other than 0 by binary exponentiation on mantissa and exponent."""
    base, base_exponent = np.frexp(x)
    base_exponent = base_exponent.astype(np.int64)
    result = np.ones_like(x)
    result_exponent = np.zeros(x.shape, dtype=np.int64)
    remaining = abs(y)
    while remaining:
        if remaining & 1:
            result *= base
            result_exponent += base_exponent
        base = base * base
        base_exponent *= 2
        small = base < 0.5
        base = np.where(small, base + base, base)
        base_exponent -= small
        remaining >>= 1
    if y < 0:
        result, result_exponent = 1.0 / result, -result_exponent
    with np.errstate(over="ignore", under="ignore"):
        raised: Floats = np.ldexp(result, np.clip(result_exponent, -(1 << 20), 1 << 20).astype(np.int32))
    return raised


def power_each(x: Floats, y: float) -> Floats:
    """Return ``x**y`` of every element for one whole exponent or ±0.5.

    Args:
        x: float64[...], infinity allowed; at least 0 where the exponent is ±0.5.
        y: The exponent, a whole number or ±0.5.

    Returns:
        float64[...] of the same shape; 0 to a negative power is infinity. Empty in, empty out.

    Raises:
        ValueError: the exponent is another fraction, or a base is no number or has no such root.
    """
    _checked_exponent(y)
    if np.any(np.isnan(x)) or (abs(y) == 0.5 and np.any(x < 0.0)):
        raise ValueError(f"power with exponent {y!r}: a base is no number, or negative under a root")
    if y == 0.0:
        return np.ones_like(x)
    if y == 1.0:
        return x.copy()
    plain = (x != 0.0) & np.isfinite(x)
    safe = np.where(plain, x, 1.0)
    if abs(y) == 0.5:
        root = np.sqrt(safe)
        result: Floats = root if y > 0.0 else 1.0 / root
    else:
        result = _power_of_finite(safe, int(y))
    at_zero, at_infinity = (math.inf, 0.0) if y < 0.0 else (0.0, math.inf)
    signed = np.where((x < 0.0) & (y % 2.0 == 1.0), -at_infinity, at_infinity)
    return np.where(plain, result, np.where(x == 0.0, at_zero, signed))
