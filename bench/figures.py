"""Runs to figures: medians, spreads, ratios, fitted exponents, and the line that reports one figure."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one side.

    Args:
        wall_seconds: By the clock on the wall.
        cpu_seconds: Used by all threads of the process that ran.
        values: What else was measured, by name, such as a percentile of latencies.
    """

    wall_seconds: float
    cpu_seconds: float = math.nan
    values: dict[str, float] = field(default_factory=dict)

    def value(self, name: str) -> float:
        """Return one of the measures; ``wall`` and ``cpu`` are seconds."""
        named = {"wall": self.wall_seconds, "cpu": self.cpu_seconds}
        return named[name] if name in named else self.values[name]


@dataclass(frozen=True, slots=True)
class Spread:
    """Several measures of the same thing.

    Args:
        median: Their median.
        low: The smallest.
        high: The largest.
        count: How many.
    """

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Summarise measures.

        Raises:
            ValueError: There are none.
        """
        if not values:
            raise ValueError("no measures to summarise; let every side run at least once")
        return cls(statistics.median(values), min(values), max(values), len(values))

    def scaled(self, factor: float) -> Spread:
        """Return it in another unit, or extrapolated from a part to the whole."""
        return Spread(self.median * factor, self.low * factor, self.high * factor, self.count)


class Unit(Enum):
    """Units of figures, with the text after the number."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MEBIBYTES = "MiB"
    GIBIBYTES = "GiB"
    PER_SECOND = "/s"
    EXPONENT = ""


_SECONDS = {Unit.MILLISECONDS.value: 1e-3}
_AMOUNT = re.compile(rf"([-+]?\d[-+.\de]*)({'|'.join(unit.value for unit in Unit)})")


class Bound(Enum):
    """What a target bounds, and from which side."""

    RATIO_AT_LEAST = "ratio >="
    OURS_AT_MOST = "ours <="
    OURS_AT_LEAST = "ours >="


@dataclass(frozen=True, slots=True)
class Target:
    """What a figure is judged by.

    Args:
        bound: What is bounded.
        value: The bound, in the unit of the figure, or the ratio.
        unit: That of the figure; a ratio has none.
    """

    bound: Bound
    value: float
    unit: Unit | None = None

    def text(self) -> str:
        """Return it in words."""
        return f"{self.bound.value} {self.value:g}{self.unit.value if self.unit else ''}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the report.

    Args:
        name: The row, with what tells several figures of it apart after a slash.
        ours: Our measures.
        peer: The peer's; None where a figure is judged by itself.
        unit: Of both.
        target: None where a figure is only shown.
        is_more_better: Whether large measures are good, as those of a rate.
        note: What has to be known to read it.
        ours_cpu: CPU seconds of ours; None where they say nothing.
        peer_cpu: Of the peer.
    """

    name: str
    ours: Spread
    peer: Spread | None = None
    unit: Unit = Unit.SECONDS
    target: Target | None = None
    is_more_better: bool = False
    note: str = ""
    ours_cpu: Spread | None = None
    peer_cpu: Spread | None = None

    @property
    def ratio(self) -> float | None:
        """How many times better ours is than the peer, by the medians; None without a peer."""
        if self.peer is None:
            return None
        return quotient(self.ours, self.peer) if self.is_more_better else quotient(self.peer, self.ours)

    @property
    def cpu_ratio(self) -> float | None:
        """The same by CPU time."""
        if self.ours_cpu is None or self.peer_cpu is None:
            return None
        return quotient(self.peer_cpu, self.ours_cpu)

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.target is None:
            return None
        match self.target.bound:
            case Bound.RATIO_AT_LEAST:
                return self.ratio is not None and self.ratio >= self.target.value
            case Bound.OURS_AT_LEAST:
                return self.ours.median >= self.target.value
            case Bound.OURS_AT_MOST:
                return self.ours.median <= self.target.value

    def line(self) -> str:
        """Return the line that reports it."""
        peer = "-" if self.peer is None else amount(self.peer.median, self.unit)
        ratio = "-" if self.ratio is None else f"{self.ratio:.3g}"
        verdict = {True: " ok", False: " MISS", None: ""}[self.is_met]
        return (
            f"bench: {self.name} ours={amount(self.ours.median, self.unit)} peer={peer} ratio={ratio} "
            f"target={self._target_text()}{verdict}"
        )

    def detail(self) -> str:
        """Return spreads, CPU times and the note, as a second line."""
        parts = [f"ours {_range(self.ours, self.unit)}"]
        if self.peer is not None:
            parts.append(f"peer {_range(self.peer, self.unit)}")
        if self.ours_cpu is not None and self.peer_cpu is not None:
            parts.append(
                f"cpu {amount(self.ours_cpu.median, Unit.SECONDS)} : {amount(self.peer_cpu.median, Unit.SECONDS)} "
                f"= {self.cpu_ratio:.3g}"
            )
        elif self.ours_cpu is not None:
            parts.append(f"cpu {amount(self.ours_cpu.median, Unit.SECONDS)}")
        if self.note:
            parts.append(self.note)
        return "       " + "; ".join(parts)

    def _target_text(self) -> str:
        if self.target is None:
            return "-"
        if self.target.bound is Bound.RATIO_AT_LEAST:
            return f"{self.target.value:g}"
        return f"{'<=' if self.target.bound is Bound.OURS_AT_MOST else '>='}{self.target.value:g}{self.unit.value}"


def quotient(upper: Spread, lower: Spread) -> float:
    """Return the quotient of two medians; infinite where the lower one is 0."""
    return upper.median / lower.median if lower.median else math.inf


def amount(value: float, unit: Unit) -> str:
    """Return a measure with its unit, to three digits."""
    if value and abs(value) < 0.1 and unit is Unit.SECONDS:
        return f"{_three_digits(value * 1000)}ms"
    return f"{_three_digits(value)}{unit.value}"


def measured(text: str) -> float:
    """Return the measure that a text of ``amount`` tells, times in seconds.

    Raises:
        ValueError: It tells none.
    """
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no measure; write a number and a unit, such as 12.3ms")
    return float(found[1]) * _SECONDS.get(found[2], 1.0)


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _range(spread: Spread, unit: Unit) -> str:
    return f"{amount(spread.low, unit)} to {amount(spread.high, unit)} in {spread.count}"


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest measure that at least a share of all do not exceed.

    Args:
        values: The measures.
        share: Above 0, at most 1.

    Raises:
        ValueError: There are none, or the share is outside.
    """
    if not values or not 0.0 < share <= 1.0:
        raise ValueError(
            f"no {share:g} percentile of {len(values)} measures; ask for a share of 0 to 1 of at least one"
        )
    return sorted(values)[math.ceil(share * len(values)) - 1]


def fitted_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return b of the line log(seconds) = a + b log(size) that fits best: 1 for linear growth.

    Args:
        sizes: Positive, at least two different ones.
        seconds: Positive, one for each size.
    """
    return statistics.linear_regression([math.log(x) for x in sizes], [math.log(y) for y in seconds]).slope
