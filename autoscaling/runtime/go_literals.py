"""Values as Go's flag packages and Prometheus write them: durations, whole numbers, floats, truth values.

Command lines written for upstream hold such values, so they are read and printed the same way here.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from decimal import Decimal

_MICRO_SIGN, _GREEK_MU = "\u00b5", "\u03bc"
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    f"{_MICRO_SIGN}s": 10**3,
    f"{_GREEK_MU}s": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_DURATION_PART = re.compile(rf"([0-9]*)(?:\.([0-9]*))?([nu{_MICRO_SIGN}{_GREEK_MU}m]s|[smh])")
_PROMETHEUS_MILLISECONDS = {
    "y": 365 * 86_400_000,
    "w": 7 * 86_400_000,
    "d": 86_400_000,
    "h": 3_600_000,
    "m": 60_000,
    "s": 1000,
    "ms": 1,
}
_PROMETHEUS_DURATION = re.compile("".join(f"(?:([0-9]+){unit})?" for unit in _PROMETHEUS_MILLISECONDS), re.ASCII)
_ONLY_WHEN_EXACT = frozenset("yw")
_OCTAL = re.compile(r"^([+-]?)0(_?[0-7][0-7_]*)$")
_HEXADECIMAL_FLOAT = re.compile(r"[+-]?0[xX][0-9a-fA-F.]+[pP][+-]?[0-9]+")
_TRUTH = {"1": True, "t": True, "T": True, "true": True, "True": True, "TRUE": True}
_TRUTH |= {"0": False, "f": False, "F": False, "false": False, "False": False, "FALSE": False}


def parse_duration(text: str) -> timedelta:
    """Read a Go duration such as ``1m``, ``1h30m``, ``1.5h`` or ``-100ms``; a bare ``0`` needs no unit.

    Raises:
        ValueError: No such duration, longer than Go's 64 bits hold, or finer than a microsecond.
    """
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    nanoseconds, position = 0, 0
    while rest != "0" and (position < len(rest) or not rest):
        part = _DURATION_PART.match(rest, position)
        if part is None or not (part[1] or part[2]):
            raise ValueError("not a duration")
        fraction, unit = part[2] or "", _NANOSECONDS[part[3]]
        nanoseconds += int(part[1] or "0") * unit + int(fraction or "0") * unit // 10 ** len(fraction)
        position = part.end()
    if nanoseconds >= 2**63 + (sign < 0):
        raise ValueError("longer than 292 years")
    if nanoseconds % 1000:
        raise ValueError("finer than a microsecond")
    return timedelta(microseconds=sign * nanoseconds // 1000)


def format_duration(duration: timedelta) -> str:
    """Print a duration in Go's canonical form: ``1m0s``, ``1h30m0s``, ``100ms``, ``0s``."""
    microseconds = duration // timedelta(microseconds=1)
    sign, microseconds = ("-" if microseconds < 0 else ""), abs(microseconds)
    if microseconds == 0:
        return "0s"
    if microseconds < 1000:
        return f"{sign}{microseconds}{_MICRO_SIGN}s"
    if microseconds < 10**6:
        return f"{sign}{_decimal(microseconds, 3)}ms"
    minutes, rest = divmod(microseconds, 60 * 10**6)
    seconds = f"{_decimal(rest, 6)}s"
    if minutes == 0:
        return sign + seconds
    hours, minutes = divmod(minutes, 60)
    return f"{sign}{hours}h{minutes}m{seconds}" if hours else f"{sign}{minutes}m{seconds}"


def _decimal(amount: int, places: int) -> str:
    """Print an amount divided by a power of ten, without trailing zeros."""
    whole, fraction = divmod(amount, 10**places)
    return f"{whole}.{fraction:0{places}d}".rstrip("0").rstrip(".")


def parse_prometheus_duration(text: str) -> timedelta:
    """Read a Prometheus duration such as ``8d``, ``1h30m`` or ``2w``: whole numbers, units from large to small.

    Raises:
        ValueError: No such duration.
    """
    match = _PROMETHEUS_DURATION.fullmatch(text)
    if text == "0":
        return timedelta(0)
    if not text or match is None:
        raise ValueError("not a Prometheus duration")
    milliseconds = sum(
        int(count or "0") * size for count, size in zip(match.groups(), _PROMETHEUS_MILLISECONDS.values(), strict=True)
    )
    if milliseconds * 10**6 >= 2**63:
        raise ValueError("longer than 292 years")
    return timedelta(milliseconds=milliseconds)


def format_prometheus_duration(duration: timedelta) -> str:
    """Print a duration in Prometheus' canonical form; years and weeks only where nothing smaller is left."""
    milliseconds = duration // timedelta(milliseconds=1)
    if milliseconds == 0:
        return "0s"
    text = ""
    for unit, size in _PROMETHEUS_MILLISECONDS.items():
        if milliseconds >= size and not (unit in _ONLY_WHEN_EXACT and milliseconds % size):
            count, milliseconds = divmod(milliseconds, size)
            text += f"{count}{unit}"
    return text


def parse_bool(text: str) -> bool:
    """Read a truth value: 1, t, T, true, True, TRUE and their opposites.

    Raises:
        ValueError: Anything else.
    """
    if text not in _TRUTH:
        raise ValueError("neither true nor false")
    return _TRUTH[text]


def parse_int(text: str, *, lowest: int = -(2**63), highest: int = 2**63 - 1, any_base: bool = True) -> int:
    """Read a whole number; with ``any_base`` also ``0x10``, ``0b11``, ``0o17``, ``010`` (octal) and ``1_000``.

    Raises:
        ValueError: No whole number, or outside ``lowest`` to ``highest``.
    """
    if not re.fullmatch(r"[+-]?[0-9][0-9a-fA-FxXoO_]*" if any_base else "[+-]?[0-9]+", text):
        raise ValueError("not a whole number")
    try:
        number = int(_OCTAL.sub(r"\g<1>0o\g<2>", text), 0) if any_base else int(text)
    except ValueError:
        raise ValueError("not a whole number") from None
    if not lowest <= number <= highest:
        raise ValueError(f"outside {lowest} to {highest}")
    return number


def parse_float(text: str) -> float:
    """Read a finite decimal or hexadecimal (``0x1p-2``) floating point number.

    Raises:
        ValueError: No number, not finite, or too large for 64 bits.
    """
    if _HEXADECIMAL_FLOAT.fullmatch(text):
        return float.fromhex(text)
    try:
        number = float(text if text.isascii() and text.strip() == text else "")
    except ValueError:
        raise ValueError("not a number") from None
    if not math.isfinite(number):
        raise ValueError("not a finite number")
    return number


def format_float(number: float) -> str:
    """Print a float in Go's shortest form: ``0.5``, ``100``, ``1e+06``, ``+Inf``, ``NaN``."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    if abs(number) < 10**6 and number == int(number):
        return str(int(number))
    exact = Decimal(repr(float(number)))
    parts = exact.normalize().as_tuple()
    digits = "".join(map(str, parts.digits))
    exponent = len(digits) - 1 + int(parts.exponent)
    if -4 <= exponent < 6:
        return f"{exact:f}"
    sign = "-" if parts.sign else ""
    mantissa = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
