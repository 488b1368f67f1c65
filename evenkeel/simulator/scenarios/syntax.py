"""How values are written in scenario files: durations, amounts, counts, names of keys."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, ConfigDict, PlainValidator
from pydantic.alias_generators import to_camel

from autoscaling.errors import InvalidQuantityError
from autoscaling.quantity import NANO, Quantity
from autoscaling.runtime.go_literals import parse_duration

_NO_DURATION = "a duration is written as 90s, 5m or 1h30m"


class Part:
    """A part of a scenario file: its keys are spelled as in Kubernetes, and unknown ones are refused."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(alias_generator=to_camel, extra="forbid")


def read_duration(value: object) -> timedelta:
    """Read a duration.

    Raises:
        ValueError: It is none, or negative.
    """
    if not isinstance(value, str):
        raise ValueError(_NO_DURATION)  # noqa: TRY004 pydantic takes only ValueError for a wrong value
    try:
        duration = parse_duration(value)
    except ValueError as error:
        raise ValueError(f"{error}; {_NO_DURATION}") from None
    if duration < timedelta(0):
        raise ValueError("a duration must not be negative")
    return duration


def read_amount(value: object) -> Quantity:
    """Read an amount of CPU or memory.

    Raises:
        ValueError: It is no quantity, or negative.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("an amount is written as 250m, 2 or 128Mi")  # noqa: TRY004 as above
    try:
        amount = Quantity.parse(str(value))
    except InvalidQuantityError as error:
        raise ValueError(str(error)) from None
    if amount.nano < 0:
        raise ValueError("an amount must not be negative")
    return amount


Duration: TypeAlias = Annotated[timedelta, PlainValidator(read_duration)]
Amount: TypeAlias = Annotated[Quantity, PlainValidator(read_amount)]
NOTHING = Quantity(0)


def cores(amount: Quantity) -> float:
    """Return an amount of CPU as cores."""
    return amount.nano / NANO


def whole_bytes(amount: Quantity) -> int:
    """Return an amount of memory as bytes."""
    return amount.nano // NANO


@dataclass(frozen=True, slots=True)
class Count(Part):
    """How many of something are wanted; a plain number in the file means exactly so many.

    Args:
        min: At least.
        max: At most; None for any number.
    """

    min: int = 0
    max: int | None = None

    def holds(self, number: int) -> bool:
        """Say whether a number is within."""
        return self.min <= number and (self.max is None or number <= self.max)

    def __str__(self) -> str:
        if self.min == self.max:
            return str(self.min)
        return f"at least {self.min}" if self.max is None else f"{self.min} to {self.max}"


AT_LEAST_ONE = Count(1)


@dataclass(frozen=True, slots=True)
class AmountRange(Part):
    """Which amounts are wanted; a plain amount in the file means exactly that one.

    Args:
        min: The smallest.
        max: The largest; None for any.
    """

    min: Amount = NOTHING
    max: Amount | None = None

    def holds(self, amount: Quantity) -> bool:
        """Say whether an amount is within."""
        return self.min <= amount and (self.max is None or amount <= self.max)

    def __str__(self) -> str:
        if self.min == self.max:
            return str(self.min)
        return f"at least {self.min}" if self.max is None else f"{self.min} to {self.max}"


def _exactly(value: object) -> object:
    """Return a plain value as the range of that value alone."""
    return value if isinstance(value, dict) else {"min": value, "max": value}


Number: TypeAlias = Annotated[Count, BeforeValidator(_exactly)]
Wanted: TypeAlias = Annotated[AmountRange, BeforeValidator(_exactly)]
