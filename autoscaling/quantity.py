"""Exact Kubernetes quantities: value, format and canonical text; never a float.

A quantity is a whole number of billionths (nano units) and remembers the notation it was written in. Equality and
order are numeric: ``1`` equals ``1000m``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import total_ordering

from autoscaling.errors import InvalidQuantityError

NANO = 10**9
MAX_INT64 = 2**63 - 1

_LARGEST_EXPONENT = 308
_LARGEST_DOUBLE = 10**300
_MOST_DIGITS = 1000
_FIRST_CHARACTERS = tuple("+-.0123456789")
_SYNTAX = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?"
    r"(?:(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE]?)|[eE](?P<exponent>[+-]?[0-9]+))",
)
_DECIMAL_EXPONENTS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL_EXPONENTS.items()}
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class Format(Enum):
    """The notation a quantity was written in and is printed in."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An exact amount.

    Args:
        nano: The amount in billionths of the unit (a core, a byte).
        format: The notation it prints in.
        text: The text as typed, where Kubernetes keeps it verbatim; empty when the canonical text applies.
    """

    nano: int
    format: Format = Format.DECIMAL_SI
    text: str = ""

    @classmethod
    def of_milli(cls, milli: int, form: Format = Format.DECIMAL_SI) -> Quantity:
        """Return a quantity of so many thousandths."""
        return cls(milli * 10**6, form)

    @classmethod
    def of_units(cls, units: int, form: Format = Format.DECIMAL_SI) -> Quantity:
        """Return a quantity of so many whole units."""
        return cls(units * NANO, form)

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Read a quantity as Kubernetes does.

        Finer than a billionth is rounded away from zero; a binary amount above 2**63-1 becomes 2**63-1 (spec: api:6).

        Raises:
            InvalidQuantityError: The text is no quantity.
        """
        match = _SYNTAX.fullmatch(text)
        if match is None or text[:1] not in _FIRST_CHARACTERS:
            raise InvalidQuantityError(
                f"quantity {text[:50]!r}: no number with an optional unit; write for example 250m, 1.5, 128Mi or 1e3",
            )
        whole, fraction = match["whole"], match["fraction"] or ""
        digits = (whole.lstrip("0") or "0") + fraction
        if len(digits) > _MOST_DIGITS:
            # Any more, and products of such numbers could no longer be printed.
            raise InvalidQuantityError(f"quantity {text[:20]}...: more than {_MOST_DIGITS} digits; write fewer")
        negative = match["sign"] == "-"
        if match["binary"]:
            power = _BINARY_SUFFIXES.index(match["binary"])
            nano, form = _binary_amount(int(digits), len(fraction), power, negative=negative)
            # Kubernetes keeps what was typed for whole numbers that by their last three bits fit no larger unit.
            plain = not fraction and len(digits) + power * 3 <= 14
            return cls(nano, form, text if plain and int(digits) % 8 else "")
        exponent = _decimal_exponent(text, match["decimal"], match["exponent"]) - len(fraction)
        form = Format.DECIMAL_SI if match["exponent"] is None else Format.DECIMAL_EXPONENT
        nano = _scaled_up(int(digits), exponent + 9)
        # Likewise where the digits stand for whole thousands or thousandths and no larger unit would take them.
        fits = exponent % 3 == 0 and exponent >= -9 and len(digits) <= 18
        kept = fits and not digits.startswith("0") and not digits.endswith("000")
        return cls(-nano if negative else nano, form, text if kept else "")

    def value(self) -> int:
        """Return the amount in whole units, rounded up in size."""
        return _divide_away(self.nano, NANO)

    def milli_value(self) -> int:
        """Return the amount in thousandths, rounded up in size."""
        return _divide_away(self.nano, 10**6)

    def is_zero(self) -> bool:
        """Say whether the amount is exactly zero."""
        return self.nano == 0

    def is_whole_units(self) -> bool:
        """Say whether the amount needs no fraction of a unit."""
        return self.nano % NANO == 0

    def is_whole_milli(self) -> bool:
        """Say whether the amount needs nothing finer than a thousandth."""
        return self.nano % 10**6 == 0

    def plus(self, other: Quantity) -> Quantity:
        """Add; the left format stays unless the left amount is zero (spec: api:6)."""
        return Quantity(self.nano + other.nano, other.format if self.is_zero() else self.format)

    def __eq__(self, other: object) -> bool:
        return self.nano == other.nano if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: Quantity) -> bool:
        return self.nano < other.nano

    def __hash__(self) -> int:
        return hash(self.nano)

    def __str__(self) -> str:
        return self.text or _canonical(self.nano, self.format)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"


ZERO = Quantity(0)


def within_64_bits(amount: int) -> int:
    """Return an amount, held within what a signed number of 64 bits takes, without its lowest."""
    return max(-MAX_INT64, min(amount, MAX_INT64))


def within_doubles(amount: int) -> int:
    """Return an amount, held within what a double takes with room to reckon: 300 digits, either way."""
    return max(-_LARGEST_DOUBLE, min(amount, _LARGEST_DOUBLE))


def _decimal_exponent(text: str, suffix: str | None, exponent: str | None) -> int:
    """Return the power of ten that a suffix or an exponent stands for."""
    if exponent is None:
        return _DECIMAL_EXPONENTS[suffix or ""]
    digits = exponent.lstrip("+-0") or "0"
    if len(digits) > len(str(_LARGEST_EXPONENT)) or int(digits) > _LARGEST_EXPONENT:
        raise InvalidQuantityError(f"quantity {text[:50]!r}: exponent beyond ±{_LARGEST_EXPONENT}; write a smaller one")
    return -int(digits) if exponent.startswith("-") else int(digits)


def _scaled_up(digits: int, exponent: int) -> int:
    """Return digits times ten to the exponent, rounded up to a whole number."""
    return digits * int(10**exponent) if exponent >= 0 else -(-digits // int(10**-exponent))


def _binary_amount(digits: int, decimals: int, power: int, *, negative: bool) -> tuple[int, Format]:
    """Return digits * 1024**power / 10**decimals in nano units, and the format it is remembered in."""
    nano = -(-digits * 1024**power * NANO // 10**decimals)
    nano = -nano if negative else min(nano, MAX_INT64 * NANO)
    return nano, Format.DECIMAL_SI if 0 < nano < NANO else Format.BINARY_SI


def _divide_away(amount: int, divisor: int) -> int:
    """Divide, rounding away from zero."""
    return -(-amount // divisor) if amount >= 0 else amount // divisor


def _canonical(nano: int, form: Format) -> str:
    """Return the canonical text: the largest unit that loses nothing."""
    if nano == 0:
        return "0"
    if form is Format.BINARY_SI and abs(nano) >= 1024 * NANO and nano % NANO == 0:
        number, power = nano // NANO, 0
        while number % 1024 == 0 and power < len(_BINARY_SUFFIXES) - 1:
            number, power = number // 1024, power + 1
        return f"{number}{_BINARY_SUFFIXES[power]}"
    if form is Format.DECIMAL_SI and nano % 10**6 == 0 and nano % NANO:
        return f"{nano // 10**6}m"
    number, exponent = nano, -9
    while number % 1000 == 0 and (exponent < 18 or form is Format.DECIMAL_EXPONENT):
        number, exponent = number // 1000, exponent + 3
    if form is Format.DECIMAL_EXPONENT:
        return f"{number}e{exponent}" if exponent else str(number)
    return f"{number}{_DECIMAL_SUFFIXES[exponent]}"
